"""Several readings of one recording, forwards and backwards in time, and the best parts of each."""
