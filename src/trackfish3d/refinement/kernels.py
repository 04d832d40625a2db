"""One sight of a moving point: its pixel, and how the pixel moves with the camera, its clock, the water and the path.

A path is a uniform cubic B-spline over the common clock. A camera's clock maps its own frame number f to that clock:
``offset + scale (f - middle) + readout (row / height - 1/2)``.

A detector's point may lean along the body, in each view by another length, and a lean that is taken for a late clock
spoils both; so each camera has one: it sees the point ``lean`` ahead, along ``V / sqrt(V.V + slow^2)``, the heading,
which fades where the animal rests.

Columns of what is shared (SHARED of them): lens 12, pose 6 and water 4 as in `calibration.observe`, then the clock's
offset, scale and readout, and the lean. The path has four control points of three coordinates each.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..calibration.observe import BOARD, COLUMNS, WATER, observe
from ..core.compiled import KERNEL

CLOCK = 22  # first column of the clock among those shared
LEAN = 25
SHARED = 26
WIDTH = 12  # unknowns of a path that one sight depends on
Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Lenses(NamedTuple):
    """Cameras C as `observe` takes them, and their clocks."""

    rows: Array  # (C, P) packed, only the lens is used
    R: Array  # (C, 3, 3)
    t: Array  # (C, 3)
    planes: Array  # (C, 13)
    layers: Array  # (C, L, 2)
    n_layers: Ints  # (C,)
    n_water: float
    want: NDArray[np.bool_]  # (C, 8) distortion coefficients that are free
    clock: Array  # (C, 4) offset, scale, readout, lean
    middle: Array  # (C,) frame about which the scale turns


class Paths(NamedTuple):
    """Splines of K paths: control points (N, 3), first time (K,), first control point (K,), spans (K,), knot step.

    ``slow`` is the speed, world units a frame, below which a heading means little.
    """

    control: Array
    begin: Array
    base: Ints
    spans: Ints
    step: float
    slow: float


class Sights(NamedTuple):
    """What was seen (N rows): camera, path, the camera's own frame, pixel (N, 2), row / height - 1/2, sigma px."""

    camera: Ints
    path: Ints
    frame: Array
    pixel: Array
    share: Array
    sigma: Array


@njit(**KERNEL)
def weights(x, w, d):  # type: ignore[no-untyped-def]
    """Weights of the four control points at the share `x` of a span, and their derivatives by x."""
    y = 1.0 - x
    w[0], w[3] = y * y * y / 6, x * x * x / 6
    w[1] = (3 * x * x * x - 6 * x * x + 4) / 6
    w[2] = (3 * y * y * y - 6 * y * y + 4) / 6
    d[0], d[3] = -y * y / 2, x * x / 2
    d[1] = (3 * x * x - 4 * x) / 2
    d[2] = -(3 * y * y - 4 * y) / 2


@njit(**KERNEL)
def place(paths, k, time, w, d, X, V):  # type: ignore[no-untyped-def]
    """Point `X` (3,) and velocity `V` (3,) of path `k` at a time; returns its first control point."""
    s = (time - paths.begin[k]) / paths.step
    span = min(max(math.floor(s), 0), paths.spans[k] - 1)
    weights(s - span, w, d)
    first = paths.base[k] + span
    for a in range(3):
        X[a] = V[a] = 0.0
        for j in range(4):
            X[a] += w[j] * paths.control[first + j, a]
            V[a] += d[j] * paths.control[first + j, a]
        V[a] /= paths.step
    return first


@njit(**KERNEL)
def places(paths, path, time):  # type: ignore[no-untyped-def]
    """Points (N, 3) and velocities (N, 3) of paths at times."""
    n = len(path)
    X, V = np.empty((n, 3)), np.empty((n, 3))
    w, d = np.empty(4), np.empty(4)
    for i in range(n):
        place(paths, path[i], time[i], w, d, X[i], V[i])
    return X, V


@njit(**KERNEL)
def _look(lenses, c, X, eye, zero, pixel, row):  # type: ignore[no-untyped-def]
    return observe(
        lenses.rows[c],
        lenses.R[c],
        lenses.t[c],
        lenses.planes[c],
        lenses.layers[c, : lenses.n_layers[c]],
        lenses.n_water,
        lenses.want[c],
        eye,
        X,
        zero,
        0.0,
        pixel,
        row,
    )


