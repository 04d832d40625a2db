"""Pair scores of a frame to groups of detections with a 3D point (paper, section 3.5 and its appendix)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..assignment import assign
from ..cameras import CameraRig, triangulate_dlt, triangulate_ml
from ..recordings import Groups
from .settings import GroupingSettings

Array = NDArray[np.float64]


def confidence_of(views: NDArray[np.integer]) -> Array:
    """Confidence of groups seen by `views` (G,) cameras: 0.45 for two, 0.8 for three, 1 from four on (paper)."""
    return np.asarray(np.minimum(1.0, 0.2 + 0.2 * views) * np.where(views == 2, 0.75, 1.0))


def group_detections(
    rig: CameraRig,
    frame: NDArray[np.int64],
    offsets: NDArray[np.int64],
    camera: NDArray[np.integer],
    score: Array,
    pixels: Array,
    boxes: Array,
    affinity: NDArray[np.float32],
    settings: GroupingSettings,
) -> Groups:
    """Group the detections of B frames.

    Parameters
    ----------
    frame : (B,) frame numbers; offsets : (B + 1,) rows of each frame among the M detections given.
    camera, score : (M,); pixels : (M, 2); boxes : (M, 4).
    affinity : (B, N, N) of ordered pairs, padded; frame b fills its first ``offsets[b + 1] - offsets[b]`` rows.

    Returns
    -------
    Groups whose members are rows of the M detections. Each point is triangulated from all members and falls into the
    box of every one of them.
    """
    block, members, starts = _components(
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(camera, np.int64),
        np.ascontiguousarray(score, np.float64),
        affinity,
        len(rig),
        settings.threshold,
        settings.two_view_threshold,
    )
    views = np.diff(starts)
    if rig.refractive:
        ml = triangulate_ml(rig, pixels[members], camera[members], starts)
        points = ml.points
    else:
        points = triangulate_dlt(rig, pixels[members], camera[members], starts)
    keep = contained(rig, points, pixels[members], boxes[members], camera[members], starts)
    member_kept = np.repeat(keep, views)
    return Groups(
        frame[block[keep]],
        members[member_kept],
        np.append(0, np.cumsum(views[keep])).astype(np.int64),
        points[keep],
        np.full((int(keep.sum()), 3, 3), np.nan),
        confidence_of(views[keep]),
    )


def contained(
    rig: CameraRig, points: Array, pixels: Array, boxes: Array, camera: NDArray[np.integer], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(G,) whether each point (G, 3) falls into the boxes (M, 4) of all its members."""
    group = np.repeat(np.arange(len(points)), np.diff(offsets))
    seen = np.full((len(group), 2), np.nan)
    for c, cam in enumerate(rig):
        mine = camera == c
        seen[mine] = cam.project(points[group[mine]])
    inside = (seen >= boxes[:, :2]).all(1) & (seen <= boxes[:, 2:]).all(1)
    outside = np.bincount(group, weights=~inside, minlength=len(points))
    return np.asarray((outside == 0) & np.isfinite(points).all(1))


@njit(cache=True)
def _root(parent, i):  # type: ignore[no-untyped-def]
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def _components(offsets, camera, score, affinity, n_cameras, threshold, two_view):  # type: ignore[no-untyped-def]
    """Hungarian per camera pair, matches above the threshold merged transitively, one detection a camera."""
    total = camera.shape[0]
    block = np.empty(total, np.int64)
    members = np.empty(total, np.int64)
    starts = np.zeros(total + 1, np.int64)
    n_groups = 0
    n_members = 0
    best = np.empty(n_cameras, np.int64)
    for b in range(offsets.shape[0] - 1):
        begin, n = offsets[b], offsets[b + 1] - offsets[b]
        parent = np.arange(n)
        for ca in range(n_cameras):
            rows = np.nonzero(camera[begin : begin + n] == ca)[0]
            for cb in range(ca + 1, n_cameras):
                columns = np.nonzero(camera[begin : begin + n] == cb)[0]
                if len(rows) == 0 or len(columns) == 0:
                    continue
                cost = np.empty((len(rows), len(columns)))
                for i in range(len(rows)):
                    for j in range(len(columns)):
                        cost[i, j] = -affinity[b, rows[i], columns[j]]
                partner = assign(cost)
                for i in range(len(rows)):
                    if partner[i] >= 0 and -cost[i, partner[i]] >= threshold:
                        parent[_root(parent, rows[i])] = _root(parent, columns[partner[i]])
        roots = np.empty(n, np.int64)
        for i in range(n):
            roots[i] = _root(parent, i)
        for r in range(n):
            if roots[r] != r:
                continue
            best[:] = -1
            for i in range(n):
                if roots[i] == r:
                    c = camera[begin + i]
                    if best[c] < 0 or score[begin + i] > score[begin + best[c]]:
                        best[c] = i
            chosen = best[best >= 0]
            if len(chosen) < 2 or (len(chosen) == 2 and affinity[b, chosen[0], chosen[1]] < two_view):
                continue
            for i in chosen:
                members[n_members] = begin + i
                n_members += 1
            block[n_groups] = b
            n_groups += 1
            starts[n_groups] = n_members
    return block[:n_groups], members[:n_members], starts[: n_groups + 1]
