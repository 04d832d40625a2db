"""The plane on which ReST compares places: people have a ground, fish get the plane that parts them best."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....cameras import CameraRig
from ....recordings.detections import Detections
from .labelled import pair_auc

Array = NDArray[np.float64]
NORMALS = 100  # planes that are tried
POINTS = 60  # in the water, to try them on
WATER = np.array([0.2, 0.2, 0.1])  # half of its sides, in units of the cameras' distance: tanks are flat


def plane_points(rig: CameraRig, detections: Detections, normal: Array | None = None) -> Array:
    """Where the ray of each detection meets the plane (N, 2), in units of the cameras' mean distance.

    The plane goes through the point nearest to all central rays, and of all planes through it is the one on which
    random points of the water are told apart best: cameras that look along a plane say nothing there. Only the
    calibration is asked. Rays that run along it are cut off at one distance.

    Parameters
    ----------
    rig : the cameras.
    detections : of the rig; their centroids are what is placed.
    normal : (3,) of another plane through that point.
    """
    middle, centres = _middle(rig)
    scale = float(np.linalg.norm(centres - middle, axis=1).mean())
    if normal is None:
        normal = np.array(_normal(tuple(map(tuple, ((centres - middle) / scale).tolist()))))
    along = np.linalg.svd(normal[None])[2][1:]
    out = np.zeros((len(detections), 2))
    for c, camera in enumerate(rig):
        mine = np.flatnonzero(detections.camera == c)
        rays = camera.rays(detections.centroids[mine])
        out[mine] = _met((rays.origin - middle) / scale, rays.direction, normal) @ along.T
    return np.nan_to_num(out)


def _middle(rig: CameraRig) -> tuple[Array, Array]:
    """Return the point nearest to all central rays, and where these begin (C, 3)."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    centres = []
    for camera in rig:
        ray = camera.rays(np.array([[camera.size[0] / 2, camera.size[1] / 2]]))
        across = np.eye(3) - np.outer(ray.direction[0], ray.direction[0])
        A += across
        b += across @ ray.origin[0]
        centres.append(ray.origin[0])
    middle = np.linalg.lstsq(A, b, rcond=None)[0]
    return np.asarray(middle, np.float64), np.stack(centres)


def _met(origin: Array, direction: Array, normal: Array) -> Array:
    """Where rays meet the plane through zero (N, 3), at most 2 away from where they begin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = -(origin @ normal) / (direction @ normal)
    reach = np.where(np.isfinite(reach) & (reach > 0), np.minimum(reach, 2.0), 1.0)
    return np.asarray(origin + reach[:, None] * direction)


@lru_cache(maxsize=64)
def _normal(seen_from: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """Find the normal of the plane on which random points of the water are told apart best."""
    centres = np.array(seen_from)
    points = WATER * np.random.default_rng(0).uniform(-1, 1, (POINTS, 3))
    away = points[None] - centres[:, None]
    direction = away / np.linalg.norm(away, axis=-1, keepdims=True)
    origin = np.broadcast_to(centres[:, None], direction.shape)
    same = np.eye(POINTS, dtype=bool)
    first, second = np.triu_indices(len(centres), 1)

    def told_apart(normal: Array) -> float:
        place = np.stack([_met(o, d, normal) for o, d in zip(origin, direction, strict=True)])
        apart = np.linalg.norm(place[first][:, :, None] - place[second][:, None], axis=-1)
        return pair_auc(-apart.ravel(), np.broadcast_to(same, apart.shape).ravel())

    return tuple(max(half_sphere(NORMALS), key=told_apart).tolist())


def half_sphere(n: int) -> list[Array]:
    """Directions (3,) spread evenly over the upper half of a sphere, along a spiral."""
    height = (np.arange(n) + 0.5) / n
    turn = np.pi * (1 + np.sqrt(5)) * (np.arange(n) + 0.5)
    wide = np.sqrt(1 - height**2)
    return list(np.column_stack([wide * np.cos(turn), wide * np.sin(turn), height]))
