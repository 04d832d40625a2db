"""Scores of recordings of any length in constant memory."""
