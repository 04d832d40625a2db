"""What a recording teaches of its bodies and of its pose detector, without a label.

Everything here is a variance or a usual value, fitted by expectation and maximisation: residuals and what the solution
itself leaves open, together, tell each of them. Errors are taken to be Student's: most are small, some are gross.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from ..recordings.skeleton import Skeleton
from .kernels import Body
from .segments import Segment

Array = NDArray[np.float64]
FREEDOM_SEEN, FREEDOM_MOVED, FREEDOM_LONG = 3.0, 3.0, 4.0  # degrees of freedom of Student's distributions
SHRINK = 20.0  # sightings of its camera that a part's own noise is weighed against
FLOOR_PX = 0.3
BINS = 5


@dataclass(frozen=True, eq=False)
class Anatomy:
    """What was learnt.

    Attributes
    ----------
    sigma : (C, K) px, of each part in each camera.
    steps : (B,) scores at which the noise changes, and ``factor`` (B + 1,) of the variance between them.
    factor : see ``steps``.
    lasting : (C,) how many frames an error lasts, as a factor of its variance.
    body : what holds a body together.
    length_of : by track, its own lengths (E,).
    size : of a body, world units.
    """

    sigma: Array
    steps: Array
    factor: Array
    lasting: Array
    body: Body
    length_of: dict[int, Array]
    size: float

    def noise(self, score: Array, variance: Array) -> Array:
        """Return the standard deviation (F, C, K) px of sightings of these scores and of their tool's variance."""
        scale = self.factor[np.searchsorted(self.steps, np.nan_to_num(score))]
        out: Array = np.sqrt(self.sigma**2 * scale + variance)
        return out

    def of(self, track: int) -> Body:
        """Return the body of one animal, with its own lengths."""
        own = self.length_of.get(track)
        return self.body if own is None else self.body._replace(length=own)


def first_anatomy(
    skeleton: Skeleton, segments: list[Segment], points: list[Array], sigma: Array, scores: Array
) -> Anatomy:
    """Start: lengths of bodies from first points, parts joined where their distance varies least.

    Parameters
    ----------
    skeleton : the parts; its edges are preferred. Lengths that close a circle would count the same thing twice.
    segments : animals.
    points : (F, K, 3) of each segment, NaN where unknown.
    sigma : (C, K) px, a first guess.
    scores : (N,) of parts that were seen.
    """
    every = np.concatenate(points)
    k = len(skeleton)
    usual, spread, count = _distances(every)
    known = np.isfinite(usual)
    size = float(np.nanmax(np.where(known, usual, np.nan))) if known.any() else 1.0
    far = np.where(known, usual, size)
    cost = np.where(known, spread + 0.05 * far, 10 * size) + 1e-9 * size
    cost = cost * (1 + 5 / np.sqrt(1 + count))
    for a, b in skeleton.edges:
        cost[a, b] = cost[b, a] = 0.3 * cost[a, b]
    tree = minimum_spanning_tree(np.triu(cost, 1)).toarray()
    joined = {(int(a), int(b)) for a, b in zip(*np.nonzero(tree), strict=True)}
    root = int(np.argmax(np.isfinite(every).all(-1).sum(0) - 1e-3 * cost.sum(1) / cost.sum()))
    parent = _rooted(joined, root, k)
    pairs = np.array(sorted(joined), np.int64).reshape(-1, 2)
    length = np.maximum(far[pairs[:, 0], pairs[:, 1]], 1e-6 * size)
    variance = np.where(known[pairs[:, 0], pairs[:, 1]], spread[pairs[:, 0], pairs[:, 1]], 0.5 * size) ** 2
    variance = np.maximum(variance, (0.01 * length) ** 2)
    jolt = _first_jolts(points, parent, size)
    wide = 10 * np.where(parent >= 0, far[np.arange(k), np.maximum(parent, 0)], size)
    body = Body(parent, jolt, pairs[:, 0].copy(), pairs[:, 1].copy(), length, variance, np.maximum(wide, 0.1 * size))
    steps = np.unique(np.quantile(scores, np.linspace(0, 1, BINS + 1)[1:-1])) if len(scores) else np.zeros(0)
    return Anatomy(sigma, steps, np.ones(len(steps) + 1), np.ones(len(sigma)), body, {}, size)


def _distances(points: Array) -> tuple[Array, Array, Array]:
    """Median distance (K, K) between parts (F, K, 3), its spread, and in how many frames both are known."""
    k = points.shape[1]
    usual, spread, count = (np.full((k, k), np.nan) for _ in range(3))
    for a in range(k):
        for b in range(a + 1, k):
            far = np.linalg.norm(points[:, a] - points[:, b], axis=1)
            far = far[np.isfinite(far)]
            count[a, b] = count[b, a] = len(far)
            if len(far) >= 3:
                usual[a, b] = usual[b, a] = np.median(far)
                spread[a, b] = spread[b, a] = 1.4826 * np.median(np.abs(far - usual[a, b]))
    return usual, spread, np.nan_to_num(count)


