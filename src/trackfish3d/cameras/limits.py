"""Lenses and places that no camera has: calibrations that were damaged, or fits that ran away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.reading.limits import FARTHEST
from .interface import Interface

Array = NDArray[np.float64]
LONGEST_LENS, SHORTEST_LENS = 1e6, 1e-3  # focal length in image sizes
FARTHEST_CENTRE = 1e6  # principal point, in image sizes
STRONGEST = 1e6  # a term of the distortion at the corner of the image, in shares of the radius
_POWERS = (2, 4, 1, 1, 6, 2, 4, 6, 2, 4, 2, 4)  # of the radius, for k1 k2 p1 p2 k3 ... k6 s1 ... s4
_FISHEYE_POWERS = (2, 4, 6, 8)


def refuse_impossible(
    name: str,
    size: tuple[int, int],
    K: Array,
    distortion: Array,
    fisheye: bool,
    t: Array,
    interfaces: Sequence[Interface],
) -> None:
    """Raise an `InputError` that says what no camera has; parameters are those of `Camera`, checked for shape.

    Parameters
    ----------
    name : of the camera.
    size : image (width, height) in px.
    K : (3, 3) intrinsic matrix, px.
    distortion : coefficients in OpenCV's order, each judged by what it does at the corner of the image.
    fisheye : whether they are of the fisheye model.
    t : (3,) translation, world units.
    interfaces : refracting planes.
    """
    side = float(max(size))
    if max(K[0, 0], K[1, 1]) > LONGEST_LENS * side or min(K[0, 0], K[1, 1]) < SHORTEST_LENS * side:
        raise InputError(f"camera {name}: focal length {K[0, 0]:g}, {K[1, 1]:g} px with an image of {side:g} px")
    if np.abs(K[[0, 0, 1], [1, 2, 2]]).max() > FARTHEST_CENTRE * side:
        raise InputError(f"camera {name}: its principal point or skew is beyond {FARTHEST_CENTRE:g} images")
    corner = np.hypot(*np.maximum(np.abs(K[:2, 2]), np.abs(np.array(size) - K[:2, 2]))) / min(K[0, 0], K[1, 1])
    radius = float(np.clip(corner, 0.1, np.pi / 2 if fisheye else 10.0))
    powers = np.array(_FISHEYE_POWERS if fisheye else _POWERS, dtype=np.float64)
    terms = np.abs(distortion[: len(powers)]) * radius ** powers[: len(distortion)]
    if len(terms) and terms.max() > STRONGEST:
        k = int(np.argmax(terms))
        raise InputError(f"camera {name}: distortion coefficient {k + 1} is {distortion[k]:g}: no lens is so strong")
    if np.abs(distortion[len(powers) :]).max(initial=0.0) > np.pi / 2:
        raise InputError(f"camera {name}: its sensor is tilted by more than 90 degrees")
    places = [t, *(face.point for face in interfaces)]
    if max(float(np.abs(p).max()) for p in places) > FARTHEST:
        raise InputError(f"camera {name}: it, or its water, is beyond {FARTHEST:g} from the origin")
