"""Detections of one frame that are taken for one animal."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of all frames, sorted by frame.

    ``frame`` (G,) int64; ``members`` (M,) rows of `Detections`, group g owning ``offsets[g]:offsets[g + 1]``;
    ``position`` (G, 3) world; ``covariance`` (G, 3, 3) world^2; ``confidence`` (G,) 0..1;
    ``embedding`` (G, D) unit vectors, or None.
    """

    frame: NDArray[np.int64]
    members: NDArray[np.int64]
    offsets: NDArray[np.int64]
    position: Array
    covariance: Array
    confidence: Array
    embedding: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.frame)

    def detection_of(self, camera: NDArray[np.integer], n_cameras: int) -> NDArray[np.int64]:
        """(G, C) the detection row of each group in each view, -1 where it has none; ``camera`` (N,) per detection."""
        out = np.full((len(self), n_cameras), -1, np.int64)
        out[np.repeat(np.arange(len(self)), np.diff(self.offsets)), camera[self.members]] = self.members
        return out
