"""Loops over the pixels of blobs and the ellipses of animals."""

import numpy as np
from numba import njit

_ENOUGH = 500  # pixels that tell where ellipses are; of more, only so many are looked at
NEAR = 6.0  # squared distance, in standard deviations, that holds nearly all pixels of a filled ellipse (its edge: 4)


@njit(cache=True, nogil=True)
def _invert(cov):  # type: ignore[no-untyped-def]
    """Inverse (xx, xy, yy) and log-determinant of symmetric 2 x 2 matrices (K, 3)."""
    out = np.empty((len(cov), 4))
    for k in range(len(cov)):
        det = max(cov[k, 0] * cov[k, 2] - cov[k, 1] * cov[k, 1], 1e-6)
        out[k, 0], out[k, 1], out[k, 2] = cov[k, 2] / det, -cov[k, 1] / det, cov[k, 0] / det
        out[k, 3] = np.log(det)
    return out


@njit(cache=True, nogil=True)
def overlaps(mask, left, top, mean, cov):  # type: ignore[no-untyped-def]
    """How many pixels of a mask (h, w at left, top) lie inside each ellipse (K,)."""
    inverse = _invert(cov)
    out = np.zeros(len(mean), np.int64)
    for k in range(len(mean)):
        a, b, c = inverse[k, 0], 2 * inverse[k, 1], inverse[k, 2]
        reach = np.sqrt(NEAR * max(cov[k, 2], 0.0)) + 1
        first, last = max(int(mean[k, 1] - reach) - top, 0), min(int(mean[k, 1] + reach) + 2 - top, mask.shape[0])
        for j in range(first, last):
            y = j + top - mean[k, 1]
            for i in range(mask.shape[1]):
                x = i + left - mean[k, 0]
                if mask[j, i] and a * x * x + b * x * y + c * y * y <= NEAR:
                    out[k] += 1
    return out


@njit(cache=True, nogil=True)
def _reshape(seen, known, stiffness):  # type: ignore[no-untyped-def]
    """Covariance with the axes' direction of ``seen`` and sizes between it (0) and ``known`` (1); (3,) each."""
    sizes = np.empty((2, 2))
    for k in range(2):
        c = seen if k == 0 else known
        middle, half = 0.5 * (c[0] + c[2]), np.hypot(0.5 * (c[0] - c[2]), c[1])
        sizes[k, 0], sizes[k, 1] = middle + half, max(middle - half, 0.25)
    angle = 0.5 * np.arctan2(2 * seen[1], seen[0] - seen[2])
    a = stiffness * sizes[1, 0] + (1 - stiffness) * sizes[0, 0]
    b = stiffness * sizes[1, 1] + (1 - stiffness) * sizes[0, 1]
    cos, sin = np.cos(angle), np.sin(angle)
    return a * cos * cos + b * sin * sin, (a - b) * cos * sin, a * sin * sin + b * cos * cos


@njit(cache=True, nogil=True)
def share_pixels(pixels, mean, cov, weight, stiffness, rounds, tone, tones, trust):  # type: ignore[no-untyped-def]
    """Divide ``pixels`` (N, 2) among ellipses by expectation maximisation; moves ``mean``, ``cov``, ``weight``.

    Parameters
    ----------
    mean (K, 2), cov (K, 3: xx, xy, yy), weight (K,) : where the animals are expected, their shapes, their areas.
    stiffness : 1 keeps the sizes of the axes and the weights, and only moves and turns; 0 lets all follow the pixels.
    tone (N,), tones (K, 2: mean, variance), trust : how the pixels look, how the animals do, and how far that counts
        beside the place; with trust 0 the first two may be empty.

    Returns
    -------
    owner (N,) the ellipse of each pixel, distance (N,) its squared distance to it in standard deviations.
    """
    count, k_count = len(pixels), len(mean)
    known, area = cov.copy(), weight / weight.sum()
    weight[:] = area
    chance = np.empty(k_count)
    owner, distance = np.zeros(count, np.int64), np.zeros(count)
    stride = max(1, count // _ENOUGH)
    for step in range(rounds + 1):
        inverse = _invert(cov)
        sums = np.zeros((k_count, 6))
        last = step == rounds
        for i in range(0 if last else step % stride, count, 1 if last else stride):
            best = -1e300
            for k in range(k_count):
                x, y = pixels[i, 0] - mean[k, 0], pixels[i, 1] - mean[k, 1]
                d = inverse[k, 0] * x * x + 2 * inverse[k, 1] * x * y + inverse[k, 2] * y * y
                chance[k] = np.log(weight[k]) - 0.5 * (d + inverse[k, 3])
                if trust > 0:
                    off = tone[i] - tones[k, 0]
                    chance[k] -= 0.5 * trust * (off * off / tones[k, 1] + np.log(tones[k, 1]))
                if chance[k] > best:
                    best, owner[i], distance[i] = chance[k], k, d
            if last:
                continue
            total = 0.0
            for k in range(k_count):
                chance[k] = np.exp(chance[k] - best)
                total += chance[k]
            for k in range(k_count):
                r = chance[k] / total
                if r > 1e-4:
                    x, y = pixels[i, 0], pixels[i, 1]
                    sums[k, 0] += r
                    sums[k, 1] += r * x
                    sums[k, 2] += r * y
                    sums[k, 3] += r * x * x
                    sums[k, 4] += r * x * y
                    sums[k, 5] += r * y * y
        if last:
            break
        for k in range(k_count):
            n = sums[k, 0]
            if n < 3:
                continue
            u, v = sums[k, 1] / n, sums[k, 2] / n
            mean[k, 0], mean[k, 1] = u, v
            seen = np.array([sums[k, 3] / n - u * u + 0.25, sums[k, 4] / n - u * v, sums[k, 5] / n - v * v + 0.25])
            cov[k, 0], cov[k, 1], cov[k, 2] = _reshape(seen, known[k], stiffness)
            weight[k] = stiffness * area[k] + (1 - stiffness) * n * stride / count
    return owner, distance


@njit(cache=True, nogil=True)
def coverage(mask, left, top, mean, cov):  # type: ignore[no-untyped-def]
    """Intersection over union of a mask (h, w at left, top) and the filled ellipses that have these moments."""
    inverse = _invert(cov)
    both, either = 0, 0
    reach = 0
    for k in range(len(mean)):
        reach = max(reach, int(2 * np.sqrt(max(cov[k, 0], cov[k, 2]))) + 1)
    for j in range(-reach, mask.shape[0] + reach):
        for i in range(-reach, mask.shape[1] + reach):
            inside = False
            for k in range(len(mean)):
                x, y = i + left - mean[k, 0], j + top - mean[k, 1]
                if inverse[k, 0] * x * x + 2 * inverse[k, 1] * x * y + inverse[k, 2] * y * y <= 4.0:
                    inside = True
                    break
            seen = 0 <= i < mask.shape[1] and 0 <= j < mask.shape[0] and mask[j, i] > 0
            if seen and inside:
                both += 1
            if seen or inside:
                either += 1
    return both / max(either, 1)