@njit(**KERNEL)
def _ahead(paths, V, lean, X, heading):  # type: ignore[no-untyped-def]
    """Move `X` (3,) by the lean along the `heading` (3,) that is set; returns the length by which V was divided."""
    size = math.sqrt(V[0] * V[0] + V[1] * V[1] + V[2] * V[2] + paths.slow * paths.slow)
    for a in range(3):
        heading[a] = V[a] / size
        X[a] += lean * heading[a]
    return size


@njit(**KERNEL)
def miss(lenses, paths, sights):  # type: ignore[no-untyped-def]
    """Errors (N, 2) px, observed minus predicted; NaN where the camera cannot see the point."""
    n = len(sights.camera)
    out = np.full((n, 2), np.nan)
    w, d, X, V, pixel = np.empty(4), np.empty(4), np.empty(3), np.empty(3), np.empty(2)
    row, eye, zero, heading = np.empty((2, COLUMNS)), np.eye(3), np.zeros(3), np.empty(3)
    for i in range(n):
        c = sights.camera[i]
        clock = lenses.clock[c]
        time = clock[0] + clock[1] * (sights.frame[i] - lenses.middle[c]) + clock[2] * sights.share[i]
        place(paths, sights.path[i], time, w, d, X, V)
        _ahead(paths, V, clock[3], X, heading)
        if _look(lenses, c, X, eye, zero, pixel, row):
            out[i, 0], out[i, 1] = sights.pixel[i, 0] - pixel[0], sights.pixel[i, 1] - pixel[1]
    return out


@njit(**KERNEL)
def _columns(places_of, r, by_time, by_lean, frame, share, value, where):  # type: ignore[no-untyped-def]
    """Values and places of the shared columns that are free, from the row `r` (COLUMNS,); returns how many."""
    m = 0
    for j in range(SHARED):
        if places_of[j] < 0:
            continue
        if j < BOARD:
            value[m] = r[j]
        elif j < CLOCK:
            value[m] = r[WATER + j - BOARD]
        elif j == LEAN:
            value[m] = by_lean
        else:
            value[m] = by_time * (1.0 if j == CLOCK else frame if j == CLOCK + 1 else share)
        where[m] = places_of[j]
        m += 1
    return m


@njit(**KERNEL)
def gather(lenses, paths, sights, weight, places_of, normal):  # type: ignore[no-untyped-def]
    """Add all sights to the normal equations `normal`: H (M, M), g (K, M), band (WIDTH, 3 N), B (3 N, M), b (3 N,).

    ``weight`` (N,) of each squared error; ``places_of`` (C, SHARED) where the columns of a camera stand, -1 not at
    all. ``g`` is kept apart by path, its sum being the right side. ``band`` holds the lower band of the paths' own
    part, as SciPy's ``cholesky_banded`` takes it.
    """
    H, g, band, B, b = normal
    w, d, X, V, pixel = np.empty(4), np.empty(4), np.empty(3), np.empty(3), np.empty(2)
    row, eye, zero, heading = np.empty((2, COLUMNS)), np.eye(3), np.zeros(3), np.empty(3)
    where, value, own = np.empty(SHARED, np.int64), np.empty(SHARED), np.empty(WIDTH)
    for i in range(len(sights.camera)):
        if weight[i] == 0.0:
            continue
        c = sights.camera[i]
        clock = lenses.clock[c]
        frame = sights.frame[i] - lenses.middle[c]
        time = clock[0] + clock[1] * frame + clock[2] * sights.share[i]
        first = 3 * place(paths, sights.path[i], time, w, d, X, V)
        size = _ahead(paths, V, clock[3], X, heading)
        if not _look(lenses, c, X, eye, zero, pixel, row):
            continue
        for e in range(2):
            error = weight[i] * (sights.pixel[i, e] - pixel[e])
            r = row[e]
            by_time = r[BOARD + 3] * V[0] + r[BOARD + 4] * V[1] + r[BOARD + 5] * V[2]
            by_lean = by_time / size
            m = _columns(places_of[c], r, by_time, by_lean, frame, sights.share[i], value, where)
            for j in range(4):
                turn = d[j] * clock[3] / (paths.step * size)
                for a in range(3):
                    own[3 * j + a] = (w[j] + turn) * r[BOARD + 3 + a] - turn * by_lean * heading[a]
            for j in range(m):
                g[sights.path[i], where[j]] += value[j] * error
                scaled = weight[i] * value[j]
                for k in range(m):
                    H[where[j], where[k]] += scaled * value[k]
                for k in range(WIDTH):
                    B[first + k, where[j]] += scaled * own[k]
            for j in range(WIDTH):
                b[first + j] += own[j] * error
                for k in range(j + 1):
                    band[j - k, first + k] += weight[i] * own[j] * own[k]


