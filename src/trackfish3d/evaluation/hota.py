"""HOTA (Luiten et al. 2021) for points: detection and association weighed alike.

Follows TrackEval 1.3 with the similarity max(0, 1 - d / d0) in place of a box overlap.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..maths.assignment import assign_edges
from .matching import Floats, Ints, Pairs

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


def hota_scores(pairs: Pairs, d0: float) -> HotaScores:
    """Score tracks by HOTA.

    Parameters
    ----------
    pairs : Pairs
        Pairs listed up to `d0` or further.
    d0 : float
        Distance of zero similarity, world units: twice the gate, so that the gate lies at similarity one
        half, where boxes are usually matched.
    """
    similarity = np.maximum(0.0, 1.0 - pairs.edge_distance / d0)
    useful = np.flatnonzero(similarity > 0)
    similarity, truth_row, pred_row = similarity[useful], pairs.edge_truth[useful], pairs.edge_pred[useful]
    truth, pred = pairs.truth.identity, pairs.pred.identity
    tracks = len(pairs.pred.ids)
    together, pair = np.unique(truth[truth_row] * tracks + pred[pred_row], return_inverse=True)
    animal, track = np.divmod(together, max(tracks, 1))
    truth_count = np.bincount(truth, minlength=1)[animal]
    pred_count = np.bincount(pred, minlength=1)[track]

    # how much of their lives animal and track share, before anything is matched one to one
    by_truth = np.bincount(truth_row, similarity, len(truth))[truth_row]
    by_pred = np.bincount(pred_row, similarity, len(pred))[pred_row]
    union = by_truth + by_pred - similarity
    soft = np.divide(similarity, union, out=np.zeros_like(union), where=union > np.finfo(float).eps)
    shared = np.bincount(pair, soft, len(together))
    alignment = shared / (truth_count + pred_count - shared)

    edge_offsets = np.searchsorted(truth_row, pairs.truth_offsets)
    matched = _match(
        edge_offsets,
        truth_row,
        pred_row,
        -alignment[pair] * similarity,
        pairs.truth_offsets,
        pairs.pred_offsets,
    )
    return _by_alpha(similarity[matched], pair[matched], truth_count, pred_count, len(truth), len(pred))


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


def _by_alpha(
    similarity: Floats, pair: Ints, truth_count: Ints, pred_count: Ints, truth_points: int, pred_points: int
) -> HotaScores:
    """Scores at every alpha from matched edges: their similarity and which (animal, track) they join."""
    names = ("hota", "deta", "assa", "loca", "detre", "detpr", "assre", "asspr")
    scores = {name: np.zeros(len(ALPHAS)) for name in names}
    for a, alpha in enumerate(ALPHAS):
        kept = similarity >= alpha - np.finfo(float).eps
        hits = int(kept.sum())
        together = np.bincount(pair[kept], minlength=len(truth_count))
        scores["loca"][a] = similarity[kept].sum() / hits if hits else 1.0
        scores["deta"][a] = hits / max(1, truth_points + pred_points - hits)
        scores["detre"][a] = hits / max(1, truth_points)
        scores["detpr"][a] = hits / max(1, pred_points)
        square = together * together
        scores["assa"][a] = (square / (truth_count + pred_count - together)).sum() / max(1, hits)
        scores["assre"][a] = (square / truth_count).sum() / max(1, hits)
        scores["asspr"][a] = (square / pred_count).sum() / max(1, hits)
    scores["hota"] = np.sqrt(scores["deta"] * scores["assa"])
    return HotaScores(**{name: float(values.mean()) for name, values in scores.items()}, by_alpha=scores)
