"""3D points from rays or pixels of two and more cameras.

Groups have unequal sizes, so all functions take the members of all groups one after the other and ``offsets``
(G + 1,): group g owns members ``offsets[g]:offsets[g + 1]``.

Which one: `triangulate_rays` is exact for two rays and any camera, and needs no start; `triangulate_ml` weighs by
pixel error and tells the covariance, at some ten times the cost; `triangulate_dlt` is the paper's and knows no water.
"""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..core.compiled import KERNEL, helper
from ..core.errors import InputError
from .kernels import GLASS_MARGIN, project_within, ray_one, undistort_pixel
from .layout import FX
from .rig import CameraRig

Array = NDArray[np.float64]
_GAUSS_NEWTON_STEPS = 20


@dataclass(frozen=True)
class Triangulation:
    """Maximum-likelihood points (G, 3), covariance (G, 3, 3), mean pixel error (G,) and validity (G,)."""

    points: Array
    covariance: Array
    error_px: Array
    valid: NDArray[np.bool_]


def triangulate_dlt(rig: CameraRig, pixels: ArrayLike, camera: ArrayLike, offsets: ArrayLike) -> Array:
    """Direct linear transform (Hartley & Zisserman 12.2) on undistorted pixels.

    Parameters
    ----------
    rig : the cameras.
    pixels : (M, 2) of the members of all groups, px.
    camera : (M,) index into the rig.
    offsets : (G + 1,) where the members of each group begin.

    Returns
    -------
    (G, 3) points, NaN for groups of fewer than two members. Solved through the 4 x 4 normal matrix after scaling
    each row by its focal length.
    """
    if rig.refractive:
        raise InputError("DLT triangulation is for cameras without water; use rays or maximum likelihood")
    points = _dlt(
        rig.packed,
        rig.matrices,
        np.ascontiguousarray(pixels, np.float64),
        np.ascontiguousarray(camera, np.int64),
        np.ascontiguousarray(offsets, np.int64),
    )
    return np.asarray(points)


def triangulate_rays(origins: ArrayLike, directions: ArrayLike, offsets: ArrayLike) -> tuple[Array, Array]:
    """Points nearest to all rays of each group, in the least-squares sense.

    Parameters
    ----------
    origins : (M, 3) world units.
    directions : (M, 3) of unit length.
    offsets : (G + 1,) where the rays of each group begin.

    Returns
    -------
    points (G, 3) and gap (G,), the root mean square distance from the point to its rays, world units. NaN for fewer
    than two rays, rays that are (nearly) parallel, or invalid rays.
    """
    points, gap = _rays(
        np.ascontiguousarray(origins, np.float64),
        np.ascontiguousarray(directions, np.float64),
        np.ascontiguousarray(offsets, np.int64),
    )
    return points, gap


def triangulate_ml(
    rig: CameraRig,
    pixels: ArrayLike,
    camera: ArrayLike,
    offsets: ArrayLike,
    sigma_px: float | ArrayLike = 1.0,
) -> Triangulation:
    """Points of greatest likelihood under Gaussian pixel noise, by Gauss-Newton through lens and water.

    Parameters
    ----------
    rig : the cameras.
    pixels : (M, 2) of the members of all groups, px.
    camera : (M,) index into the rig.
    offsets : (G + 1,) where the members of each group begin.
    sigma_px : standard deviation per axis of the pixels, one for all or (M,).

    Returns
    -------
    `Triangulation`; covariance (G, 3, 3) is the inverse Fisher information at the optimum, world units squared.
    """
    pixels = np.ascontiguousarray(pixels, np.float64)
    sigma = np.ascontiguousarray(np.broadcast_to(np.asarray(sigma_px, np.float64), len(pixels)))
    points, covariance, error, valid = _maximum_likelihood(
        rig.packed,
        pixels,
        np.ascontiguousarray(camera, np.int64),
        np.ascontiguousarray(offsets, np.int64),
        sigma,
    )
    return Triangulation(points, covariance, error, valid)


@helper
def _smallest4(a, q):  # type: ignore[no-untyped-def]
    """Column of `q` (4, 4) that is the eigenvector of least eigenvalue of a symmetric `a` (4, 4); both are used up.

    Cyclic Jacobi rotations (Golub & Van Loan 8.5): for so small a matrix faster than a call of LAPACK.
    """
    for i in range(4):
        for j in range(4):
            q[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off, size = 0.0, 0.0
        for i in range(4):
            size += a[i, i] * a[i, i]
            for j in range(i):
                off += a[i, j] * a[i, j]
        if off <= 1e-32 * size:
            break
        for i in range(3):
            for j in range(i + 1, 4):
                if a[i, j] == 0.0:
                    continue
                theta = (a[j, j] - a[i, i]) / (2.0 * a[i, j])
                t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(1.0 + theta * theta))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = t * c
                for k in range(4):
                    x, y = a[k, i], a[k, j]
                    a[k, i], a[k, j] = c * x - s * y, s * x + c * y
                for k in range(4):
                    x, y = a[i, k], a[j, k]
                    a[i, k], a[j, k] = c * x - s * y, s * x + c * y
                for k in range(4):
                    x, y = q[k, i], q[k, j]
                    q[k, i], q[k, j] = c * x - s * y, s * x + c * y
    best = 0
    for i in range(1, 4):
        if a[i, i] < a[best, best]:
            best = i
    return best


