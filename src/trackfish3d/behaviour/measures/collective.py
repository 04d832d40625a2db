"""How a group moves: free functions on positions and velocities (T, N, 3) of T frames of N animals.

A missing animal is NaN and counts for nothing; a frame with too few animals gives NaN. Nothing here depends on which
way the world's axes point.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .group_kernels import hulls, neighbours
from .kinematics import heading, present, speed

Array = NDArray[np.float64]


def polarisation(velocity: ArrayLike) -> Array:
    """(T,) length of the mean heading: 1 if all swim the same way, near 0 if each its own. Needs two animals."""
    ahead = heading(velocity)
    return np.asarray(np.linalg.norm(_mean(ahead, least=2), axis=-1))


def milling(position: ArrayLike, velocity: ArrayLike) -> Array:
    """(T,) length of the mean angular momentum of unit vectors about the centroid: 1 if all circle it one way.

    The rotation order parameter of Tunstrøm et al. (2013), in 3D. Needs two animals; one at the very centroid has no
    direction from it and counts for nothing.
    """
    x, ahead = np.asarray(position, dtype=np.float64), heading(velocity)
    known = present(x) & present(ahead)
    x = np.where(known[..., None], x, np.nan)
    outward = heading(x - _mean(x, least=2)[:, None])
    return np.asarray(np.linalg.norm(_mean(np.cross(outward, ahead), least=2), axis=-1))


def centroid_world(position: ArrayLike) -> Array:
    """(T, 3) mean position, world; NaN where there is nobody."""
    return _mean(np.asarray(position, dtype=np.float64), least=1)


def centroid_distance_world(position: ArrayLike) -> Array:
    """(T, N) distance of each animal from the centroid of all, world; NaN where it is alone."""
    x = np.asarray(position, dtype=np.float64)
    return speed(x - _mean(x, least=2)[:, None])


def spread_world(position: ArrayLike) -> Array:
    """(T,) root mean square distance from the centroid (radius of gyration), world. Needs two animals."""
    return np.sqrt(_mean(centroid_distance_world(position)[..., None] ** 2, least=2)[:, 0])


def principal_lengths_world(position: ArrayLike) -> Array:
    """(T, 3) standard deviations along the group's principal axes, longest first, world. Needs two animals.

    The shape of the group: equal lengths are a ball, one short is a disc, two short are a line.
    """
    x = np.asarray(position, dtype=np.float64)
    known = present(x)
    offset = np.where(known[..., None], x - _mean(x, least=2)[:, None], 0.0)
    count = known.sum(1)
    good = count >= 2
    out = np.full((len(x), 3), np.nan)
    tensor = np.einsum("tni,tnj->tij", offset[good], offset[good]) / count[good, None, None]
    out[good] = np.sqrt(np.maximum(np.linalg.eigvalsh(tensor)[:, ::-1], 0.0))
    return out


def hull_volume_world3(position: ArrayLike) -> Array:
    """(T,) volume of the convex hull, world^3: 0 for animals in one plane, NaN for fewer than four."""
    return np.asarray(hulls(np.ascontiguousarray(position, dtype=np.float64)))


def density_per_world3(position: ArrayLike) -> Array:
    """(T,) animals per volume of their convex hull, 1 / world^3; NaN where the hull has none.

    Few animals stand on their hull, not in it: compare groups of like size only.
    """
    volume = hull_volume_world3(position)
    count = present(position).sum(1)
    return np.asarray(np.divide(count, volume, out=np.full(len(volume), np.nan), where=volume > 0))


def nearest_neighbour_world(position: ArrayLike) -> Array:
    """(T, N) distance to the nearest other animal, world; NaN where an animal is missing or alone."""
    x = np.ascontiguousarray(position, dtype=np.float64)
    return np.asarray(neighbours(x, np.full_like(x, np.nan))[..., 0])


def distance_to_others_world(position: ArrayLike) -> Array:
    """(T, N) median distance to the other animals, world: how far apart from the group one keeps."""
    x = np.ascontiguousarray(position, dtype=np.float64)
    return np.asarray(neighbours(x, np.full_like(x, np.nan))[..., 1])


def local_alignment(position: ArrayLike, velocity: ArrayLike) -> Array:
    """(T, N) mean cosine between an animal's heading and those of its three nearest neighbours, -1 to 1."""
    x = np.ascontiguousarray(position, dtype=np.float64)
    return np.asarray(neighbours(x, np.ascontiguousarray(heading(velocity)))[..., 2])


def _mean(values: Array, least: int) -> Array:
    """(T, D) mean over the animals of (T, N, D) that are there; NaN where there are fewer than ``least``."""
    known = present(values)
    count = known.sum(1)
    total = np.einsum("tnd->td", np.where(known[..., None], values, 0.0))
    full = np.broadcast_to((count >= max(least, 1))[:, None], total.shape)
    return np.asarray(np.divide(total, count[:, None], out=np.full_like(total, np.nan), where=full))
