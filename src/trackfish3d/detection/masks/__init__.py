"""Masks of animals: blobs, moments, outlines."""
