"""Labels from geometry alone: two detections that triangulate into both their boxes may be one animal."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...cameras import CameraRig, pair_residuals
from ...core.files import atomic_path
from ...recordings import Detections
from .agreement import agreed_pairs


def pseudo_labels(
    rig: CameraRig, camera: NDArray[np.integer], pixels: NDArray[np.float64], boxes: NDArray[np.float64]
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Labels of all pairs of one frame (paper, section 3.3).

    Parameters
    ----------
    camera : (N,) of each detection.
    pixels : (N, 2) centroids.
    boxes : (N, 4) x1, y1, x2, y2, px.

    Returns
    -------
    G (N, N): 1 inside both boxes, 0 not, -1 same camera. C (N, N): ``1 / (1 + err)`` with the mean pixel error of
    the two views where G = 1, else 0.
    """
    pairs = pair_residuals(rig, camera, pixels, boxes)
    label = pairs.inside.astype(np.int8)
    label[np.equal.outer(camera, camera)] = -1
    error = 0.5 * (pairs.error_px + pairs.error_px.T)
    confidence = np.where(pairs.inside, 1.0 / (1.0 + np.nan_to_num(error)), 0.0).astype(np.float32)
    return label, confidence


class PseudoLabels:
    """Pseudo-labels of a recording, positives only: flat pairs with offsets per frame.

    ``offsets`` (F + 1,); ``first``, ``second`` (P,) index within the frame; ``confidence`` (P,), negative for pairs
    about which nothing is known.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        first: NDArray[np.int32],
        second: NDArray[np.int32],
        confidence: NDArray[np.float32],
    ) -> None:
        self.offsets, self.first, self.second, self.confidence = offsets, first, second, confidence

    @classmethod
    def compute(cls, rig: CameraRig, detections: Detections) -> "PseudoLabels":
        """Label every frame."""
        offsets, firsts, seconds, confidences = [0], [], [], []
        for k in range(len(detections.frames)):
            rows = detections.at(k)
            label, confidence = pseudo_labels(
                rig, detections.camera[rows], detections.centroids[rows], detections.boxes[rows]
            )
            i, j = np.nonzero(label == 1)
            offsets.append(offsets[-1] + len(i))
            firsts.append(i.astype(np.int32))
            seconds.append(j.astype(np.int32))
            confidences.append(confidence[i, j])
        empty = np.zeros(0)
        return cls(
            np.array(offsets, np.int64),
            np.concatenate([*firsts, empty]).astype(np.int32),
            np.concatenate([*seconds, empty]).astype(np.int32),
            np.concatenate([*confidences, empty]).astype(np.float32),
        )

    def agreed(self, detections: Detections) -> "PseudoLabels":
        """Labels after one choice a frame that all views agree on, see `agreed_pairs`.

        Pairs chosen keep their confidence, undecided ones have -1, and those of two animals are left out.
        """
        confidence = agreed_pairs(
            detections.camera.astype(np.int64),
            detections.offsets,
            self.offsets,
            self.first,
            self.second,
            self.confidence,
        )
        stay = confidence != 0
        starts = np.append(0, np.cumsum(stay))[self.offsets].astype(np.int64)
        return PseudoLabels(starts, self.first[stay], self.second[stay], confidence[stay])

    @classmethod
    def cached(cls, rig: CameraRig, detections: Detections, folder: Path) -> "PseudoLabels":
        """Read them from ``folder/pseudo_<digest>.npz``, or compute and write them.

        The digest covers calibration and detections, so that a cache never outlives what it was made from.
        """
        path = folder / f"pseudo_{_digest(rig, detections)}.npz"
        names = ("offsets", "first", "second", "confidence")
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(*(file[n] for n in names))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            pass  # not there yet, or damaged: it is only a cache
        labels = cls.compute(rig, detections)
        with atomic_path(path) as temporary:
            np.savez_compressed(temporary, **{n: getattr(labels, n) for n in names})
        return labels


def _digest(rig: CameraRig, detections: Detections) -> str:
    sha = hashlib.sha256(json.dumps(rig.names).encode())
    for array in (rig.packed, detections.frame, detections.camera, detections.centroids, detections.boxes):
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]
