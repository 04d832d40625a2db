"""Frames to groups by a matcher of pairs: shared by the baselines."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..association.grouping import merge, triangulated
from ..cameras.residuals import PairResiduals, pair_residuals
from ..cameras.rig import CameraRig
from ..recordings.detections import Detections
from ..recordings.groups import Groups
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
