"""Frames to groups by a matcher of pairs: shared by the baselines, and the first look of every method."""

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.residuals import PairResiduals, pair_residuals
from ..cameras.rig import CameraRig
from ..core.compiled import KERNEL
from ..core.progress import Progress
from ..maths.assignment import assign
from ..maths.order import grouped
from ..recordings.detections import Detections
from .groups import Groups, merge, triangulated

POINT_ERROR = 0.005  # of the image's diagonal, for detections that are points and have no box to fall into

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
        np.concatenate(number) if number else np.zeros(0, np.int64),
        np.concatenate(members) if members else np.zeros(0, np.int64),
        np.concatenate(counts) if counts else np.zeros(0, np.int64),
        detections.camera,
        detections.centroids,
        detections.boxes if contain else None,
    )


def pair_cost(residuals: PairResiduals, max_error_px: float, contain: bool) -> Array:
    """(N, N) mean reprojection error over the two views of a pair, px; inf where a pair is impossible."""
    cost = 0.5 * (residuals.error_px + residuals.error_px.T).astype(np.float64)
    possible = cost <= max_error_px
    return np.where(possible & residuals.inside if contain else possible, cost, np.inf)


def _by_label(label: Ints) -> tuple[Ints, Ints]:
    """Members ordered by label, and the size of each group."""
    inside = np.flatnonzero(label >= 0)
    order = np.argsort(label[inside], kind="stable")
    return inside[order], np.bincount(label[inside])


@njit(**KERNEL)
def hungarian_match(cost: Array, camera: Ints) -> Flags:
    """Match each pair of cameras by the Hungarian method: most pairs within the gate, then least total error."""
    n = camera.shape[0]
    same = np.zeros((n, n), np.bool_)
    last = -1
    for i in range(n):
        last = max(last, camera[i])
    order, begin = grouped(camera, last + 1)
    for a in range(last + 1):
        rows = order[begin[a] : begin[a + 1]]
        for b in range(a + 1, last + 1):
            columns = order[begin[b] : begin[b + 1]]
            block = np.empty((rows.shape[0], columns.shape[0]))
            for i in range(rows.shape[0]):
                for j in range(columns.shape[0]):
                    block[i, j] = cost[rows[i], columns[j]]
            chosen = assign(block)
            for i in range(rows.shape[0]):
                if chosen[i] >= 0:
                    same[rows[i], columns[chosen[i]]] = True
                    same[columns[chosen[i]], rows[i]] = True
    return same


@njit(**KERNEL)
def greedy_match(cost: Array, camera: Ints) -> Flags:
    """Match each pair of cameras greedily: the pair of least error first."""
    n = camera.shape[0]
    same = np.zeros((n, n), np.bool_)
    matched = np.zeros((n, camera.max() + 1 if n else 0), np.bool_)
    for flat in np.argsort(cost.ravel(), kind="mergesort"):
        i, j = flat // n, flat % n
        if not np.isfinite(cost[i, j]):
            break
        if i < j and not matched[i, camera[j]] and not matched[j, camera[i]]:
            matched[i, camera[j]] = matched[j, camera[i]] = True
            same[i, j] = same[j, i] = True
    return same
