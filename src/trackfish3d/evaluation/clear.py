"""CLEAR scores: who is matched with whom in every frame, and what that is worth.

The conventions are those of py-motmetrics 1.4:

* an animal keeps the prediction it was last matched with, however long ago, as long as the two are within
  the gate again (TrackEval keeps only a partner of the frame before);
* the rest is assigned by greatest number of pairs, then least total distance;
* mostly tracked is a share of at least 0.8 of the animal's frames (TrackEval: more than 0.8);
* a share whose denominator is zero is NaN (TrackEval: 0).
"""

from dataclasses import asdict, dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..maths.assignment import assign_edges
from .matching import Floats, Ints, Pairs

MISSED = 0
MATCHED = 1
SWITCHED = 2


@dataclass(frozen=True, eq=False)
class Correspondence:
    """What became of every truth row of a `Pairs`.

    Attributes
    ----------
    pred : (T,) int64
        Prediction row matched, -1 where the animal was missed.
    state : (T,) int8
        `MISSED`, `MATCHED`, or `SWITCHED`: matched with another identity than at its last match.
    handover : (T,) bool
        A match made by assignment that py-motmetrics also logs as TRANSFER, ASCEND or MIGRATE: the
        prediction belonged to another animal before, or an animal switched to a brand new one.
    distance : (T,) float64
        Distance of the match, world units; NaN where missed.
    """

    pred: Ints
    state: NDArray[np.int8]
    handover: NDArray[np.bool_]
    distance: Floats


@dataclass(frozen=True)
class ClearScores:
    """CLEAR MOT scores. Shares are fractions of one, `motp` is in world units, the rest are counts."""

    mota: float
    motp: float
    recall: float
    precision: float
    false_positives: int
    misses: int
    switches: int
    fragmentations: int
    mostly_tracked: int
    partly_tracked: int
    mostly_lost: int
    animals: int
    tracks: int
    frames: int
    truth_points: int
    predicted_points: int

    @property
    def shares(self) -> dict[str, float]:
        """Share of animals mostly tracked, partly tracked, mostly lost: ``mt``, ``pt``, ``ml``."""
        counts = {"mt": self.mostly_tracked, "pt": self.partly_tracked, "ml": self.mostly_lost}
        return {name: divide(count, self.animals) for name, count in counts.items()}

    def to_dict(self) -> dict[str, float]:
        """All scores by name."""
        return asdict(self) | self.shares


class Matcher:
    """Matches truth and prediction part by part of a scene, and remembers who was last matched with whom.

    Parameters
    ----------
    animals : int
        How many there are in the whole scene.
    tracks : int
        How many there are in the whole scene.
    gate : float
        Largest distance of a match, world units; no wider than the pairs.
    """

    def __init__(self, animals: int, tracks: int, gate: float) -> None:
        self.gate = gate
        self._partner = np.full(animals, -1, np.int64)
        self._owner = np.full(tracks, -1, np.int64)

    def match(self, pairs: Pairs) -> Correspondence:
        """Match the frames of the next part."""
        pred, state, handover, edge = _correspond(
            pairs.truth_offsets,
            pairs.pred_offsets,
            pairs.truth.identity,
            pairs.pred.identity,
            self._partner,
            self._owner,
            pairs.edge_offsets,
            pairs.edge_pred,
            pairs.edge_distance,
            self.gate,
        )
        distance = np.full(len(edge), np.nan)
        distance[edge >= 0] = pairs.edge_distance[edge[edge >= 0]]
        return Correspondence(pred, state, handover, distance)


