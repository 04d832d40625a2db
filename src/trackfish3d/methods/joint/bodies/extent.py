"""How large each track's own body is: its matrix S (see `shape`), followed from frame to frame in all views together.

Between detections a body forgets what was seen of it and goes back to the usual one, at the pace at which bodies here
turn and bend: with memory m a frame, S - mean shrinks by m, and its covariance goes back as much.
"""

import math

import numpy as np

from ....core.compiled import inner, kernel
from ..arguments import Array, Flags, Ints
from .shape import ENTRIES, BodyShape, absorb_entry, outline_row

_DEEP = 0.8  # of the way from a body's middle to its surface
_THINNEST = 1e-4  # of a usual entry, so that a body keeps an extent


@inner
def forget(body: Array, cov: Array, usual: BodyShape, kept: float) -> None:
    """Let a body (6,) of covariance (6, 6) go back to the usual one; ``kept`` of it stays."""
    for i in range(6):
        body[i] = usual.mean[i] + kept * (body[i] - usual.mean[i])
        for j in range(6):
            cov[i, j] = kept * kept * cov[i, j] + (1.0 - kept * kept) * usual.cov[i, j]


@inner
def extent(body: Array, cov: Array, J: Array, noise: float, row: Array, half: Array) -> None:
    """Fill half (4,): half the width and height of a body in a view, px, and what they vary by.

    noise : of an outline's entries, as in `BodyShape`; row : (6,) is overwritten.
    """
    size = 0.0
    for axis in range(2):
        outline_row(J, axis, row)
        square, variance, usual = 0.0, 0.0, 0.0
        for i in range(6):
            square += row[i] * body[i]
            usual += abs(row[i] * body[i])
            for j in range(6):
                variance += row[i] * cov[i, j] * row[j]
        half[axis] = math.sqrt(max(square, _THINNEST * usual))
        half[2 + axis] = max(variance, 0.0)
        size += 0.5 * half[axis] * half[axis]
    for axis in range(2):
        half[2 + axis] = math.sqrt(half[2 + axis] / (4.0 * half[axis] * half[axis]) + 0.25 * noise * noise * size)


@inner
def learn(body: Array, cov: Array, J: Array, box: Array, sides: Flags, half: Array, noise: float, row: Array) -> float:
    """Update a body by a box; returns the log density of what it was updated by.

    An axis of which a side may be covered says only that the body is not smaller.
    """
    wide, high = 0.5 * (box[2] - box[0]), 0.5 * (box[3] - box[1])
    size = 0.5 * (half[0] * half[0] + half[1] * half[1])
    density = 0.0
    for axis in range(2):
        extent_px = wide if axis == 0 else high
        covered = sides[axis] or sides[2 + axis]
        if covered and extent_px < half[axis]:
            continue
        outline_row(J, axis, row)
        variance = noise * noise * 0.5 * (extent_px * extent_px + half[axis] * half[axis]) * size
        told = absorb_entry(body, cov, row, extent_px * extent_px, variance)
        density += 0.0 if covered else told
    return density


@kernel
def predict_bodies(J: Array, seen: Flags, body: Array, cov: Array, usual: BodyShape, kept: float, half: Array) -> None:
    """Move bodies (T, 6), (T, 6, 6) on in time, and fill their extents (T, C, 4) where cameras see them.

    J, seen : (T, C, 2, 3), (T, C) of `kernels.look`.
    """
    row = np.empty(6)
    for t in range(body.shape[0]):
        forget(body[t], cov[t], usual, kept)
        for c in range(seen.shape[1]):
            if seen[t, c]:
                extent(body[t], cov[t], J[t, c], usual.noise, row, half[t, c])


@kernel
def learn_bodies(
    J: Array, members: Ints, box: Array, sides: Flags, half: Array, usual: BodyShape, body: Array, cov: Array
) -> None:
    """Update bodies (T, 6), (T, 6, 6) by the boxes of what each track took, members (T, C)."""
    row = np.empty(6)
    for t in range(members.shape[0]):
        for c in range(members.shape[1]):
            d = members[t, c]
            if d >= 0:
                learn(body[t], cov[t], J[t, c], box[d], sides[d], half[t, c], usual.noise, row)


@kernel
def follow_bodies(
    begin: Ints,
    frame: Ints,
    members: Ints,
    J: Array,
    seen: Flags,
    box: Array,
    sides: Flags,
    usual: BodyShape,
    memory: float,
) -> tuple[Array, float]:
    """Extents (N, C, 4) of tracks of which the detections are known, each row's from those before it.

    Parameters
    ----------
    begin, frame, members : (T + 1,), (N,), (N, C) rows of the tracks.
    J, seen : (N, C, 2, 3), (N, C) of `kernels.look`.
    box, sides : of all detections.
    usual, memory : what bodies go back to, and how much of them stays in a frame.

    Returns also the log density of all sizes that nobody covers.
    """
    half = np.zeros((frame.shape[0], members.shape[1], 4))
    body, cov, row = np.zeros(6), np.zeros((6, 6)), np.empty(6)
    density = 0.0
    for t in range(begin.shape[0] - 1):
        for i in range(begin[t], begin[t + 1]):
            forget(body, cov, usual, 0.0 if i == begin[t] else memory ** (frame[i] - frame[i - 1]))
            for c in range(members.shape[1]):
                if seen[i, c]:
                    extent(body, cov, J[i, c], usual.noise, row, half[i, c])
            for c in range(members.shape[1]):
                if seen[i, c] and members[i, c] >= 0:
                    d = members[i, c]
                    density += learn(body, cov, J[i, c], box[d], sides[d], half[i, c], usual.noise, row)
    return half, density


def inside(point: Array, place: Array, body: Array) -> Flags:
    """(K,) whether points (K, 3) are deep inside one of the bodies (T, 6) at these places (T, 3).

    What is left over of an animal whose box was cut in a way that nobody understood may look like another at nearly the
    same place; two bodies cannot be there.
    """
    if not len(place):
        return np.zeros(len(point), bool)
    S = np.zeros((len(body), 3, 3))
    for k, (i, j) in enumerate(ENTRIES):
        S[:, i, j] = S[:, j, i] = body[:, k]
    values, axes = np.linalg.eigh(S)
    values = np.maximum(values, 1e-3 * values[:, -1:])
    along = np.einsum("ktj,tji->kti", point[:, None] - place, axes)
    return np.asarray(((along**2 / values).sum(2) < _DEEP**2).any(1))
