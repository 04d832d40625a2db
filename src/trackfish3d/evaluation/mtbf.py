"""Mean time between failures (3D-ZeF, Pedersen et al. 2020): how long an animal stays on one track."""

from dataclasses import asdict, dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .clear import MISSED, SWITCHED, Correspondence
from .matching import Ints, Pairs


@dataclass(frozen=True)
class MtbfScores:
    """Mean time between failures, in frames; 0 where nothing was ever matched.

    Attributes
    ----------
    mtbf_s : float
        Standard: matched frames / runs. A run ends at a miss or at a switch.
    mtbf_m : float
        Monotonic: matched frames / (runs + gaps). A gap counts once whatever its length, before the first
        and after the last match too; a switch is not a gap.
    mtbf_m_compat : float
        `mtbf_m` as the published 3D-ZeF script computes it from py-motmetrics 1.2 or later
        (``motchallenge_compat``): that script takes the TRANSFER, ASCEND and MIGRATE rows, new in 1.2, for
        misses, so most switches count as a gap. For comparison with published tables only.
    runs : int
        Stretches in which an animal was followed by one track without a miss.
    gaps : int
        Stretches in which an animal was not followed.
    gaps_compat : int
        The same as `mtbf_m_compat` counts them.
    """

    mtbf_s: float
    mtbf_m: float
    mtbf_m_compat: float
    runs: int
    gaps: int
    gaps_compat: int

    def to_dict(self) -> dict[str, float]:
        """All scores by name."""
        return asdict(self)


class MtbfSums:
    """Counts runs and gaps of every animal, part by part of a scene.

    Frames without an animal's truth neither end a run nor make a gap.

    Parameters
    ----------
    animals : int
        How many there are in the whole scene.
    """

    def __init__(self, animals: int) -> None:
        self._in_run = np.zeros(animals, np.bool_)
        self._in_gap = np.zeros(animals, np.bool_)
        self._counts = np.zeros(4, np.int64)  # runs, gaps, gaps as 3D-ZeF's script has them, matched frames

    def add(self, pairs: Pairs, found: Correspondence) -> None:
        """Count the next part."""
        counts = _count(pairs.truth.identity, found.state, found.handover, self._in_run, self._in_gap)
        self._counts += (*counts, int((found.state != MISSED).sum()))

    def scores(self) -> MtbfScores:
        """Return the scores of all parts."""
        runs, gaps, gaps_compat, matched = self._counts.tolist()
        return MtbfScores(
            mtbf_s=matched / runs if runs else 0.0,
            mtbf_m=matched / (runs + gaps) if runs else 0.0,
            mtbf_m_compat=matched / (runs + gaps_compat) if runs else 0.0,
            runs=runs,
            gaps=gaps,
            gaps_compat=gaps_compat,
        )


@njit(cache=True)
def _count(
    identity: Ints,
    state: NDArray[np.int8],
    handover: NDArray[np.bool_],
    in_run: NDArray[np.bool_],
    in_gap: NDArray[np.bool_],
) -> tuple[int, int, int]:
    runs = 0
    gaps = 0
    gaps_compat = 0
    for t in range(identity.shape[0]):
        animal = identity[t]
        if state[t] == MISSED:
            if not in_gap[animal]:
                gaps += 1
                gaps_compat += 1
            in_gap[animal] = True
            in_run[animal] = False
        else:
            if handover[t] and not in_gap[animal]:
                gaps_compat += 1
            if state[t] == SWITCHED or not in_run[animal]:
                runs += 1
            in_gap[animal] = False
            in_run[animal] = True
    return runs, gaps, gaps_compat
