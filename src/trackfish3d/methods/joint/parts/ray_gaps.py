"""How near the rays of the same part pass, in pairs of detections of two views."""

import math
from typing import NamedTuple

import numpy as np

from ....core.compiled import inner, kernel
from ....maths.order import doubled
from ..arguments import Array, Flags, Ints

_PARALLEL = 1e-3  # square of the sine of the angle below which two rays pass each other at any depth
_ROOM = 1024


class PartRays(NamedTuple):
    """Rays of detections: of their middles, origin and direction (N, 3); of their parts (N, K, 3); camera (N,).

    ``seen`` (N, K) : parts that are there. ``reach`` : how near the rays of two middles must pass, world units.
    """

    origin: Array
    direction: Array
    part_origin: Array
    part_direction: Array
    seen: Flags
    camera: Ints
    reach: float


@kernel
def meeting(rays: PartRays, begin: Ints, end: Ints, other_begin: Ints, other_end: Ints) -> tuple[Ints, Ints]:
    """Pairs of detections, of two views, whose middles' rays pass each other within reach.

    Parameters
    ----------
    rays : of all detections.
    begin, end : (F,) the detections that come first in a pair.
    other_begin, other_end : (F,) those that they are compared with; the same to compare within a frame.

    Returns
    -------
    first, second (P,) detections, the view of the first being the earlier one.
    """
    first, second = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    count, camera = 0, rays.camera
    for f in range(begin.shape[0]):
        for i in range(begin[f], end[f]):
            for j in range(other_begin[f], other_end[f]):
                if camera[j] <= camera[i]:
                    continue
                if not _gap(rays.origin, rays.direction, i, j) < rays.reach:
                    continue
                if count == first.shape[0]:
                    first, second = doubled(first), doubled(second)
                first[count], second[count] = i, j
                count += 1
    return first[:count], second[:count]


@kernel
def gaps(rays: PartRays, first: Ints, second: Ints, mirror: Ints) -> tuple[Array, Array]:
    """How near the rays of each part pass in pairs of detections.

    Parameters
    ----------
    rays : of all detections.
    first, second : (P,) detections of each pair.
    mirror : (K,) the other of each left/right pair of parts.

    Returns
    -------
    (P, K) world units, NaN where a view does not see the part; the same with left and right of the second exchanged.
    """
    parts = mirror.shape[0]
    straight, turned = np.empty((first.shape[0], parts)), np.empty((first.shape[0], parts))
    for p in range(first.shape[0]):
        i, j = first[p], second[p]
        for k in range(parts):
            straight[p, k] = _part_gap(rays, i, k, j, k)
            turned[p, k] = straight[p, k] if mirror[k] == k else _part_gap(rays, i, k, j, mirror[k])
    return straight, turned


@inner
def _part_gap(rays: PartRays, i: int, k: int, j: int, q: int) -> float:
    if not (rays.seen[i, k] and rays.seen[j, q]):
        return np.nan
    return _distance(
        rays.part_origin[i, k], rays.part_direction[i, k], rays.part_origin[j, q], rays.part_direction[j, q]
    )


@inner
def _gap(origin: Array, direction: Array, i: int, j: int) -> float:
    return _distance(origin[i], direction[i], origin[j], direction[j])


@inner
def _distance(o1: Array, d1: Array, o2: Array, d2: Array) -> float:
    """Distance of two rays where they are nearest; NaN where they are parallel, infinite behind a camera."""
    along = d1[0] * d2[0] + d1[1] * d2[1] + d1[2] * d2[2]
    sine = 1.0 - along * along
    if sine < _PARALLEL:
        return np.nan
    wx, wy, wz = o2[0] - o1[0], o2[1] - o1[1], o2[2] - o1[2]
    one, two = d1[0] * wx + d1[1] * wy + d1[2] * wz, d2[0] * wx + d2[1] * wy + d2[2] * wz
    s, t = (one - along * two) / sine, (along * one - two) / sine
    if s < 0.0 or t < 0.0:
        return np.inf
    gx, gy, gz = wx + t * d2[0] - s * d1[0], wy + t * d2[1] - s * d1[1], wz + t * d2[2] - s * d1[2]
    return math.sqrt(gx * gx + gy * gy + gz * gz)
