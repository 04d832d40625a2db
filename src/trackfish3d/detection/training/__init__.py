"""Training sets and training of segmenters."""
