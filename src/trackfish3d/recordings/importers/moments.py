"""Centroid and second moments of masks, from polygons or run lengths, without drawing them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MaskMoments:
    """Per mask (N,): centroid ``u, v`` px, ``area`` px^2, ``angle`` rad, ``major`` and ``minor`` px.

    All NaN where a mask has no area.
    """

    u: Array
    v: Array
    area: Array
    angle: Array
    major: Array
    minor: Array

    @classmethod
    def from_raw(cls, raw: Array) -> "MaskMoments":
        """From raw moments (N, 6): sums of 1, x, y, x^2, xy, y^2 over the mask."""
        m00 = np.where(raw[:, 0] > 1e-9, raw[:, 0], np.nan)
        u, v = raw[:, 1] / m00, raw[:, 2] / m00
        xx, xy, yy = raw[:, 3] / m00 - u * u, raw[:, 4] / m00 - u * v, raw[:, 5] / m00 - v * v
        angle = 0.5 * np.arctan2(2 * xy, xx - yy)
        angle = np.where(angle <= -np.pi / 2, np.pi / 2, angle)
        middle, spread = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
        major, minor = np.sqrt(np.maximum(middle + spread, 0)), np.sqrt(np.maximum(middle - spread, 0))
        return cls(u, v, m00, angle, major, minor)


def polygon_moments(polygons: Sequence[NDArray[np.float64]], owner: Sequence[int], n: int) -> Array:
    """Raw moments (n, 6) of masks made of polygons (K_i, 2); ``owner[i]`` is the mask that polygon i is a part of."""
    if not len(polygons):
        return np.zeros((n, 6))
    offsets = np.cumsum([0] + [len(p) for p in polygons])
    parts = _polygons(np.concatenate(polygons).astype(np.float64), offsets.astype(np.int64))
    out = np.zeros((n, 6))
    np.add.at(out, np.asarray(owner, dtype=np.int64), parts)
    return out


@njit(cache=True)
def _polygons(xy: Array, offsets: NDArray[np.int64]) -> Array:
    """Green's theorem around each polygon, from its first vertex so that far-off pixels lose no digits."""
    out = np.zeros((len(offsets) - 1, 6))
    for p in range(len(offsets) - 1):
        a, b = offsets[p], offsets[p + 1]
        if b - a < 3:
            continue
        ox, oy = xy[a, 0], xy[a, 1]
        m = np.zeros(6)
        for i in range(a, b):
            j = i + 1 if i + 1 < b else a
            x0, y0, x1, y1 = xy[i, 0] - ox, xy[i, 1] - oy, xy[j, 0] - ox, xy[j, 1] - oy
            c = x0 * y1 - x1 * y0
            m[0] += c / 2
            m[1] += c * (x0 + x1) / 6
            m[2] += c * (y0 + y1) / 6
            m[3] += c * (x0 * x0 + x0 * x1 + x1 * x1) / 12
            m[4] += c * (2 * x0 * y0 + x0 * y1 + x1 * y0 + 2 * x1 * y1) / 24
            m[5] += c * (y0 * y0 + y0 * y1 + y1 * y1) / 12
        if m[0] < 0:
            m = -m
        out[p, 0] = m[0]
        out[p, 1] = m[1] + ox * m[0]
        out[p, 2] = m[2] + oy * m[0]
        out[p, 3] = m[3] + 2 * ox * m[1] + ox * ox * m[0]
        out[p, 4] = m[4] + ox * m[2] + oy * m[1] + ox * oy * m[0]
        out[p, 5] = m[5] + 2 * oy * m[2] + oy * oy * m[0]
    return out


@njit(cache=True)
def rle_moments(counts: NDArray[np.int64], height: int) -> Array:
    """Raw moments (6,) of one mask of run lengths (background first, down the columns), px centres at whole numbers."""
    out = np.zeros(6)
    position = 0
    for k in range(len(counts)):
        if k % 2 == 1:
            i, end = position, position + counts[k]
            while i < end:
                x, y0 = i // height, i % height
                n = min(end - i, height - y0)
                y1 = y0 + n - 1
                below = (y0 - 1) * y0 * (2 * y0 - 1) / 6
                sy, syy = n * (y0 + y1) / 2, y1 * (y1 + 1) * (2 * y1 + 1) / 6 - below
                out[0] += n
                out[1] += n * x
                out[2] += sy
                out[3] += n * x * x
                out[4] += x * sy
                out[5] += syy
                i += n
        position += counts[k]
    return out


def decode_counts(text: bytes) -> NDArray[np.int64]:
    """COCO's compressed run lengths as numbers: 6 bits a character, each after the second relative to two before.

    Characters that cannot occur, or a text that stops inside a number, raise ValueError.
    """
    codes = np.frombuffer(text, dtype=np.uint8).astype(np.int64) - 48
    if codes.size and (codes.min() < 0 or codes.max() > 63 or codes[-1] & 32):
        raise ValueError("run lengths are damaged")
    return np.asarray(_decode(codes))


@njit(cache=True)
def _decode(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    out = np.zeros(len(codes), np.int64)
    n, value, shift = 0, 0, 0
    for k in range(len(codes)):
        c = codes[k]
        if shift < 60:
            value |= (c & 31) << shift
        shift += 5
        if not c & 32:
            if c & 16 and shift < 64:
                value |= -1 << shift
            out[n] = value + (out[n - 2] if n > 2 else 0)
            n, value, shift = n + 1, 0, 0
    return out[:n]
