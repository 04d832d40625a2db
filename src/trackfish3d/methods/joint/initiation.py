"""First sightings: sets of detections of two and more views that may be an animal nobody follows yet."""

import math
from typing import NamedTuple

import numpy as np

from ...cameras.triangulation import nearest_to_rays
from ...core.compiled import inner, kernel
from .arguments import Array, Beliefs, Flags, Ints, Lines, Readings, Rig, Sightings
from .kernels import absorb, in_image, innovation, look_one

_MOST_THIRD = 64  # detections of a third view that are tried with a pair


class Birth(NamedTuple):
    """What is believed about new animals.

    spread : standard deviation of a position before it is measured, world units, large against its measured error.
    log_prior : log of new animals a frame and volume, 1 / world^3.
    gate : largest squared innovation.
    """

    spread: float
    log_prior: float
    gate: float


class _Point(NamedTuple):
    """The point of a pair and what cameras see of it.

    start : (3,) where its rays meet, about which both cameras are linear.
    x, P : (3,), (3, 3) position and covariance after both detections.
    pixel, J, seen : (C, 2), (C, 2, 3), (C,).
    third : (_MOST_THIRD,) detections of a third view that fit.
    origin, direction, normal, right : (2, 3), (2, 3), (3, 3), (3,) room for two rays and the equations of their point.
    """

    start: Array
    x: Array
    P: Array
    pixel: Array
    J: Array
    seen: Flags
    third: Ints
    origin: Array
    direction: Array
    normal: Array
    right: Array


@kernel
def initiate(
    rig: Rig,
    lines: Lines,
    readings: Readings,
    free: Flags,
    known: Flags,
    beliefs: Beliefs,
    birth: Birth,
    out: Sightings,
) -> int:
    """All sets of free detections that one point explains.

    Parameters
    ----------
    rig : the cameras.
    lines, readings : rays and detections of the frame.
    free : (N,) detections that may be used.
    known : (N, N) pairs that a candidate already follows.
    beliefs, birth : about detections and new animals.
    out : (K, ...) filled from its first row; its last row is scratch.

    Returns how many there are; those beyond K - 1 are lost.

    A set grows from the pair of its two first cameras, so that none comes twice; a pair that a third view could join
    is left to that larger set.
    """
    n_views, n = rig.packed.shape[0], readings.u.shape[0]
    pixel, J, seen = np.empty((n_views, 2)), np.empty((n_views, 2, 3)), np.empty(n_views, np.bool_)
    third = np.empty(_MOST_THIRD, np.int64)
    origin, direction, normal, right = np.empty((2, 3)), np.empty((2, 3)), np.empty((3, 3)), np.empty(3)
    start, x, P = np.empty(3), np.empty(3), np.empty((3, 3))
    point = _Point(start, x, P, pixel, J, seen, third, origin, direction, normal, right)
    camera, begin, last = lines.camera, readings.begin, out.weight.shape[0] - 1
    count = 0
    for i in range(n):
        if not free[i]:
            continue
        for j in range(begin[camera[i] + 1], n):
            if not free[j] or known[i, j] or not _meet(rig, lines, readings, i, j, birth.gate, point):
                continue
            pair = _absorb_pair(camera, readings, i, j, beliefs, birth, point)
            larger, options, view = _thirds(rig, camera, readings, free, i, j, birth.gate, point)
            if larger and options == 0:
                continue
            for o in range(max(options, 1)):
                row = min(count, last)
                _write_pair(out, row, camera, i, j, point)
                total = pair
                if options:
                    total += _join(third[o], view, rig, readings, free, beliefs, birth.gate, out, row)
                for c in range(n_views):
                    if out.members[row, c] < 0 and seen[c] and in_image(pixel[c], rig.sizes[c]):
                        total += math.log(max(1.0 - beliefs.clear[c], 1e-6))
                out.weight[row] = total
                count += 1
    return count


