"""A local page to look at tracks, find what is wrong with them, and mend it."""
