"""Identity scores (Ristani et al. 2016): one track for each animal over the whole scene."""

from dataclasses import asdict, dataclass

import numpy as np

from ..maths.assignment import assign_edges
from .clear import divide
from .matching import Pairs, PairSums


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


class IdentitySums:
    """Counts the frames in which animals and tracks are near each other, part by part of a scene.

    The weight of an animal and a track is the number of frames in which they are within ``gate`` (world
    units), whether or not another pair was matched there.

    Parameters
    ----------
    animals : int
        How many there are in the whole scene.
    tracks : int
        How many there are in the whole scene.
    gate : float
        Largest distance of a match, world units.
    """

    def __init__(self, animals: int, tracks: int, gate: float) -> None:
        self._animals, self._tracks, self._gate = animals, tracks, gate
        self._together = PairSums(tracks, np.int64)
        self._truth = self._predicted = 0

    def add(self, pairs: Pairs) -> None:
        """Count the next part."""
        near = pairs.within(self._gate)
        self._together.add(*pairs.identities(near), np.ones(int(near.sum()), np.int64))
        self._truth += len(pairs.truth.identity)
        self._predicted += len(pairs.pred.identity)

    def scores(self) -> IdentityScores:
        """Score the best one-to-one mapping of animals to tracks; equals py-motmetrics and TrackEval."""
        animal, track = self._together.who
        frames = self._together.sums
        chosen = assign_edges(animal, track, -frames.astype(np.float64), self._animals, self._tracks, 0.0)
        idtp = int(frames[chosen[chosen >= 0]].sum())
        return IdentityScores(
            idf1=divide(2 * idtp, self._truth + self._predicted),
            idp=divide(idtp, self._predicted),
            idr=divide(idtp, self._truth),
            idtp=idtp,
            idfp=self._predicted - idtp,
            idfn=self._truth - idtp,
        )
