"""One corner in one camera: its pixel, and how the pixel moves with everything a calibration may change.

Columns of the derivative (COLUMNS of them), in the order of the blocks below:
lens      fx, fy, cx, cy, then the first 8 distortion coefficients
pose      of the camera: small rotation w (3) and shift (3), ``x_cam = exp(w) R X + t + shift``
board     of the board: the same in the world, ``X = exp(w) R_b P + t_b + shift``
water     refractive index of the water; the plane's height along its normal; its tilt towards two axes across it
aspect    of the board: its lengths along y, where 1 is as they should be
"""

import math

import numpy as np
from numba import njit

from ..cameras.layout import CX, CY, DIST, FX, FY, SKEW
from ..cameras.lens import distort
from ..core.compiled import KERNEL

LENS, POSE, BOARD, WATER, ASPECT = 0, 12, 18, 24, 28
COLUMNS = 29
SHARED = COLUMNS - 6  # all but those of the board
_STEP = 1e-5  # of normalised coordinates and distortion coefficients, for differences of the lens model


@njit(**KERNEL)
def bend(depth, reach, height, n_water, layers, out):  # type: ignore[no-untyped-def]
    """Slope in air of the path from the camera to a point `depth` below it and `reach` beside it.

    ``height`` of the camera above the first plane; ``layers`` (L, 2) thickness and index of panes behind that plane.
    ``out`` (5,) gets slope / reach, and the derivatives of the slope by reach, depth, height and n_water. Newton's
    method from zero, as in the camera's own projection: with media denser than air the reach is a concave,
    increasing function of the slope, so it never passes the root.
    """
    glass = 0.0
    for i in range(layers.shape[0]):
        glass += layers[i, 0]
    below = depth - height - glass
    n2 = n_water * n_water
    tau, gain = 0.0, 1.0
    for _ in range(40):
        s2 = 1.0 + tau * tau
        p2 = tau * tau / s2  # Snell's invariant, squared
        value = height * tau + below * math.sqrt(p2 / (n2 - p2)) - reach
        gain = height + below * n2 * ((n2 - p2) * s2) ** -1.5
        for i in range(layers.shape[0]):
            m2 = layers[i, 1] * layers[i, 1]
            value += layers[i, 0] * math.sqrt(p2 / (m2 - p2))
            gain += layers[i, 0] * m2 * ((m2 - p2) * s2) ** -1.5
        step = value / gain
        tau -= step
        if abs(step) <= 1e-13 * (1.0 + tau):
            break
    p2 = tau * tau / (1.0 + tau * tau)
    in_water = math.sqrt(p2 / (n2 - p2))
    out[0] = tau / reach if reach > 1e-12 * depth else 1.0 / gain
    out[1] = 1.0 / gain
    out[2] = -in_water / gain
    out[3] = (in_water - tau) / gain
    out[4] = below * n_water * math.sqrt(p2) * (n2 - p2) ** -1.5 / gain


@njit(**KERNEL)
def through_lens(cam, v, want, pixel, D, row):  # type: ignore[no-untyped-def]
    """Direction `v` (3,) in the camera to `pixel` (2,), its derivatives `D` (2, 3), and the lens columns of `row`.

    The lens model is differenced, not differentiated: it costs nothing beside the rest, and serves every model.
    `want` (8,) says which distortion coefficients are asked for; `cam` is scratch and given back as it was.
    """
    h = _STEP
    a, b = v[0] / v[2], v[1] / v[2]
    xd, yd = distort(cam, a, b)
    pixel[0] = cam[FX] * xd + cam[SKEW] * yd + cam[CX]
    pixel[1] = cam[FY] * yd + cam[CY]
    xr, yr = distort(cam, a + h, b)
    xl, yl = distort(cam, a - h, b)
    xu, yu = distort(cam, a, b + h)
    xo, yo = distort(cam, a, b - h)
    s = 1.0 / (2 * h * v[2])
    D[1, 0], D[1, 1] = cam[FY] * (yr - yl) * s, cam[FY] * (yu - yo) * s
    D[0, 0] = (cam[FX] * (xr - xl) + cam[SKEW] * (yr - yl)) * s
    D[0, 1] = (cam[FX] * (xu - xo) + cam[SKEW] * (yu - yo)) * s
    D[0, 2] = -(D[0, 0] * a + D[0, 1] * b)
    D[1, 2] = -(D[1, 0] * a + D[1, 1] * b)
    row[0, LENS], row[1, LENS + 1], row[0, LENS + 2], row[1, LENS + 3] = xd, yd, 1.0, 1.0
    for k in range(8):
        if want[k]:
            kept = cam[DIST + k]
            cam[DIST + k] = kept + h
            xr, yr = distort(cam, a, b)
            cam[DIST + k] = kept - h
            xl, yl = distort(cam, a, b)
            cam[DIST + k] = kept
            row[0, LENS + 4 + k] = (cam[FX] * (xr - xl) + cam[SKEW] * (yr - yl)) / (2 * h)
            row[1, LENS + 4 + k] = cam[FY] * (yr - yl) / (2 * h)