def _rooted(edges: set[tuple[int, int]], root: int, parts: int) -> NDArray[np.int64]:
    """Parent (K,) of each part in a tree, -1 for the root."""
    parent = np.full(parts, -2, np.int64)
    parent[root] = -1
    todo = [root]
    while todo:
        here = todo.pop()
        for a, b in edges:
            other = b if a == here else a if b == here else -1
            if other >= 0 and parent[other] == -2:
                parent[other] = here
                todo.append(other)
    parent[parent == -2] = root
    return parent


def _first_jolts(points: list[Array], parent: NDArray[np.int64], size: float) -> Array:
    """Variance (K,) a coordinate of second differences, of the median."""
    found: list[Array] = []
    for p in points:
        if len(p) > 2:
            moved = np.where((parent >= 0)[:, None], p - p[:, np.maximum(parent, 0)], p)
            found.append(np.linalg.norm(np.diff(moved, 2, axis=0), axis=-1))
    if not found:
        return np.full(len(parent), (0.1 * size) ** 2)
    joint = np.concatenate(found)
    out = np.full(len(parent), np.nan)
    for k in range(len(parent)):
        own = joint[np.isfinite(joint[:, k]), k]
        if len(own) >= 3:
            out[k] = (np.median(own) / 1.54) ** 2 / 3
    out = np.where(np.isfinite(out), out, np.nanmedian(out) if np.isfinite(out).any() else (0.1 * size) ** 2)
    floor: Array = np.maximum(out, (1e-5 * size) ** 2)
    return floor


def updated(
    anatomy: Anatomy, segments: list[Segment], noises: list[Array], scores: list[Array], skeleton: Skeleton
) -> Anatomy:
    """Maximise: every variance from residuals and from what the solution leaves open.

    Parameters
    ----------
    anatomy : what the segments were solved with.
    segments : solved, with covariances.
    noises : (F, C, K) px that each was solved with.
    scores : (F, C, K) of its sightings.
    skeleton : whose left and right have the same lengths.
    """
    anatomy = _noise(anatomy, segments, noises, scores)
    jolt = _jolts(anatomy.body, segments)
    body, own = _lengths(anatomy, segments, skeleton)
    return replace(anatomy, body=body._replace(jolt=jolt), length_of=own)


def _noise(anatomy: Anatomy, segments: list[Segment], noises: list[Array], scores: list[Array]) -> Anatomy:
    views, parts = anatomy.sigma.shape
    total, count = np.zeros((views, parts)), np.zeros((views, parts))
    by_score, of_score = np.zeros(len(anatomy.factor)), np.zeros(len(anatomy.factor))
    product, square = np.zeros(views), np.zeros(views)
    for segment, sigma, score in zip(segments, noises, scores, strict=True):
        known = np.isfinite(segment.errors[..., 0])
        open_ = np.einsum("fckai,fkij,fckaj->fck", segment.slopes, segment.covariance, segment.slopes)
        error = np.nan_to_num(segment.errors)
        far = (error**2).sum(-1)
        weight = (FREEDOM_SEEN + 2) / (FREEDOM_SEEN + far / sigma**2)
        bin_ = np.searchsorted(anatomy.steps, np.nan_to_num(score))
        part = np.where(known, weight * (far + np.minimum(open_, far + sigma**2)) / 2, 0.0)
        total += (part / anatomy.factor[bin_]).sum(0)
        count += known.sum(0)
        by_score += np.bincount(bin_[known], (part / anatomy.sigma**2)[known], len(anatomy.factor))
        of_score += np.bincount(bin_[known], minlength=len(anatomy.factor))
        clipped = np.where((far < 9 * sigma**2)[..., None] & known[..., None], error, 0.0)
        both = ((clipped[1:] != 0) & (clipped[:-1] != 0)).all(-1)[..., None]
        product += (clipped[1:] * clipped[:-1] * both).sum((0, 2, 3))
        square += (0.5 * (clipped[1:] ** 2 + clipped[:-1] ** 2) * both).sum((0, 2, 3))
    whole = total.sum(1, keepdims=True) / np.maximum(count.sum(1, keepdims=True), 1)
    whole = np.where(whole > 0, whole, np.median(anatomy.sigma) ** 2)
    sigma = np.sqrt(np.maximum((total + SHRINK * whole) / (count + SHRINK), FLOOR_PX**2))
    factor = (by_score + SHRINK) / (of_score + SHRINK)
    lag = np.clip(product / np.maximum(square, 1e-12), 0.0, 0.9)
    return replace(anatomy, sigma=sigma, factor=factor, lasting=(1 + lag) / (1 - lag))


