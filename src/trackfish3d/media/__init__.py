"""Videos: reading by presentation time, checking, writing. The only package that uses PyAV."""