@njit(cache=True)
def _correspond(
    truth_offsets: Ints,
    pred_offsets: Ints,
    truth_identity: Ints,
    pred_identity: Ints,
    partner_of: Ints,
    owner_of: Ints,
    edge_offsets: Ints,
    edge_pred: Ints,
    edge_distance: Floats,
    gate: float,
) -> tuple[Ints, NDArray[np.int8], NDArray[np.bool_], Ints]:
    """Match frame by frame; ``partner_of`` animals and ``owner_of`` tracks (by assignment) are the last ones."""
    rows = truth_identity.shape[0]
    match = np.full(rows, -1, np.int64)
    match_edge = np.full(rows, -1, np.int64)
    state = np.zeros(rows, np.int8)
    handover = np.zeros(rows, np.bool_)
    used = np.zeros(pred_identity.shape[0], np.bool_)
    for f in range(truth_offsets.shape[0] - 1):
        t0 = truth_offsets[f]
        t1 = truth_offsets[f + 1]
        p0 = pred_offsets[f]
        n_candidates = 0
        for t in range(t0, t1):
            last = partner_of[truth_identity[t]]
            for e in range(edge_offsets[t], edge_offsets[t + 1]):
                p = edge_pred[e]
                if pred_identity[p] == last and edge_distance[e] <= gate and not used[p]:
                    match[t] = p
                    match_edge[t] = e
                    state[t] = MATCHED
                    used[p] = True
                    break
            if match[t] < 0:
                n_candidates += edge_offsets[t + 1] - edge_offsets[t]
        if n_candidates == 0:
            continue

        row = np.empty(n_candidates, np.int64)
        column = np.empty(n_candidates, np.int64)
        cost = np.empty(n_candidates)
        edge = np.empty(n_candidates, np.int64)
        n = 0
        for t in range(t0, t1):
            if match[t] >= 0:
                continue
            for e in range(edge_offsets[t], edge_offsets[t + 1]):
                if edge_distance[e] <= gate and not used[edge_pred[e]]:
                    row[n] = t - t0
                    column[n] = edge_pred[e] - p0
                    cost[n] = edge_distance[e]
                    edge[n] = e
                    n += 1
        chosen = assign_edges(row[:n], column[:n], cost[:n], t1 - t0, pred_offsets[f + 1] - p0, np.inf)
        for t in range(t0, t1):
            if chosen[t - t0] < 0:
                continue
            e = edge[chosen[t - t0]]
            p = edge_pred[e]
            animal = truth_identity[t]
            track = pred_identity[p]
            match[t] = p
            match_edge[t] = e
            used[p] = True
            state[t] = MATCHED if partner_of[animal] < 0 else SWITCHED
            new_track = owner_of[track] < 0
            handover[t] = (state[t] == SWITCHED and new_track) or not (new_track or owner_of[track] == animal)
            partner_of[animal] = track
            owner_of[track] = animal
    return match, state, handover, match_edge


class ClearSums:
    """Counts what correspondences got right and wrong, part by part of a scene.

    Parameters
    ----------
    animals : int
        How many there are in the whole scene.
    tracks : int
        How many there are in the whole scene.
    """

    def __init__(self, animals: int, tracks: int) -> None:
        self._tracks = tracks
        self._seen = np.zeros(animals, np.int64)
        self._hits = np.zeros(animals, np.int64)
        self._was_matched = np.zeros(animals, np.bool_)
        self._in_gap = np.zeros(animals, np.bool_)
        self._predicted = self._switches = self._fragmentations = self._frames = 0
        self._distance = 0.0

    def add(self, pairs: Pairs, found: Correspondence) -> None:
        """Count the next part."""
        identity, animals = pairs.truth.identity, len(self._seen)
        matched = found.state != MISSED
        self._seen += np.bincount(identity, minlength=animals)
        self._hits += np.bincount(identity[matched], minlength=animals)
        self._predicted += len(pairs.pred.identity)
        self._switches += int((found.state == SWITCHED).sum())
        self._fragmentations += int(_fragmentations(identity, found.state, self._was_matched, self._in_gap))
        self._frames += len(pairs.frames)
        self._distance += float(found.distance[matched].sum())

    def scores(self) -> ClearScores:
        """Return the scores of all parts."""
        truth_points, hits = int(self._seen.sum()), int(self._hits.sum())
        misses, false_positives = truth_points - hits, self._predicted - hits
        share = self._hits / self._seen
        return ClearScores(
            mota=1.0 - divide(misses + self._switches + false_positives, truth_points),
            motp=divide(self._distance, hits),
            recall=divide(hits, truth_points),
            precision=divide(hits, self._predicted),
            false_positives=false_positives,
            misses=misses,
            switches=self._switches,
            fragmentations=self._fragmentations,
            mostly_tracked=int((share >= 0.8).sum()),
            partly_tracked=int(((share >= 0.2) & (share < 0.8)).sum()),
            mostly_lost=int((share < 0.2).sum()),
            animals=len(self._seen),
            tracks=self._tracks,
            frames=self._frames,
            truth_points=truth_points,
            predicted_points=self._predicted,
        )


@njit(cache=True)
def _fragmentations(
    identity: Ints, state: NDArray[np.int8], was_matched: NDArray[np.bool_], in_gap: NDArray[np.bool_]
) -> int:
    """Gaps between two matches of the same animal, each counted once whatever its length."""
    count = 0
    for t in range(identity.shape[0]):
        animal = identity[t]
        if state[t] == MISSED:
            in_gap[animal] = was_matched[animal]
        else:
            count += in_gap[animal]
            in_gap[animal] = False
            was_matched[animal] = True
    return count


def divide(numerator: float, denominator: float) -> float:
    """Quotient as IEEE has it: 0 / 0 is NaN, x / 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.true_divide(numerator, denominator))
