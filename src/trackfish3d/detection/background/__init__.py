"""The background detector: what differs from the still picture, divided into animals."""