@njit(**KERNEL)
def _turned(matrix, vector):  # type: ignore[no-untyped-def]
    out = np.empty(3)
    for i in range(3):
        out[i] = matrix[i, 0] * vector[0] + matrix[i, 1] * vector[1] + matrix[i, 2] * vector[2]
    return out


@njit(**KERNEL)
def _sum(a, s, b):  # type: ignore[no-untyped-def]
    out = np.empty(3)
    for i in range(3):
        out[i] = a[i] + s * b[i]
    return out


@njit(**KERNEL)
def _dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**KERNEL)
def _add_turn(by, arm, row, first):  # type: ignore[no-untyped-def]
    """Columns of a small rotation that moves `arm` (3,), from the derivatives `by` (2, 3): arm x by."""
    for e in range(2):
        row[e, first] += arm[1] * by[e, 2] - arm[2] * by[e, 1]
        row[e, first + 1] += arm[2] * by[e, 0] - arm[0] * by[e, 2]
        row[e, first + 2] += arm[0] * by[e, 1] - arm[1] * by[e, 0]


@njit(**KERNEL)
def observe(cam, R, t, plane, layers, n_water, want, Rb, tb, P, y, pixel, row):  # type: ignore[no-untyped-def]
    """Pixel (2,) of the board's point `P` (3,), and derivatives `row` (2, COLUMNS). False where it cannot be seen.

    ``y`` is what the board's aspect multiplies in P; ``cam`` packed camera, only its lens is used; ``plane`` (13,): 1
    if there is water, a point, the normal towards the camera, two axes across it. A point in front of the plane is
    seen straight: boards may float, hang in the air or lie in the water.
    """
    row[:] = 0.0
    arm = _turned(Rb, P)
    turned = _turned(R, _sum(arm, 1.0, tb))
    x = _sum(turned, 1.0, t)
    by_x = np.empty((2, 3))
    n = np.zeros(3)
    p = np.zeros(3)
    height = depth = below = -1.0
    if plane[0] != 0.0:
        n = _turned(R, plane[4:7])
        p = _sum(_turned(R, plane[1:4]), 1.0, t)
        height, depth = -_dot(n, p), -_dot(n, x)
        below = depth - height
        for i in range(layers.shape[0]):
            below -= layers[i, 0]
        if height <= 0.0:
            return False
    if below <= 0.0:
        if not x[2] > 1e-9:
            return False
        through_lens(cam, x, want, pixel, by_x, row)
    elif not _through_water(cam, R, t, plane, layers, n_water, want, x, n, p, height, depth, pixel, by_x, row):
        return False
    by_world = np.empty((2, 3))
    for e in range(2):
        for j in range(3):
            row[e, POSE + 3 + j] += by_x[e, j]
            by_world[e, j] = by_x[e, 0] * R[0, j] + by_x[e, 1] * R[1, j] + by_x[e, 2] * R[2, j]
            row[e, BOARD + 3 + j] = by_world[e, j]
        row[e, ASPECT] = y * (by_world[e, 0] * Rb[0, 1] + by_world[e, 1] * Rb[1, 1] + by_world[e, 2] * Rb[2, 1])
    _add_turn(by_x, turned, row, POSE)
    _add_turn(by_world, arm, row, BOARD)
    return True


