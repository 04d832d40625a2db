"""The delay between two cameras from how animals move, told apart from centroids that lean along the body.

Let r be by how much the ray of a detection in view b misses its partner in view a, px, and w what the animal's motion
in b adds to r in a frame. A clock that is t frames late makes r = -t w: proportional to speed. A centroid that lies l
body lengths before or behind the middle of the body makes r = l h, where h is the part of the body's length across
the epipolar line: independent of speed. Both are fitted together; where all animals swim at one speed they cannot be
told apart, and the delay's standard error says so.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .agreement import Matches, Sample, ViewErrors, offsets_px, pair_errors

LEAN = 0.06  # standard deviation of the lean of centroids that is believed in, in diagonals of a detection
LEAN_CHANGE = 0.025  # by how much the lean may change with speed: bodies bend when they burst
_BLOCK = 12  # frames over which errors last: the unit of independent evidence

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Delay:
    """By how many frames view b is late, with its standard error; NaN where motion says nothing.

    ``halves``: the same from either half of the recording; ``animals``: from either half of the animals, as far as they
    could be followed, each with its standard error; ``blocks``: pieces of independent evidence; ``way``: what animals
    move in a frame, in diagonals of a detection.
    """

    frames: float
    error: float
    halves: tuple[float, float] = (np.nan, np.nan)
    animals: tuple[tuple[float, float], ...] = ()
    blocks: int = 0
    way: float = 0.0


UNKNOWN = Delay(np.nan, np.inf)


def measure_delay(sample: Sample, a: ViewErrors, b: ViewErrors, shift: int, links: Ints) -> Delay:
    """Delay of view `b` against `a`, near `shift`; `links` (N,) as `follow` makes them for `b`."""
    matches = pair_errors(sample, a, b, shift)
    matches = matches.select(matches.error < 0.99 * sample.cap_px)
    r, w, h, speed, block, animal = _regressors(sample, a, b, matches, links)
    if len(r) < 8:
        return UNKNOWN
    weight = _robust(r, w, h)
    whole = _fit(r, w, h, speed, block, weight)
    middle = np.median(block)
    way = float(np.median(speed)) / sample.size_px
    parts = [block <= middle, block > middle, animal % 2 == 0, animal % 2 == 1]
    fits = [_fit(r[m], w[m], h[m], speed[m], block[m], weight[m]) for m in parts]
    halves = (shift + fits[0][0], shift + fits[1][0])
    animals = tuple((shift + fit[0], fit[1]) for fit in fits[2:])
    return Delay(shift + whole[0], whole[1], halves, animals, len(np.unique(block)), way)


def _regressors(
    sample: Sample, a: ViewErrors, b: ViewErrors, matches: Matches, links: Ints
) -> tuple[Array, Array, Array, Array, Ints, Ints]:
    """(M,) each: misses r, motions w (px a frame), leans h (px a body length), speeds (px a frame), times, animals."""
    i, j = np.searchsorted(a.row, matches.first), np.searchsorted(b.row, matches.second)
    pixel = sample.detections.centroids[b.row]
    after, ago, noise = _before_and_after(pixel, links, j)
    linked = (after >= 0) & (ago >= 0)
    i, j, after, ago = i[linked], j[linked], after[linked], ago[linked]
    rows = b.row
    travel = (pixel[after] - pixel[ago]) / (b.frame[after] - b.frame[ago])[:, None]
    speed = np.linalg.norm(travel, axis=1)
    miss = offsets_px(a, i, b, j)
    span = (b.frame[after] - b.frame[ago])[:, None]
    motion = (offsets_px(a, i, b, after) - offsets_px(a, i, b, ago)) / span
    w = np.linalg.norm(motion, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (miss * motion).sum(1) / w
        h = sample.sizes[rows[j]] * w / speed
    use = np.isfinite(r) & np.isfinite(h) & (speed * span[:, 0] > 5 * noise) & (w > 0)
    return r[use], w[use], h[use], speed[use], a.frame[i[use]] // (_BLOCK * sample.step), _chains(links)[j[use]]


def _before_and_after(pixel: Array, links: Ints, j: Ints) -> tuple[Ints, Ints, float]:
    """Follow j (M,) back and on, as many moments as motion needs to rise above the noise, which is returned in px."""
    back = np.full(len(links), -1)
    known = np.flatnonzero(links >= 0)
    back[links[known]] = known
    after, ago, noise = j, j, 0.0
    for moments in range(1, 9):
        after, ago = (np.where(x >= 0, link[x], -1) for x, link in ((after, links), (ago, back)))
        both = (after >= 0) & (ago >= 0)
        if not both.any():
            break
        if moments == 1:
            bend = pixel[after[both]] - 2 * pixel[j[both]] + pixel[ago[both]]
            noise = float(np.median(np.linalg.norm(bend, axis=1)) / np.sqrt(6))
        if np.median(np.linalg.norm(pixel[after[both]] - pixel[ago[both]], axis=1)) > 8 * noise:
            break
    return after, ago, noise


def _robust(r: Array, w: Array, h: Array) -> Array:
    """Huber weights (M,) about the fit of both causes, over the variance of what is left."""
    weight = np.ones(len(r))
    X = np.column_stack([-w, h])
    scale = 1.0
    for _ in range(6):
        rest = r - X @ (np.linalg.pinv((X * weight[:, None]).T @ X) @ ((X * weight[:, None]).T @ r))
        scale = 1.4826 * np.median(np.abs(rest)) + 1e-3
        weight = 1.0 / np.maximum(1.0, np.abs(rest) / (1.5 * scale))
    return weight / scale**2


def _fit(r: Array, w: Array, h: Array, speed: Array, block: Ints, weight: Array) -> tuple[float, float]:
    """Delay and its standard error: between blocks of time, and what leans of the size believed in could feign."""
    if len(r) < 4:
        return np.nan, np.inf
    blocks = len(np.unique(block))
    X = np.column_stack([-w, h])
    weighted = (X * (weight * blocks / len(r))[:, None]).T  # a block of time counts as one observation
    bread = np.linalg.pinv(weighted @ X + np.diag([0.0, LEAN**-2]))
    estimate = bread @ (weighted @ r)
    score = weighted.T * (r - X @ estimate)[:, None]
    _, place = np.unique(block, return_inverse=True)
    sums = np.stack([np.bincount(place, weights=s) for s in score.T], 1)
    between = bread @ (sums.T @ sums) @ bread * (blocks / max(blocks - 1, 1))
    middle = np.median(speed)
    scale = np.median(np.abs(speed - middle)) + 1e-9
    leans = np.stack([LEAN * h, LEAN_CHANGE * h * np.tanh((speed - middle) / scale)], 1)
    feigned = (bread @ (weighted @ leans))[0]
    return float(estimate[0]), float(np.sqrt(between[0, 0] + (feigned**2).sum() + 1e-6))


@njit(cache=True)
def _chains(links):  # type: ignore[no-untyped-def]
    """(N,) number of the chain that each detection is of: links lead forwards."""
    chain = np.full(len(links), -1, np.int64)
    count = 0
    for i in range(len(links)):
        if chain[i] < 0:
            chain[i] = count
            count += 1
        if links[i] >= 0:
            chain[links[i]] = chain[i]
    return chain


def follow(sample: Sample, view: ViewErrors) -> Ints:
    """(N,) the detection of the view's next moment that each one became, -1 where that is not clear."""
    pixel = sample.detections.centroids[view.row]
    return np.asarray(_follow(view.frame, np.ascontiguousarray(pixel), sample.step))


@njit(cache=True)
def _follow(frame, pixel, step):  # type: ignore[no-untyped-def]
    """Mutual nearest neighbours one step apart, nearer than half of the way to any other."""
    n = len(frame)
    link = np.full(n, -1, np.int64)
    begin = 0
    while begin < n:
        end = begin
        while end < n and frame[end] == frame[begin]:
            end += 1
        last = end
        while last < n and frame[last] == frame[begin] + step:
            last += 1
        for i in range(begin, end):
            best, second, at = np.inf, np.inf, -1
            for j in range(end, last):
                d = (pixel[i, 0] - pixel[j, 0]) ** 2 + (pixel[i, 1] - pixel[j, 1]) ** 2
                if d < best:
                    best, second, at = d, best, j
                elif d < second:
                    second = d
            if at < 0 or best > 0.25 * second:
                continue
            mutual = True
            for k in range(begin, end):
                if k != i and (pixel[k, 0] - pixel[at, 0]) ** 2 + (pixel[k, 1] - pixel[at, 1]) ** 2 < 4 * best:
                    mutual = False
                    break
            if mutual:
                link[i] = at
        begin = end
    return link