@njit(**KERNEL)
def _bend_of(paths, k, time, first, A):  # type: ignore[no-untyped-def]
    """Acceleration `A` (3,) of path `k` at a time, its first control point being known."""
    s = (time - paths.begin[k]) / paths.step
    x = s - (first - paths.base[k])
    for a in range(3):
        c = paths.control[first : first + 4, a]
        A[a] = ((1 - x) * c[0] + (3 * x - 2) * c[1] + (1 - 3 * x) * c[2] + x * c[3]) / paths.step**2


@njit(**KERNEL)
def curve(lenses, paths, sights, weight, error, places_of, H, B):  # type: ignore[no-untyped-def]
    """Add to H (M, M) and B (3 N, M) what the errors (N, 2) px say of how clocks and leans bend the cost with paths.

    `gather` leaves the second derivatives out, as Gauss and Newton do. A path that follows noise moves faster than the
    animal did, and would tell clocks better than the animal can: errors and speed are of one noise, which this counts.
    """
    w, d, X, V, A, pixel = np.empty(4), np.empty(4), np.empty(3), np.empty(3), np.empty(3), np.empty(2)
    row, eye, zero, heading = np.empty((2, COLUMNS)), np.eye(3), np.zeros(3), np.empty(3)
    by = np.empty(3)  # how the weighted error changes with the clock's columns offset, scale, readout
    for i in range(len(sights.camera)):
        if weight[i] == 0.0:
            continue
        c = sights.camera[i]
        clock, where = lenses.clock[c], places_of[c]
        by[0], by[1], by[2] = 1.0, sights.frame[i] - lenses.middle[c], sights.share[i]
        time = clock[0] + clock[1] * by[1] + clock[2] * by[2]
        first = place(paths, sights.path[i], time, w, d, X, V)
        _bend_of(paths, sights.path[i], time, first, A)
        size = _ahead(paths, V, clock[3], X, heading)
        if not _look(lenses, c, X, eye, zero, pixel, row):
            continue
        pull = np.zeros(3)  # weighted error, as a force on the point
        for e in range(2):
            pull += weight[i] * error[i, e] * row[e, BOARD + 3 : BOARD + 6]
        along, turned = pull @ heading, pull @ A - (pull @ heading) * (heading @ A)
        for j in range(3):
            if where[CLOCK + j] < 0:
                continue
            for k in range(3):
                if where[CLOCK + k] >= 0:
                    H[where[CLOCK + j], where[CLOCK + k]] -= by[j] * by[k] * (pull @ A)
            if where[LEAN] >= 0:
                H[where[CLOCK + j], where[LEAN]] -= by[j] * turned / size
                H[where[LEAN], where[CLOCK + j]] -= by[j] * turned / size
        for j in range(4):
            for a in range(3):
                q = 3 * (first + j) + a
                for k in range(3):
                    if where[CLOCK + k] >= 0:
                        B[q, where[CLOCK + k]] -= by[k] * pull[a] * d[j] / paths.step
                if where[LEAN] >= 0:
                    B[q, where[LEAN]] -= (pull[a] - along * heading[a]) * d[j] / (paths.step * size)


@njit(**KERNEL)
def bend_penalty(paths, weight, band, b):  # type: ignore[no-untyped-def]
    """Add second differences of control points to band and b, each squared and weighed; returns their cost."""
    cost = 0.0
    for k in range(len(paths.base)):
        for i in range(paths.base[k] + 1, paths.base[k] + paths.spans[k] + 2):
            for a in range(3):
                off = paths.control[i - 1, a] - 2 * paths.control[i, a] + paths.control[i + 1, a]
                cost += weight * off * off
                for j in range(3):
                    vj = -2.0 if j == 1 else 1.0
                    b[3 * (i - 1 + j) + a] -= weight * vj * off
                    for k2 in range(j + 1):
                        other = -2.0 if k2 == 1 else 1.0
                        band[3 * (j - k2), 3 * (i - 1 + k2) + a] += weight * vj * other
    return cost
