"""Scores of 3D tracks: against the truth, and without it."""

from .scores import SceneScores, Scores, evaluate

__all__ = ["SceneScores", "Scores", "evaluate"]
