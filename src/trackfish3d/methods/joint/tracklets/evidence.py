"""Which tracklets of two views show one animal: whether their rays pass each other in all the frames that they share.

Two rays of a moment meet by chance wherever there are many animals, and before two cameras nothing else tells; those of
two animals do not stay together. The gap between two rays along their common normal has, for one animal, the variance
that the pixels' noise gives it, to first order exactly, through any lens and water: the rays a pixel away say how far a
ray moves at that distance.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ....core.compiled import inner, kernel
from ....maths.order import doubled
from ..arguments import Array, Columns, Ints, Lines
from ..kernels import TAIL_SCALE, TAIL_SHARE

ASTRAY = 0.03  # share of a tracklet's detections that are of another animal
FAR = 15.0  # deviations: rays that pass farther apart speak against a pair as much as any can
_SAMPLE = 20000  # gaps by which the usual one is known
_ROOM = 1024
_STEP = 0.5  # px to either side, of derivatives


class Spread(NamedTuple):
    """How rays (N,) change with their pixels: origin, direction (N, 2, 3), world units a px."""

    origin: Array
    direction: Array


class Gaps(NamedTuple):
    """Pairs (P,) of detections of a frame in two views: first, second, and the gap of their rays in deviations.

    ``deviation`` : (P,) of the gap, world units. ``usual`` : (S,) gaps of some of all pairs, near or not.
    """

    first: Ints
    second: Ints
    off: Array
    deviation: Array
    usual: Array


def spreads(rig: CameraRig, columns: Columns) -> Spread:
    """Differentiate the rays of all detections by their pixels."""
    n = len(columns.u)
    origin, direction = np.full((n, 2, 3), np.nan), np.full((n, 2, 3), np.nan)
    pixel = np.column_stack([columns.u, columns.v])
    for c, camera in enumerate(rig):
        mine = columns.camera == c
        for axis in range(2):
            aside = np.eye(2)[axis] * _STEP
            ahead, behind = camera.rays(pixel[mine] + aside), camera.rays(pixel[mine] - aside)
            origin[mine, axis] = (ahead.origin - behind.origin) / (2 * _STEP)
            direction[mine, axis] = (ahead.direction - behind.direction) / (2 * _STEP)
    return Spread(origin, direction)


@kernel
def ray_gaps(offsets: Ints, columns: Columns, lines: Lines, spread: Spread, far: float) -> Gaps:
    """Gaps of the rays of pairs of detections of a frame in two views, up to ``far`` deviations."""
    total = 0
    for f in range(offsets.shape[0] - 1):
        total += (offsets[f + 1] - offsets[f]) ** 2 // 2
    every = 1 + total // _SAMPLE
    first, second, off, deviation = (
        np.empty(_ROOM, np.int64),
        np.empty(_ROOM, np.int64),
        np.empty(_ROOM),
        np.empty(_ROOM),
    )
    usual = np.empty(2 + total // every)
    count = seen = some = 0
    for f in range(offsets.shape[0] - 1):
        for i in range(offsets[f], offsets[f + 1]):
            for j in range(i + 1, offsets[f + 1]):
                if lines.camera[i] == lines.camera[j]:
                    continue
                gap, variance = _gap(lines, spread, columns.noise, i, j)
                if variance <= 0.0:
                    continue
                seen += 1
                if seen % every == 0:
                    usual[some] = gap
                    some += 1
                if gap * gap > far * far * variance:
                    continue
                if count == off.shape[0]:
                    first, second, off, deviation = doubled(first), doubled(second), doubled(off), doubled(deviation)
                first[count], second[count], deviation[count] = i, j, math.sqrt(variance)
                off[count] = gap / deviation[count]
                count += 1
    return Gaps(first[:count], second[:count], off[:count], deviation[:count], usual[:some])


@inner
def _gap(lines: Lines, spread: Spread, noise: Array, i: int, j: int) -> tuple:  # type: ignore[type-arg]
    """Signed gap of two rays along their common normal and its variance; -1 where there is none."""
    o, p, d, e = lines.origin[i], lines.origin[j], lines.direction[i], lines.direction[j]
    n0, n1, n2 = d[1] * e[2] - d[2] * e[1], d[2] * e[0] - d[0] * e[2], d[0] * e[1] - d[1] * e[0]
    sine = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if not sine > 1e-6:
        return 0.0, -1.0
    w0, w1, w2 = p[0] - o[0], p[1] - o[1], p[2] - o[2]
    cosine = d[0] * e[0] + d[1] * e[1] + d[2] * e[2]
    along_d, along_e = w0 * d[0] + w1 * d[1] + w2 * d[2], w0 * e[0] + w1 * e[1] + w2 * e[2]
    s = (along_d - cosine * along_e) / (sine * sine)  # ways along both to where they are nearest
    t = (cosine * along_d - along_e) / (sine * sine)
    if s <= 0.0 or t <= 0.0:
        return 0.0, -1.0
    n0, n1, n2 = n0 / sine, n1 / sine, n2 / sine
    variance = 0.0
    for k in range(2):
        a, b = spread.origin[i, k], spread.direction[i, k]
        one = n0 * (a[0] + s * b[0]) + n1 * (a[1] + s * b[1]) + n2 * (a[2] + s * b[2])
        a, b = spread.origin[j, k], spread.direction[j, k]
        other = n0 * (a[0] + t * b[0]) + n1 * (a[1] + t * b[1]) + n2 * (a[2] + t * b[2])
        variance += one * one * noise[i] * noise[i] + other * other * noise[j] * noise[j]
    if not variance > 0.0:
        return 0.0, -1.0
    return w0 * n0 + w1 * n1 + w2 * n2, variance


def gap_ratio(gaps: Gaps) -> Array:
    """(P,) log-likelihood ratio of each gap: of one animal, against any two.

    One animal: Gaussian with the tail of `kernels.absorb`; any two: Gaussian as wide as all gaps are, most of which are
    of two. Some detections of a tracklet are of another animal, so that no frame speaks against a pair by more than the
    logarithm of their share.
    """
    gap = gaps.off * gaps.deviation
    wide = 1.4826 * float(np.median(np.abs(gaps.usual)))
    near = _log_normal(gaps.off) + math.log(1.0 - TAIL_SHARE)
    far = _log_normal(gaps.off / TAIL_SCALE) + math.log(TAIL_SHARE / TAIL_SCALE)
    ratio = np.logaddexp(near, far) - np.log(gaps.deviation) - _log_normal(gap / wide) + math.log(wide)
    return np.asarray(np.logaddexp(ratio + math.log(1.0 - ASTRAY), math.log(ASTRAY)))


def _log_normal(z: NDArray[np.float64]) -> Array:
    return np.asarray(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi))
