"""Commands from films to tracks."""
