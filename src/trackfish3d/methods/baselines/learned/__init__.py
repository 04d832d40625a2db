"""Rivals of the paper that learn, written anew from their papers: one file each, on shared detections and crops."""
