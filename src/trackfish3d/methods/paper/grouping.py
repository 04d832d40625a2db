"""Pair scores of a frame to groups of detections with a 3D point (paper, section 3.5 and its appendix).

Every associator ends here: whatever decides which pairs are one animal, pairs are merged transitively, one detection a
camera, and triangulated by the same code, so that methods differ in their pairs and in nothing else.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...cameras import CameraRig
from ...core.graph import unite
from ...maths.assignment import assign
from ..groups import Groups, _label_components, triangulated
from .settings import GroupingSettings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    frame : (B,) frame numbers.
    offsets : (B + 1,) rows of each frame among the M detections given.
    camera : (M,) of each detection.
    score : (M,).
    pixels : (M, 2) centroids.
    boxes : (M, 4) x1, y1, x2, y2, px.
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
                        unite(parent, rows[i], columns[partner[i]])
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
