"""Scalar camera mathematics for Numba: one pixel to one ray, one point to one pixel.

A camera is one row of ``CameraRig.packed`` (see `_layout`), so that every batched kernel of the package can
loop over cameras and detections without touching a Python object.
"""

import math

import numpy as np
from numba import njit

from ..core.compiled import KERNEL, helper
from .layout import (
    ABOVE,
    CENTRE,
    CX,
    CY,
    FISHEYE,
    FX,
    FY,
    INTERFACE_SIZE,
    INTERFACES,
    LAYERS,
    LENS_DISTORTED,
    LENS_LIMIT,
    N_INTERFACES,
    PARALLEL,
    ROT,
    SKEW,
    THINNEST,
    TRANS,
)
from .lens import at_pole, distort, undistort

_PROJECTION_STEPS = 30
GLASS_MARGIN = 0.1


@njit(cache=True, error_model="numpy", inline="always")
def _refract(dx, dy, dz, nx, ny, nz, ratio):  # type: ignore[no-untyped-def]
    """Snell's law for a unit direction that crosses a plane against its normal; ratio = n_before / n_after."""
    c = -(dx * nx + dy * ny + dz * nz)
    k = 1.0 - ratio * ratio * (1.0 - c * c)
    if c <= 0.0 or k <= 0.0:
        return dx, dy, dz, False
    s = ratio * c - math.sqrt(k)
    return ratio * dx + s * nx, ratio * dy + s * ny, ratio * dz + s * nz, True


