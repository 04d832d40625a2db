"""What a pair network says about sets of detections, as one more log-likelihood ratio."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import kernel


class PairOdds(NamedTuple):
    """Log-likelihood ratios of pairs of detections of one recording.

    begin (N + 1,) : first entry of each detection; partner (M,) detections of later rows, ascending; odds (M,).
    A pair without an entry is one about which nothing is known.
    """

    begin: NDArray[np.int64]
    partner: NDArray[np.int64]
    odds: NDArray[np.float64]

    @classmethod
    def of(
        cls, count: int, first: NDArray[np.int64], second: NDArray[np.int64], odds: NDArray[np.floating]
    ) -> "PairOdds":
        """Sort pairs (P,) of ``count`` detections, first before second."""
        order = np.lexsort((second, first))
        begin = np.searchsorted(first[order], np.arange(count + 1))
        return cls(begin.astype(np.int64), second[order].astype(np.int64), odds[order].astype(np.float64))


NO_ODDS = PairOdds(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@kernel
def add_pair_odds(value: NDArray[np.float64], sets: NDArray[np.int64], start: int, pairs: PairOdds) -> None:
    """Add to value (H,), in place, the pair odds within sets (H, C) of detections, from row ``start``; -1 for none.

    The sum over pairs is divided by the number of views less one. Pairs of a set share their detections, and a set of
    k views has k (k - 1) / 2 of them: undivided, large sets would be paid many times for the same agreement.
    """
    if pairs.begin.shape[0] == 0:
        return
    views = sets.shape[1]
    for h in range(sets.shape[0]):
        total, count = 0.0, 0
        for a in range(views):
            if sets[h, a] < 0:
                continue
            count += 1
            one = sets[h, a] + start
            for b in range(a + 1, views):
                if sets[h, b] < 0:
                    continue
                other = sets[h, b] + start
                for k in range(pairs.begin[one], pairs.begin[one + 1]):
                    if pairs.partner[k] == other:
                        total += pairs.odds[k]
                        break
        if count > 1:
            value[h] += total / (count - 1)
