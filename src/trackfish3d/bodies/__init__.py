"""Bodies of tracked animals: which way they point, how long and how thick they are, how much of them is seen."""

from .sizes import with_bodies

__all__ = ["with_bodies"]
