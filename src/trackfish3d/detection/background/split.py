"""Blobs that look like several animals, and pieces that look like one, judged by their shape alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..masks.blobs import Blob, shapes, split_labels
from ..masks.moments import moments
from . import ellipse_kernels
from .appearance import Appearance

Array = NDArray[np.float64]
_ROUNDS = 25
_CLEARLY = 0.05  # more of the blob that one ellipse more must cover
_BREAK = 4.0  # an animal's minor deviations, about its width, that may part two pieces of it
_ENOUGH = 500  # pixels that tell where to begin
_WHOLE = 0.75  # of the typical area that each of three or four has: two that cross and bend look like three halves
_MOST = 4  # animals a shape without any history is divided into


def looks_single(blob: Blob, appearance: Appearance) -> bool:
    """Whether a blob alone would pass for one animal: as slender as they are, filled, and not too large."""
    facts = shapes([blob])
    slender = facts["major"][0] / facts["minor"][0] > 0.7 * appearance.major / appearance.minor
    return bool(slender and facts["fill"][0] >= appearance.fill and blob.area <= appearance.largest)


def divide_by_shape(blob: Blob, level: NDArray[np.uint8], appearance: Appearance) -> list[Blob]:
    """Return the blob itself, or pieces of it that each look like one animal, where the whole does not.

    Two to four ellipses are fitted to the pixels, from several starts: end to end, side by side, crossed. The fit
    that covers the blob best with animals of a usual size is taken, if it is clearly better than one ellipse less.
    Where none is, the blob stays whole: better one wrong box than four.
    """
    if not suspicious(blob, appearance):
        return [blob]
    pixels = blob.pixels()
    best = _Fit.of(pixels, blob, *_one(pixels), appearance)
    for k in range(2, _MOST + 1):
        if blob.area < max(k * appearance.smallest, (_WHOLE * k * appearance.typical if k > 2 else 0)):
            break
        fits = [_Fit.of(pixels, blob, *start, appearance) for start in _starts(pixels, k)]
        fit = max(fits, key=lambda f: f.quality)
        if fit.quality < best.quality + _CLEARLY:
            break
        best = fit
    k = int(best.owner.max()) + 1
    if k == 1:
        return [blob]
    labels = np.zeros(blob.mask.shape, np.int32)
    at = (pixels - [blob.left, blob.top]).astype(np.int64)
    labels[at[:, 1], at[:, 0]] = best.owner + 1
    return split_labels(labels, k, blob.left, blob.top, level, 1)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Whose each pixel is, (N,), and how well ellipses of animals explain the blob."""

    owner: NDArray[np.int64]
    quality: float

    @classmethod
    def of(cls, pixels: Array, blob: Blob, mean: Array, cov: Array, appearance: Appearance) -> "_Fit":
        """Fit ellipses from a start (k, 2), (k, 3)."""
        equal, anyhow = np.ones(len(mean)), (np.zeros(0), np.zeros((0, 2)), 0.0)
        owner, _ = ellipse_kernels.share_pixels(pixels, mean, cov, equal, 0.0, _ROUNDS, *anyhow)
        count = np.bincount(owner, minlength=len(mean))
        if count.min() < max(appearance.smallest, 0.25 * appearance.typical):
            return cls(owner, -np.inf)
        covered = ellipse_kernels.coverage(blob.mask, blob.left, blob.top, mean, cov)
        middle = 0.5 * (cov[:, 0] + cov[:, 2])
        major = np.sqrt(middle + np.hypot(0.5 * (cov[:, 0] - cov[:, 2]), cov[:, 1]))
        excess = np.maximum(np.log(count / appearance.largest), np.log(major / appearance.longest))
        return cls(owner, float(covered - 0.5 * np.clip(excess, 0, None).max()))


def _one(pixels: Array) -> tuple[Array, Array]:
    return pixels.mean(0)[None], np.array([[1.0, 0.0, 1.0]]) * len(pixels)


