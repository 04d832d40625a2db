"""Paths of moving points as splines: where their knots are, and control points that go through what is known."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from .kernels import Paths, bend_penalty, places, weights

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_SLOW = 0.3  # of the usual speed, below which a heading means little
_ROOM = 1.5  # spans beyond the first and last sight: clocks move while they are adjusted


def lay_paths(path: Ints, time: Array, position: Array, step: float, bend: float) -> Paths:
    """Splines through positions at times.

    Parameters
    ----------
    path : (N,) which path each row belongs to, 0 to K - 1, each with a row at least.
    time : (N,) on the common clock, frames.
    position : (N, 3) world units.
    step : frames between knots.
    bend : weight of the squared second differences of control points, against squared distances in world units.
    """
    count = int(path.max()) + 1
    first, last = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(first, path, time)
    np.maximum.at(last, path, time)
    begin = first - _ROOM * step
    spans = np.ceil((last - first) / step + 2 * _ROOM).astype(np.int64)
    base = np.concatenate([[0], np.cumsum(spans + 3)[:-1]])
    paths = Paths(np.zeros((int((spans + 3).sum()), 3)), begin, base, spans, float(step), 1.0)
    paths = paths._replace(control=_through(paths, path, time, position, bend))
    speed = np.linalg.norm(points_at(paths, path, time)[1], axis=1)
    return paths._replace(slow=max(_SLOW * float(np.median(speed)), 1e-300))


def _through(paths: Paths, path: Ints, time: Array, position: Array, bend: float) -> Array:
    n = len(paths.control)
    s = (time - paths.begin[path]) / paths.step
    span = np.clip(np.floor(s).astype(np.int64), 0, paths.spans[path] - 1)
    w, d = np.empty((4, len(s))), np.empty((4, len(s)))
    weights.py_func(s - span, w, d)
    first = paths.base[path] + span
    band, right = np.zeros((4, n)), np.zeros((n, 3))
    for j in range(4):
        np.add.at(right, first + j, w[j][:, None] * position)
        for k in range(j + 1):
            np.add.at(band[j - k], first + k, w[j] * w[k])
    whole = np.zeros((12, 3 * n))
    bend_penalty(paths, bend, whole, np.zeros(3 * n))
    band[:3] += whole[[0, 3, 6], ::3]
    band[0] += 1e-9 * band[0].max()
    return np.asarray(cho_solve_banded((cholesky_banded(band, lower=True), True), right))


def points_at(paths: Paths, path: Ints, time: Array) -> tuple[Array, Array]:
    """Points (N, 3) and velocities (N, 3), world units a frame, of paths at times.

    Parameters
    ----------
    paths : splines.
    path : (N,) which.
    time : (N,) on the common clock, frames.
    """
    X, V = places(paths, np.ascontiguousarray(path, np.int64), np.ascontiguousarray(time, np.float64))
    return X, V


def usual_acceleration(path: Ints, time: Array, position: Array, lag: int) -> float:
    """Root mean square of accelerations, world units a frame^2, largest tenth left out; rows sorted by path and time.

    Parameters
    ----------
    path : (N,) which path each row belongs to.
    time : (N,) frames.
    position : (N, 3) world units.
    lag : rows between the points of a difference: noise counts by the inverse of its square.
    """
    a, b, c = slice(None, -2 * lag), slice(lag, -lag), slice(2 * lag, None)
    if len(path) <= 2 * lag:
        return 0.0
    even = (path[a] == path[c]) & (time[c] - time[b] == time[b] - time[a]) & (time[c] > time[b])
    if not even.any():
        return 0.0
    bent = (position[c] - 2 * position[b] + position[a])[even] / ((time[c] - time[b])[even] ** 2)[:, None]
    size = np.sort((bent**2).sum(1))
    return float(np.sqrt(size[: max(int(0.9 * len(size)), 1)].mean()))
