"""From matched pairs of a frame to groups, and from groups to points and tracks: shared by all associators."""

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.residuals import PairResiduals, pair_residuals
from ..cameras.rig import CameraRig
from ..cameras.triangulation import triangulate_dlt, triangulate_ml
from ..recordings.detections import Detections
from ..recordings.groups import Groups
from ..recordings.tracks import Tracks
from ..tracking.method import Progress

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Matcher = Callable[[Array, Ints], Flags]
"""(N, N) symmetric cost in px, inf where impossible, and camera (N,) -> (N, N) which pairs are one animal."""


def group_frames(
    rig: CameraRig,
    detections: Detections,
    match: Matcher,
    max_error_px: float,
    contain: bool,
    progress: Progress,
    frames: Ints | None = None,
) -> Groups:
    """Group the detections of every frame: match pairs, merge them transitively, triangulate, validate.

    Parameters
    ----------
    match : decides which pairs of a frame belong together.
    max_error_px : pairs whose mean reprojection error over their two views is larger are impossible.
    contain : reject pairs and groups whose point falls out of the box of a member.
    frames : indices into ``detections.frames``; all of them by default.
    """
    which = np.arange(len(detections.frames)) if frames is None else frames
    members: list[Ints] = []
    counts: list[Ints] = []
    number: list[Ints] = []
    for done, k in enumerate(which):
        rows = detections.at(int(k))
        camera = detections.camera[rows].astype(np.int64)
        residuals = pair_residuals(rig, camera, detections.centroids[rows], detections.boxes[rows])
        cost = pair_cost(residuals, max_error_px, contain)
        label = merge(match(cost, camera), camera, detections.score[rows], len(rig))
        found, count = _by_label(label)
        members.append(found + rows.start)
        counts.append(count)
        number.append(np.full(len(count), detections.frames[k]))
        progress(done + 1, len(which))
    return triangulated(
        rig,
        detections,
        np.concatenate(number) if number else np.zeros(0, np.int64),
        np.concatenate(members) if members else np.zeros(0, np.int64),
        np.concatenate(counts) if counts else np.zeros(0, np.int64),
        contain,
    )


def pair_cost(residuals: PairResiduals, max_error_px: float, contain: bool) -> Array:
    """(N, N) mean reprojection error over the two views of a pair, px; inf where a pair is impossible."""
    cost = 0.5 * (residuals.error_px + residuals.error_px.T).astype(np.float64)
    possible = cost <= max_error_px
    return np.where(possible & residuals.inside if contain else possible, cost, np.inf)


@njit(cache=True)
def merge(same, camera, score, n_cameras):  # type: ignore[no-untyped-def]
    """Label (N,) of the connected component of each detection, -1 for those left out.

    Of several detections of one camera in a component the one of highest score stays; components of fewer than two
    cameras are none (the paper's transitive merging).
    """
    n = camera.shape[0]
    parent = np.arange(n)
    for i in range(n):
        for j in range(i):
            if same[i, j]:
                a, b = i, j
                while parent[a] != a:
                    a = parent[a]
                while parent[b] != b:
                    b = parent[b]
                parent[max(a, b)] = min(a, b)
    best = np.full((n, n_cameras), -1, np.int64)
    for i in range(n):
        a = i
        while parent[a] != a:
            a = parent[a]
        parent[i] = a
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


def _by_label(label: Ints) -> tuple[Ints, Ints]:
    """Members ordered by label, and the size of each group."""
    inside = np.flatnonzero(label >= 0)
    order = np.argsort(label[inside], kind="stable")
    return inside[order], np.bincount(label[inside])


def triangulated(
    rig: CameraRig, detections: Detections, frame: Ints, members: Ints, counts: Ints, contain: bool
) -> Groups:
    """Triangulate groups: by DLT without water, by maximum likelihood with it; those without a point are dropped.

    ``frame`` (G,), ``members`` (M,) rows of detections, ``counts`` (G,) members of each group. Confidence is the
    paper's heuristic for a group's number of views.
    """
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    camera, pixels = detections.camera[members], detections.centroids[members]
    covariance = np.full((len(counts), 3, 3), np.nan)
    if rig.refractive:
        solved = triangulate_ml(rig, pixels, camera, offsets)
        position, covariance = solved.points, solved.covariance
    else:
        position = triangulate_dlt(rig, pixels, camera, offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    seen = project_members(rig, camera, position[owner])
    good: Flags = np.asarray(np.isfinite(position).all(1))
    good[owner[~np.isfinite(seen).all(1)]] = False
    if contain:
        box = detections.boxes[members]
        with np.errstate(invalid="ignore"):
            inside = ((seen >= box[:, :2]) & (seen <= box[:, 2:])).all(1)
        good[owner[~inside]] = False
    kept = good[owner]
    counts = counts[good]
    confidence = np.minimum(1.0, 0.2 + 0.2 * counts) * np.where(counts == 2, 0.75, 1.0)
    return Groups(
        frame[good], members[kept], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), position[good],
        covariance[good], confidence,
    )  # fmt: skip


def project_members(rig: CameraRig, camera: NDArray[np.integer], points: Array) -> Array:
    """(M, 2) pixel of each of ``points`` (M, 3) in its ``camera`` (M,); NaN where it is not seen."""
    out = np.full((len(points), 2), np.nan)
    for c, cam in enumerate(rig):
        mine = camera == c
        out[mine] = cam.project(points[mine])
    return out


def groups_to_tracks(rig: CameraRig, detections: Detections, groups: Groups, track: Ints) -> Tracks:
    """Tracks whose points are groups; ``track`` (G,) says whose."""
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
        detection=groups.detection_of(detections.camera, len(rig)),
        cameras=rig.names,
    )