@njit(**KERNEL)
def _dlt(packed, matrices, pixels, camera, offsets):  # type: ignore[no-untyped-def]
    n = offsets.shape[0] - 1
    points = np.full((n, 3), np.nan)
    normal = np.empty((4, 4))
    vectors = np.empty((4, 4))
    row = np.empty(4)
    for g in range(n):
        if offsets[g + 1] - offsets[g] < 2:
            continue
        for i in range(4):
            for j in range(4):
                normal[i, j] = 0.0
        for m in range(offsets[g], offsets[g + 1]):
            cam, matrix = packed[camera[m]], matrices[camera[m]]
            ideal = undistort_pixel(cam, pixels[m, 0], pixels[m, 1])
            for axis in range(2):
                for k in range(4):
                    row[k] = (ideal[axis] * matrix[2, k] - matrix[axis, k]) / cam[FX]
                for i in range(4):
                    for j in range(4):
                        normal[i, j] += row[i] * row[j]
        total = 0.0
        for i in range(4):
            for j in range(4):
                total += 0.0 * normal[i, j]
        if math.isnan(total):  # one of them is infinite or NaN
            continue
        best = _smallest4(normal, vectors)
        for k in range(3):
            points[g, k] = vectors[k, best] / vectors[3, best]
    return points


@helper
def solve3(a, b):  # type: ignore[no-untyped-def]
    """Solve a symmetric 3 x 3 system by cofactors: returns x, y, z and whether the matrix is regular."""
    c00 = a[1, 1] * a[2, 2] - a[1, 2] * a[1, 2]
    c01 = a[0, 2] * a[1, 2] - a[0, 1] * a[2, 2]
    c02 = a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1]
    det = a[0, 0] * c00 + a[0, 1] * c01 + a[0, 2] * c02
    trace = a[0, 0] + a[1, 1] + a[2, 2]
    if not det > 1e-14 * trace * trace * trace:
        return np.nan, np.nan, np.nan, False
    c11 = a[0, 0] * a[2, 2] - a[0, 2] * a[0, 2]
    c12 = a[0, 1] * a[0, 2] - a[0, 0] * a[1, 2]
    c22 = a[0, 0] * a[1, 1] - a[0, 1] * a[0, 1]
    x = (c00 * b[0] + c01 * b[1] + c02 * b[2]) / det
    y = (c01 * b[0] + c11 * b[1] + c12 * b[2]) / det
    z = (c02 * b[0] + c12 * b[1] + c22 * b[2]) / det
    return x, y, z, True


@helper
def nearest_to_rays(origins, directions, begin, end, a, b):  # type: ignore[no-untyped-def]
    """Least-squares point of rays begin..end; `a` (3, 3) and `b` (3,) are scratch. Returns x, y, z, gap, ok."""
    for i in range(3):
        b[i] = 0.0
        for j in range(3):
            a[i, j] = 0.0
    for m in range(begin, end):
        for i in range(3):
            for j in range(3):
                q = (1.0 if i == j else 0.0) - directions[m, i] * directions[m, j]
                a[i, j] += q
                b[i] += q * origins[m, j]
    x, y, z, ok = solve3(a, b)
    if end - begin < 2 or not ok:
        return np.nan, np.nan, np.nan, np.nan, False
    total = 0.0
    for m in range(begin, end):
        ex, ey, ez = x - origins[m, 0], y - origins[m, 1], z - origins[m, 2]
        along = ex * directions[m, 0] + ey * directions[m, 1] + ez * directions[m, 2]
        ex, ey, ez = ex - along * directions[m, 0], ey - along * directions[m, 1], ez - along * directions[m, 2]
        total += ex * ex + ey * ey + ez * ez
    return x, y, z, math.sqrt(total / (end - begin)), True


@njit(**KERNEL)
def _rays(origins, directions, offsets):  # type: ignore[no-untyped-def]
    n = offsets.shape[0] - 1
    points = np.empty((n, 3))
    gap = np.empty(n)
    a = np.empty((3, 3))
    b = np.empty(3)
    for g in range(n):
        x, y, z, gap[g], _ = nearest_to_rays(origins, directions, offsets[g], offsets[g + 1], a, b)
        points[g, 0], points[g, 1], points[g, 2] = x, y, z
    return points, gap


