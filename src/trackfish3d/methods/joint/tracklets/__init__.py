"""Tracklets of single views, and which of two views show one animal by all the frames that they share."""
