"""Scores of 3D tracks: against the truth, and without it."""

from .scores import Scores, evaluate

__all__ = ["Scores", "evaluate"]
