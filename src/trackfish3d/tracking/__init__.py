"""Groups to tracks: assignment, filtering, linking, post-processing, and the methods by name."""
