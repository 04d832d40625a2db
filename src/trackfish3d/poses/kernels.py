"""Numba kernels of poses: first points by agreement of views, derivatives, and the normal equations of a segment."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.kernels import GLASS_MARGIN, project_within
from ..core.compiled import KERNEL, kernel

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Sight(NamedTuple):
    """What views saw of one animal: pixel (F, C, K, 2), sigma (F, C, K) px, origin and direction (F, C, K, 3) of rays.

    ``seen`` (F, C, K) : where there is anything.
    """

    pixel: Array
    sigma: Array
    origin: Array
    direction: Array
    seen: Flags


class Body(NamedTuple):
    """What holds a body together: parent (K,) of each part or -1, jolt (K,) variance of the second difference of a part
    against its parent's, first and second (E,) part of each length, length (E,), variance (E,) of it, and how widely
    parts lie about their parents, wide (K,), a standard deviation.
    """

    parent: Ints
    jolt: Array
    first: Ints
    second: Ints
    length: Array
    variance: Array
    wide: Array


class Equations(NamedTuple):
    """Normal equations: diagonal (M, 6K, 6K), upper (M - 1, 6K, 6K), right (M, 6K); a block holds two frames."""

    diagonal: Array
    upper: Array
    right: Array


@njit(**KERNEL)
def _between(o1, d1, o2, d2):  # type: ignore[no-untyped-def]
    """Point half-way between two rays where they are nearest, and the sine of their angle squared."""
    along = d1[0] * d2[0] + d1[1] * d2[1] + d1[2] * d2[2]
    wx, wy, wz = o2[0] - o1[0], o2[1] - o1[1], o2[2] - o1[2]
    one = d1[0] * wx + d1[1] * wy + d1[2] * wz
    two = d2[0] * wx + d2[1] * wy + d2[2] * wz
    sine = 1.0 - along * along
    if sine < 1e-6:
        return 0.0, 0.0, 0.0, sine, False
    s, t = (one - along * two) / sine, (along * one - two) / sine
    x = 0.5 * (o1[0] + s * d1[0] + o2[0] + t * d2[0])
    y = 0.5 * (o1[1] + s * d1[1] + o2[1] + t * d2[1])
    z = 0.5 * (o1[2] + s * d1[2] + o2[2] + t * d2[2])
    return x, y, z, sine, s > 0.0 and t > 0.0


@kernel
def agree(packed: Array, sight: Sight, cap: float) -> tuple[Array, Array]:
    """First points: of every pair of views, the point that the most views agree with, part by part.

    Parameters
    ----------
    packed : (C, P) cameras.
    sight : of one animal.
    cap : squared error in sigmas beyond which a view does not agree.

    Returns
    -------
    points (F, K, 3), NaN where no two views see a part, and cost (F, K), the capped sum of squared errors.
    """
    pixel, sigma, origin, direction, seen = sight.pixel, sight.sigma, sight.origin, sight.direction, sight.seen
    frames, views, parts = seen.shape
    points, cost = np.full((frames, parts, 3), np.nan), np.full((frames, parts), np.inf)
    for f in range(frames):
        for k in range(parts):
            for a in range(views):
                if not seen[f, a, k]:
                    continue
                for b in range(a + 1, views):
                    if not seen[f, b, k]:
                        continue
                    x, y, z, sine, ok = _between(
                        origin[f, a, k], direction[f, a, k], origin[f, b, k], direction[f, b, k]
                    )
                    if not ok:
                        continue
                    total = 0.05 * cap * math.exp(-50.0 * sine)  # rays that are nearly parallel agree with everything
                    for c in range(views):
                        if not seen[f, c, k]:
                            continue
                        u, v, there = project_within(packed[c], x, y, z, GLASS_MARGIN)
                        if not there:
                            total += cap
                            continue
                        du, dv = pixel[f, c, k, 0] - u, pixel[f, c, k, 1] - v
                        total += min((du * du + dv * dv) / (sigma[f, c, k] * sigma[f, c, k]), cap)
                    if total < cost[f, k]:
                        cost[f, k] = total
                        points[f, k, 0], points[f, k, 1], points[f, k, 2] = x, y, z
    return points, cost


@kernel
def derivatives(packed: Array, sight: Sight, points: Array, step: float, error: Array, slope: Array) -> None:
    """Fill error (F, C, K, 2) px and slope (F, C, K, 2, 3) px a unit at points (F, K, 3); NaN where nothing is seen."""
    frames, views, parts = sight.seen.shape
    pixel, seen = sight.pixel, sight.seen
    for f in range(frames):
        for c in range(views):
            for k in range(parts):
                error[f, c, k, 0] = error[f, c, k, 1] = np.nan
                if not seen[f, c, k]:
                    continue
                x, y, z = points[f, k, 0], points[f, k, 1], points[f, k, 2]
                u, v, ok = project_within(packed[c], x, y, z, GLASS_MARGIN)
                if not ok:
                    continue
                good = True
                for j in range(3):
                    dx, dy, dz = 0.0, 0.0, 0.0
                    if j == 0:
                        dx = step
                    elif j == 1:
                        dy = step
                    else:
                        dz = step
                    u1, v1, ok1 = project_within(packed[c], x + dx, y + dy, z + dz, GLASS_MARGIN)
                    good = good and ok1
                    slope[f, c, k, 0, j] = (u1 - u) / step
                    slope[f, c, k, 1, j] = (v1 - v) / step
                if good:
                    error[f, c, k, 0] = pixel[f, c, k, 0] - u
                    error[f, c, k, 1] = pixel[f, c, k, 1] - v


@njit(**KERNEL)
def _add(equations, f, k, g, q, value):  # type: ignore[no-untyped-def]
    """Add ``value`` times the identity between part k of frame f and part q of frame g; both ways where they differ."""
    n = equations.right.shape[1] // 2
    m, i = f // 2, (f % 2) * n + 3 * k
    o, j = g // 2, (g % 2) * n + 3 * q
    if m == o:
        for a in range(3):
            equations.diagonal[m, i + a, j + a] += value
    elif m + 1 == o:
        for a in range(3):
            equations.upper[m, i + a, j + a] += value


@kernel
def motion(equations: Equations, points: Array, body: Body, grip: Array) -> None:
    """Add second differences in time, of the root and of each part against its parent, weighted by grip (F, K)."""
    frames, parts = points.shape[0], points.shape[1]
    n = 3 * parts
    weights = (1.0, -2.0, 1.0)
    for f in range(1, frames - 1):
        for k in range(parts):
            p = body.parent[k]
            w = grip[f, k] / body.jolt[k]
            for a in range(3):
                jump = points[f + 1, k, a] - 2.0 * points[f, k, a] + points[f - 1, k, a]
                if p >= 0:
                    jump -= points[f + 1, p, a] - 2.0 * points[f, p, a] + points[f - 1, p, a]
                for i in range(3):
                    g = f - 1 + i
                    side = w * weights[i] * jump
                    equations.right[g // 2, (g % 2) * n + 3 * k + a] -= side
                    if p >= 0:
                        equations.right[g // 2, (g % 2) * n + 3 * p + a] += side
            for i in range(3):
                for j in range(3):
                    value = w * weights[i] * weights[j]
                    _add(equations, f - 1 + i, k, f - 1 + j, k, value)
                    if p >= 0:
                        _add(equations, f - 1 + i, p, f - 1 + j, p, value)
                        _add(equations, f - 1 + i, k, f - 1 + j, p, -value)
                        _add(equations, f - 1 + i, p, f - 1 + j, k, -value)


@kernel
def measured(equations: Equations, error: Array, slope: Array, weight: Array) -> None:
    """Add what views saw: error (F, C, K, 2), slope (F, C, K, 2, 3), weight (F, C, K) one over px squared."""
    frames, views, parts = weight.shape
    n = 3 * parts
    for f in range(frames):
        m = f // 2
        for c in range(views):
            for k in range(parts):
                w = weight[f, c, k]
                if not w > 0.0 or math.isnan(error[f, c, k, 0]):
                    continue
                at = (f % 2) * n + 3 * k
                for i in range(3):
                    s0, s1 = slope[f, c, k, 0, i], slope[f, c, k, 1, i]
                    equations.right[m, at + i] += w * (s0 * error[f, c, k, 0] + s1 * error[f, c, k, 1])
                    for j in range(3):
                        equations.diagonal[m, at + i, at + j] += w * (
                            s0 * slope[f, c, k, 0, j] + s1 * slope[f, c, k, 1, j]
                        )


@kernel
def placed_by_views(slope: Array, weight: Array, sigma: float) -> Flags:
    """Where (F, K) views alone place a part, in every direction, within ``sigma``, world units.

    Parameters
    ----------
    slope : (F, C, K, 2, 3) px a unit.
    weight : (F, C, K) one over px squared, 0 where nothing is seen.
    sigma : how well, world units.
    """
    frames, views, parts = weight.shape
    out = np.zeros((frames, parts), np.bool_)
    for f in range(frames):
        for k in range(parts):
            xx = yy = zz = xy = xz = yz = 0.0
            for c in range(views):
                w = weight[f, c, k]
                if not w > 0.0:
                    continue
                for i in range(2):
                    x, y, z = slope[f, c, k, i, 0], slope[f, c, k, i, 1], slope[f, c, k, i, 2]
                    xx, yy, zz = xx + w * x * x, yy + w * y * y, zz + w * z * z
                    xy, xz, yz = xy + w * x * y, xz + w * x * z, yz + w * y * z
            det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
            half = 0.5 * (xx + yy + zz)
            out[f, k] = det * sigma * sigma > half * half and half > 0.0  # det / half^2 is below the least eigenvalue
    return out


@kernel
def lengths(equations: Equations, points: Array, body: Body, grip: Array, pull: Array) -> None:
    """Add lengths between parts, weighted by grip (F, E), and a pull (F, K), one over a variance, towards parents."""
    frames, parts = points.shape[0], points.shape[1]
    n = 3 * parts
    for f in range(frames):
        m, base = f // 2, (f % 2) * n
        for e in range(body.first.shape[0]):
            i, j = body.first[e], body.second[e]
            dx, dy, dz = (
                points[f, i, 0] - points[f, j, 0],
                points[f, i, 1] - points[f, j, 1],
                points[f, i, 2] - points[f, j, 2],
            )
            far = math.sqrt(dx * dx + dy * dy + dz * dz)
            if not far > 1e-9 * body.length[e]:
                continue
            ray = (dx / far, dy / far, dz / far)
            w = grip[f, e] / body.variance[e]
            short = body.length[e] - far
            for a in range(3):
                equations.right[m, base + 3 * i + a] += w * ray[a] * short
                equations.right[m, base + 3 * j + a] -= w * ray[a] * short
                for b in range(3):
                    value = w * ray[a] * ray[b]
                    equations.diagonal[m, base + 3 * i + a, base + 3 * i + b] += value
                    equations.diagonal[m, base + 3 * j + a, base + 3 * j + b] += value
                    equations.diagonal[m, base + 3 * i + a, base + 3 * j + b] -= value
                    equations.diagonal[m, base + 3 * j + a, base + 3 * i + b] -= value
        for k in range(parts):
            p = body.parent[k]
            w = pull[f, k]
            for a in range(3):
                if p >= 0:
                    draw = w * (points[f, p, a] - points[f, k, a])
                    equations.right[m, base + 3 * k + a] += draw
                    equations.right[m, base + 3 * p + a] -= draw
            if p >= 0:
                _add(equations, f, k, f, k, w)
                _add(equations, f, p, f, p, w)
                _add(equations, f, k, f, p, -w)
                _add(equations, f, p, f, k, -w)
            else:
                _add(equations, f, k, f, k, 1e-4 * w)


@njit(**KERNEL)
def _trace(diagonal, upper, f, k, g, q):  # type: ignore[no-untyped-def]
    """Trace of the covariance between part k of frame f and part q of frame g."""
    n = diagonal.shape[1] // 2
    m, i = f // 2, (f % 2) * n + 3 * k
    o, j = g // 2, (g % 2) * n + 3 * q
    total = 0.0
    for a in range(3):
        if m == o:
            total += diagonal[m, i + a, j + a]
        elif m < o:
            total += upper[m, i + a, j + a]
        else:
            total += upper[o, j + a, i + a]
    return total


@kernel
def spreads(diagonal: Array, upper: Array, points: Array, body: Body) -> tuple[Array, Array, Array]:
    """Take from the inverse of the normal equations what it says of parts, of second differences, and of lengths.

    Parameters
    ----------
    diagonal : (M, 6K, 6K) blocks of the inverse.
    upper : (M - 1, 6K, 6K) blocks of the inverse between each and the next.
    points : (F, K, 3).
    body : whose parents and lengths are meant.

    Returns
    -------
    covariance (F, K, 3, 3) of parts; trace (F, K) of the covariance of the second differences, 0 at the ends; variance
    (F, E) of the lengths.
    """
    frames, parts = points.shape[0], points.shape[1]
    n = 3 * parts
    covariance, jolt = np.zeros((frames, parts, 3, 3)), np.zeros((frames, parts))
    length = np.zeros((frames, body.first.shape[0]))
    weights = (1.0, -2.0, 1.0)
    for f in range(frames):
        m, base = f // 2, (f % 2) * n
        for k in range(parts):
            for a in range(3):
                for b in range(3):
                    covariance[f, k, a, b] = diagonal[m, base + 3 * k + a, base + 3 * k + b]
        for e in range(body.first.shape[0]):
            i, j = body.first[e], body.second[e]
            dx, dy, dz = (
                points[f, i, 0] - points[f, j, 0],
                points[f, i, 1] - points[f, j, 1],
                points[f, i, 2] - points[f, j, 2],
            )
            far = max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-300)
            ray = (dx / far, dy / far, dz / far)
            for a in range(3):
                for b in range(3):
                    mixed = (
                        diagonal[m, base + 3 * i + a, base + 3 * j + b]
                        + diagonal[m, base + 3 * j + a, base + 3 * i + b]
                    )
                    own = covariance[f, i, a, b] + covariance[f, j, a, b]
                    length[f, e] += ray[a] * ray[b] * (own - mixed)
        if f == 0 or f == frames - 1:
            continue
        for k in range(parts):
            p = body.parent[k]
            for i in range(3):
                for j in range(3):
                    w = weights[i] * weights[j]
                    g, h = f - 1 + i, f - 1 + j
                    jolt[f, k] += w * _trace(diagonal, upper, g, k, h, k)
                    if p >= 0:
                        jolt[f, k] += w * _trace(diagonal, upper, g, p, h, p)
                        jolt[f, k] -= 2.0 * w * _trace(diagonal, upper, g, k, h, p)
    return covariance, jolt, length
