"""Scale and frame of a world that knew neither: from a known distance, or from where the cameras are known to stand."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...cameras import Camera, CameraRig
from ...core.errors import InputError
from ..rigs import similarity
from .place import FromTracks

Array = NDArray[np.float64]


def scale_world(found: FromTracks, first: str, second: str, distance: float, units: str = "unit") -> FromTracks:
    """Return the same with a world in which two cameras are so far apart.

    Parameters
    ----------
    found : cameras and path.
    first : name of a camera.
    second : name of another.
    distance : between their centres.
    units : of that distance.
    """
    now = float(np.linalg.norm(found.rig[first].centre - found.rig[second].centre))
    if not distance > 0 or now == 0:
        raise InputError(f"distance {distance:g} of cameras {first} and {second}: give a length above zero")
    return moved(found, distance / now, np.eye(3), np.zeros(3), units)


def align_centres(found: FromTracks, centres: dict[str, Array], units: str = "unit") -> FromTracks:
    """Return the same in the world in which the cameras' centres are known (three of them, not in a line).

    Parameters
    ----------
    found : cameras and path.
    centres : (3,) by camera.
    units : of these.
    """
    names = [n for n in found.rig.names if n in centres]
    if len(names) < 3:
        raise InputError(f"centres: three cameras or more must be known, here are {len(names)}")
    scale, turn, move = similarity(
        np.array([found.rig[n].centre for n in names]), np.array([centres[n] for n in names])
    )
    return moved(found, scale, turn, move, units)


def moved(found: FromTracks, scale: float, turn: Array, move: Array, units: str) -> FromTracks:
    """Return the same after ``X -> scale turn X + move``.

    Parameters
    ----------
    found : cameras and path.
    scale : of lengths.
    turn : (3, 3) rotation.
    move : (3,) shift.
    units : of the new world.
    """

    def camera(c: Camera) -> Camera:
        R = c.R @ turn.T
        return replace(c, R=R, t=-R @ (scale * turn @ c.centre + move))

    rig = CameraRig(tuple(camera(c) for c in found.rig), units)
    return replace(found, rig=rig, path=scale * found.path @ turn.T + move)
