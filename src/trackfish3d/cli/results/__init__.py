"""Commands about finished tracks."""
