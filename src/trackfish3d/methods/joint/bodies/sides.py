"""Boxes that others cut: the middle of a body from the sides of its box that nobody covers.

A detector of visible parts draws its box around what is left of an animal, and the middle of that box moves away from
whoever stands in front. Its sides do not move, except those that are covered. A side may be covered where another
detection of the view reaches over it, or where the image ends. Whether it was, the size of the box tells: with half a
body's width a, known to the deviation s, and sides lo and hi of an axis, the middle is

    (lo + hi) / 2  if nothing is cut, and hi - lo is 2 a,
    hi - a         if the low side is cut, and hi - lo is anything less,
    lo + a         if the high side is cut,
    between hi - a and lo + a if both are.

Each has its likelihood; what goes on to the filter is the mean and the variance of this mixture.
"""

import math

import numpy as np

from ....core.compiled import inner, kernel
from ..arguments import Array, Flags, Ints, Readings

LEFT, TOP, RIGHT, BOTTOM = 0, 1, 2, 3
HIDDEN_TIMES, OPEN_TIMES = (
    3.0,
    0.5,
)  # as often is a side cut that is touched, where a nearer body should hide it or not
_REACH = 0.08  # of a box's mean side: how far from a side another box may end and still cover it
_ALONG = 0.4  # of a side's length that another box must run along to cover it
_BORDER = 2.0  # px from the border of the image, where boxes end


@kernel
def may_be_covered(camera: Ints, offsets: Ints, box: Array, sizes: Array) -> Flags:
    """Return which sides (N, 4) of boxes another detection of the view, or the image's border, may cover.

    Parameters
    ----------
    camera : (N,) of each detection, ascending within a frame.
    offsets : (F + 1,) of the detections of each frame.
    box : (N, 4) left, top, right, bottom, px.
    sizes : (C, 2) of the images, px.
    """
    out = np.zeros((camera.shape[0], 4), np.bool_)
    for f in range(offsets.shape[0] - 1):
        for d in range(offsets[f], offsets[f + 1]):
            for k in range(2):
                out[d, k] = out[d, k] or box[d, k] < _BORDER
                out[d, 2 + k] = out[d, 2 + k] or box[d, 2 + k] > sizes[camera[d], k] - _BORDER
            e = d + 1
            while e < offsets[f + 1] and camera[e] == camera[d]:
                _reaches_over(box[d], box[e], out[d])
                _reaches_over(box[e], box[d], out[e])
                e += 1
    return out


@inner
def _reaches_over(box: Array, other: Array, out: Flags) -> None:
    """Mark sides (4,) of a box over which another reaches: beyond the side, to it or behind it, and along it."""
    size = np.empty(2)
    for k in range(2):
        size[k] = box[2 + k] - box[k]
    slack = _REACH * 0.5 * (size[0] + size[1])
    for k in range(2):
        m = 1 - k
        if min(box[2 + m], other[2 + m]) - max(box[m], other[m]) > _ALONG * size[m]:
            out[k] = out[k] or (other[k] < box[k] and other[2 + k] > box[k] - slack)
            out[2 + k] = out[2 + k] or (other[2 + k] > box[2 + k] and other[k] < box[2 + k] + slack)


@inner
def middle(lo: float, hi: float, mid: float, r: float, a: float, s: float, cut_lo: float, cut_hi: float) -> tuple:  # type: ignore[type-arg]
    """Mean and variance of a body's middle along an axis, px, given the sides of its box.

    Parameters
    ----------
    lo, hi : sides of the box.
    mid, r : middle as detected and its deviation, if nothing is cut.
    a, s : half the usual extent of this body along the axis, and its deviation.
    cut_lo, cut_hi : chances, before the size is looked at, that a side is covered.
    """
    if cut_lo + cut_hi <= 0.0 or a <= 0.0:
        return mid, r * r
    side = 2.0 * r * r  # variance of a side, if both err alone
    missing = 2.0 * a - (hi - lo)
    spread = math.sqrt(2.0 * side + 4.0 * s * s)
    z = missing / spread
    less = 0.5 * (1.0 + math.erf(z / math.sqrt(2.0))) / (2.0 * a)
    none = (1.0 - cut_lo) * (1.0 - cut_hi) * math.exp(-0.5 * z * z) / (spread * math.sqrt(2.0 * math.pi)) + 1e-12
    low, high, both = cut_lo * (1.0 - cut_hi) * less, cut_hi * (1.0 - cut_lo) * less, cut_lo * cut_hi * less
    total = none + low + high + both
    from_hi, from_lo, half = hi - a, lo + a, 0.5 * (lo + hi)
    mean = (none * mid + low * from_hi + high * from_lo + both * half) / total
    variance = none * (r * r + (mid - mean) ** 2) + low * (side + s * s + (from_hi - mean) ** 2)
    variance += high * (side + s * s + (from_lo - mean) ** 2)
    variance += both * (r * r + missing * missing / 12.0 + (half - mean) ** 2)
    return mean, variance / total


@inner
def cut_chance(touched: float, hidden: bool) -> float:
    """Chance that a side is covered: of one that another box touches, and of one that a nearer body should cover."""
    if hidden:
        return min(HIDDEN_TIMES * touched, 0.5)
    return OPEN_TIMES * touched


@inner
def seen_middle(readings: Readings, d: int, half: Array, hidden: Flags) -> tuple:  # type: ignore[type-arg]
    """Where detection d says that the middle of a body of these extents is: u, v and their deviations, px.

    half : (4,) half the width and height, px, and their deviations; 0 where nothing is known. hidden : (4,) sides that
    a nearer body covers.
    """
    u, v, r = readings.u[d], readings.v[d], readings.noise[d]
    if readings.cut.shape[0] == 0:
        return u, v, r, r
    cut, box = readings.cut[d], readings.box[d]
    left, top, right, bottom = (
        cut_chance(cut[0], hidden[0]),
        cut_chance(cut[1], hidden[1]),
        cut_chance(cut[2], hidden[2]),
        cut_chance(cut[3], hidden[3]),
    )
    if left + top + right + bottom <= 0.0:
        return u, v, r, r
    u, along = middle(box[0], box[2], u, r, half[0], half[2], left, right)
    v, across = middle(box[1], box[3], v, r, half[1], half[3], top, bottom)
    return u, v, math.sqrt(along), math.sqrt(across)
