"""Recordings of any length in constant memory: sections that follow each other, mended in windows that overlap."""
