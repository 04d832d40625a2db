"""The joint tracker: views and time are decided together."""
