"""Cross-view association: whether detections put together in one frame show the same animal."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from ..recordings import Tracks, Truth
from .clear import divide
from .matching import Ints


@dataclass(frozen=True)
class PairCounts:
    """Pairs of detections of different cameras in one frame: claimed and true, claimed only, true only."""

    right: int
    wrong: int
    missing: int

    def __add__(self, other: "PairCounts") -> "PairCounts":
        return PairCounts(self.right + other.right, self.wrong + other.wrong, self.missing + other.missing)

    @property
    def precision(self) -> float:
        """Share of the claimed pairs that are true; NaN without any."""
        return divide(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Share of the true pairs that are claimed; NaN without any."""
        return divide(self.right, self.right + self.missing)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN where no pair is either true or claimed."""
        return divide(2 * self.right, 2 * self.right + self.wrong + self.missing)


@dataclass(frozen=True)
class AssociationScores:
    """How well the detections of each frame were put together.

    Attributes
    ----------
    pairs : PairCounts
        Over all pairs of detections of different cameras in the same frame.
    true_groups : int
        Animals seen by two cameras or more in a frame, summed over frames.
    exact_groups : int
        Those of them whose detections form one group with none missing and none too many.
    """

    pairs: PairCounts
    true_groups: int
    exact_groups: int

    def __add__(self, other: "AssociationScores") -> "AssociationScores":
        groups = self.true_groups + other.true_groups, self.exact_groups + other.exact_groups
        return AssociationScores(self.pairs + other.pairs, *groups)

    @property
    def exact_group_accuracy(self) -> float:
        """Share of the true groups that were found exactly; NaN without any."""
        return divide(self.exact_groups, self.true_groups)

    def to_dict(self) -> dict[str, float]:
        """All scores by name; shares are fractions of one."""
        return {
            "association_precision": self.pairs.precision,
            "association_recall": self.pairs.recall,
            "association_f1": self.pairs.f1,
            "exact_group_accuracy": self.exact_group_accuracy,
            "true_pairs": self.pairs.right + self.pairs.missing,
            "true_groups": self.true_groups,
        }


def association_scores(frame: ArrayLike, camera: ArrayLike, group: ArrayLike, identity: ArrayLike) -> AssociationScores:
    """Score groups of detections against the true identities.

    Parameters
    ----------
    frame : (N,) int
        Frame number of each detection, rows in any order.
    camera : (N,) int
        Its camera.
    group : (N,) int
        Label of the group a detection was put in, below zero for none. Labels may begin anew in every frame.
    identity : (N,) or (N, K) int
        Whom a detection shows, below zero for nobody. A blob of several animals names up to K of them; it
        belongs with the detections of each.

    Returns
    -------
    AssociationScores
        A pair with a detection of nobody is wrong wherever it is claimed.
    """
    frames, cameras, groups = (np.asarray(column, np.int64) for column in (frame, camera, group))
    whom = _identities(identity)
    if not frames.shape == cameras.shape == groups.shape == (len(whom),):
        raise InputError(
            f"association: frame {frames.shape}, camera {cameras.shape}, group {groups.shape} and identity "
            f"{whom.shape} differ in length; give one row per detection"
        )
    order = np.argsort(frames, kind="stable")
    offsets = np.append(np.flatnonzero(np.diff(frames[order], prepend=frames[order][:1] - 1)), len(order))
    right, wrong, missing, true_groups, exact = _score_frames(offsets, cameras[order], groups[order], whom[order])
    return AssociationScores(PairCounts(int(right), int(wrong), int(missing)), int(true_groups), int(exact))


def association_of_tracks(tracks: Tracks, truth: Truth) -> AssociationScores | None:
    """Score the groups that tracks were made of; None where tracks or truth do not name detections.

    Detections that neither a track nor an animal is linked to count for nothing, as in `association_scores`.
    """
    return association_of_blocks([(truth, tracks)])


def association_of_blocks(blocks: Iterable[tuple[Truth | None, Tracks | None]]) -> AssociationScores | None:
    """Score the groups of tracks that come in blocks of whole frames, as `association_of_tracks` does.

    Parameters
    ----------
    blocks : truth and tracks of the same frames; None where one has nothing there.
    """
    whole, named = AssociationScores(PairCounts(0, 0, 0), 0, 0), False
    for truth, tracks in blocks:
        if truth is not None and tracks is not None and tracks.cameras != truth.cameras:
            return None
        if truth is not None and truth.detection is None:
            return None
        named = named or (tracks is not None and bool((tracks.detection >= 0).any()))
        whole += _of_block(truth, tracks)
    return whole if named else None


def _of_block(truth: Truth | None, tracks: Tracks | None) -> AssociationScores:
    sides = [(t.detection, t.frame) for t in (truth, tracks) if t is not None and t.detection is not None]
    used = np.unique(np.concatenate([rows[rows >= 0] for rows, _ in sides]))
    frame, camera, group = (np.full(len(used), -1, np.int64) for _ in range(3))
    for rows, frames in sides:
        row, cam = np.nonzero(rows >= 0)
        at = np.searchsorted(used, rows[row, cam])
        frame[at], camera[at] = frames[row], cam
        if tracks is not None and rows is tracks.detection:
            group[at] = row
    whom = np.full((len(used), 1), -1, np.int64)
    if truth is not None and truth.detection is not None:
        small = np.where(truth.detection >= 0, np.searchsorted(used, truth.detection), -1)
        whom = replace(truth, detection=small).identities_of_detections(len(used))
    return association_scores(frame, camera, group, whom)


def group_labels(members: ArrayLike, offsets: ArrayLike, n_detections: int) -> Ints:
    """Turn ragged groups (members (M,) detection rows, offsets (G + 1,)) into a label per detection, -1 for none."""
    rows = np.asarray(members, np.int64)
    starts = np.asarray(offsets, np.int64)
    if len(np.unique(rows)) != len(rows):
        values, count = np.unique(rows, return_counts=True)
        raise InputError(f"groups: detection {values[count > 1][0]} is in two groups; it can be in one only")
    labels = np.full(n_detections, -1, np.int64)
    labels[rows] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return labels


def compare_pairs(camera: ArrayLike, identity: ArrayLike, claimed: ArrayLike) -> PairCounts:
    """Count the claimed pairs of one frame against the true ones.

    Parameters
    ----------
    camera : (N,) int
        Camera of each detection.
    identity : (N,) or (N, K) int
        As in `association_scores`.
    claimed : (N, N) bool
        Symmetric; pairs of the same camera are not looked at.
    """
    counts = _compare(np.asarray(camera, np.int64), _identities(identity), np.asarray(claimed, np.bool_))
    return PairCounts(*(int(count) for count in counts))


def _identities(identity: ArrayLike) -> Ints:
    whom = np.asarray(identity, np.int64)
    return whom.reshape(len(whom), -1) if whom.size else np.zeros((len(whom), 1), np.int64)


@njit(cache=True)
def _same_animal(identity: Ints, i: int, j: int) -> bool:
    for a in range(identity.shape[1]):
        for b in range(identity.shape[1]):
            if identity[i, a] >= 0 and identity[i, a] == identity[j, b]:
                return True
    return False


@njit(cache=True)
def _compare(camera: Ints, identity: Ints, claimed: NDArray[np.bool_]) -> Any:
    right = wrong = missing = 0
    for i in range(camera.shape[0]):
        for j in range(i):
            if camera[i] == camera[j]:
                continue
            same = _same_animal(identity, i, j)
            right += claimed[i, j] and same
            wrong += claimed[i, j] and not same
            missing += same and not claimed[i, j]
    return right, wrong, missing


@njit(cache=True)
def _score_frames(offsets: Ints, camera: Ints, group: Ints, identity: Ints) -> Any:
    right = wrong = missing = true_groups = exact_groups = 0
    for f in range(offsets.shape[0] - 1):
        first = offsets[f]
        last = offsets[f + 1]
        for i in range(first, last):
            for j in range(first, i):
                if camera[i] == camera[j]:
                    continue
                same = _same_animal(identity, i, j)
                claimed = group[i] >= 0 and group[i] == group[j]
                right += claimed and same
                wrong += claimed and not same
                missing += same and not claimed
            for k in range(identity.shape[1]):
                several, exact = _true_group(camera, group, identity, first, last, i, k)
                true_groups += several
                exact_groups += several and exact
    return right, wrong, missing, true_groups, exact_groups


@njit(cache=True)
def _true_group(camera: Ints, group: Ints, identity: Ints, first: int, last: int, i: int, k: int) -> tuple[bool, bool]:
    """Tell of the true group of animal (i, k) whether it has several views and was found exactly.

    False at all but its first detection, so that each group counts once.
    """
    animal = identity[i, k]
    size = 0
    several = False
    exact = group[i] >= 0
    members = 0
    for j in range(first, last):
        members += group[j] == group[i]
        shown = False
        for b in range(identity.shape[1]):
            shown = shown or identity[j, b] == animal
        if animal < 0 or not shown:
            continue
        if j < i:
            return False, False
        size += 1
        several = several or camera[j] != camera[i]
        exact = exact and group[j] == group[i]
    return several, exact and members == size
