"""Tracklets: detections of one view that are clearly one animal, from frame to frame.

A detection goes on a tracklet where each is the nearest of the other and no other comes near: at any doubt the tracklet
ends and another begins. They are short in a crowd, and hardly ever of two animals.
"""

import math

import numpy as np

from ....core.compiled import inner, kernel
from ..arguments import Array, Columns, Ints

_REACH = 0.5  # of a detection's size: farthest from where it is expected
_RIVAL = 1.5  # times the distance of the nearest, and ...
_APART = 0.1  # ... so much of a size more: nearer than that another leaves a doubt
_SIZES = 0.4  # largest change of the logarithm of the size; merged and cut detections end a tracklet
_TURN = 0.5  # of the newest way that the expected one takes over


@kernel
def link_views(columns: Columns, offsets: Ints, frames: Ints, views: int) -> Ints:
    """(N,) tracklet of each detection, numbered in the order of their beginnings.

    Parameters
    ----------
    columns : detections of all frames, sorted by camera within each.
    offsets : (F + 1,) of the detections of each frame.
    frames : (F,) their numbers.
    views : number of cameras.
    """
    n = columns.u.shape[0]
    label, way = np.empty(n, np.int64), np.zeros((n, 2))
    for d in range(n):
        label[d] = -1
    count = 0
    before = np.zeros(views + 1, np.int64)
    now = np.zeros(views + 1, np.int64)
    for f in range(offsets.shape[0] - 1):
        _bounds(columns.camera, offsets[f], offsets[f + 1], now)
        if f > 0:
            gap = float(frames[f] - frames[f - 1])
            for c in range(views):
                _link(columns, before[c], before[c + 1], now[c], now[c + 1], gap, label, way)
        for d in range(offsets[f], offsets[f + 1]):
            if label[d] < 0:
                label[d] = count
                count += 1
        for c in range(views + 1):
            before[c] = now[c]
    return label


@inner
def _bounds(camera: Ints, low: int, high: int, out: Ints) -> None:
    """Fill out (C + 1,) with the first detection of each camera in a frame."""
    d = low
    for c in range(out.shape[0] - 1):
        out[c] = d
        while d < high and camera[d] == c:
            d += 1
    out[out.shape[0] - 1] = d


@inner
def _link(columns: Columns, low: int, high: int, start: int, end: int, gap: float, label: Ints, way: Array) -> None:
    """Go on the tracklets of detections low..high with those of the next frame, start..end."""
    m, n = high - low, end - start
    if m == 0 or n == 0:
        return
    far = np.empty((m, n))
    for i in range(m):
        a = low + i
        size = math.exp(columns.log_size[a])
        for j in range(n):
            b = start + j
            du = columns.u[b] - columns.u[a] - gap * way[a, 0]
            dv = columns.v[b] - columns.v[a] - gap * way[a, 1]
            far[i, j] = math.sqrt(du * du + dv * dv) / size
    for i in range(m):
        j = _successor(columns, far, i, low, start)
        if j < 0:
            continue
        a, b = low + i, start + j
        label[b] = label[a]
        share = _TURN if way[a, 0] != 0.0 or way[a, 1] != 0.0 else 1.0
        way[b, 0] = way[a, 0] + share * ((columns.u[b] - columns.u[a]) / gap - way[a, 0])
        way[b, 1] = way[a, 1] + share * ((columns.v[b] - columns.v[a]) / gap - way[a, 1])


@inner
def _successor(columns: Columns, far: Array, i: int, low: int, start: int) -> int:
    """Return the detection that clearly goes on detection i, -1 for none."""
    m, n = far.shape
    best = 0
    for j in range(1, n):
        if far[i, j] < far[i, best]:
            best = j
    nearest = far[i, best]
    if nearest > _REACH or abs(columns.log_size[low + i] - columns.log_size[start + best]) > _SIZES:
        return -1
    clear = _RIVAL * nearest + _APART
    for j in range(n):
        if j != best and far[i, j] <= clear:
            return -1
    for k in range(m):
        if k != i and far[k, best] <= clear:
            return -1
    return best
