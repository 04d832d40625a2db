"""Clocks to the frame in crowds: pieces of paths in two pictures that keep their distance show one animal.

Where animals are many and cameras a little off, the nearest ray of another view is anybody's. But seen by two cameras
at the right moments, rays of one animal miss each other by the same small amount for many frames on end, whatever the
cameras' poses are off by, and those of two animals do not. What is left over of these amounts, when a smooth function
of the place in the pictures is taken off as the error of poses, grows with the error of the clocks: animals of other
velocity are elsewhere by other amounts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..maths.kalman import MotionNoise
from ..maths.linking import link_kalman
from ..recordings import Detections

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_WINDOWS = 10  # looked at
_FRAMES = 40  # of each
_LEAST = 20  # frames that two pieces of paths must share
_EVERY = 5  # frames, of which one is looked at
_ENOUGH = 60  # such moments of pairs of pieces that tell
_ACCELERATION = 0.2  # of the usual step from frame to frame
_STEP = 4.0  # usual steps from frame to frame that are one animal's, at most
_PARALLEL = 0.02  # sine of the angle of two rays below which their distance says nothing
_KEPT = 0.4  # quantile: most pairs must be right, not all


@dataclass(frozen=True, eq=False)
class Chains:
    """Pieces of paths in one picture, over the frames of a window and the widest shift before and after it.

    ``row`` (P, T) : detection of each piece in each frame, -1 for none.
    """

    row: Ints


def clock_costs(
    rig: CameraRig, detections: Detections, a: int, b: int, shifts: Ints, windows: list[list[Chains]], rays: Array
) -> Array:
    """How badly two views agree at each shift (S,) of the second, world units; NaN where too little tells.

    Parameters
    ----------
    rig : the cameras.
    detections : what they saw.
    a, b : the two cameras.
    shifts : (S,) frames by which the second is later.
    windows : of each window the chains of each camera, see `chains_of`.
    rays : (N, 6) origin and direction of each detection.
    """
    out = np.full(len(shifts), np.nan)
    sizes = np.array([rig[c].size for c in (a, b)], np.float64)
    place = np.column_stack([detections.u, detections.v])
    for k, shift in enumerate(shifts.tolist()):
        found = [_matched(w[a].row, w[b].row, shift, rays) for w in windows]
        first, second, gap = (np.concatenate(x) for x in zip(*found, strict=True))
        if len(gap) < _ENOUGH:
            continue
        where = np.column_stack([place[first] / sizes[0], place[second] / sizes[1]]) - 0.5
        out[k] = np.quantile(_left_over(np.column_stack([np.ones(len(gap)), where]), gap), _KEPT)
    return out


def chains_of(rig: CameraRig, detections: Detections, widest: int) -> list[list[Chains]]:
    """Link detections of each picture in windows spread over the recording.

    Parameters
    ----------
    rig : the cameras.
    detections : with frame numbers as the cameras counted them.
    widest : frames that are needed before and after each window.
    """
    frame = detections.frame
    begins = np.linspace(frame.min(), max(frame.max() - _FRAMES + 1, frame.min()), _WINDOWS).round().astype(np.int64)
    out = []
    for begin in np.unique(begins).tolist():
        low, high = np.searchsorted(frame, [begin - widest, begin + _FRAMES + widest])
        rows = np.arange(low, high)
        cameras = [rows[detections.camera[rows] == c] for c in range(len(rig))]
        out.append([_linked(detections, mine, begin - widest, _FRAMES + 2 * widest) for mine in cameras])
    return out


def rays_of(rig: CameraRig, detections: Detections) -> Array:
    """(N, 6) origin and direction of the ray of each detection; zeros where there is none.

    Parameters
    ----------
    rig : the cameras.
    detections : what they saw.
    """
    rays = np.full((len(detections), 6), np.nan)
    for c, camera in enumerate(rig):
        mine = detections.camera == c
        cast = camera.rays(detections.centroids[mine])
        rays[mine] = np.column_stack([cast.origin, cast.direction])
    return np.asarray(np.nan_to_num(rays))  # a ray without a direction is parallel to all others


def _linked(detections: Detections, rows: Ints, first: int, count: int) -> Chains:
    frame = detections.frame[rows] - first
    point = np.column_stack([detections.u[rows], detections.v[rows], np.zeros(len(rows))])
    if len(rows) < 2:
        return Chains(np.full((0, count), -1, np.int64))
    step = max(_usual_step(frame, point), 1.0)
    track = link_kalman(frame, point, MotionNoise(_ACCELERATION * step, 1.0, step), _STEP * step, 2)
    name, number = np.unique(track, return_inverse=True)
    row = np.full((len(name), count), -1, np.int64)
    row[number.ravel(), frame] = rows
    return Chains(row[(row >= 0).sum(1) >= _LEAST])


def _usual_step(frame: Ints, point: Array) -> float:
    """Median distance, px, from a point to the nearest of the next frame."""
    steps = []
    for f in np.unique(frame)[::4].tolist():
        here, there = point[frame == f], point[frame == f + 1]
        if len(here) and len(there):
            steps.append(np.linalg.norm(here[:, None] - there[None], axis=-1).min(1))
    return float(np.median(np.concatenate(steps))) if steps else 0.0


def _matched(one: Ints, other: Ints, shift: int, rays: Array) -> tuple[Ints, Ints, Array]:
    """Pieces that are each other's most constant company: detections (M,) of both at some moments, and their gaps."""
    margin = (one.shape[1] - _FRAMES) // 2
    a, b = one[:, margin : margin + _FRAMES], other[:, margin + shift : margin + shift + _FRAMES]
    gap, good = _gaps(a, b, rays)
    i, j = _mutual(gap, good, near=False)
    pair, moment = np.nonzero(good[i, j][:, ::_EVERY])
    moment = moment * _EVERY
    return a[i[pair], moment], b[j[pair], moment], gap[i[pair], j[pair], moment]


