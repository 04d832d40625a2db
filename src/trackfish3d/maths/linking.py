"""Points of successive frames to tracks: by nearest neighbour, and by a constant-velocity Kalman filter.

Both take the points of all frames sorted by frame and return the track of each. A track lives for ``max_age`` frames
without a point. `groups_to_tracks` then makes the tracks, with the detections behind every point.
"""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..core.compiled import KERNEL
from ..maths.assignment import assign
from ..maths.kalman import MotionNoise, predict, update

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def link_nearest(frame: ArrayLike, position: ArrayLike, gate: float, max_age: int) -> Ints:
    """Link points to the nearest last point of a living track, nearest pairs first.

    Parameters
    ----------
    frame : (N,) ascending.
    position : (N, 3) world units.
    gate : largest distance of a link, world units, whatever the time since the last point.
    max_age : frames a track may go without a point.

    Returns
    -------
    (N,) track of each point, numbered from 0 by first appearance.
    """
    frames = np.ascontiguousarray(frame, np.int64)
    points = np.ascontiguousarray(position, np.float64).reshape(-1, 3)
    return np.asarray(_nearest(frames, _offsets(frames), points, float(gate), int(max_age)))


def link_kalman(
    frame: ArrayLike,
    position: ArrayLike,
    noise: MotionNoise,
    gate: float,
    max_age: int,
    covariance: ArrayLike | None = None,
) -> Ints:
    """Link points to predicted positions, the assignment of least total distance among the largest ones.

    Parameters
    ----------
    frame : (N,) ascending.
    position : (N, 3) world units.
    noise : of motion and measurement.
    gate : largest distance of a point from a track's predicted position, world units.
    max_age : frames a track may go without a point.
    covariance : (N, 3, 3) of the positions; without it, the measurement noise of `noise` is used for all.

    Returns
    -------
    (N,) track of each point, numbered from 0 by first appearance.
    """
    frames = np.ascontiguousarray(frame, np.int64)
    points = np.ascontiguousarray(position, np.float64).reshape(-1, 3)
    if covariance is None:
        R = np.broadcast_to(noise.measurement**2 * np.eye(3), (len(points), 3, 3))
    else:
        R = np.asarray(covariance, np.float64)
    return np.asarray(
        _kalman(
            frames,
            _offsets(frames),
            points,
            np.ascontiguousarray(R),
            noise.acceleration**2,
            noise.velocity**2,
            float(gate),
            int(max_age),
        )
    )


def _offsets(frame: Ints) -> Ints:
    starts = np.flatnonzero(np.diff(frame, prepend=frame[:1] - 1))
    return np.append(starts, len(frame)).astype(np.int64)


@njit(cache=True)
def _living(alive, last, now, max_age):  # type: ignore[no-untyped-def]
    """Keep the tracks of ``alive`` that were seen within max_age + 1 frames."""
    kept = 0
    for k in range(alive.shape[0]):
        if now - last[alive[k]] <= max_age + 1:
            alive[kept] = alive[k]
            kept += 1
    return alive[:kept]


@njit(cache=True)
def _grown(alive, born, first):  # type: ignore[no-untyped-def]
    out = np.empty(alive.shape[0] + born, np.int64)
    out[: alive.shape[0]] = alive
    for k in range(born):
        out[alive.shape[0] + k] = first + k
    return out


@njit(cache=True)
def _nearest(frame, offsets, position, gate, max_age):  # type: ignore[no-untyped-def]
    n = frame.shape[0]
    track = np.full(n, -1, np.int64)
    point = np.empty(n, np.int64)  # last point of each track
    last = np.empty(n, np.int64)
    tracks = 0
    alive = np.empty(0, np.int64)
    for f in range(offsets.shape[0] - 1):
        begin, end = offsets[f], offsets[f + 1]
        now = frame[begin]
        alive = _living(alive, last, now, max_age)
        distance = np.empty((alive.shape[0], end - begin))
        for a in range(alive.shape[0]):
            for b in range(end - begin):
                distance[a, b] = np.sqrt(np.sum((position[point[alive[a]]] - position[begin + b]) ** 2))
        taken = np.zeros(alive.shape[0], np.bool_)
        for flat in np.argsort(distance.ravel(), kind="mergesort"):
            a, b = flat // (end - begin), flat % (end - begin)
            if not distance[a, b] <= gate:
                break
            if not taken[a] and track[begin + b] < 0:
                taken[a] = True
                track[begin + b] = alive[a]
        born = 0
        for b in range(begin, end):
            if track[b] < 0:
                track[b] = tracks + born
                born += 1
            point[track[b]] = b
            last[track[b]] = now
        alive = _grown(alive, born, tracks)
        tracks += born
    return track


@njit(**KERNEL)
def _kalman(frame, offsets, position, R, q, velocity_variance, gate, max_age):  # type: ignore[no-untyped-def]
    n = frame.shape[0]
    track = np.full(n, -1, np.int64)
    state = np.zeros((n, 6))
    P = np.zeros((n, 6, 6))
    last = np.empty(n, np.int64)
    tracks = 0
    alive = np.empty(0, np.int64)
    for f in range(offsets.shape[0] - 1):
        begin, end = offsets[f], offsets[f + 1]
        now = frame[begin]
        alive = _living(alive, last, now, max_age)
        m = alive.shape[0]
        ahead = np.empty((m, 6))
        ahead_P = np.empty((m, 6, 6))
        dt = np.empty(m)
        for a in range(m):
            ahead[a] = state[alive[a]]
            ahead_P[a] = P[alive[a]]
            dt[a] = now - last[alive[a]]
        predict(ahead, ahead_P, dt, q)
        cost = np.full((m, end - begin), np.inf)
        for a in range(m):
            for b in range(end - begin):
                d = np.sqrt(np.sum((ahead[a, :3] - position[begin + b]) ** 2))
                if d <= gate:
                    cost[a, b] = d
        chosen = assign(cost)
        for a in range(m):
            if chosen[a] >= 0:
                b = begin + chosen[a]
                update(ahead[a : a + 1], ahead_P[a : a + 1], position[b : b + 1], R[b : b + 1])
                track[b] = alive[a]
                state[alive[a]] = ahead[a]
                P[alive[a]] = ahead_P[a]
                last[alive[a]] = now
        born = 0
        for b in range(begin, end):
            if track[b] < 0:
                new = tracks + born
                born += 1
                track[b] = new
                state[new, :3] = position[b]
                P[new, :3, :3] = R[b]
                for i in range(3, 6):
                    P[new, i, i] = velocity_variance
                last[new] = now
        alive = _grown(alive, born, tracks)
        tracks += born
    return track
