"""How well any two detections of a frame, seen by different cameras, could be one animal."""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ._kernels import GLASS_MARGIN, project_within, ray_one
from .rig import CameraRig


@dataclass(frozen=True)
class PairResiduals:
    """Residuals of all ordered pairs of N detections; pairs of one camera are NaN / False.

    ``gap`` (N, N) float32: distance of the two rays, world units.
    ``error_px`` (N, N) float32: pixel error of the pair's point in the view of the first.
    ``inside`` (N, N): the point falls into the boxes of both (the paper's pseudo-positive).
    """

    gap: NDArray[np.float32]
    error_px: NDArray[np.float32]
    inside: NDArray[np.bool_]


def pair_residuals(rig: CameraRig, camera: ArrayLike, pixels: ArrayLike, boxes: ArrayLike) -> PairResiduals:
    """Residuals of all cross-camera pairs among the detections of one frame.

    Parameters
    ----------
    camera : (N,) index into the rig; pixels : (N, 2) centroids; boxes : (N, 4) x1, y1, x2, y2 in px.

    The point of a pair is the midpoint of its rays, which any camera has and which costs a few nanoseconds.
    """
    return PairResiduals(
        *_pairs(
            rig.packed,
            np.ascontiguousarray(camera, np.int64),
            np.ascontiguousarray(pixels, np.float64),
            np.ascontiguousarray(boxes, np.float64),
        )
    )


@njit(cache=True, error_model="numpy")
def _pairs(packed, camera, pixels, boxes):  # type: ignore[no-untyped-def]
    n = camera.shape[0]
    gap = np.empty((n, n), np.float32)
    error = np.empty((n, n), np.float32)
    inside = np.empty((n, n), np.bool_)
    o = np.empty((n, 3))
    d = np.empty((n, 3))
    seen = np.empty(n, np.bool_)
    for i in range(n):
        o[i, 0], o[i, 1], o[i, 2], d[i, 0], d[i, 1], d[i, 2], seen[i] = ray_one(
            packed[camera[i]], pixels[i, 0], pixels[i, 1]
        )
    # Ordered pairs, although each pair's point is then found twice: the inner loop writes along rows.
    for i in range(n):
        cam = packed[camera[i]]
        for j in range(n):
            g = e = np.nan
            within = False
            if camera[j] != camera[i] and seen[i] and seen[j]:
                x, y, z, g, ok = midpoint(o, d, i, j)
                if ok:
                    u, v, ok = project_within(cam, x, y, z, GLASS_MARGIN)
                if ok:
                    e = math.sqrt((u - pixels[i, 0]) ** 2 + (v - pixels[i, 1]) ** 2)
                    within = boxes[i, 0] <= u <= boxes[i, 2] and boxes[i, 1] <= v <= boxes[i, 3]
            gap[i, j] = g
            error[i, j] = e
            inside[i, j] = within
    for i in range(n):
        for j in range(i):
            inside[i, j] = inside[j, i] = inside[i, j] and inside[j, i]
    return gap, error, inside


@njit(cache=True, error_model="numpy", inline="always")
def midpoint(o, d, i, j):  # type: ignore[no-untyped-def]
    """Midpoint of the shortest segment between rays i and j, its length, and whether it lies before both cameras."""
    ex, ey, ez = o[j, 0] - o[i, 0], o[j, 1] - o[i, 1], o[j, 2] - o[i, 2]
    c = d[i, 0] * d[j, 0] + d[i, 1] * d[j, 1] + d[i, 2] * d[j, 2]
    p = ex * d[i, 0] + ey * d[i, 1] + ez * d[i, 2]
    q = ex * d[j, 0] + ey * d[j, 1] + ez * d[j, 2]
    s = 1.0 - c * c
    a, b = p - c * q, c * p - q
    if s < 1e-12 or a <= 0.0 or b <= 0.0:  # parallel, or parting
        return np.nan, np.nan, np.nan, np.nan, False
    a, b = a / s, b / s
    fx = ex + b * d[j, 0] - a * d[i, 0]
    fy = ey + b * d[j, 1] - a * d[i, 1]
    fz = ez + b * d[j, 2] - a * d[i, 2]
    x = o[i, 0] + a * d[i, 0] + 0.5 * fx
    y = o[i, 1] + a * d[i, 1] + 0.5 * fy
    z = o[i, 2] + a * d[i, 2] + 0.5 * fz
    return x, y, z, math.sqrt(fx * fx + fy * fy + fz * fz), True
