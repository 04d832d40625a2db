"""How well any two detections of a frame, seen by different cameras, could be one animal."""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..core.compiled import KERNEL, helper
from ..maths.order import begins
from .kernels import GLASS_MARGIN, project_within, ray_one
from .rig import CameraRig


@dataclass(frozen=True)
class PairResiduals:
    """Residuals of all ordered pairs of N detections; pairs of one camera are NaN / False.

    ``gap`` (N, N) float32: distance of the two rays, world units.
    ``error_px`` (N, N) float32: pixel error of the pair's point in the view of the first, to first order in the
    distance from its ray: within 2 % below 50 px, a tenth of that for the few pixels of a true pair.
    ``inside`` (N, N): the point falls into the boxes of both (the paper's pseudo-positive), exact.
    """

    gap: NDArray[np.float32]
    error_px: NDArray[np.float32]
    inside: NDArray[np.bool_]


def pair_residuals(rig: CameraRig, camera: ArrayLike, pixels: ArrayLike, boxes: ArrayLike) -> PairResiduals:
    """Residuals of all cross-camera pairs among the detections of one frame.

    The point of a pair is the midpoint of its rays, which any camera has. Its pixel comes from how the ray moves
    with its pixel, so that water and lens are gone through once a detection and not once a pair; only points near
    the edge of a box are projected in full.

    Parameters
    ----------
    rig : the cameras.
    camera : (N,) index into the rig.
    pixels : (N, 2) centroids, px.
    boxes : (N, 4) x1, y1, x2, y2, px.
    """
    camera = np.ascontiguousarray(camera, np.int64)
    pixels = np.ascontiguousarray(pixels, np.float64)
    boxes = np.ascontiguousarray(boxes, np.float64)
    order = np.argsort(camera, kind="stable")
    gap, error, inside = _pairs(rig.packed, camera[order], pixels[order], boxes[order])
    if not (order[1:] > order[:-1]).all():
        back = np.ix_(np.argsort(order), np.argsort(order))
        gap, error, inside = gap[back], error[back], inside[back]
    return PairResiduals(gap, error, inside)


@helper
def _fan(cam, u, v, ray, fan):  # type: ignore[no-untyped-def]
    """How the ray of a pixel moves with it: fills `ray` (6,) with origin and direction, and `fan` (21,).

    A point at length a along the ray moves by ``o_u + a d_u`` for a pixel of u, and so for v. ``fan`` holds o_u, d_u,
    o_v, d_v (12 numbers) and, for a = 0, 1, 2, the coefficients of a^k in the squares and the product of the two.
    """
    ray[0], ray[1], ray[2], ray[3], ray[4], ray[5], ok = ray_one(cam, u, v)
    for axis in range(2):
        x, y, z, dx, dy, dz, seen = ray_one(cam, u + (1.0 - axis), v + axis)
        ok = ok and seen
        f = 6 * axis
        fan[f], fan[f + 1], fan[f + 2] = x - ray[0], y - ray[1], z - ray[2]
        fan[f + 3], fan[f + 4], fan[f + 5] = dx - ray[3], dy - ray[4], dz - ray[5]
    for k in range(12, 21):
        fan[k] = 0.0
    for pair, (p, q) in enumerate(((0, 0), (6, 6), (0, 6))):
        for k in range(3):
            # across the ray only: a pixel's step may also slide the origin along it
            po, qo = fan[p + k], fan[q + k]
            pd, qd = fan[p + 3 + k], fan[q + 3 + k]
            fan[12 + 3 * pair] += po * qo
            fan[13 + 3 * pair] += po * qd + pd * qo
            fan[14 + 3 * pair] += pd * qd
        slide_p = fan[p] * ray[3] + fan[p + 1] * ray[4] + fan[p + 2] * ray[5]
        slide_q = fan[q] * ray[3] + fan[q + 1] * ray[4] + fan[q + 2] * ray[5]
        fan[12 + 3 * pair] -= slide_p * slide_q
    return ok


@njit(**KERNEL)
def fans(cam, pixels, ray, fan):  # type: ignore[no-untyped-def]
    """Fill rays (6, N) and fans (N, 21; see `_fan`) of all pixels (N, 2) of a camera; NaN where there is no ray."""
    line = np.empty(6)
    for i in range(pixels.shape[0]):
        ok = _fan(cam, pixels[i, 0], pixels[i, 1], line, fan[i])
        for k in range(6):
            ray[k, i] = line[k] if ok else np.nan