def suspicious(blob: Blob, appearance: Appearance) -> bool:
    """Whether a blob is too large, too long or too ragged for one animal.

    Two equal ellipses that touch fill 0.89 of the ellipse with their moments, end to end as well as side by side.
    """
    facts = moments(blob.sums[None])
    fill = blob.area / (4 * np.pi * facts["major"][0] * facts["minor"][0])
    excess = max(blob.area / appearance.largest, facts["major"][0] / appearance.longest)
    if fill < appearance.fill - 0.1:
        return bool(blob.area > 1.2 * appearance.typical or excess > 1)
    return bool(excess > (1 if fill < appearance.fill else 2))


def _starts(pixels: Array, k: int) -> list[tuple[Array, Array]]:
    """Means (k, 2) and covariances (k, 3) to begin with: apart along the blob, and for two, beside and across."""
    out = [_spread(pixels, k)]
    if k > 2:
        return out
    centre = pixels.mean(0)
    cov = np.cov(pixels.T) + 0.25 * np.eye(2)
    (small, large), axes = np.linalg.eigh(cov)
    across, along = axes[:, 0], axes[:, 1]
    slim = large * np.outer(along, along) + 0.25 * small * np.outer(across, across)
    beside = centre + np.outer([-1, 1], across) * np.sqrt(small)
    out.append((beside, np.tile([slim[0, 0], slim[0, 1], slim[1, 1]], (2, 1))))
    crossed = []
    for sign in (-1, 1):
        axis = along * np.sqrt(large) + sign * across * np.sqrt(small)
        axis /= np.linalg.norm(axis)
        c = large * np.outer(axis, axis) + 0.1 * small * (np.eye(2) - np.outer(axis, axis))
        crossed.append([c[0, 0], c[0, 1], c[1, 1]])
    out.append((np.tile(centre, (2, 1)), np.array(crossed)))
    return out


def _spread(pixels: Array, k: int) -> tuple[Array, Array]:
    """Centres spread as far apart as the pixels allow, round ellipses around them."""
    radius = len(pixels) / k / (4 * np.pi)
    pixels = pixels[:: max(1, len(pixels) // _ENOUGH)]
    centres = [pixels[np.argmax(np.linalg.norm(pixels - pixels.mean(0), axis=1))]]
    apart = np.linalg.norm(pixels - centres[0], axis=1)
    while len(centres) < k:
        centres.append(pixels[np.argmax(apart)])
        apart = np.minimum(apart, np.linalg.norm(pixels - centres[-1], axis=1))
    mean = np.array(centres)
    for _ in range(5):
        owner = np.argmin(np.linalg.norm(pixels[:, None] - mean[None], axis=2), axis=1)
        mean = np.array([pixels[owner == j].mean(0) if (owner == j).any() else mean[j] for j in range(k)])
    return mean, np.tile([radius, 0.0, radius], (k, 1))


def join_pieces(blobs: list[Blob], level: NDArray[np.uint8], appearance: Appearance) -> list[Blob]:
    """Join neighbouring pieces that are too small for an animal and together look like one, the best fit first."""
    small = [k for k, b in enumerate(blobs) if b.area < 0.6 * appearance.typical]
    if len(small) < 2:
        return blobs
    out: list[Blob | None] = list(blobs)
    while True:
        best: tuple[float, int, int] | None = None
        for n, i in enumerate(small):
            for j in small[n + 1 :]:
                a, b = out[i], out[j]
                if a is None or b is None or _box_gap(a, b) > _BREAK * appearance.minor:
                    continue
                cost = _unlike(moments((a.sums + b.sums)[None]), appearance)
                if cost < 1 and (best is None or cost < best[0]):
                    best = cost, i, j
        if best is None:
            return [b for b in out if b is not None]
        _, i, j = best
        a, b = out[i], out[j]
        assert a is not None
        assert b is not None
        out[i], out[j] = merge([a, b], level), None


def _unlike(facts: dict[str, NDArray[np.float64]], appearance: Appearance) -> float:
    """How far a union of pieces is from one animal; below 1 it may be one."""
    length, width = facts["major"][0] / appearance.major, facts["minor"][0] / appearance.minor
    if facts["area"][0] > 1.2 * appearance.typical:
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