@njit(**KERNEL)
def _through_water(cam, R, t, plane, layers, n_water, want, x, n, p, height, depth, pixel, by_x, row):  # type: ignore[no-untyped-def]
    """Do the part of `observe` for a point behind the plane; all of x, n, p in the camera's frame.

    With e the unit vector from the camera's foot on the plane towards the point's, the light meets the lens along
    v = tau e - n. Its derivatives by x, n and p follow from those of tau (see `bend`) and e.
    """
    lateral = _sum(x, depth, n)
    reach = math.sqrt(_dot(lateral, lateral))
    out = np.empty(5)
    bend(depth, reach, height, n_water, layers, out)
    g = out[0]
    v = np.empty(3)
    for i in range(3):
        v[i] = g * lateral[i] - n[i]
    if not v[2] > 1e-9:
        return False
    D = np.empty((2, 3))
    through_lens(cam, v, want, pixel, D, row)
    e = np.zeros(3)
    if reach > 1e-12 * depth:
        for i in range(3):
            e[i] = lateral[i] / reach
    by_n = np.empty((2, 3))
    by_p = np.empty((2, 3))
    for k in range(2):
        along, across = _dot(D[k], e), _dot(D[k], n)
        for j in range(3):
            by_x[k, j] = along * (out[1] * e[j] - out[2] * n[j]) + g * (D[k, j] - across * n[j] - along * e[j])
            by_n[k, j] = (
                along * (out[1] * depth * e[j] - out[2] * x[j] - out[3] * p[j])
                + g * (depth * D[k, j] - across * x[j] - depth * along * e[j])
                - D[k, j]
            )
            by_p[k, j] = -along * out[3] * n[j]
            row[k, POSE + 3 + j] += by_p[k, j]
        row[k, WATER] = along * out[4]
        row[k, WATER + 1] = _dot(by_p[k], n)
        row[k, WATER + 2] = _dot(by_n[k], _turned(R, plane[7:10]))
        row[k, WATER + 3] = _dot(by_n[k], _turned(R, plane[10:13]))
    _add_turn(by_n, n, row, POSE)
    _add_turn(by_p, _sum(p, -1.0, t), row, POSE)
    return True


@njit(**KERNEL)
def observe_all(  # type: ignore[no-untyped-def]
    cams,
    R,
    t,
    planes,
    layers,
    n_layers,
    n_water,
    want,
    Rb,
    tb,
    points,
    aspect,
    camera,
    board,
    corner,
    dry,
    pixel,
    row,
    seen,
):
    """`observe` for N corners: ``camera``, ``board``, ``corner`` (N,) -> pixel (N, 2), row (N, 2, COLUMNS), seen (N,).

    ``dry`` (N,): pictures taken without the water; ``aspect`` (K,) of each of the ``points`` (K, 3).
    """
    none = np.zeros(13)
    P = np.empty(3)
    for i in range(camera.shape[0]):
        c, f = camera[i], board[i]
        k = corner[i]
        P[0], P[1], P[2] = points[k, 0], points[k, 1] * aspect[k], points[k, 2]
        seen[i] = observe(
            cams[c],
            R[c],
            t[c],
            none if dry[i] else planes[c],
            layers[c, : n_layers[c]],
            n_water,
            want[c],
            Rb[f],
            tb[f],
            P,
            points[k, 1],
            pixel[i],
            row[i],
        )


@njit(**KERNEL)
def accumulate(row, error, weight, camera, board, shared, H, g, A, B, b):  # type: ignore[no-untyped-def]
    """Add all corners to the normal equations of cameras and water (H, g), boards (A, b) and between them (B).

    ``error`` (N, 2) observed minus predicted; ``weight`` (N,); ``shared`` (C, SHARED): where the columns of each
    camera, of its water and of the aspect stand in H, -1 not at all. H (M, M), g (M,), A (F, 6, 6), b (F, 6),
    B (F, M, 6).
    """
    place = np.empty(SHARED, np.int64)
    for i in range(row.shape[0]):
        w = weight[i]
        if w == 0.0:
            continue
        f = board[i]
        place[:] = shared[camera[i]]
        for e in range(2):
            r = row[i, e]
            d = w * error[i, e]
            for j in range(SHARED):
                cj = r[j] if j < BOARD else r[j + 6]
                if cj == 0.0 or place[j] < 0:
                    continue
                g[place[j]] += cj * d
                wj = w * cj
                for k in range(SHARED):
                    if place[k] >= 0:
                        H[place[j], place[k]] += wj * (r[k] if k < BOARD else r[k + 6])
                for k in range(6):
                    B[f, place[j], k] += wj * r[BOARD + k]
            for j in range(6):
                b[f, j] += r[BOARD + j] * d
                for k in range(6):
                    A[f, j, k] += w * r[BOARD + j] * r[BOARD + k]
