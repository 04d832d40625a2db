"""Truth beside prediction: one alignment by frame and one list of near pairs, shared by all scores."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
BLOCK = 10_000  # frames that are scored at once


@dataclass(frozen=True, eq=False)
class Points:
    """Positions with an identity, sorted by (frame, id), one row for each animal and frame.

    Sorting makes every score independent of the order of rows in a file: where two animals claim the same
    earlier partner, the smaller id goes first.

    Attributes
    ----------
    frame : (N,) int64
        Frame number.
    ids : (K,) int64
        The distinct identities, ascending.
    identity : (N,) int64
        Index into `ids`.
    xyz : (N, 3) float64
        Position, world units.
    row : (N,) int64
        Row in the arrays the caller passed.
    dropped : int
        Rows left out because a coordinate is not finite: they say "not seen here".
    """

    frame: Ints
    ids: Ints
    identity: Ints
    xyz: Floats
    row: Ints
    dropped: int

    @staticmethod
    def build(frame: ArrayLike, identity: ArrayLike, xyz: ArrayLike, kind: str) -> "Points":
        """Check and sort columns; `kind` ("truth", "prediction") names them in error messages."""
        frames = _integers(frame, f"{kind} frame")
        identities = _integers(identity, f"{kind} id")
        position = np.asarray(xyz, np.float64)
        if position.size == 0:
            position = position.reshape(0, 3)
        if position.ndim != 2 or position.shape[1] != 3:
            raise InputError(f"{kind}: positions have shape {position.shape}, expected (rows, 3)")
        if not len(frames) == len(identities) == len(position):
            raise InputError(
                f"{kind}: {len(frames)} frames, {len(identities)} ids and {len(position)} positions; "
                "give one of each per row"
            )
        row = np.flatnonzero(np.isfinite(position).all(axis=1))
        dropped = len(position) - len(row)
        step = np.diff(frames[row])
        if not ((step > 0) | ((step == 0) & (np.diff(identities[row]) > 0))).all():
            row = row[np.lexsort((identities[row], frames[row]))]
        frames, identities, position = frames[row], identities[row], position[row]
        twice = np.flatnonzero((np.diff(frames) == 0) & (np.diff(identities) == 0))
        if len(twice):
            raise InputError(
                f"{kind}: id {identities[twice[0]]} appears twice in frame {frames[twice[0]]}; "
                "an animal has one position a frame, remove or renumber one of them"
            )
        ids, index = np.unique(identities, return_inverse=True)
        return Points(frames, ids, index.astype(np.int64), position, row, dropped)

    def under(self, ids: Ints) -> "Points":
        """Return the same points with identities of a whole scene (K,), ascending, of which these are some."""
        return replace(self, ids=ids, identity=np.searchsorted(ids, self.ids)[self.identity])

    def part(self, begin: int, end: int) -> "Points":
        """Return some rows that follow each other, under the same identities; what was dropped stays with the whole."""
        rows = slice(begin, end)
        return Points(self.frame[rows], self.ids, self.identity[rows], self.xyz[rows], self.row[rows], 0)


def _integers(values: ArrayLike, name: str) -> Ints:
    """One column of whole numbers as int64; CSV readers make floats of them, which is fine while whole."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected one column of whole numbers, got {array.dtype} {array.shape}")
    if array.dtype.kind == "f":
        wrong = np.flatnonzero(~(array == np.rint(array)))
        if len(wrong):
            raise InputError(f"{name}: row {wrong[0]} holds {array[wrong[0]]}, expected a whole number")
    return array.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Truth and prediction of one scene, aligned by frame, with all pairs up to a distance.

    Frames are those of either side: a prediction where there is no truth is a false positive, as in
    py-motmetrics and TrackEval.

    Attributes
    ----------
    truth : Points
        The true positions.
    pred : Points
        The points of tracks.
    frames : (F,) int64
        Frame numbers of the scene.
    truth_offsets : (F + 1,) int64
        First row of each frame among the true positions.
    pred_offsets : (F + 1,) int64
        First row of each frame among the points of tracks.
    radius : float
        Largest distance in the list, world units.
    edge_offsets : (T + 1,) int64
        First pair of each truth row.
    edge_pred : (E,) int64
        Prediction row of each pair, ascending within a truth row.
    edge_distance : (E,) float64
        Its distance, world units.
    """

    truth: Points
    pred: Points
    frames: Ints
    truth_offsets: Ints
    pred_offsets: Ints
    radius: float
    edge_offsets: Ints
    edge_pred: Ints
    edge_distance: Floats

    @property
    def edge_truth(self) -> Ints:
        """Truth row of each pair, (E,)."""
        return np.repeat(np.arange(len(self.truth.frame)), np.diff(self.edge_offsets))

    def within(self, gate: float) -> Bools:
        """Which pairs lie within a gate no wider than `radius`, (E,)."""
        return self.edge_distance <= gate

    def identities(self, edges: Bools | Ints) -> tuple[Ints, Ints]:
        """Animal and track (index into the ids) of some pairs."""
        return self.truth.identity[self.edge_truth[edges]], self.pred.identity[self.edge_pred[edges]]

    def parts(self) -> Iterator["Pairs"]:
        """Cut at multiples of `BLOCK` frames, as a scene is that is read piece by piece: sums have the same digits."""
        inner = (np.flatnonzero(np.diff(self.frames // BLOCK)) + 1).tolist()
        if not inner:
            yield self
            return
        for begin, end in pairwise([0, *inner, len(self.frames)]):
            t0, t1 = (int(self.truth_offsets[k]) for k in (begin, end))
            p0, p1 = (int(self.pred_offsets[k]) for k in (begin, end))
            edges = self.edge_offsets[t0 : t1 + 1]
            yield Pairs(
                self.truth.part(t0, t1),
                self.pred.part(p0, p1),
                self.frames[begin:end],
                self.truth_offsets[begin : end + 1] - t0,
                self.pred_offsets[begin : end + 1] - p0,
                self.radius,
                edges - edges[0],
                self.edge_pred[edges[0] : edges[-1]] - p0,
                self.edge_distance[edges[0] : edges[-1]],
            )


class PairSums:
    """Sums over pairs of an animal and a track that are added to part by part; pairs that never met take no room.

    Parameters
    ----------
    tracks : int
        How many there are in the whole scene.
    dtype : type
        Of the sums.
    """

    def __init__(self, tracks: int, dtype: type) -> None:
        self._tracks = max(tracks, 1)
        self._keys = np.zeros(0, np.int64)
        self.sums: NDArray[Any] = np.zeros(0, dtype)

    def add(self, animal: Ints, track: Ints, weight: NDArray[Any]) -> None:
        """Add weights (E,) of pairs of animal and track (E,), in the order given."""
        key = animal * self._tracks + track
        keys = np.union1d(self._keys, key)
        if len(keys) > len(self._keys):
            sums = np.zeros(len(keys), self.sums.dtype)
            sums[np.searchsorted(keys, self._keys)] = self.sums
            self._keys, self.sums = keys, sums
        np.add.at(self.sums, self.index(animal, track), weight)

    def index(self, animal: Ints, track: Ints) -> Ints:
        """Place (E,) of pairs that were added among the sums."""
        return np.searchsorted(self._keys, animal * self._tracks + track)

    @property
    def who(self) -> tuple[Ints, Ints]:
        """Animal and track (K,) of each sum, ascending."""
        animal, track = np.divmod(self._keys, self._tracks)
        return animal, track


def pair_up(truth: Points, pred: Points, radius: float) -> Pairs:
    """Align two sides by frame and list all pairs no further apart than `radius` (world units)."""
    if not (np.isfinite(radius) and radius > 0):
        raise InputError(f"the gate is {radius}; give a distance above zero, in world units")
    frames = np.union1d(truth.frame, pred.frame)
    ends = np.append(frames, np.iinfo(np.int64).max) if len(frames) else np.zeros(1, np.int64)
    truth_offsets = np.searchsorted(truth.frame, ends)
    pred_offsets = np.searchsorted(pred.frame, ends)
    edge_offsets, edge_pred, edge_distance = _near_pairs(
        truth.xyz, pred.xyz, truth_offsets, pred_offsets, float(radius)
    )
    return Pairs(
        truth,
        pred,
        frames,
        truth_offsets,
        pred_offsets,
        float(radius),
        edge_offsets,
        edge_pred,
        edge_distance,
    )


@njit(cache=True)
def _near_pairs(
    truth: Floats, pred: Floats, truth_offsets: Ints, pred_offsets: Ints, radius: float
) -> tuple[Ints, Ints, Floats]:
    """All pairs of a frame within `radius`, into buffers that double when full.

    Squared distances to all predictions of the frame come first, in a loop without branches that the
    compiler turns into vector instructions; few of them then need a root.
    """
    x, y, z = pred[:, 0].copy(), pred[:, 1].copy(), pred[:, 2].copy()
    widest = 0
    for f in range(pred_offsets.shape[0] - 1):
        widest = max(widest, pred_offsets[f + 1] - pred_offsets[f])
    square = np.empty(widest)
    limit = radius * radius * (1.0 + 1e-12)
    offsets = np.zeros(truth.shape[0] + 1, np.int64)
    partner = np.empty(2 * truth.shape[0] + 16, np.int64)
    distance = np.empty(partner.shape[0])
    count = 0
    for f in range(truth_offsets.shape[0] - 1):
        first = pred_offsets[f]
        last = pred_offsets[f + 1]
        near_x, near_y, near_z = x[first:last], y[first:last], z[first:last]
        for t in range(truth_offsets[f], truth_offsets[f + 1]):
            if count + last - first > partner.shape[0]:
                size = 2 * partner.shape[0] + last - first
                larger_partner = np.empty(size, np.int64)
                larger_partner[:count] = partner[:count]
                larger_distance = np.empty(size)
                larger_distance[:count] = distance[:count]
                partner = larger_partner
                distance = larger_distance
            tx, ty, tz = truth[t, 0], truth[t, 1], truth[t, 2]
            for k in range(near_x.shape[0]):
                dx = tx - near_x[k]
                dy = ty - near_y[k]
                dz = tz - near_z[k]
                square[k] = dx * dx + dy * dy + dz * dz
            for k in range(last - first):
                if square[k] <= limit:
                    d = np.sqrt(square[k])
                    if d <= radius:
                        partner[count] = first + k
                        distance[count] = d
                        count += 1
            offsets[t + 1] = count
    return offsets, partner[:count].copy(), distance[:count].copy()
