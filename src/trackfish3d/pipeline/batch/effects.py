"""How far two groups of recordings are apart in a measure."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, norm

Array = NDArray[np.float64]
_Z = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Effect:
    """Another group against the reference, in one measure.

    Attributes
    ----------
    g : Hedges' g: difference of means in pooled standard deviations, corrected for few recordings.
    low : where its interval of 95 % begins, by its large-sample variance.
    high : where it ends.
    delta : Cliff's delta: chance that one of the group is larger than one of the reference, less the opposite.
    p : two-sided, of the Mann-Whitney test, exact for small groups without ties; before any correction.
    """

    g: float
    low: float
    high: float
    delta: float
    p: float


def effect_of(group: Array, reference: Array) -> Effect | None:
    """Compare two groups; None where one has fewer than two recordings, or nothing varies.

    Hedges & Olkin (1985), Statistical methods for meta-analysis, ch. 5; Cliff (1993), Psychological Bulletin 114.

    Parameters
    ----------
    group : (N,) values of its recordings.
    reference : (M,) those of the reference.
    """
    a, b = group[np.isfinite(group)], reference[np.isfinite(reference)]
    n, m = len(a), len(b)
    if min(n, m) < 2:
        return None
    pooled = ((n - 1) * a.var(ddof=1) + (m - 1) * b.var(ddof=1)) / (n + m - 2)
    if not pooled > 0:
        return None
    free = n + m - 2
    correction = math.exp(math.lgamma(free / 2) - math.lgamma((free - 1) / 2)) / math.sqrt(free / 2)
    g = correction * float(a.mean() - b.mean()) / math.sqrt(pooled)
    sigma = math.sqrt((n + m) / (n * m) + g * g / (2 * (n + m)))
    test: Any = mannwhitneyu(a, b, alternative="two-sided")
    return Effect(g, g - _Z * sigma, g + _Z * sigma, 2 * float(test.statistic) / (n * m) - 1, float(test.pvalue))


def holm(p: list[float]) -> list[float]:
    """Return p-values corrected for being many (Holm 1979).

    Parameters
    ----------
    p : of all tests that were made.
    """
    order = sorted(range(len(p)), key=lambda k: p[k])
    out, most = [1.0] * len(p), 0.0
    for rank, k in enumerate(order):
        most = max(most, min(1.0, (len(p) - rank) * p[k]))
        out[k] = most
    return out
