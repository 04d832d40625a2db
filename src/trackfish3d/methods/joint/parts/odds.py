"""Whether detections of two views show one body: the rays of each part must meet, part by part.

The middles of two bodies' images may meet by chance; six parts do not. What is usual of one body and of two is learnt
from the recording without a label: views of different moments never show one body at one place, so they tell how near
parts pass by chance; in one moment both kinds are there, and the share that chance does not explain is of one body.
Parts far off do not condemn a pair, since their distribution of one body has the tails that the recording shows: a part
of the neighbour, or half an animal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ....cameras.rig import CameraRig
from ....recordings.detections import Detections
from ..arguments import Array, Ints, PairOdds
from .ray_gaps import PartRays, gaps, meeting

REACH = 0.5  # body lengths within which the rays of two middles must pass to be compared
TURNED = 0.1  # chance, before anything is known, that one of two views has left and right exchanged
MOST = 8.0  # log-odds that parts may give or take: what is left to chance whatever they say
HALF = 0.5  # what a sum over parts is worth, since errors of parts go together
TEACH_FRAMES = 300
SHIFTS = (2, 3, 5)  # of the recording's length: 1 / n of it is how far views are shifted to learn what chance does
_EDGES = np.linspace(np.log(1e-4), np.log(3.0), 25)  # of the logarithm of a gap in body lengths
_LEAST = 200  # pairs of each kind below which nothing is learnt
_ROUNDS = 20
_ODD = 0.995  # of pairs by chance; the rest may show an animal that came back to its place


@dataclass(frozen=True, eq=False)
class PartOdds:
    """What was learnt: ratio (K, B) log-likelihood ratio of a gap in each bin, of each part; and an offset.

    Parts of two bodies are off together, so that their sum says less than it seems: half of it, and ``offset``, is what
    it is worth.
    """

    ratio: Array
    offset: float

    def looked_up(self, gap: Array) -> Array:
        """Return the log-likelihood ratio (P, K) of gaps (P, K) in body lengths; 0 where a gap is not known."""
        out: Array = self.ratio[np.arange(len(self.ratio)), _bins(gap)]
        return out

    def sums(self, straight: Array, turned: Array) -> Array:
        """Return the sums of ratios (P,) of gaps (P, K) in body lengths, either way round."""
        one, other = (self.looked_up(g).sum(1) for g in (straight, turned))
        out: Array = np.logaddexp(np.log(1 - TURNED) + one, np.log(TURNED) + other)
        return out

    def __call__(self, straight: Array, turned: Array) -> Array:
        """Return the log-odds (P,) of one body against two that gaps (P, K) in body lengths are worth."""
        some = np.isfinite(straight).any(1)
        odds: Array = np.clip(HALF * self.sums(straight, turned) + self.offset, -MOST, MOST)
        return np.where(some, odds, 0.0)


def part_odds(rig: CameraRig, detections: Detections, body_length: float) -> PairOdds | None:
    """Return what parts say of all pairs of detections that may show one body; None where they can teach nothing.

    Parameters
    ----------
    rig : the cameras.
    detections : with parts.
    body_length : world units.
    """
    assert detections.skeleton is not None
    rays, mirror = rays_of(rig, detections, REACH * body_length), detections.skeleton.mirror
    begin, end = np.array(detections.offsets[:-1], np.int64), np.array(detections.offsets[1:], np.int64)
    learnt = learn(rays, begin, end, mirror, body_length)
    if learnt is None:
        return None
    first, second = meeting(rays, begin, end, begin, end)
    odds = learnt(*(g / body_length for g in gaps(rays, first, second, mirror)))
    low, high = np.minimum(first, second), np.maximum(first, second)
    return PairOdds.of(len(detections), low, high, odds)


def rays_of(rig: CameraRig, detections: Detections, reach: float) -> PartRays:
    """Cast the rays of middles and of parts.

    Parameters
    ----------
    rig : the cameras.
    detections : with parts.
    reach : world units, see `PartRays`.
    """
    assert detections.parts is not None
    n, k = detections.parts.shape[:2]
    origin, direction = np.full((n, k + 1, 3), np.nan), np.full((n, k + 1, 3), np.nan)
    pixel = np.concatenate([detections.centroids[:, None], detections.parts[..., :2]], axis=1)
    for c, camera in enumerate(rig):
        rows = detections.camera == c
        cast = camera.rays(pixel[rows].reshape(-1, 2))
        origin[rows], direction[rows] = (x.reshape(-1, k + 1, 3) for x in (cast.origin, cast.direction))
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(direction).all(-1))
    return PartRays(
        origin[:, 0].copy(),
        direction[:, 0].copy(),
        origin[:, 1:].copy(),
        direction[:, 1:].copy(),
        seen[:, 1:].copy(),
        detections.camera.astype(np.int64),
        reach,
    )


def learn(rays: PartRays, begin: Ints, end: Ints, mirror: Ints, body_length: float) -> PartOdds | None:
    """Learn how near parts pass in one body and by chance; None where too little is there.

    Parameters
    ----------
    rays : of all detections.
    begin, end : (F,) detections of each frame.
    mirror : (K,) the other of each left/right pair of parts.
    body_length : world units.
    """
    count = len(begin)
    chosen = np.unique(np.linspace(0, count - 1, min(count, TEACH_FRAMES)).astype(np.int64))
    now = meeting(rays, begin[chosen], end[chosen], begin[chosen], end[chosen])
    by_chance = []
    for shift in SHIFTS:
        then = (chosen + max(count // shift, 1)) % count
        by_chance.append(meeting(rays, begin[chosen], end[chosen], begin[then], end[then]))
    chance = tuple(np.concatenate(both) for both in zip(*by_chance, strict=True))
    if len(now[0]) < _LEAST or len(chance[0]) < _LEAST:
        return None
    real = tuple(g / body_length for g in gaps(rays, now[0], now[1], mirror))
    false = tuple(g / body_length for g in gaps(rays, chance[0], chance[1], mirror))
    return _maximised(real, false)


def _maximised(real: tuple[Array, ...], false: tuple[Array, ...]) -> PartOdds:
    """Tell one body from chance among pairs of one moment: gaps (P, K) both ways, and those of pairs by chance."""
    usual = _shares(false[0], np.ones(len(false[0])))
    known = np.isfinite(real[0])
    typical = np.where(known, np.log(np.maximum(real[0], 1e-6)), 0.0).sum(1) / np.maximum(known.sum(1), 1)
    near = np.quantile(typical[known.any(1)], 0.3) if known.any() else 0.0
    mine = np.where(known.any(1), (typical < near).astype(float), 0.5)
    odds = PartOdds(np.zeros_like(usual), 0.0)
    for _ in range(_ROUNDS):
        swap = odds.looked_up(real[1]).sum(1) > odds.looked_up(real[0]).sum(1) + 2.0
        own = _shares(np.where(swap[:, None], real[1], real[0]), mine)
        odds = PartOdds(np.log(own / usual), 0.0)
        offset, share = _worth(odds.sums(*real), odds.sums(*false))
        odds = PartOdds(odds.ratio, offset)
        mine = expit(odds(*real) + np.log(share / (1 - share)))
    return odds


def _worth(real: Array, false: Array) -> tuple[float, float]:
    """Offset that makes log-odds of half the sums (P,), and the share of one body among the real ones.

    The sums of one moment are a mixture of chance, whose sums are known, and of one body, whose density is chance's
    times exp(sum / 2 + offset), and sums to one.
    """
    common = np.minimum(false, np.quantile(false, _ODD))
    offset = -float(np.log(np.exp(HALF * common).mean()))
    more = np.exp(np.minimum(HALF * real + offset, 50.0)) - 1.0
    shares = np.linspace(0.02, 0.98, 49)
    likely = np.array([np.log1p(share * more).mean() for share in shares])
    return offset, float(shares[likely.argmax()])


def _bins(gap: Array) -> Ints:
    """Bin (P, K) of gaps in body lengths; the last for what is not known."""
    with np.errstate(divide="ignore"):
        place = np.searchsorted(_EDGES, np.log(np.nan_to_num(gap, nan=1.0, posinf=1e9)))
    return np.where(np.isnan(gap), len(_EDGES) + 1, place).astype(np.int64)


def _shares(gap: Array, weight: Array) -> Array:
    """Share (K, B) of gaps (P, K), weighted (P,), in each bin, drawn towards that of all parts."""
    parts, bins = gap.shape[1], len(_EDGES) + 2
    place = _bins(gap)
    count = np.stack([np.bincount(place[:, k], weight, bins)[:-1] for k in range(parts)])
    beside = np.pad(count, ((0, 0), (1, 1)))
    smooth = count + 0.5 * (beside[:, 2:] + beside[:, :-2])
    whole = smooth.sum(0) + 1.0
    own = smooth + 20.0 * whole / whole.sum() + 0.5
    out: Array = np.concatenate([own / own.sum(1, keepdims=True), np.ones((parts, 1))], axis=1)
    return out
