"""Detectors with weights of the user's."""
