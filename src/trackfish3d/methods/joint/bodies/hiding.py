"""What hides what: how much of each body a view still sees past the bodies that are nearer to it.

A body's outline in a view is an ellipse. Points spread over it are tried against the ellipses of all nearer bodies; the
share that is left is the visible share, and where the leftmost of them is tells how far its box is cut from the left.
"""

import numpy as np

from ....core.compiled import inner, kernel
from ..arguments import Array, Flags, Ints, Predicted, Rig

_ACROSS = 11  # points across an outline
_GRAZED = 0.06  # of an extent: a side that is cut by less is not


@kernel
def hide(rig: Rig, tracks: Predicted, who: Ints, shown: Flags, share: Array) -> None:
    """Fill the visible share (T, C) of some tracks, and which of their sides nearer ones of them cover.

    Parameters
    ----------
    rig : the cameras.
    tracks : with pixel, seen, half; ``hidden`` is filled.
    who : (K,) tracks of one moment.
    shown : (T,) tracks that may stand before others.
    share : (T, C), 1 where nothing is nearer or extents are unknown.
    """
    depth, before = np.empty(who.shape[0]), np.empty(who.shape[0], np.int64)
    for c in range(tracks.seen.shape[1]):
        for i in range(who.shape[0]):
            depth[i] = 0.0
            for k in range(3):
                depth[i] += (tracks.state[who[i], k] - rig.centres[c, k]) ** 2
        for i in range(who.shape[0]):
            t = who[i]
            share[t, c] = 1.0
            for k in range(4):
                tracks.hidden[t, c, k] = False
            if not tracks.seen[t, c] or tracks.half[t, c, 0] <= 0.0:
                continue
            count = 0
            for j in range(who.shape[0]):
                if depth[j] < depth[i] and shown[who[j]] and _overlap(tracks, who[j], t, c):
                    before[count] = who[j]
                    count += 1
            if count:
                share[t, c] = _left(tracks, t, c, before[:count])


@kernel
def hide_rows(rig: Rig, tracks: Predicted, order: Ints, frame: Ints, share: Array) -> None:
    """Do the same for rows of tracks of many frames (N,); ``order`` (N,) sorts them by frame."""
    shown = np.ones(frame.shape[0], np.bool_)
    begin = 0
    while begin < order.shape[0]:
        end = begin
        while end < order.shape[0] and frame[order[end]] == frame[order[begin]]:
            end += 1
        hide(rig, tracks, order[begin:end], shown, share)
        begin = end


@inner
def _overlap(tracks: Predicted, s: int, t: int, c: int) -> bool:
    """Whether the boxes of two tracks meet."""
    if not tracks.seen[s, c] or tracks.half[s, c, 0] <= 0.0:
        return False
    one, other = tracks.half[s, c], tracks.half[t, c]
    apart_u = abs(tracks.pixel[s, c, 0] - tracks.pixel[t, c, 0])
    apart_v = abs(tracks.pixel[s, c, 1] - tracks.pixel[t, c, 1])
    return bool(apart_u < one[0] + other[0] and apart_v < one[1] + other[1])


@inner
def _left(tracks: Predicted, t: int, c: int, before: Ints) -> float:
    """Visible share of one body in one view past those before it; marks its hidden sides."""
    a, b = tracks.half[t, c, 0], tracks.half[t, c, 1]
    free = np.ones((_ACROSS, _ACROSS), np.bool_)
    for s in before:
        du = tracks.pixel[t, c, 0] - tracks.pixel[s, c, 0]
        dv = tracks.pixel[t, c, 1] - tracks.pixel[s, c, 1]
        wide, high = tracks.half[s, c, 0], tracks.half[s, c, 1]
        for i in range(_ACROSS):
            x = (du + a * (2.0 * i / (_ACROSS - 1) - 1.0)) / wide
            for j in range(_ACROSS):
                y = (dv + b * (2.0 * j / (_ACROSS - 1) - 1.0)) / high
                if x * x + y * y < 1.0:
                    free[i, j] = False
    total = left = 0
    low_x = low_y = 1.0
    high_x = high_y = -1.0
    for i in range(_ACROSS):
        x = 2.0 * i / (_ACROSS - 1) - 1.0
        for j in range(_ACROSS):
            y = 2.0 * j / (_ACROSS - 1) - 1.0
            if x * x + y * y <= 1.0 + 1e-9:
                total += 1
                if free[i, j]:
                    left += 1
                    low_x, high_x = min(low_x, x), max(high_x, x)
                    low_y, high_y = min(low_y, y), max(high_y, y)
    hidden = tracks.hidden[t, c]
    hidden[0], hidden[1] = low_x > -1.0 + 2.0 * _GRAZED, low_y > -1.0 + 2.0 * _GRAZED
    hidden[2], hidden[3] = high_x < 1.0 - 2.0 * _GRAZED, high_y < 1.0 - 2.0 * _GRAZED
    return left / total
