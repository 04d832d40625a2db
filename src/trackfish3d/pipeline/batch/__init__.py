"""Many recordings: one unit of work, several ways to start it, files as the only state."""
