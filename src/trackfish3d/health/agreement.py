"""How far the detections of two cameras miss each other when they are matched as well as they can be."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ..cameras import Camera, CameraRig, pair_residuals
from ..recordings import Detections

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Detections, and the frames (F,) of them at which the cameras are compared."""

    detections: Detections
    frames: NDArray[np.int64]

    @classmethod
    def draw(cls, detections: Detections, frames: int = 200, most_pairs: int = 300_000) -> "Sample":
        """Take frames spread over the recording, fewer where many detections make each one costly."""
        common = detections.frames
        per_frame = len(detections) / max(len(common), 1)
        affordable = int(most_pairs / max(per_frame**2, 1.0))
        count = min(len(common), frames, max(affordable, 20))
        if count < len(common):
            common = common[np.linspace(0, len(common) - 1, count).round().astype(int)]
        return cls(detections, common)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Sort key of every row: rows of one camera in one frame are contiguous."""
        n = len(self.detections.cameras)
        return np.asarray(self.detections.frame * n + self.detections.camera)

    def rows(self, frame: int, camera: int) -> slice:
        """Rows of one camera in one frame."""
        key = frame * len(self.detections.cameras) + camera
        first, last = np.searchsorted(self._starts, [key, key + 1])
        return slice(int(first), int(last))

    @cached_property
    def cap_px(self) -> float:
        """Error beyond which two detections are simply not the same animal: a box diagonal."""
        size = np.hypot(self.detections.x2 - self.detections.x1, self.detections.y2 - self.detections.y1)
        return max(25.0, float(np.median(size))) if len(size) else 25.0


@dataclass(frozen=True)
class Matches:
    """Best one-to-one matches of two cameras over the sample.

    ``error`` (M,) mean pixel error of the two views, capped; ``first``, ``second`` (M,) detection rows;
    ``block`` (M,) which sampled frame; ``possible`` how many matches there could have been.
    """

    error: Array
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    block: NDArray[np.int64]
    possible: int


def pair_errors(sample: Sample, a: Camera, b: Camera, ia: int, ib: int, shift: int = 0) -> Matches:
    """Match camera `ia` at each sampled frame with camera `ib` `shift` frames later, frame by frame, optimally.

    `a` and `b` are the cameras to use for them, which need not be the recording's (other water, say).
    """
    rig = CameraRig((a, b))
    det = sample.detections
    cap = sample.cap_px
    errors, firsts, seconds, blocks, possible = [], [], [], [], 0
    for k, frame in enumerate(sample.frames.tolist()):
        ra, rb = sample.rows(frame, ia), sample.rows(frame + shift, ib)
        na, nb = ra.stop - ra.start, rb.stop - rb.start
        if not (na and nb):
            continue
        possible += min(na, nb)
        pixels = np.concatenate([det.centroids[ra], det.centroids[rb]])
        boxes = np.concatenate([det.boxes[ra], det.boxes[rb]])
        pairs = pair_residuals(rig, np.repeat([0, 1], [na, nb]), pixels, boxes).error_px
        cost = 0.5 * (pairs[:na, na:] + pairs[na:, :na].T).astype(np.float64)
        cost = np.where(np.isfinite(cost), np.minimum(cost, cap), cap)
        i, j = linear_sum_assignment(cost)
        errors.append(cost[i, j])
        firsts.append(ra.start + i)
        seconds.append(rb.start + j)
        blocks.append(np.full(len(i), k))
    if not errors:
        none = np.zeros(0, np.int64)
        return Matches(np.zeros(0), none, none, none, 0)
    return Matches(
        np.concatenate(errors), np.concatenate(firsts), np.concatenate(seconds), np.concatenate(blocks), possible
    )


def mean_per_block(matches: Matches, n_blocks: int) -> Array:
    """(F,) mean error in each sampled frame, NaN where nothing was matched."""
    count = np.bincount(matches.block, minlength=n_blocks)
    total = np.bincount(matches.block, weights=matches.error, minlength=n_blocks)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(count > 0, total / count, np.nan))