def company(one: Ints, other: Ints, rays: Array, near: bool) -> tuple[Ints, Ints]:
    """Pieces (M,), (M,) of paths of two views, over the same frames, that are each other's best company.

    Parameters
    ----------
    one : (P, T) detection of each piece in each frame, -1 for none.
    other : (Q, T) of the other view.
    rays : (N, 6) origin and direction of each detection.
    near : whether rays must meet, or only keep their distance.
    """
    return _mutual(*_gaps(one, other, rays), near)


def _gaps(a: Ints, b: Ints, rays: Array) -> tuple[Array, NDArray[np.bool_]]:
    """(P, Q, T) signed distances of the rays of each piece from those of each other one, and where there are any."""
    both = (a[:, None] >= 0) & (b[None] >= 0)
    ray, far = rays[np.maximum(a, 0)][:, None], rays[np.maximum(b, 0)][None]
    normal = np.cross(ray[..., 3:], far[..., 3:])
    length = np.linalg.norm(normal, axis=-1)
    good = both & (length > _PARALLEL)
    gap = ((far[..., :3] - ray[..., :3]) * normal).sum(-1) / np.maximum(length, _PARALLEL)
    return np.where(good, gap, 0.0), good


def _mutual(gap: Array, good: NDArray[np.bool_], near: bool) -> tuple[Ints, Ints]:
    """Pieces (M,), (M,) that are each other's best."""
    if not good.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    count = good.sum(2)
    mean = 0.0 if near else gap.sum(2, keepdims=True) / np.maximum(count, 1)[..., None]
    spread = np.sqrt((np.where(good, gap - mean, 0.0) ** 2).sum(2) / np.maximum(count, 1))
    spread = np.where(count >= _LEAST, spread, np.inf)
    best = spread.argmin(1)
    i = np.arange(len(gap))
    mutual = np.isfinite(spread[i, best]) & (spread.argmin(0)[best] == i)
    return i[mutual], best[mutual]


def _left_over(design: Array, value: Array) -> Array:
    """Distance (N,) of values from the linear function (N, K) of least sum of distances."""
    weight = np.ones(len(value))
    left = np.abs(value)
    for _ in range(15):
        root = np.sqrt(weight)[:, None]
        fit = np.linalg.lstsq(root * design, root[:, 0] * value, rcond=None)[0]
        left = np.abs(value - design @ fit)
        weight = 1 / np.maximum(left, 0.1 * float(np.median(left)) + 1e-12)
    return left
