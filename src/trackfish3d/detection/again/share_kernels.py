"""Loops that share the pixels of a region among animals whose place, outline and order in depth are known."""

import numpy as np
from numba import njit

EDGE = 4.0  # squared distance, in deviations, of the edge of a full ellipse
REACH = 12.0  # squared distance to which a pixel may still belong to an animal
_MOST = 0.3  # share of a difference of shapes that is taken up in a round


@njit(cache=True, nogil=True)
def _inverse(cov, k, out):  # type: ignore[no-untyped-def]
    det = max(cov[k, 0] * cov[k, 2] - cov[k, 1] * cov[k, 1], 1e-6)
    out[k, 0], out[k, 1], out[k, 2] = cov[k, 2] / det, -cov[k, 1] / det, cov[k, 0] / det


@njit(cache=True, nogil=True)
def _limited(cov, k, known):  # type: ignore[no-untyped-def]
    """Keep the axes of cov[k] between 0.7 and 1.3 times those of known[k]."""
    middle, half = 0.5 * (known[k, 0] + known[k, 2]), np.hypot(0.5 * (known[k, 0] - known[k, 2]), known[k, 1])
    long, thin = middle + half, max(middle - half, 0.25)
    middle, half = 0.5 * (cov[k, 0] + cov[k, 2]), np.hypot(0.5 * (cov[k, 0] - cov[k, 2]), cov[k, 1])
    a = min(max(middle + half, 0.5 * long), 1.7 * long)
    b = min(max(middle - half, 0.5 * thin), 1.7 * thin)
    angle = 0.5 * np.arctan2(2 * cov[k, 1], cov[k, 0] - cov[k, 2])
    cos, sin = np.cos(angle), np.sin(angle)
    cov[k, 0], cov[k, 1] = a * cos * cos + b * sin * sin, (a - b) * cos * sin
    cov[k, 2] = a * sin * sin + b * cos * cos


@njit(cache=True, nogil=True)
def _claim(x, y, mean, inverse, alive, distance):  # type: ignore[no-untyped-def]
    """Who owns a point by the ellipses alone (bodies are sorted, the nearest first), and who is closest to it.

    Returns the first whose ellipse holds it or -1, and the one it is closest to; fills ``distance`` (K,).
    """
    first, closest, least = -1, -1, 1e300
    for k in range(len(mean)):
        distance[k] = 1e300
        if not alive[k]:
            continue
        dx, dy = x - mean[k, 0], y - mean[k, 1]
        d = inverse[k, 0] * dx * dx + 2 * inverse[k, 1] * dx * dy + inverse[k, 2] * dy * dy
        distance[k] = d
        if d < EDGE and first < 0:
            first = k
        if d < least:
            closest, least = k, d
    return first, closest


@njit(cache=True, nogil=True)
def share(mask, left, top, mean, cov, slack, alive, rounds, owner):  # type: ignore[no-untyped-def]
    """Share the pixels of ``mask`` (h, w) among animals sorted by depth, the nearest first; into ``owner`` (h, w).

    A pixel inside several ellipses is the nearest animal's; outside of all it is of the one it is closest to. Between
    rounds each animal moves, turns and bends so that the pixels it got have the moments of those it should show: what
    the ellipses of nearer ones hide is missing in both.

    Parameters
    ----------
    mask : pixels that somebody has; left, top : of the first.
    mean (K, 2), cov (K, 3) : where the animals are and their shapes; moved.
    slack (K,) : standard deviation of the place, px; none moves further than three.
    alive (K,) : whether it takes part.
    rounds : times that animals move.

    Returns
    -------
    count (K,) pixels of each, shown (K,) pixels that each should show, full (K,) pixels that it has.
    """
    number = len(mean)
    begin, known = mean.copy(), cov.copy()
    inverse, distance = np.empty((number, 3)), np.empty(number)
    seen, model, full = np.zeros((number, 6)), np.zeros((number, 6)), np.zeros(number)
    for step in range(rounds + 1):
        for k in range(number):
            _inverse(cov, k, inverse)
        seen[:], model[:], full[:] = 0.0, 0.0, 0.0
        for j in range(mask.shape[0]):
            y = float(j + top)
            for i in range(mask.shape[1]):
                x = float(i + left)
                first, closest = _claim(x, y, mean, inverse, alive, distance)
                owner[j, i] = 0
                if closest < 0 or distance[closest] > REACH:
                    continue
                for k in range(number):
                    if distance[k] < EDGE:
                        full[k] += 1
                if first >= 0:
                    _add(model, first, x, y)
                if mask[j, i]:
                    mine = first if first >= 0 else closest
                    owner[j, i] = mine + 1
                    _add(seen, mine, x, y)
        if step == rounds:
            break
        for k in range(number):
            if alive[k] and seen[k, 0] > 0.25 * full[k] and model[k, 0] > 0.25 * full[k]:
                _adapt(k, seen, model, full, begin, known, slack, mean, cov)
    return seen[:, 0].copy(), model[:, 0].copy(), full


@njit(cache=True, nogil=True)
def _add(sums, k, x, y):  # type: ignore[no-untyped-def]
    sums[k, 0] += 1
    sums[k, 1] += x
    sums[k, 2] += y
    sums[k, 3] += x * x
    sums[k, 4] += x * y
    sums[k, 5] += y * y


@njit(cache=True, nogil=True)
def _adapt(k, seen, model, full, begin, known, slack, mean, cov):  # type: ignore[no-untyped-def]
    """Move and turn one animal by the difference between the pixels it has and those it should show."""
    n, m = seen[k, 0], model[k, 0]
    u, v, a, b = seen[k, 1] / n, seen[k, 2] / n, model[k, 1] / m, model[k, 2] / m
    visible = min(m / max(full[k], 1.0), 1.0)
    most = 3 * slack[k]
    mean[k, 0] = min(max(mean[k, 0] + 0.8 * visible * (u - a), begin[k, 0] - most), begin[k, 0] + most)
    mean[k, 1] = min(max(mean[k, 1] + 0.8 * visible * (v - b), begin[k, 1] - most), begin[k, 1] + most)
    if visible > 0.6:
        cov[k, 0] += _MOST * ((seen[k, 3] / n - u * u) - (model[k, 3] / m - a * a))
        cov[k, 1] += _MOST * ((seen[k, 4] / n - u * v) - (model[k, 4] / m - a * b))
        cov[k, 2] += _MOST * ((seen[k, 5] / n - v * v) - (model[k, 5] / m - b * b))
        _limited(cov, k, known)
