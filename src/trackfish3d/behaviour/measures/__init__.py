"""Measures of motion: of one animal, of pairs, of the group."""
