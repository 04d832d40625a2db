"""Bodies of tracked animals: which way they point, how long and how thick they are, how much of them is seen."""

from .reflections import Reflection, find_reflections
from .sizes import with_bodies

__all__ = ["Reflection", "find_reflections", "with_bodies"]
