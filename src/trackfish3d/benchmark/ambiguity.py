"""Which pairs of detections are wrong, and where: right and wrong ones by how many rivals a pair has.

Truth is used here to analyse, never to track.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..cameras.residuals import pair_residuals
from ..recordings import Detections, Tracks, Truth

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
BINS = (1, 2, 3, 5, 9)  # first number of candidates of each bin


@dataclass(frozen=True)
class FramePairs:
    """All pairs of detections of different cameras in one frame, each once.

    ``first``, ``second`` (P,) detection rows, the camera of the first before that of the second; ``same`` (P,) whether
    they show one animal; ``plausible`` (P,) whether their point falls into both boxes; ``error_px`` (P,) mean
    reprojection error of that point; ``rivals`` (P,) candidates: the most detections of the other's camera that are
    plausible for either of the two.
    """

    first: Ints
    second: Ints
    same: Flags
    plausible: Flags
    error_px: Array
    rivals: Ints


def pairs_of_frames(rig: CameraRig, detections: Detections, whom: Ints) -> Iterator[FramePairs]:
    """Pairs of every frame; ``whom`` (N, K) are the animals of each detection, -1 for none."""
    for k in range(len(detections.frames)):
        rows = detections.at(k)
        camera = detections.camera[rows].astype(np.int64)
        residuals = pair_residuals(rig, camera, detections.centroids[rows], detections.boxes[rows])
        inside, error = residuals.inside, 0.5 * (residuals.error_px + residuals.error_px.T)
        candidates = np.stack([inside[:, camera == c].sum(1) for c in range(len(rig))], axis=1)
        i, j = np.nonzero(camera[:, None] < camera[None])
        mine = whom[rows]
        same = ((mine[i][:, :, None] == mine[j][:, None]) & (mine[i] >= 0)[:, :, None]).any((1, 2))
        rivals = np.maximum(candidates[i, camera[j]], candidates[j, camera[i]])
        yield FramePairs(i + rows.start, j + rows.start, same, inside[i, j], error[i, j].astype(np.float64), rivals)


@dataclass
class PairBin:
    """Pairs with so many candidates: true ones, those of them that were claimed, and wrong ones that were."""

    candidates: str
    true: int = 0
    found: int = 0
    wrong: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return counts, and precision and recall as shares, None without any."""
        claimed = self.found + self.wrong
        return asdict(self) | {
            "precision": self.found / claimed if claimed else None,
            "recall": self.found / self.true if self.true else None,
        }


@dataclass
class ScoreBin:
    """Scores of the plausible pairs with so many candidates: how well they part true from false.

    ``auc_error`` is the AUC of the reprojection error alone, which needs no network.
    """

    candidates: str
    true: int
    false: int
    true_accepted: float | None
    false_accepted: float | None
    auc: float | None
    auc_error: float | None


def bin_names() -> list[str]:
    """``1``, ``2``, ``3-4``, ... and the last open."""
    ends = [b - 1 for b in BINS[1:]]
    names = [str(a) if a == b else f"{a}-{b}" for a, b in zip(BINS, ends, strict=False)]
    return [*names, f"{BINS[-1]}+"]


def bin_of(rivals: Ints) -> Ints:
    """Bin of each number of candidates; a true pair that is not even plausible may have none, and is in the first."""
    return np.asarray(np.clip(np.searchsorted(BINS, rivals, side="right") - 1, 0, None), np.int64)


def claimed_pairs(rig: CameraRig, detections: Detections, truth: Truth, tracks: Tracks) -> list[PairBin]:
    """Count the pairs that tracks claim, by candidates."""
    label = np.full(len(detections), -1, np.int64)
    row, camera = np.nonzero(tracks.detection >= 0)
    label[tracks.detection[row, camera]] = row
    bins = [PairBin(name) for name in bin_names()]
    for pairs in pairs_of_frames(rig, detections, truth.identities_of_detections(len(detections))):
        claimed = (label[pairs.first] >= 0) & (label[pairs.first] == label[pairs.second])
        which = bin_of(pairs.rivals)
        for k, one in enumerate(bins):
            mine = which == k
            one.true += int((mine & pairs.same).sum())
            one.found += int((mine & pairs.same & claimed).sum())
            one.wrong += int((mine & ~pairs.same & claimed).sum())
    return bins


def scored_pairs(
    rig: CameraRig, detections: Detections, truth: Truth, affinity: dict[int, NDArray[np.float32]], threshold: float
) -> list[ScoreBin]:
    """Judge pair scores on the plausible pairs, by candidates.

    ``affinity`` holds the (n, n) scores of each frame by its index; scores from `threshold` on are accepted.
    """
    value: list[Array] = []
    error: list[Array] = []
    same: list[Flags] = []
    which: list[Ints] = []
    whom = truth.identities_of_detections(len(detections))
    for k, pairs in enumerate(pairs_of_frames(rig, detections, whom)):
        begin, use = detections.offsets[k], pairs.plausible
        value.append(affinity[k][pairs.first[use] - begin, pairs.second[use] - begin].astype(np.float64))
        error.append(pairs.error_px[use])
        same.append(pairs.same[use])
        which.append(bin_of(pairs.rivals[use]))
    values, errors, truths = np.concatenate(value), np.concatenate(error), np.concatenate(same)
    bins = np.concatenate(which)
    out = []
    for k, name in enumerate(bin_names()):
        true, false = (bins == k) & truths, (bins == k) & ~truths
        right, wrong = (float((values[x] >= threshold).mean()) if x.any() else None for x in (true, false))
        of_score, of_error = auc(values[true], values[false]), auc(-errors[true], -errors[false])
        out.append(ScoreBin(name, int(true.sum()), int(false.sum()), right, wrong, of_score, of_error))
    return out


def auc(true: Array, false: Array) -> float | None:
    """Chance that a true pair scores above a false one, ties half (Mann-Whitney); None without both."""
    if not (len(true) and len(false)):
        return None
    ordered = np.sort(false)
    below = np.searchsorted(ordered, true, "left") + np.searchsorted(ordered, true, "right")
    return float(0.5 * below.mean() / len(false))
