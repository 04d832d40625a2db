"""Tracking methods, a folder an algorithm, and what they share."""
