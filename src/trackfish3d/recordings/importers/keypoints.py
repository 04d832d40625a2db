"""From poses to detections: one body part is the point, all of them together the box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detections import Detections
from ._file import DetectionFile

Array = NDArray[np.float64]
MEAN = "mean"
TRUSTED = 0.5


@dataclass(frozen=True)
class Poses:
    """Poses of one camera: ``frame`` (N,), ``camera`` (N,), ``points`` (N, K, 2) px with NaN where unseen,
    ``likelihood`` (N, K); ``parts`` names the K body parts.
    """

    parts: Sequence[str]
    frame: NDArray[np.int64]
    camera: NDArray[np.int64]
    points: Array
    likelihood: Array


def detections_from_poses(file: DetectionFile, poses: Poses) -> Detections:
    """Make a detection of every pose that shows the wanted body part.

    Views must agree on what is triangulated, so that a choice has to be made: `file.keypoint` names the part, or is
    ``mean`` for the mean of all parts, weighted by likelihood. A file with one part needs no choice. The score is the
    part's likelihood (of ``mean``: the mean). The box holds the point and all parts with a likelihood of at least
    0.5, because pose networks put parts that they do not see anywhere; a point alone gets a box around it.
    """
    parts = list(poses.parts)
    keypoint = file.keypoint if file.keypoint is not None or len(parts) != 1 else parts[0]
    if keypoint is None or (keypoint != MEAN and keypoint not in parts):
        wrong = f"has no body part '{keypoint}'" if keypoint else f"has {len(parts)} body parts"
        listed = ", ".join(str(p) for p in parts[:20])
        raise file.fail(f"{wrong}; choose one of {listed} with --keypoint, or --keypoint {MEAN}")
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(poses.points).all(-1))
    likelihood = np.where(np.isfinite(poses.likelihood), poses.likelihood, 1.0)
    if keypoint == MEAN:
        weight = np.where(seen, np.maximum(likelihood, 1e-9), 0.0)
        total = np.maximum(weight.sum(1), 1e-12)
        point = (np.where(seen[..., None], poses.points, 0.0) * weight[..., None]).sum(1) / total[:, None]
        score = np.where(seen, likelihood, 0.0).sum(1) / np.maximum(seen.sum(1), 1)
        rows = seen.any(1)
    else:
        k = parts.index(keypoint)
        point, score, rows = poses.points[:, k], likelihood[:, k], seen[:, k]
    point, score, camera, frame = point[rows], score[rows], poses.camera[rows], poses.frame[rows]
    trusted = (seen & (likelihood >= TRUSTED))[rows]
    low = np.minimum(np.where(trusted[..., None], poses.points[rows], np.inf).min(1), point)
    high = np.maximum(np.where(trusted[..., None], poses.points[rows], -np.inf).max(1), point)
    box, alone = np.concatenate([low, high], axis=1), (low == high).all(1)
    box[alone] = np.column_stack(file.around(point[alone, 0], point[alone, 1], camera[alone]))
    corners: dict[str, Any] = dict(zip(("x1", "y1", "x2", "y2"), box.T, strict=True))
    return file.build(frame, camera, u=point[:, 0], v=point[:, 1], **corners, score=file.score_of(score))
