"""HOTA (Luiten et al. 2021) for points: detection and association weighed alike.

Follows TrackEval 1.3 with the similarity max(0, 1 - d / d0) in place of a box overlap.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..maths.assignment import assign_edges
from .matching import Floats, Ints, Pairs, PairSums

ALPHAS = np.arange(0.05, 0.99, 0.05)
"""Similarities at which a match counts, TrackEval's own; each score is the mean over them."""


@dataclass(frozen=True, eq=False)
class HotaScores:
    """HOTA and its parts, fractions of one.

    Attributes
    ----------
    hota : float
        Overall; this and the next seven are means over `ALPHAS`.
    deta : float
        Detection.
    assa : float
        Association.
    loca : float
        Localisation.
    detre : float
        Recall of detection.
    detpr : float
        Precision of detection.
    assre : float
        Recall of association.
    asspr : float
        Precision of association.
    by_alpha : dict of (19,) float64
        The same eight at each of `ALPHAS`.
    """

    hota: float
    deta: float
    assa: float
    loca: float
    detre: float
    detpr: float
    assre: float
    asspr: float
    by_alpha: dict[str, Floats]

    def to_dict(self) -> dict[str, float]:
        """Give the means by name."""
        return {name: getattr(self, name) for name in self.by_alpha}


class HotaSums:
    """HOTA of a scene, gone through twice part by part: `meet` all parts, then `match` all of them.

    Parameters
    ----------
    animals : int
        How many there are in the whole scene.
    tracks : int
        How many there are in the whole scene.
    d0 : float
        Distance of zero similarity, world units: twice the gate, so that the gate lies at similarity one
        half, where boxes are usually matched. Pairs are listed up to it or further.
    """

    def __init__(self, animals: int, tracks: int, d0: float) -> None:
        self._d0 = d0
        self._points = np.zeros(animals, np.int64), np.zeros(tracks, np.int64)
        self._shared = PairSums(tracks, np.float64)
        self._alignment: Floats | None = None
        self._similarity = np.zeros(len(ALPHAS))
        self._together = np.zeros((len(ALPHAS), 0), np.int64)

    def meet(self, pairs: Pairs) -> None:
        """Add how much of their lives animals and tracks share, before anything is matched one to one."""
        truth, pred = pairs.truth.identity, pairs.pred.identity
        for count, identity in zip(self._points, (truth, pred), strict=True):
            count += np.bincount(identity, minlength=len(count))
        useful, similarity, truth_row, pred_row = self._useful(pairs)
        by_truth = np.bincount(truth_row, similarity, len(truth))[truth_row]
        by_pred = np.bincount(pred_row, similarity, len(pred))[pred_row]
        union = by_truth + by_pred - similarity
        soft = np.divide(similarity, union, out=np.zeros_like(union), where=union > np.finfo(float).eps)
        self._shared.add(*pairs.identities(useful), soft)

    def match(self, pairs: Pairs) -> None:
        """Match a part one to one; all parts have met."""
        if self._alignment is None:
            animal, track = self._shared.who
            shared = self._shared.sums
            self._alignment = shared / (self._points[0][animal] + self._points[1][track] - shared)
            self._together = np.zeros((len(ALPHAS), len(shared)), np.int64)
        useful, similarity, truth_row, pred_row = self._useful(pairs)
        pair = self._shared.index(*pairs.identities(useful))
        matched = _match(
            np.searchsorted(truth_row, pairs.truth_offsets),
            truth_row,
            pred_row,
            -self._alignment[pair] * similarity,
            pairs.truth_offsets,
            pairs.pred_offsets,
        )
        similarity, pair = similarity[matched], pair[matched]
        for a, alpha in enumerate(ALPHAS):
            kept = similarity >= alpha - np.finfo(float).eps
            self._similarity[a] += similarity[kept].sum()
            self._together[a] += np.bincount(pair[kept], minlength=self._together.shape[1])

    def _useful(self, pairs: Pairs) -> tuple[Ints, Floats, Ints, Ints]:
        """Pairs of some similarity: which, how similar, and their rows."""
        similarity = np.maximum(0.0, 1.0 - pairs.edge_distance / self._d0)
        useful = np.flatnonzero(similarity > 0)
        return useful, similarity[useful], pairs.edge_truth[useful], pairs.edge_pred[useful]

    def scores(self) -> HotaScores:
        """Return the scores of all parts."""
        animal, track = self._shared.who
        truth_count, pred_count = self._points[0][animal], self._points[1][track]
        truth_points, pred_points = (int(count.sum()) for count in self._points)
        names = ("hota", "deta", "assa", "loca", "detre", "detpr", "assre", "asspr")
        scores = {name: np.zeros(len(ALPHAS)) for name in names}
        for a, together in enumerate(self._together):
            hits = int(together.sum())
            scores["loca"][a] = self._similarity[a] / hits if hits else 1.0
            scores["deta"][a] = hits / max(1, truth_points + pred_points - hits)
            scores["detre"][a] = hits / max(1, truth_points)
            scores["detpr"][a] = hits / max(1, pred_points)
            square = together * together
            scores["assa"][a] = (square / (truth_count + pred_count - together)).sum() / max(1, hits)
            scores["assre"][a] = (square / truth_count).sum() / max(1, hits)
            scores["asspr"][a] = (square / pred_count).sum() / max(1, hits)
        scores["hota"] = np.sqrt(scores["deta"] * scores["assa"])
        return HotaScores(**{name: float(values.mean()) for name, values in scores.items()}, by_alpha=scores)


@njit(cache=True)
def _match(
    edge_offsets: Ints, truth_row: Ints, pred_row: Ints, cost: Floats, truth_offsets: Ints, pred_offsets: Ints
) -> Ints:
    """Edges of the assignment of greatest score in each frame."""
    matched = np.empty(truth_offsets[-1], np.int64)
    count = 0
    for f in range(truth_offsets.shape[0] - 1):
        first = edge_offsets[f]
        last = edge_offsets[f + 1]
        if first == last:
            continue
        chosen = assign_edges(
            truth_row[first:last] - truth_offsets[f],
            pred_row[first:last] - pred_offsets[f],
            cost[first:last],
            truth_offsets[f + 1] - truth_offsets[f],
            pred_offsets[f + 1] - pred_offsets[f],
            0.0,
        )
        for edge in chosen:
            if edge >= 0:
                matched[count] = first + edge
                count += 1
    return matched[:count]
