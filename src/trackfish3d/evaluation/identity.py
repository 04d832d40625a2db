"""Identity scores (Ristani et al. 2016): one track for each animal over the whole scene."""

from dataclasses import asdict, dataclass

import numpy as np

from ..maths.assignment import assign_edges
from .clear import divide
from .matching import Pairs


@dataclass(frozen=True)
class IdentityScores:
    """Identity F1, precision and recall (fractions of one) and the counts behind them (points)."""

    idf1: float
    idp: float
    idr: float
    idtp: int
    idfp: int
    idfn: int

    def to_dict(self) -> dict[str, float]:
        """All scores by name."""
        return asdict(self)


def identity_scores(pairs: Pairs, gate: float) -> IdentityScores:
    """Score the best one-to-one mapping of animals to tracks; equals py-motmetrics and TrackEval.

    The weight of an animal and a track is the number of frames in which they are within `gate` (world
    units), whether or not another pair was matched there.
    """
    near = pairs.within(gate)
    animals, tracks = len(pairs.truth.ids), len(pairs.pred.ids)
    key = pairs.truth.identity[pairs.edge_truth[near]] * tracks + pairs.pred.identity[pairs.edge_pred[near]]
    together, frames = np.unique(key, return_counts=True)
    animal, track = np.divmod(together, max(tracks, 1))
    chosen = assign_edges(animal, track, -frames.astype(np.float64), animals, tracks, 0.0)
    idtp = int(frames[chosen[chosen >= 0]].sum())
    truth_points, predicted_points = len(pairs.truth.identity), len(pairs.pred.identity)
    return IdentityScores(
        idf1=divide(2 * idtp, truth_points + predicted_points),
        idp=divide(idtp, predicted_points),
        idr=divide(idtp, truth_points),
        idtp=idtp,
        idfp=predicted_points - idtp,
        idfn=truth_points - idtp,
    )
