"""Commands that make, convert and describe recordings and calibrations."""
