"""Cameras, clocks and water from things that move: what many views saw of them, adjusted together with their paths."""

from .adjustment import RefusedError
from .loop import Wish, refine_rig
from .outcome import CameraChange, Refinement

__all__ = ["CameraChange", "Refinement", "RefusedError", "Wish", "refine_rig"]
