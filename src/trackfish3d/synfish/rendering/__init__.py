"""Pictures and masks of the simulated tank."""