@helper
def cast(cam, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Follow a unit direction (world) from the camera's centre through all interfaces."""
    ox, oy, oz = cam[CENTRE], cam[CENTRE + 1], cam[CENTRE + 2]
    for i in range(int(cam[N_INTERFACES])):
        b = INTERFACES + i * INTERFACE_SIZE
        nx, ny, nz = cam[b + 3], cam[b + 4], cam[b + 5]
        height = (ox - cam[b]) * nx + (oy - cam[b + 1]) * ny + (oz - cam[b + 2]) * nz
        descent = -(dx * nx + dy * ny + dz * nz)
        if descent <= 1e-12 or height < 0.0:
            return ox, oy, oz, dx, dy, dz, False
        s = height / descent
        ox, oy, oz = ox + s * dx, oy + s * dy, oz + s * dz
        dx, dy, dz, ok = _refract(dx, dy, dz, nx, ny, nz, cam[b + 6] / cam[b + 7])
        if not ok:
            return ox, oy, oz, dx, dy, dz, False
    return ox, oy, oz, dx, dy, dz, True


@helper
def ray_one(cam, u, v):  # type: ignore[no-untyped-def]
    """Pixel to ray in the animals' medium: origin on the last interface (or the centre), unit direction."""
    yd = (v - cam[CY]) / cam[FY]
    xd = (u - cam[CX] - cam[SKEW] * yd) / cam[FX]
    x, y, ok = undistort(cam, xd, yd)
    if not ok or not (math.isfinite(u) and math.isfinite(v)):
        return np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, False
    s = 1.0 / math.sqrt(x * x + y * y + 1.0)
    r = ROT
    dx = (cam[r] * x + cam[r + 3] * y + cam[r + 6]) * s
    dy = (cam[r + 1] * x + cam[r + 4] * y + cam[r + 7]) * s
    dz = (cam[r + 2] * x + cam[r + 5] * y + cam[r + 8]) * s
    ox, oy, oz, dx, dy, dz, ok = cast(cam, dx, dy, dz)
    if not ok:
        return np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, False
    return ox, oy, oz, dx, dy, dz, True


@helper
def _leave_parallel(cam, x, y, z, margin):  # type: ignore[no-untyped-def]
    """Direction at the camera of the path to a point behind parallel interfaces.

    The path lies in a plane, and its lateral reach is a sum over layers of ``h_i p / sqrt(n_i^2 - p^2)`` with
    Snell's invariant p. Written in s, the slope of the path in the thinnest medium, the reach is concave and
    increasing, so Newton's method from s = 0 climbs to the root without ever passing it.
    """
    last = int(cam[N_INTERFACES])
    nx, ny, nz = cam[INTERFACES + 3], cam[INTERFACES + 4], cam[INTERFACES + 5]
    ex, ey, ez = x - cam[CENTRE], y - cam[CENTRE + 1], z - cam[CENTRE + 2]
    depth = -(ex * nx + ey * ny + ez * nz)
    lx, ly, lz = ex + depth * nx, ey + depth * ny, ez + depth * nz
    reach = math.sqrt(lx * lx + ly * ly + lz * lz)
    if not depth >= cam[ABOVE] * (1.0 - margin) - 1e-12:
        return 0.0, 0.0, 0.0, False
    if reach < 1e-14 * depth:
        return -nx, -ny, -nz, True
    thinnest = cam[THINNEST]
    m2 = thinnest * thinnest
    s = 0.0
    for _ in range(_PROJECTION_STEPS):
        g = 1.0 / (1.0 + s * s)
        p2 = m2 * s * s * g
        factor = thinnest * math.sqrt(g)
        value = -reach
        slope = 0.0
        for i in range(last + 1):
            n2 = cam[LAYERS + 2 * i + 1]
            thickness = cam[LAYERS + 2 * i] if i < last else depth - cam[ABOVE]
            q = max(n2 - p2, 1e-300)
            base = thickness * factor / math.sqrt(q)  # reach of this layer per unit of s
            value += base * s
            slope += base * n2 * g / q
        if slope <= 0.0:
            return 0.0, 0.0, 0.0, False
        step = value / slope
        s -= step
        if abs(step) <= 1e-9 * (1.0 + s):  # convergence is quadratic: the next step would be below rounding
            break
    p = thinnest * s / math.sqrt(1.0 + s * s)
    sine = p / math.sqrt(cam[LAYERS + 1])
    if sine >= 1.0:
        return 0.0, 0.0, 0.0, False
    cosine = math.sqrt(1.0 - sine * sine)
    k = sine / reach
    return lx * k - nx * cosine, ly * k - ny * cosine, lz * k - nz * cosine, True


@helper
def _miss(cam, dx, dy, dz, x, y, z, margin, ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    """How far the refracted path of a direction passes a point, along two axes across the line of sight."""
    ox, oy, oz, rx, ry, rz, ok = cast(cam, dx, dy, dz)
    ex, ey, ez = x - ox, y - oy, z - oz
    along = ex * rx + ey * ry + ez * rz
    mx, my, mz = ex - along * rx, ey - along * ry, ez - along * rz
    return mx * ax + my * ay + mz * az, mx * bx + my * by + mz * bz, ok and along >= -margin


@helper
def _leave_general(cam, x, y, z, margin):  # type: ignore[no-untyped-def]
    """As `_leave_parallel` for interfaces that are not parallel: a two-dimensional Newton on the direction."""
    cx, cy, cz = cam[CENTRE], cam[CENTRE + 1], cam[CENTRE + 2]
    dx, dy, dz = x - cx, y - cy, z - cz
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / distance, dy / distance, dz / distance
    if abs(dx) < 0.9:
        ax, ay, az = 0.0, dz, -dy
    else:
        ax, ay, az = -dz, 0.0, dx
    s = 1.0 / math.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = ax * s, ay * s, az * s
    bx, by, bz = dy * az - dz * ay, dz * ax - dx * az, dx * ay - dy * ax
    margin = margin * distance + 1e-9
    h = 1e-6
    for _ in range(_PROJECTION_STEPS):
        m1, m2, ok = _miss(cam, dx, dy, dz, x, y, z, margin, ax, ay, az, bx, by, bz)
        if not ok:
            return 0.0, 0.0, 0.0, False
        if math.sqrt(m1 * m1 + m2 * m2) < 1e-13 * distance:
            break
        gx, gy, gz = _unit(dx + h * ax, dy + h * ay, dz + h * az)
        p1, p2, ok1 = _miss(cam, gx, gy, gz, x, y, z, margin, ax, ay, az, bx, by, bz)
        gx, gy, gz = _unit(dx + h * bx, dy + h * by, dz + h * bz)
        q1, q2, ok2 = _miss(cam, gx, gy, gz, x, y, z, margin, ax, ay, az, bx, by, bz)
        j11, j21, j12, j22 = (p1 - m1) / h, (p2 - m2) / h, (q1 - m1) / h, (q2 - m2) / h
        det = j11 * j22 - j12 * j21
        if not (ok1 and ok2) or abs(det) < 1e-12 * distance * distance:
            return 0.0, 0.0, 0.0, False
        sa = (j22 * m1 - j12 * m2) / det
        sb = (j11 * m2 - j21 * m1) / det
        dx, dy, dz = _unit(dx - sa * ax - sb * bx, dy - sa * ay - sb * by, dz - sa * az - sb * bz)
    m1, m2, ok = _miss(cam, dx, dy, dz, x, y, z, margin, ax, ay, az, bx, by, bz)
    return dx, dy, dz, ok and math.sqrt(m1 * m1 + m2 * m2) < 1e-9 * distance


@njit(cache=True, error_model="numpy", inline="always")
def _unit(x, y, z):  # type: ignore[no-untyped-def]
    s = 1.0 / math.sqrt(x * x + y * y + z * z)
    return x * s, y * s, z * s


@helper
def project_one(cam, x, y, z):  # type: ignore[no-untyped-def]
    """World point to pixel; the last value is False where the camera cannot see that point."""
    return project_within(cam, x, y, z, 0.0)


@helper
def project_within(cam, x, y, z, margin):  # type: ignore[no-untyped-def]
    """As `project_one`, also for points a little in front of the last interface, where noise puts fish at the glass.

    There the ray in the water is continued backwards. `margin` is the share of the camera's distance to the
    interface that this may reach; estimators use ``GLASS_MARGIN``, so that a fish at the glass is not lost.
    """
    r, t = ROT, TRANS
    if cam[N_INTERFACES] == 0.0:
        px = cam[r] * x + cam[r + 1] * y + cam[r + 2] * z + cam[t]
        py = cam[r + 3] * x + cam[r + 4] * y + cam[r + 5] * z + cam[t + 1]
        pz = cam[r + 6] * x + cam[r + 7] * y + cam[r + 8] * z + cam[t + 2]
    else:
        if cam[PARALLEL] != 0.0:
            dx, dy, dz, ok = _leave_parallel(cam, x, y, z, margin)
        else:
            dx, dy, dz, ok = _leave_general(cam, x, y, z, margin)
        if not ok:
            return np.nan, np.nan, False
        px = cam[r] * dx + cam[r + 1] * dy + cam[r + 2] * dz
        py = cam[r + 3] * dx + cam[r + 4] * dy + cam[r + 5] * dz
        pz = cam[r + 6] * dx + cam[r + 7] * dy + cam[r + 8] * dz
    if not pz > 1e-12:
        return np.nan, np.nan, False
    scale = 1.0 / pz
    px *= scale
    py *= scale
    if cam[LENS_DISTORTED] != 0.0:
        r2 = px * px + py * py
        radius = math.sqrt(r2)
        if cam[FISHEYE] != 0.0:
            radius = math.atan(radius)
        elif at_pole(cam, r2):
            return np.nan, np.nan, False
        if radius > cam[LENS_LIMIT]:
            return np.nan, np.nan, False
        px, py = distort(cam, px, py)
    return cam[FX] * px + cam[SKEW] * py + cam[CX], cam[FY] * py + cam[CY], True


@njit(**KERNEL)
def project_many(cam, points):  # type: ignore[no-untyped-def]
    """(N, 3) world points to (N, 2) pixels, NaN where not visible."""
    out = np.empty((points.shape[0], 2))
    for i in range(points.shape[0]):
        u, v, ok = project_one(cam, points[i, 0], points[i, 1], points[i, 2])
        out[i, 0], out[i, 1] = u, v
        if not ok:
            out[i, 0] = out[i, 1] = np.nan
    return out


@njit(**KERNEL)
def project_each(packed, camera, points):  # type: ignore[no-untyped-def]
    """(N, 3) world points to (N, 2) pixels, each in its camera (N,) of the packed ones; NaN where not visible."""
    out = np.full((points.shape[0], 2), np.nan)
    for i in range(points.shape[0]):
        u, v, ok = project_one(packed[camera[i]], points[i, 0], points[i, 1], points[i, 2])
        if ok:
            out[i, 0], out[i, 1] = u, v
    return out


@njit(**KERNEL)
def rays_many(cam, pixels):  # type: ignore[no-untyped-def]
    """(N, 2) pixels to origins (N, 3), directions (N, 3) and validity (N,)."""
    n = pixels.shape[0]
    origin = np.empty((n, 3))
    direction = np.empty((n, 3))
    valid = np.empty(n, np.bool_)
    for i in range(n):
        ox, oy, oz, dx, dy, dz, ok = ray_one(cam, pixels[i, 0], pixels[i, 1])
        origin[i, 0], origin[i, 1], origin[i, 2] = ox, oy, oz
        direction[i, 0], direction[i, 1], direction[i, 2] = dx, dy, dz
        valid[i] = ok
    return origin, direction, valid


@helper
def undistort_pixel(cam, u, v):  # type: ignore[no-untyped-def]
    """Pixel of a lens without distortion and the same K, NaN where there is none."""
    yd = (v - cam[CY]) / cam[FY]
    xd = (u - cam[CX] - cam[SKEW] * yd) / cam[FX]
    x, y, ok = undistort(cam, xd, yd)
    if not ok:
        return np.nan, np.nan
    return cam[FX] * x + cam[SKEW] * y + cam[CX], cam[FY] * y + cam[CY]


@njit(**KERNEL)
def undistort_many(cam, pixels):  # type: ignore[no-untyped-def]
    """(N, 2) pixels to the pixels of a lens without distortion and the same K, NaN where there is none."""
    out = np.empty((pixels.shape[0], 2))
    for i in range(pixels.shape[0]):
        out[i, 0], out[i, 1] = undistort_pixel(cam, pixels[i, 0], pixels[i, 1])
    return out