def _jolts(body: Body, segments: list[Segment]) -> Array:
    total, count = np.zeros(len(body.parent)), np.zeros(len(body.parent))
    for segment in segments:
        if len(segment) < 3:
            continue
        far = jumps(segment.points, body.parent)
        weight = (FREEDOM_MOVED + 3) / (FREEDOM_MOVED + far / body.jolt)
        total += (weight * (far + segment.jolts[1:-1])).sum(0) / 3
        count += len(far)
    floor = 1e-3 * float(np.median(body.jolt))
    out: Array = np.maximum(np.where(count > 0, total / np.maximum(count, 1), body.jolt), floor)
    return out


def jumps(points: Array, parent: NDArray[np.int64]) -> Array:
    """Squared second differences (F - 2, K) of parts (F, K, 3) against their parents, of the root by itself."""
    moved = np.where((parent >= 0)[:, None], points - points[:, np.maximum(parent, 0)], points)
    out: Array = (np.diff(moved, 2, axis=0) ** 2).sum(-1)
    return out


def _drawn(sums: dict[int, Array], common: Array, variance: Array) -> Array:
    """How many sightings (E,) the usual length of all animals counts for in that of one.

    As many as make its scatter (E,) about an animal's own length as small as lengths of animals differ: where they
    differ much, the usual one says little of each. Of two animals or fewer nobody knows.
    """
    if len(sums) < 3:
        return np.full(len(common), SHRINK)
    count = np.stack([s[0] for s in sums.values()])
    mean = np.stack([s[1] for s in sums.values()]) / np.maximum(count, 1e-9)
    weight = np.where(count > 1.0, count, 0.0)
    total = np.maximum(weight.sum(0), 1e-9)
    differ = (weight * (mean - common) ** 2).sum(0) / total - variance * (weight > 0).sum(0) / total
    out: Array = np.clip(variance / np.maximum(differ, 1e-12 * common**2), 0.5, SHRINK)
    return out


def _lengths(anatomy: Anatomy, segments: list[Segment], skeleton: Skeleton) -> tuple[Body, dict[int, Array]]:
    """Lengths of each animal, drawn towards those of all, left and right together, and their variances."""
    body, mirror = anatomy.body, skeleton.mirror
    names = {(int(a), int(b)): e for e, (a, b) in enumerate(zip(body.first, body.second, strict=True))}
    twin = np.arange(len(body.length))
    for (a, b), e in names.items():
        i, j = sorted((int(mirror[a]), int(mirror[b])))
        twin[e] = names.get((i, j), e)
    sums: dict[int, Array] = {}
    for segment in segments:
        far = np.linalg.norm(segment.points[:, body.first] - segment.points[:, body.second], axis=-1)
        usual = anatomy.of(segment.track).length
        weight = (FREEDOM_LONG + 1) / (FREEDOM_LONG + (far - usual) ** 2 / body.variance)
        weight = weight * np.maximum(1 - segment.stretches / body.variance, 0.0)  # the length itself tells nothing new
        kept = sums.setdefault(segment.track, np.zeros((3, len(twin))))
        kept += np.stack([weight.sum(0), (weight * far).sum(0), (weight * far**2).sum(0)])
    both = {t: s + np.where(twin != np.arange(len(twin)), s[:, twin], 0.0) for t, s in sums.items()}
    whole = sum(both.values(), np.zeros((3, len(twin))))
    common = np.where(whole[0] > 1e-9, whole[1] / np.maximum(whole[0], 1e-9), body.length)
    draw = _drawn(both, common, body.variance)
    own = {t: (s[1] + draw * common) / (s[0] + draw) for t, s in both.items()}
    total, count = np.zeros(len(twin)), np.zeros(len(twin))
    for segment in segments:
        far = np.linalg.norm(segment.points[:, body.first] - segment.points[:, body.second], axis=-1)
        miss = (far - own[segment.track]) ** 2
        weight = (FREEDOM_LONG + 1) / (FREEDOM_LONG + miss / body.variance)
        known = segment.stretches < body.variance
        total += np.where(known, weight * (miss + segment.stretches), 0.0).sum(0)
        count += known.sum(0)
    total, count = total + total[twin], count + count[twin]
    variance = np.maximum(np.where(count > 0, total / np.maximum(count, 1), body.variance), (0.01 * common) ** 2)
    return body._replace(length=common, variance=variance), own
