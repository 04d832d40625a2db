"""Which animal behaves unlike the others, how surely, in which way, and when.

A few frames are noise; the paper's windows of three see every burst as an anomaly. Here an animal's measures are
averaged over bins of a quarter second, each less the group's median in that bin (what the whole school does is no
anomaly), and the trimmed mean over a window of seconds is compared with the other animals': Student's t, the spread
of healthy animals estimated from the others and a prior, the furthest of the others spared so that two sick fish do
not hide each other. Two questions are asked of the measures together: is it unlike the others in any way (Fisher's
sum), and is it as sick fish are, slow, erratic and apart (Stouffer's sum)? The better answer is turned into a p-value
by the same computation on random numbers, so that the false-alarm rate asked for is the one that comes out, for few
animals as for many.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import stats

from ...core.settings import Settings
from ..measures.kinematics import present
from .kernels import against_others, window_means

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TRIM = 0.1  # share of a window's bins left out at either end: wrong links, bursts
SPARE = 0.15  # share of the others that may be abnormal too
DRAWS = 200_000  # random animals behind a p-value
FEWEST = 4  # animals that a comparison needs


class Measure(NamedTuple):
    """Something animals are compared by.

    ``spread`` : by how much healthy animals of one group are believed to differ over some seconds; ``sick`` : which way
    a sick one differs, -1 or 1, or 0 for a measure that is only told and does not count for the decision; ``low`` and
    ``high`` : words for an animal below and above the others.
    """

    name: str
    spread: float
    sick: int
    low: str
    high: str


# Logarithms, so that spreads are shares: 0.15 is 15 %. Speed and turning are as of the zebrafish of 3D-ZeF 01 and 03
# and of simulated schools over 8 s, distance is wider than of simulated ones. Of a spread of 0 nothing is believed.
MEASURES: tuple[Measure, ...] = (
    Measure("log_speed", 0.15, -1, "slow", "fast"),
    Measure("log_turning", 0.2, 1, "straight", "erratic"),
    Measure("log_distance_to_others", 0.25, 1, "in the midst", "apart"),
    Measure("log_nearest_neighbour", 0.0, 0, "crowded", "isolated"),
    Measure("log_acceleration", 0.0, 0, "steady", "jerky"),
    Measure("alignment", 0.0, 0, "against its neighbours", "with its neighbours"),
    Measure("depth", 0.0, 0, "high", "deep"),
)


class AnomalySettings(Settings):
    """Settings of the detection."""

    window_s: float = Field(default=10.0, gt=0, description="seconds that are judged together")
    bin_s: float = Field(default=0.25, gt=0, description="seconds averaged before")
    false_alarm_rate: float = Field(default=0.01, gt=0, lt=1, description="share of healthy animals to be flagged")
    prior: float = Field(default=0.05, gt=0, lt=1, description="share of animals believed abnormal before looking")
    prior_weight: float = Field(default=4.0, ge=0, description="animals' worth of belief in the usual spread")
    coverage: float = Field(default=0.4, gt=0, le=1, description="share of a window in which a track must be there")
    shortest: float = Field(default=0.3, ge=0, le=1, description="share of the recording a track must cover")
    seed: int = Field(default=0, ge=0, description="of the random numbers behind p-values")


@dataclass(frozen=True, eq=False)
class Verdict:
    """W windows of N tracks (W = 1 for a verdict on the whole recording).

    ``p`` (W, N) the false-alarm rate at which a track would just be flagged, NaN where it cannot be judged;
    ``probability`` (W, N) that it is abnormal, given the prior; ``abnormal`` (W, N); ``t`` (W, N, M) how far it is
    from the others in each of `MEASURES`; ``first_bin``, ``last_bin`` (W,).
    """

    p: Array
    probability: Array
    abnormal: Bools
    t: Array
    first_bin: Ints
    last_bin: Ints


def judge_windows(bins: Array, settings: AnomalySettings, length: int, most: int = 20_000) -> Verdict:
    """Judge windows of ``length`` bins of measures (B, N, M) averaged over bins, NaN where a track is not.

    Windows start at every bin, or so many bins apart that there are no more than ``most``. A recording shorter than a
    window is one window.
    """
    length = min(length, max(len(bins), 1))
    starts = np.arange(0, max(len(bins) - length + 1, 0), max(1, -(-len(bins) // most)), dtype=np.int64)
    values = window_means(_relative(bins), starts, length, settings.coverage, TRIM)
    return _verdict(values, starts, starts + length - 1, settings)


def judge_whole(bins: Array, settings: AnomalySettings) -> Verdict:
    """Judge each track once, by all its bins; tracks shorter than the settings ask for are left out."""
    values = _trimmed_mean(_relative(bins))[None]
    covered = np.isfinite(bins[:, :, 0]).sum(0) if len(bins) else np.zeros(bins.shape[1], int)
    values[:, covered < settings.shortest * len(bins)] = np.nan
    return _verdict(values, np.zeros(1, np.int64), np.array([len(bins) - 1]), settings)


def evidence(t: Array, least: float = 2.0) -> str:
    """Words for the t (M,) of one animal, the strongest first: ``slow (-5.1), erratic (+3.2)``; empty below `least`."""
    order = np.argsort(-np.abs(np.where(np.isfinite(t), t, 0.0)), kind="stable")
    words = []
    for m in order.tolist():
        if np.isfinite(t[m]) and abs(t[m]) >= least:
            words.append(f"{MEASURES[m].low if t[m] < 0 else MEASURES[m].high} ({t[m]:+.1f})")
    return ", ".join(words)


def probability_of(p: Array, prior: float) -> Array:
    """Probability of being abnormal, from p-values and a prior.

    A p-value is at best -e p log(p) times as likely for a healthy animal as for an abnormal one (Sellke, Bayarri &
    Berger 2001); that bound is taken, so that 0.01 does not pass for 99 %.
    """
    small = np.clip(p, 1e-300, np.exp(-1.0))
    against = -np.e * small * np.log(small)
    return np.asarray(prior / (prior + (1 - prior) * against))


def _relative(bins: Array) -> Array:
    """Measures less the group's median in each bin."""
    with np.errstate(invalid="ignore"):
        known = np.isfinite(bins)
        middle = np.full((len(bins), 1, bins.shape[2]), np.nan)
        if not bins.shape[1]:
            return bins
        some = known.any(1)
        ranked = np.sort(np.where(known, bins, np.inf), axis=1)
        count = known.sum(1)
        low = np.take_along_axis(ranked, np.maximum((count - 1) // 2, 0)[:, None], 1)[:, 0]
        high = np.take_along_axis(ranked, np.maximum(count // 2, 0)[:, None].clip(max=bins.shape[1] - 1), 1)[:, 0]
        middle[:, 0] = np.where(some, 0.5 * (low + high), np.nan)
    return np.asarray(bins - middle)


def _trimmed_mean(bins: Array) -> Array:
    """(N, M) mean of (B, N, M) over what is known, the share `TRIM` left out at either end: many bins, one window."""
    ranked = np.sort(bins, axis=0)  # NaN comes last
    count = np.isfinite(ranked).sum(0)
    out_of = (TRIM * count).astype(np.int64)
    sums = np.concatenate([np.zeros((1, *bins.shape[1:])), np.cumsum(np.nan_to_num(ranked), axis=0)])
    high = np.take_along_axis(sums, (count - out_of)[None], 0)[0]
    low = np.take_along_axis(sums, out_of[None], 0)[0]
    kept = count - 2 * out_of
    return np.asarray(np.divide(high - low, kept, out=np.full(kept.shape, np.nan), where=kept > 0))


def _verdict(values: Array, first: Ints, last: Ints, settings: AnomalySettings) -> Verdict:
    spread = np.array([m.spread for m in MEASURES])
    weight = np.where(spread > 0, settings.prior_weight, 0.0)
    t = np.full(values.shape, np.nan)
    for m in range(len(MEASURES)):
        t[:, :, m : m + 1] = against_others(values[:, :, m : m + 1], spread[m : m + 1], weight[m], SPARE)
    decides = [m for m, measure in enumerate(MEASURES) if measure.sick]
    sick = tuple(MEASURES[m].sick for m in decides)
    p = np.full(values.shape[:2], np.nan)
    here = present(values[:, :, decides])
    count = here.sum(1)
    for n in np.unique(count[count >= FEWEST]).tolist():
        null = _null(n, sick, settings.prior_weight, settings.seed)
        mine = here & (count == n)[:, None]
        score = _strangeness(t[mine][:, decides], sick, n, settings.prior_weight)
        p[mine] = (1 + len(null) - np.searchsorted(null, score)) / (1 + len(null))
    with np.errstate(invalid="ignore"):
        return Verdict(p, probability_of(p, settings.prior), p <= settings.false_alarm_rate, t, first, last)


def _strangeness(t: Array, sick: tuple[int, ...], n: int, weight: float) -> Array:
    """(K,) how unlike n - 1 others animals of t (K, M) are: -log of the smaller p of the two questions."""
    freedom = n - 2 - int(SPARE * n) + weight
    both_ways = np.log(2.0) + stats.t.logsf(np.abs(t), freedom)
    unlike = stats.chi2.logsf(-2 * both_ways.sum(-1), 2 * t.shape[-1])
    normal = stats.norm.isf(np.clip(stats.t.sf(np.asarray(sick) * t, freedom), 1e-15, 1 - 1e-15))
    as_sick = stats.norm.logsf(normal.sum(-1) / np.sqrt(t.shape[-1]))
    return np.asarray(-np.minimum(unlike, as_sick))


@lru_cache(maxsize=64)
def _null(n: int, sick: tuple[int, ...], weight: float, seed: int) -> Array:
    """Sorted strangeness of healthy animals, each among n, whose spread is just the one believed."""
    rng = np.random.default_rng((seed, n))
    values = rng.standard_normal((max(1, DRAWS // n), n, len(sick)))
    t = against_others(values, np.ones(len(sick)), weight, SPARE)
    return np.sort(_strangeness(t.reshape(-1, len(sick)), sick, n, weight))