@inner
def _meet(rig: Rig, lines: Lines, readings: Readings, i: int, j: int, gate: float, point: _Point) -> bool:
    """Find where two rays meet, and whether both cameras see that point near their detections; fills point."""
    origin, direction = point.origin, point.direction
    for k in range(3):
        origin[0, k], direction[0, k] = lines.origin[i, k], lines.direction[i, k]
        origin[1, k], direction[1, k] = lines.origin[j, k], lines.direction[j, k]
    x, y, z, _, ok = nearest_to_rays(origin, direction, 0, 2, point.normal, point.right)
    if not ok:
        return False
    point.start[0], point.start[1], point.start[2] = x, y, z
    for c in range(point.seen.shape[0]):
        point.seen[c] = False
    start, pixel, J, seen = point.start, point.pixel, point.J, point.seen
    for d in (i, j):
        c = lines.camera[d]
        seen[c] = look_one(rig.packed[c], start, rig.step, pixel[c], J[c])
        if not seen[c]:
            return False
        du, dv, r = readings.u[d] - pixel[c, 0], readings.v[d] - pixel[c, 1], readings.noise[d]
        if (du**2 + dv**2) / (r * r) > gate:
            return False
    return True


@inner
def _absorb_pair(
    camera: Ints, readings: Readings, i: int, j: int, beliefs: Beliefs, birth: Birth, point: _Point
) -> float:
    """Fill position and covariance of a point by its two detections; returns their log-likelihood ratio."""
    for k in range(3):
        point.x[k] = point.start[k]
        for m in range(3):
            point.P[k, m] = birth.spread * birth.spread if k == m else 0.0
    total = birth.log_prior + 1.5 * math.log(2.0 * math.pi * birth.spread * birth.spread)
    for d in (i, j):
        c = camera[d]
        z = readings.u[d], readings.v[d], readings.noise[d]
        density = absorb(point.x, point.P, point.start, point.pixel[c], point.J[c], z[0], z[1], z[2])
        total += density + math.log(beliefs.clear[c]) - beliefs.log_clutter[c]
    return total


@inner
def _thirds(
    rig: Rig, camera: Ints, readings: Readings, free: Flags, i: int, j: int, gate: float, point: _Point
) -> tuple[bool, int, int]:
    """Whether any third view could join, how many detections of the first later view that can, and that view."""
    larger = False  # a set of more views, grown from another pair or from this one
    options, view = 0, -1
    P, seen, third = point.P, point.seen, point.third
    u, v, noise, begin = readings.u, readings.v, readings.noise, readings.begin
    for c in range(seen.shape[0]):
        if c == camera[i] or c == camera[j]:
            continue
        pixel, J = point.pixel[c], point.J[c]
        seen[c] = look_one(rig.packed[c], point.x, rig.step, pixel, J)
        if not seen[c]:
            continue
        for d in range(begin[c], begin[c + 1]):
            if free[d] and innovation(P, pixel, J, u[d], v[d], noise[d]) < gate:
                larger = True
                if c > camera[j] and (view < 0 or c == view) and options < _MOST_THIRD:
                    view = c
                    third[options] = d
                    options += 1
    return larger, options, view


@inner
def _write_pair(out: Sightings, row: int, camera: Ints, i: int, j: int, point: _Point) -> None:
    """Write a pair and its point to a row."""
    for c in range(out.members.shape[1]):
        out.members[row, c] = -1
    out.members[row, camera[i]], out.members[row, camera[j]] = i, j
    for k in range(3):
        out.position[row, k] = point.x[k]
        for m in range(3):
            out.cov[row, k, m] = point.P[k, m]


@inner
def _join(
    d: int,
    first: int,
    rig: Rig,
    readings: Readings,
    free: Flags,
    beliefs: Beliefs,
    gate: float,
    out: Sightings,
    row: int,
) -> float:
    """Add detection d of camera ``first``, then the nearest of every later camera, to a row; the gain in likelihood."""
    pixel, J, x0 = np.empty(2), np.empty((2, 3)), np.empty(3)
    x, P = out.position[row], out.cov[row]
    total = 0.0
    for c in range(first, rig.packed.shape[0]):
        if not look_one(rig.packed[c], x, rig.step, pixel, J):
            continue
        best = d if c == first else -1
        if c > first:
            near = gate
            for k in range(readings.begin[c], readings.begin[c + 1]):
                if free[k]:
                    far = innovation(P, pixel, J, readings.u[k], readings.v[k], readings.noise[k])
                    if far < near:
                        near, best = far, k
        if best >= 0:
            for k in range(3):
                x0[k] = x[k]
            z = readings.u[best], readings.v[best], readings.noise[best]
            total += absorb(x, P, x0, pixel, J, z[0], z[1], z[2])
            total += math.log(beliefs.clear[c]) - beliefs.log_clutter[c]
            out.members[row, c] = best
    return total
