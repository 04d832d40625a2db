"""From poses to detections: all parts together, or one of them as the point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ..detections import SCORE_SLACK, Detections
from ..plausible import refuse_unseen
from ..skeleton import Skeleton
from ._file import DetectionFile

Array = NDArray[np.float64]
MEAN = "mean"
TRUSTED = 0.5


@dataclass(frozen=True)
class Poses:
    """Poses of one camera: ``frame`` (N,), ``camera`` (N,), ``points`` (N, K, 2) px with NaN where unseen,
    ``likelihood`` (N, K); ``parts`` names the K body parts; ``edges`` are pairs of parts that are joined;
    ``variance`` (N, K, 2) px^2 of u and v, where the tool gives it; ``tracklet`` (N,) its own 2D tracks, -1 for none.
    """

    parts: Sequence[str]
    frame: NDArray[np.int64]
    camera: NDArray[np.int64]
    points: Array
    likelihood: Array
    edges: Sequence[tuple[int, int]] = ()
    variance: Array | None = None
    tracklet: NDArray[np.int64] | None = None


def detections_from_poses(file: DetectionFile, poses: Poses) -> Detections:
    """Make a detection of every pose, with all its parts; of those that show one part, where that is wanted.

    `file.keypoint` names the one part to keep, or is ``mean`` for the mean of all parts, weighted by likelihood. In a
    file with one part, that is the point. The score is the part's likelihood (of ``mean``: the mean). The box holds the
    point and all parts with a likelihood of at least 0.5, because pose networks put parts that they do not see
    anywhere; a point alone gets a box around it.
    """
    parts = list(poses.parts)
    keypoint = file.keypoint if file.keypoint is not None or len(parts) != 1 else parts[0]
    if keypoint is None:
        return _with_parts(file, poses)
    if keypoint != MEAN and keypoint not in parts:
        listed = ", ".join(str(p) for p in parts[:20])
        raise file.fail(f"has no body part '{keypoint}'; choose one of {listed}, {MEAN}, or leave --keypoint out")
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
    corners = _boxes(file, poses.points[rows], trusted, point, camera)
    tracklet = None if poses.tracklet is None else poses.tracklet[rows]
    point_score = file.score_of(score)
    return file.build(frame, camera, u=point[:, 0], v=point[:, 1], **corners, score=point_score, tracklet=tracklet)


def _with_parts(file: DetectionFile, poses: Poses) -> Detections:
    """Make detections with all parts. Their point is the middle of the parts seen until all cameras are known."""
    if not poses.parts:
        raise file.fail("has no body parts")
    try:
        skeleton = Skeleton(tuple(str(p) for p in poses.parts), tuple(poses.edges))
    except InputError as error:
        raise file.fail(str(error)) from None
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(poses.points).all(-1))
    score = np.where(np.isfinite(poses.likelihood), poses.likelihood, 1.0)
    score = np.where((score > 1) & (score <= 1 + SCORE_SLACK), 1.0, score)
    score = file.score_of(np.where(seen, score, 0.0).ravel()).reshape(score.shape)
    rows = np.asarray(seen.any(1))
    if not rows.any() and len(rows):
        file.note("shows no part of any animal")
    seen, score, points = seen[rows], score[rows], poses.points[rows]
    weight = np.where(seen, np.maximum(score, 1e-3), 0.0)
    point = np.where(seen[..., None], points, 0.0)
    point = (point * weight[..., None]).sum(1) / np.maximum(weight.sum(1), 1e-12)[:, None]
    mean = np.where(seen, score, 0.0).sum(1) / np.maximum(seen.sum(1), 1)
    trusted = seen & (score >= np.minimum(TRUSTED, 0.5 * score.max(1, initial=0.0, where=seen))[:, None])
    frame, camera = poses.frame[rows], poses.camera[rows]
    refuse_unseen_parts(file, camera, points)
    return file.build(
        frame,
        camera,
        u=point[:, 0],
        v=point[:, 1],
        **_boxes(file, points, trusted, point, camera),
        score=mean,
        parts=np.concatenate([points, np.where(seen, score, np.nan)[..., None]], axis=-1),
        part_variance=None if poses.variance is None else poses.variance[rows],
        skeleton=skeleton,
        tracklet=None if poses.tracklet is None else poses.tracklet[rows],
    )


def several(animals: int, frames: int) -> NDArray[np.int64] | None:
    """Return the number (animals * frames,) of each animal in a table with a block for each; None for one alone."""
    return np.repeat(np.arange(animals), frames) if animals > 1 else None


def refuse_unseen_parts(file: DetectionFile, camera: NDArray[np.int64], points: Array) -> None:
    """Refuse parts (N, K, 2) that no camera (N,) can have seen, as points far outside of its image."""
    low, high = (np.nan_to_num(f(points)) for f in (_least, _most))
    sides = {"x1": low[:, 0], "y1": low[:, 1], "x2": high[:, 0], "y2": high[:, 1]}
    refuse_unseen(file.rig, camera, sides, str(file.path))


def _least(points: Array) -> Array:
    out: Array = np.where(np.isfinite(points), points, np.inf).min(1)
    return out


def _most(points: Array) -> Array:
    out: Array = np.where(np.isfinite(points), points, -np.inf).max(1)
    return out


def _boxes(
    file: DetectionFile, points: Array, trusted: NDArray[np.bool_], point: Array, camera: NDArray[np.int64]
) -> dict[str, Any]:
    """Boxes of parts (N, K, 2) that are trusted (N, K) and of the point (N, 2); around it, where it is alone."""
    low = np.minimum(np.where(trusted[..., None], points, np.inf).min(1), point)
    high = np.maximum(np.where(trusted[..., None], points, -np.inf).max(1), point)
    box, alone = np.concatenate([low, high], axis=1), (low == high).all(1)
    box[alone] = np.column_stack(file.around(point[alone, 0], point[alone, 1], camera[alone]))
    return dict(zip(("x1", "y1", "x2", "y2"), box.T, strict=True))
