"""Pair scores of a frame to groups of detections with a 3D point (paper, section 3.5 and its appendix).

Every associator ends here: whatever decides which pairs are one animal, pairs are merged transitively, one detection a
camera, and triangulated by the same code, so that methods differ in their pairs and in nothing else.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..assignment import assign
from ..cameras import CameraRig, triangulate_dlt, triangulate_ml
from ..cameras._kernels import project_each
from ..recordings import Groups
from .settings import GroupingSettings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def confidence_of(views: NDArray[np.integer]) -> Array:
    """Confidence of groups seen by `views` (G,) cameras: 0.45 for two, 0.8 for three, 1 from four on (paper)."""
    return np.asarray(np.minimum(1.0, 0.2 + 0.2 * views) * np.where(views == 2, 0.75, 1.0))


def group_detections(
    rig: CameraRig,
    frame: Ints,
    offsets: Ints,
    camera: NDArray[np.integer],
    score: Array,
    pixels: Array,
    boxes: Array,
    affinity: NDArray[np.float32],
    settings: GroupingSettings,
) -> Groups:
    """Group the detections of B frames by the affinity of their pairs.

    Parameters
    ----------
    frame : (B,) frame numbers; offsets : (B + 1,) rows of each frame among the M detections given.
    camera, score : (M,); pixels : (M, 2); boxes : (M, 4).
    affinity : (B, N, N) of ordered pairs, padded; frame b fills its first ``offsets[b + 1] - offsets[b]`` rows. Only
        pairs whose first camera comes before the second are read (the paper's fixed order of rows and columns).

    Returns
    -------
    Groups whose members are rows of the M detections. Each point is triangulated from all members and falls into the
    box of every one of them. No detection is in two groups: what the paper's last step, dropping the less confident
    of groups that share detections, would have to resolve cannot arise from connected components.
    """
    block, members, counts = _match_and_merge(
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(camera, np.int64),
        np.ascontiguousarray(score, np.float64),
        affinity,
        len(rig),
        settings.threshold,
        settings.two_view_threshold,
    )
    return triangulated(rig, frame[block], members, counts, camera, pixels, boxes)


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
    frame : (G,); members : (M,) rows of the N detections; counts : (G,) members of each group.
    camera : (N,); pixels : (N, 2).
    boxes : (N, 4); groups whose point falls out of the box of a member are dropped. None: they stay.
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


@njit(cache=True)
def merge(same, camera, score, n_cameras):  # type: ignore[no-untyped-def]
    """Label (N,) of the connected component of each detection of a frame, -1 for those left out.

    ``same`` (N, N) says which pairs are one animal, ``camera`` and ``score`` (N,) are of its detections.
    """
    n = camera.shape[0]
    parent = np.arange(n)
    for i in range(n):
        for j in range(i):
            if same[i, j]:
                _unite(parent, i, j)
    return _label_components(parent, camera, score, n_cameras)


@njit(cache=True)
def _root(parent, i):  # type: ignore[no-untyped-def]
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def _unite(parent, i, j):  # type: ignore[no-untyped-def]
    a, b = _root(parent, i), _root(parent, j)
    parent[max(a, b)] = min(a, b)


@njit(cache=True)
def _label_components(parent, camera, score, n_cameras):  # type: ignore[no-untyped-def]
    """Label components 0, 1, 2, ... by their first detection.

    Of several detections of one camera the one of highest score stays; components of fewer than two cameras are none
    (the paper's transitive merging).
    """
    n = camera.shape[0]
    best = np.full((n, n_cameras), -1, np.int64)
    for i in range(n):
        a = _root(parent, i)
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


@njit(cache=True)
def _match_and_merge(offsets, camera, score, affinity, n_cameras, threshold, two_view):  # type: ignore[no-untyped-def]
    """Hungarian per camera pair, matches above the threshold merged: frame, members and size of each group."""
    total = camera.shape[0]
    block = np.empty(total, np.int64)
    members = np.empty(total, np.int64)
    counts = np.zeros(total, np.int64)
    groups = 0
    used = 0
    for b in range(offsets.shape[0] - 1):
        begin, end = offsets[b], offsets[b + 1]
        cameras = camera[begin:end]
        parent = np.arange(end - begin)
        for first in range(n_cameras):
            rows = np.flatnonzero(cameras == first)
            for second in range(first + 1, n_cameras):
                columns = np.flatnonzero(cameras == second)
                cost = np.empty((rows.shape[0], columns.shape[0]))
                for i in range(rows.shape[0]):
                    for j in range(columns.shape[0]):
                        cost[i, j] = -affinity[b, rows[i], columns[j]]
                partner = assign(cost)
                for i in range(rows.shape[0]):
                    if partner[i] >= 0 and -cost[i, partner[i]] >= threshold:
                        _unite(parent, rows[i], columns[partner[i]])
        label = _label_components(parent, cameras, score[begin:end], n_cameras)
        slot = np.full((label.max() + 1 if end > begin else 0, n_cameras), -1, np.int64)
        for i in range(end - begin):
            if label[i] >= 0:
                slot[label[i], cameras[i]] = i
        for g in range(slot.shape[0]):
            chosen = slot[g][slot[g] >= 0]
            if chosen.shape[0] == 2 and affinity[b, chosen[0], chosen[1]] < two_view:
                continue
            for i in chosen:
                members[used] = begin + i
                used += 1
            block[groups] = b
            counts[groups] = chosen.shape[0]
            groups += 1
    return block[:groups], members[:used], counts[:groups]
