"""Cameras of which nothing is known but the lens, placed and set by one thing that moves before them."""

from .place import FromTracks, calibrate_from_tracks
from .reading import Sighting2D, read_selfcal, read_sightings
from .several import one_animal
from .world import align_centres, scale_world

__all__ = [
    "FromTracks",
    "Sighting2D",
    "align_centres",
    "calibrate_from_tracks",
    "one_animal",
    "read_selfcal",
    "read_sightings",
    "scale_world",
]
