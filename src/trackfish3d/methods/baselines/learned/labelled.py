"""What supervised rivals are taught by: detections, crops, and who is who, of scenes of the train split."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....cameras import CameraRig
from ....recordings.detections import Detections
from .crops import Crops

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledScene:
    """A scene to learn from.

    ``identity`` (N,) is the animal of each detection, -1 where there is none or two share it; ``crops`` (N, 3, S, S).
    """

    name: str
    rig: CameraRig
    detections: Detections
    identity: Ints
    crops: Crops

    @property
    def frames(self) -> int:
        """How many frames it has."""
        return len(self.detections.frames)

    @cached_property
    def offsets(self) -> Ints:
        """Rows of each frame, (F + 1,)."""
        return np.asarray(self.detections.offsets)

    def rows(self, frame: int, camera: int | None = None) -> Ints:
        """Rows of the detections of the ``frame``-th frame, of one camera or of all."""
        rows = np.arange(self.offsets[frame], self.offsets[frame + 1])
        return rows if camera is None else rows[self.detections.camera[rows] == camera]


def pair_auc(score: NDArray[np.floating], same: NDArray[np.bool_]) -> float:
    """Chance that a pair of one animal scores higher than a pair of two; NaN without both kinds."""
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    _, inverse, count = np.unique(score[order], return_inverse=True, return_counts=True)
    mean = np.cumsum(count) - 0.5 * (count - 1)
    rank[order] = mean[inverse]
    positive, negative = int(same.sum()), int((~same).sum())
    if not positive or not negative:
        return float("nan")
    return float((rank[same].sum() - positive * (positive + 1) / 2) / (positive * negative))
