"""Blobs that look like several animals, and pieces that look like one, judged by their shape alone."""

import numpy as np
from numpy.typing import NDArray

from ..synfish.raster import moments
from . import _blobs, _ellipses
from .blobs import Blob, shapes, split_labels
from .look import Look

_ROUNDS = 25
_MOST = 4  # animals a shape without any history is divided into


def fill_of(blob: Blob) -> float:
    """Area over that of the ellipse with the same moments."""
    return float(shapes([blob])["fill"][0])


def divide_by_shape(blob: Blob, level: NDArray[np.uint8], look: Look) -> list[Blob]:
    """Return the blob itself, or pieces of it that each look like one animal, where the whole does not.

    Two to four ellipses are fitted to the pixels; the smallest number whose pieces are all of an animal's size and
    fill their ellipses is taken. Where none does, the blob stays whole: better one wrong box than four.
    """
    if not suspicious(blob, look):
        return [blob]
    pixels = blob.pixels()
    for k in range(2, _MOST + 1):
        if blob.area < k * look.smallest:
            break
        mean, cov = _start(pixels, k)
        owner, _ = _ellipses.share_pixels(pixels, mean, cov, np.ones(k), 0.0, _ROUNDS)
        if np.bincount(owner, minlength=k).min() < look.smallest:
            continue
        labels = np.zeros(blob.mask.shape, np.int32)
        at = (pixels - [blob.left, blob.top]).astype(np.int64)
        labels[at[:, 1], at[:, 0]] = owner + 1
        pieces = split_labels(labels, k, blob.left, blob.top, level, 1)
        if not any(suspicious(p, look) for p in pieces) and min(p.area for p in pieces) > 0.35 * look.typical:
            return pieces
    return [blob]


def suspicious(blob: Blob, look: Look) -> bool:
    """Whether a blob is too large, too long or too ragged for one animal."""
    facts = moments(blob.sums[None])
    fill = blob.area / (4 * np.pi * facts["major"][0] * facts["minor"][0])
    large = blob.area > look.largest or facts["major"][0] > look.longest
    return bool(large or (fill < look.fill - 0.1 and blob.area > 1.2 * look.typical))


def _start(pixels: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centres (k, 2) spread as far apart as the pixels allow, round ellipses (k, 3) around them."""
    centres = [pixels[np.argmax(np.linalg.norm(pixels - pixels.mean(0), axis=1))]]
    apart = np.linalg.norm(pixels - centres[0], axis=1)
    while len(centres) < k:
        centres.append(pixels[np.argmax(apart)])
        apart = np.minimum(apart, np.linalg.norm(pixels - centres[-1], axis=1))
    mean = np.array(centres)
    for _ in range(5):
        owner = np.argmin(np.linalg.norm(pixels[:, None] - mean[None], axis=2), axis=1)
        mean = np.array([pixels[owner == j].mean(0) if (owner == j).any() else mean[j] for j in range(k)])
    radius = len(pixels) / k / (4 * np.pi)
    return mean, np.tile([radius, 0.0, radius], (k, 1))


def join_pieces(blobs: list[Blob], level: NDArray[np.uint8], look: Look) -> list[Blob]:
    """Join neighbouring pieces that are too small for an animal and together look like one, the best fit first."""
    small = [k for k, b in enumerate(blobs) if b.area < 0.6 * look.typical]
    if len(small) < 2:
        return blobs
    out: list[Blob | None] = list(blobs)
    while True:
        best: tuple[float, int, int] | None = None
        for n, i in enumerate(small):
            for j in small[n + 1 :]:
                a, b = out[i], out[j]
                if a is None or b is None or _box_gap(a, b) > 2 * look.minor:
                    continue
                cost = _unlike(moments((a.sums + b.sums)[None]), look)
                if cost < 1 and (best is None or cost < best[0]):
                    best = cost, i, j
        if best is None:
            return [b for b in out if b is not None]
        _, i, j = best
        a, b = out[i], out[j]
        assert a is not None
        assert b is not None
        out[i], out[j] = merge([a, b], level), None


def _unlike(facts: dict[str, NDArray[np.float64]], look: Look) -> float:
    """How far a union of pieces is from one animal; below 1 it may be one."""
    length, width = facts["major"][0] / look.major, facts["minor"][0] / look.minor
    if facts["area"][0] > 1.2 * look.typical:
        return np.inf
    return float(max(length / 1.25, width / 1.4, 0.6 / length))


def _box_gap(a: Blob, b: Blob) -> float:
    """Pixels between the boxes of two blobs."""
    (ha, wa), (hb, wb) = a.mask.shape, b.mask.shape
    dx = max(a.left - b.left - wb, b.left - a.left - wa, 0)
    dy = max(a.top - b.top - hb, b.top - a.top - ha, 0)
    return float(max(dx, dy))


def merge(parts: list[Blob], level: NDArray[np.uint8]) -> Blob:
    """Return one blob of the pixels of several."""
    left, top = min(p.left for p in parts), min(p.top for p in parts)
    right = max(p.left + p.mask.shape[1] for p in parts)
    bottom = max(p.top + p.mask.shape[0] for p in parts)
    labels = np.zeros((bottom - top, right - left), np.int32)
    for p in parts:
        h, w = p.mask.shape
        labels[p.top - top : p.top - top + h, p.left - left : p.left - left + w] |= p.mask
    return split_labels(labels, 1, left, top, level, 1)[0]


def hull(blob: Blob, level: NDArray[np.uint8]) -> Blob:
    """Return the blob with its convex hull for a mask, unless that is mostly not the blob."""
    mask = _blobs.fill_hull(blob.mask)
    if blob.area < 0.5 * mask.sum():
        return blob
    return split_labels(mask.astype(np.int32), 1, blob.left, blob.top, level, 1)[0]
