"""Animals that behave unlike the others."""
