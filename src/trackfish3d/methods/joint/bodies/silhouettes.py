"""Whether detections of two views can be one body: their outlines against what is usual in the recording.

Two rays that meet prove little where there are many animals. If the detections are of one animal, one body at that
point has both outlines; if not, the outlines have nothing to do with each other. The ratio of the two likelihoods is
what a pair is worth beyond its geometry. With two cameras it takes the place of a third ray.
"""

import math
from typing import NamedTuple

import numpy as np

from ....cameras.kernels import GLASS_MARGIN, project_within
from ....cameras.triangulation import nearest_to_rays
from ....core.compiled import inner, kernel
from ....maths.order import doubled
from ..arguments import Array, Columns, Ints, Lines, PairOdds, Rig
from ..kernels import look_one
from .shape import BodyShape, absorb_outline

COVERED = 0.1  # share of pairs of one animal whose outlines say nothing: covered, merged, cut
GATE = 20.0  # largest squared distance of a detection from where the rays meet, in deviations
_ALIKE = 0.9986  # cosine of 3 degrees: views from one side agree on any outline, at any depth
_ROOM = 1024


class _Scratch(NamedTuple):
    """Room for one pair: rays (2, 3) twice, A (3, 3), b, x (3,), J (2, 2, 3), pixel (2,), S twice, row (6,)."""

    origin: Array
    direction: Array
    A: Array
    b: Array
    x: Array
    J: Array
    pixel: Array
    mean: Array
    cov: Array
    row: Array


def silhouette_odds(
    rig: Rig, offsets: Ints, columns: Columns, lines: Lines, outline: Array, shape: BodyShape
) -> PairOdds:
    """Log-likelihood ratio of one body against two for all pairs of detections of a frame whose rays meet.

    Parameters
    ----------
    rig : the cameras.
    offsets : (F + 1,) of the detections of each frame.
    columns, lines : detections of all frames and their rays.
    outline : (N, 3), see `shape.outlines`.
    shape : what is usual.
    """
    first, second, odds = all_pairs(rig, offsets, columns, lines, outline, shape)
    return PairOdds.of(len(outline), first, second, odds)


@kernel
def all_pairs(
    rig: Rig, offsets: Ints, columns: Columns, lines: Lines, outline: Array, shape: BodyShape
) -> tuple[Ints, Ints, Array]:
    """First and second detection (P,) of each pair, and its odds (P,); see `silhouette_odds`."""
    first, second, odds = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64), np.empty(_ROOM)
    scratch = _Scratch(
        np.empty((2, 3)),
        np.empty((2, 3)),
        np.empty((3, 3)),
        np.empty(3),
        np.empty(3),
        np.empty((2, 2, 3)),
        np.empty(2),
        np.empty((2, 6)),
        np.empty((2, 6, 6)),
        np.empty(6),
    )
    camera = columns.camera
    count = 0
    for f in range(offsets.shape[0] - 1):
        for i in range(offsets[f], offsets[f + 1]):
            for j in range(i + 1, offsets[f + 1]):
                if camera[i] == camera[j] or not _meet(rig, columns, lines, i, j, scratch):
                    continue
                if count == odds.shape[0]:
                    first, second, odds = doubled(first), doubled(second), doubled(odds)
                first[count], second[count] = i, j
                odds[count] = _ratio(outline[i], outline[j], shape, scratch)
                count += 1
    return first[:count], second[:count], odds[:count]


@inner
def _meet(rig: Rig, columns: Columns, lines: Lines, i: int, j: int, scratch: _Scratch) -> bool:
    """Whether two rays meet as far as the noise tells; fills J where they do."""
    origin, direction, x, pixel = scratch.origin, scratch.direction, scratch.x, scratch.pixel
    for k in range(3):
        origin[0, k], direction[0, k] = lines.origin[i, k], lines.direction[i, k]
        origin[1, k], direction[1, k] = lines.origin[j, k], lines.direction[j, k]
    cosine = 0.0
    for k in range(3):
        cosine += direction[0, k] * direction[1, k]
    if cosine > _ALIKE:
        return False
    x[0], x[1], x[2], _, ok = nearest_to_rays(origin, direction, 0, 2, scratch.A, scratch.b)
    if not ok:
        return False
    for d in (i, j):
        u, v, seen = project_within(rig.packed[columns.camera[d]], x[0], x[1], x[2], GLASS_MARGIN)
        du, dv, r = columns.u[d] - u, columns.v[d] - v, columns.noise[d]
        if not seen or du * du + dv * dv > GATE * r * r:
            return False
    return look_one(rig.packed[columns.camera[i]], x, rig.step, pixel, scratch.J[0]) and look_one(
        rig.packed[columns.camera[j]], x, rig.step, pixel, scratch.J[1]
    )


@inner
def _ratio(one: Array, other: Array, shape: BodyShape, scratch: _Scratch) -> float:
    """Log-likelihood ratio of two outlines: the second given the first, against the second of any body."""
    mean, cov, J, row = scratch.mean, scratch.cov, scratch.J, scratch.row
    for w in range(2):
        for a in range(6):
            mean[w, a] = shape.mean[a]
            for b in range(6):
                cov[w, a, b] = shape.cov[a, b]
    absorb_outline(mean[0], cov[0], J[0], one, shape.noise, row)
    same = absorb_outline(mean[0], cov[0], J[1], other, shape.noise, row)
    same -= absorb_outline(mean[1], cov[1], J[1], other, shape.noise, row)
    return math.log((1.0 - COVERED) * math.exp(min(same, 30.0)) + COVERED)
