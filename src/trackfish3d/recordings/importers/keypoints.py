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
    ``mean`` for the mean of all parts seen. A file with one part needs no choice. The score is the part's likelihood
    (of ``mean``: the mean). The box holds all parts seen, or lies around the point if it is the only one.
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
        count = np.maximum(seen.sum(1), 1)
        point = np.where(seen[..., None], poses.points, 0.0).sum(1) / count[:, None]
        score = np.where(seen, likelihood, 0.0).sum(1) / count
        rows = seen.any(1)
    else:
        k = parts.index(keypoint)
        point, score, rows = poses.points[:, k], likelihood[:, k], seen[:, k]
    point, score, camera, frame = point[rows], score[rows], poses.camera[rows], poses.frame[rows]
    corners: dict[str, Any] = dict(
        zip(("x1", "y1", "x2", "y2"), file.around(point[:, 0], point[:, 1], camera), strict=True)
    )
    if len(parts) > 1:
        low = np.where(seen[..., None], poses.points, np.inf).min(1)[rows]
        high = np.where(seen[..., None], poses.points, -np.inf).max(1)[rows]
        several = seen[rows].sum(1) > 1
        for name, values in zip(("x1", "y1", "x2", "y2"), (*low.T, *high.T), strict=True):
            corners[name] = np.where(several, values, corners[name])
    return file.build(frame, camera, u=point[:, 0], v=point[:, 1], **corners, score=file.score_of(score))
