"""Cameras, clocks and water from things that move: what many views saw of them, adjusted together with their paths."""

from .adjustment import RefusedError
from .drift import Part, find_parts, tell_parts
from .loop import Wish, refine_rig
from .outcome import CameraChange, Refinement

__all__ = ["CameraChange", "Part", "Refinement", "RefusedError", "Wish", "find_parts", "refine_rig", "tell_parts"]
