"""How hard a scene is: how much its animals hide each other, and how far geometry alone can tell them apart."""

from dataclasses import asdict, dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from ..cameras import CameraRig
from ..cameras.residuals import pair_residuals
from ..core.errors import InputError
from ..recordings import Detections
from .association import PairCounts, compare_pairs
from .clear import divide
from .matching import Floats, Ints

OVERLAP_IOU = 0.01
"""Boxes overlap where their intersection over union is above this; the paper's own number."""


@dataclass(frozen=True)
class Occlusion:
    """Overlap of true boxes, over all (frame, camera) instances of a scene.

    Attributes
    ----------
    occ_score : float
        Mean of the largest pairwise intersection over union; an instance with fewer than two boxes counts 0.
    overlap : float
        Share of instances with any pair above `OVERLAP_IOU`.
    instances : int
        Frames times cameras.
    """

    occ_score: float
    overlap: float
    instances: int

    def to_dict(self) -> dict[str, float]:
        """All scores by name."""
        return asdict(self)


def occlusion(frame: ArrayLike, boxes: ArrayLike) -> Occlusion:
    """Score how much the true boxes of a scene overlap.

    Parameters
    ----------
    frame : (N,) int
        Frame number of each animal's row, in any order.
    boxes : (N, C, 4) float
        Its box in each camera, x1, y1, x2, y2 in px; NaN where the camera does not see it.
    """
    frames = np.asarray(frame, np.int64)
    corners = np.asarray(boxes, np.float64)
    if corners.ndim != 3 or corners.shape[2] != 4 or len(corners) != len(frames):
        raise InputError(f"boxes have shape {corners.shape}, expected ({len(frames)}, cameras, 4)")
    order = np.argsort(frames, kind="stable")
    offsets = np.append(np.flatnonzero(np.diff(frames[order], prepend=frames[order][:1] - 1)), len(order))
    largest = _largest_iou(offsets, corners[order]).ravel()
    return Occlusion(
        occ_score=divide(float(largest.sum()), len(largest)),
        overlap=divide(int((largest > OVERLAP_IOU).sum()), len(largest)),
        instances=len(largest),
    )


@njit(cache=True)
def _largest_iou(offsets: Ints, boxes: Floats) -> Floats:
    """Largest pairwise intersection over union of every frame and camera, (F, C)."""
    cameras = boxes.shape[1]
    largest = np.zeros((offsets.shape[0] - 1, cameras))
    for f in range(offsets.shape[0] - 1):
        for c in range(cameras):
            for i in range(offsets[f], offsets[f + 1]):
                a = boxes[i, c]
                for j in range(offsets[f], i):
                    b = boxes[j, c]
                    width = min(a[2], b[2]) - max(a[0], b[0])
                    height = min(a[3], b[3]) - max(a[1], b[1])
                    if not (width > 0.0 and height > 0.0):  # NaN boxes end here too
                        continue
                    shared = width * height
                    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
                    largest[f, c] = max(largest[f, c], shared / union)
    return largest


def pseudo_label_audit(rig: CameraRig, detections: Detections, identity: ArrayLike) -> PairCounts:
    """Count geometric pseudo-positives against true identities, over all frames.

    A pseudo-positive is a pair of detections of different cameras whose triangulated point falls into both
    boxes (`pair_residuals`). The truth enters this audit only, never the training that uses such pairs.

    Parameters
    ----------
    rig : CameraRig
        Cameras in the order of ``detections.cameras``.
    detections : Detections
        All detections of the scene.
    identity : (N,) or (N, K) int
        Whom each detection shows, below zero for nobody; see `association_scores`.
    """
    whom = np.asarray(identity, np.int64)
    if len(whom) != len(detections):
        raise InputError(f"audit: {len(whom)} identities for {len(detections)} detections; give one each")
    total = PairCounts(0, 0, 0)
    for k in range(len(detections.frames)):
        rows = detections.at(k)
        camera = detections.camera[rows]
        inside = pair_residuals(rig, camera, detections.centroids[rows], detections.boxes[rows]).inside
        total += compare_pairs(camera, whom[rows], inside)
    return total
