"""Detections of one frame that are taken for one animal.

Every associator ends here: whatever decides which pairs are one animal, pairs are merged transitively, one detection a
camera, and triangulated by the same code, so that methods differ in their pairs and in nothing else.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras import CameraRig, triangulate_dlt, triangulate_ml
from ..cameras.kernels import project_each
from ..core.compiled import KERNEL, helper
from ..core.graph import find_root, unite
from ..recordings.detections import Detections
from ..recordings.tracks import Tracks

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


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


def groups_to_tracks(
    rig: CameraRig, detections: Detections, groups: Groups, track: Ints, confidence: Array | None = None
) -> Tracks:
    """Tracks whose points are groups; ``track`` (G,) says whose, ``confidence`` (G,) how sure that is, if known."""
    owner = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
    seen = project_members(rig, detections.camera[groups.members], groups.position[owner])
    error = np.linalg.norm(seen - detections.centroids[groups.members], axis=1)
    counts = np.maximum(np.diff(groups.offsets), 1)
    return Tracks.build(
        groups.frame,
        track,
        groups.position,
        covariance=groups.covariance,
        error_px=np.bincount(owner, weights=error, minlength=len(groups)) / counts,
        confidence=confidence,
        detection=groups.detection_of(detections.camera, len(rig)),
        cameras=rig.names,
    )


def confidence_of(views: NDArray[np.integer]) -> Array:
    """Confidence of groups seen by `views` (G,) cameras: 0.45 for two, 0.8 for three, 1 from four on (paper)."""
    return np.asarray(np.minimum(1.0, 0.2 + 0.2 * views) * np.where(views == 2, 0.75, 1.0))


def triangulated(
    rig: CameraRig,
    frame: Ints,
    members: Ints,
    counts: Ints,
    camera: NDArray[np.integer],
    pixels: Array,
    boxes: Array | None = None,
) -> Groups:
    """Give groups their points: by DLT without water, by maximum likelihood with it; those without one are dropped.

    Parameters
    ----------
    rig : the cameras.
    frame : (G,) frame of each group.
    members : (M,) rows of the N detections, group by group.
    counts : (G,) members of each group.
    camera : (N,) index into the rig.
    pixels : (N, 2) centroids, px.
    boxes : (N, 4) x1, y1, x2, y2, px; groups whose point falls out of the box of a member are dropped. None: they stay.
    """
    offsets = _starts(counts)
    mine, where = camera[members], pixels[members]
    covariance = np.full((len(counts), 3, 3), np.nan)
    if rig.refractive:
        solved = triangulate_ml(rig, where, mine, offsets)
        position, covariance = solved.points, solved.covariance
    else:
        position = triangulate_dlt(rig, where, mine, offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    seen = project_members(rig, mine, position[owner])
    if boxes is None:
        inside = np.isfinite(seen).all(1)
    else:
        box = boxes[members]
        with np.errstate(invalid="ignore"):
            inside = ((seen >= box[:, :2]) & (seen <= box[:, 2:])).all(1)
    good: NDArray[np.bool_] = np.asarray(np.isfinite(position).all(1))
    good[owner[~inside]] = False
    views = counts[good]
    return Groups(
        frame[good], members[good[owner]], _starts(views), position[good], covariance[good], confidence_of(views)
    )


def project_members(rig: CameraRig, camera: NDArray[np.integer], points: Array) -> Array:
    """(M, 2) pixel of each of ``points`` (M, 3) in its ``camera`` (M,); NaN where it is not seen."""
    return np.asarray(project_each(rig.packed, np.asarray(camera, np.int64), np.ascontiguousarray(points, np.float64)))


def _starts(counts: Ints) -> Ints:
    return np.append(0, np.cumsum(counts)).astype(np.int64)


@njit(**KERNEL)
def merge(same, camera, score, n_cameras):  # type: ignore[no-untyped-def]
    """Label (N,) of the connected component of each detection of a frame, -1 for those left out.

    ``same`` (N, N) says which pairs are one animal, ``camera`` and ``score`` (N,) are of its detections.
    """
    n = camera.shape[0]
    parent = np.arange(n)
    for i in range(n):
        for j in range(i):
            if same[i, j]:
                unite(parent, i, j)
    return _label_components(parent, camera, score, n_cameras)


@helper
def _label_components(parent, camera, score, n_cameras):  # type: ignore[no-untyped-def]
    """Label components 0, 1, 2, ... by their first detection.

    Of several detections of one camera the one of highest score stays; components of fewer than two cameras are none
    (the paper's transitive merging).
    """
    n = camera.shape[0]
    best = np.full((n, n_cameras), -1, np.int64)
    for i in range(n):
        a = find_root(parent, i)
        rival = best[a, camera[i]]
        if rival < 0 or score[i] > score[rival]:
            best[a, camera[i]] = i
    label = np.full(n, -1, np.int64)
    groups = 0
    for a in range(n):
        views = 0
        for c in range(n_cameras):
            views += best[a, c] >= 0
        if views >= 2:
            for c in range(n_cameras):
                if best[a, c] >= 0:
                    label[best[a, c]] = groups
            groups += 1
    return label