@njit(**KERNEL)
def information(packed, pixels, camera, sigma, begin, end, x, h, a, b):  # type: ignore[no-untyped-def]
    """Gauss-Newton normal matrix `a` (3, 3) and right side `b` (3,) at x.

    Derivatives are central differences of step `h` (world units). Returns half the squared error in sigmas, the
    summed pixel error and whether every camera sees the point.
    """
    a[:] = 0.0
    b[:] = 0.0
    cost = 0.0
    pixel_error = 0.0
    jacobian = np.empty((2, 3))
    shifted = np.empty(3)
    for m in range(begin, end):
        cam = packed[camera[m]]
        u, v, ok = project_within(cam, x[0], x[1], x[2], GLASS_MARGIN)
        if not ok:
            return np.inf, np.inf, False
        for k in range(3):
            shifted[:] = x
            shifted[k] = x[k] + h
            u1, v1, ok1 = project_within(cam, shifted[0], shifted[1], shifted[2], GLASS_MARGIN)
            shifted[k] = x[k] - h
            u0, v0, ok0 = project_within(cam, shifted[0], shifted[1], shifted[2], GLASS_MARGIN)
            if not (ok1 and ok0):
                return np.inf, np.inf, False
            jacobian[0, k] = (u1 - u0) / (2.0 * h)
            jacobian[1, k] = (v1 - v0) / (2.0 * h)
        du, dv = pixels[m, 0] - u, pixels[m, 1] - v
        w = 1.0 / (sigma[m] * sigma[m])
        cost += 0.5 * w * (du * du + dv * dv)
        pixel_error += math.sqrt(du * du + dv * dv)
        for i in range(3):
            b[i] += w * (jacobian[0, i] * du + jacobian[1, i] * dv)
            for j in range(3):
                a[i, j] += w * (jacobian[0, i] * jacobian[0, j] + jacobian[1, i] * jacobian[1, j])
    return cost, pixel_error, True


@njit(**KERNEL)
def _maximum_likelihood(packed, pixels, camera, offsets, sigma):  # type: ignore[no-untyped-def]
    n = offsets.shape[0] - 1
    points = np.full((n, 3), np.nan)
    covariance = np.full((n, 3, 3), np.nan)
    error = np.full(n, np.nan)
    valid = np.zeros(n, np.bool_)
    origins = np.empty((pixels.shape[0], 3))
    directions = np.empty((pixels.shape[0], 3))
    for m in range(pixels.shape[0]):
        ox, oy, oz, dx, dy, dz, _ = ray_one(packed[camera[m]], pixels[m, 0], pixels[m, 1])
        origins[m, 0], origins[m, 1], origins[m, 2] = ox, oy, oz
        directions[m, 0], directions[m, 1], directions[m, 2] = dx, dy, dz
    a = np.empty((3, 3))
    b = np.empty(3)
    x = np.empty(3)
    trial = np.empty(3)
    for g in range(n):
        begin, end = offsets[g], offsets[g + 1]
        px, py, pz, _, ok = nearest_to_rays(origins, directions, begin, end, a, b)
        if not ok:
            continue
        x[0], x[1], x[2] = px, py, pz
        distance = math.sqrt(
            (px - origins[begin, 0]) ** 2 + (py - origins[begin, 1]) ** 2 + (pz - origins[begin, 2]) ** 2
        )
        h = 1e-5 * max(distance, 1e-6)
        cost, pixel_error, ok = information(packed, pixels, camera, sigma, begin, end, x, h, a, b)
        if not ok:
            continue
        for _ in range(_GAUSS_NEWTON_STEPS):
            sx, sy, sz, ok = solve3(a, b)
            if not ok:
                break
            scale = 1.0
            for _ in range(10):  # halve the step while it does not lower the cost
                trial[0], trial[1], trial[2] = x[0] + scale * sx, x[1] + scale * sy, x[2] + scale * sz
                new_cost, new_error, seen = information(packed, pixels, camera, sigma, begin, end, trial, h, a, b)
                if seen and new_cost <= cost * (1.0 + 1e-12):
                    break
                scale *= 0.5
            if not (seen and new_cost <= cost * (1.0 + 1e-12)):
                break
            moved = scale * math.sqrt(sx * sx + sy * sy + sz * sz)
            x[:] = trial
            cost, pixel_error = new_cost, new_error
            if moved < 1e-9 * distance:
                break
        cost, pixel_error, ok = information(packed, pixels, camera, sigma, begin, end, x, h, a, b)
        _, _, _, regular = solve3(a, b)
        if not (ok and regular):
            continue
        points[g] = x
        covariance[g] = np.linalg.inv(a)
        error[g] = pixel_error / (end - begin)
        valid[g] = True
    return points, covariance, error, valid
