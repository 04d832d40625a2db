"""Training of the published network without labels."""