@njit(**KERNEL)
def _pairs(packed, camera, pixels, boxes):  # type: ignore[no-untyped-def]
    """All pairs of detections sorted by camera."""
    n = camera.shape[0]
    gap = np.full((n, n), np.float32(np.nan), np.float32)
    error = np.full((n, n), np.float32(np.nan), np.float32)
    inside = np.zeros((n, n), np.bool_)
    ray = np.empty((6, n))
    fan = np.empty((n, 21))
    first_of = begins(camera, packed.shape[0])
    for c in range(packed.shape[0]):
        begin, end = first_of[c], first_of[c + 1]
        fans(packed[c], pixels[begin:end], ray[:, begin:end], fan[begin:end])
    du, dv = np.empty(n), np.empty(n)
    for i in range(n):
        begin, end = first_of[camera[i]], first_of[camera[i] + 1]
        for first, last in ((0, begin), (end, n)):
            meet(ray, i, ray, first, last, fan[i], du, dv, gap[i], error[i], 0)
            _contain(packed[camera[i]], pixels[i], boxes[i], ray, i, first, last, du, dv, inside[i])
    for i in range(n):
        for j in range(i):
            inside[i, j] = inside[j, i] = inside[i, j] and inside[j, i]
    return gap, error, inside


@helper
def meet(rays, i, others, first, last, fan, du, dv, gap, error, base):  # type: ignore[no-untyped-def]
    """Pair ray i of `rays` (6, N) with `others` (6, M), first to last.

    Fills `du`, `dv`, the midpoint's pixel offset in the one's view to first order, gap and error, each at k - base;
    NaN where the rays are parallel or part, so that nothing lies before both cameras. There are no branches, and
    arrays are whole and contiguous, so that the loop runs on vector registers.
    """
    ox, oy, oz, dx, dy, dz = rays[0, i], rays[1, i], rays[2, i], rays[3, i], rays[4, i], rays[5, i]
    f0, f1, f2, f3, f4, f5 = fan[0], fan[1], fan[2], fan[3], fan[4], fan[5]
    f6, f7, f8, f9, f10, f11 = fan[6], fan[7], fan[8], fan[9], fan[10], fan[11]
    uu0, uu1, uu2, vv0, vv1, vv2 = fan[12], fan[13], fan[14], fan[15], fan[16], fan[17]
    uv0, uv1, uv2 = fan[18], fan[19], fan[20]
    nan = np.nan
    for k in range(first, last):
        ex, ey, ez = others[0, k] - ox, others[1, k] - oy, others[2, k] - oz
        bx, by, bz = others[3, k], others[4, k], others[5, k]
        c = dx * bx + dy * by + dz * bz
        p = ex * dx + ey * dy + ez * dz
        q = ex * bx + ey * by + ez * bz
        s = 1.0 / (1.0 - c * c)
        a, b = (p - c * q) * s, (c * p - q) * s
        fx, fy, fz = ex + b * bx - a * dx, ey + b * by - a * dy, ez + b * bz - a * dz
        along_u = f0 * fx + f1 * fy + f2 * fz + a * (f3 * fx + f4 * fy + f5 * fz)
        along_v = f6 * fx + f7 * fy + f8 * fz + a * (f9 * fx + f10 * fy + f11 * fz)
        uu = uu0 + a * (uu1 + a * uu2)
        vv = vv0 + a * (vv1 + a * vv2)
        uv = uv0 + a * (uv1 + a * uv2)
        half = 0.5 / (uu * vv - uv * uv)
        before = (a > 0.0) & (b > 0.0)
        half = half if before else nan
        u, v = (vv * along_u - uv * along_v) * half, (uu * along_v - uv * along_u) * half
        at = k - base
        du[at] = u
        dv[at] = v
        g = math.sqrt(fx * fx + fy * fy + fz * fz)
        gap[at] = g if before else nan
        error[at] = math.sqrt(u * u + v * v)


@helper
def _contain(cam, pixel, box, ray, i, first, last, du, dv, inside):  # type: ignore[no-untyped-def]
    """Whether each midpoint falls into the box; projected in full where the first order may be wrong."""
    left, right = box[0] - pixel[0], box[2] - pixel[0]
    top, bottom = box[1] - pixel[1], box[3] - pixel[1]
    for k in range(first, last):
        slack = 0.2 + 0.03 * (abs(du[k]) + abs(dv[k]))
        if left + slack <= du[k] <= right - slack and top + slack <= dv[k] <= bottom - slack:
            inside[k] = True
        elif left - slack <= du[k] <= right + slack and top - slack <= dv[k] <= bottom + slack:
            x, y, z = _midpoint(ray[:, i], ray[:, k])
            u, v, ok = project_within(cam, x, y, z, GLASS_MARGIN)
            inside[k] = ok and box[0] <= u <= box[2] and box[1] <= v <= box[3]


@helper
def _midpoint(one, other):  # type: ignore[no-untyped-def]
    """Midpoint of the shortest segment between two rays (6,)."""
    ex, ey, ez = other[0] - one[0], other[1] - one[1], other[2] - one[2]
    c = one[3] * other[3] + one[4] * other[4] + one[5] * other[5]
    p, q = ex * one[3] + ey * one[4] + ez * one[5], ex * other[3] + ey * other[4] + ez * other[5]
    s = 1.0 / (1.0 - c * c)
    a, b = (p - c * q) * s, (c * p - q) * s
    return (
        0.5 * (one[0] + a * one[3] + other[0] + b * other[3]),
        0.5 * (one[1] + a * one[4] + other[1] + b * other[4]),
        0.5 * (one[2] + a * one[5] + other[2] + b * other[5]),
    )
