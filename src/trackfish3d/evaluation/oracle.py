"""True associations + Kalman: the ceiling that detections leave to any tracker.

It sees the truth, so it is no `Method` and no name in the registry leads to it: only the benchmark calls it.
"""

from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..core.errors import InputError
from ..maths.assignment import assign
from ..methods.baselines.geometric import KalmanSettings, Sort3D, link_by_kalman
from ..methods.groups import Groups, groups_to_tracks, triangulated
from ..methods.postprocess import postprocess
from ..recordings.detections import Detections
from ..recordings.tracks import Tracks
from ..recordings.truth import Truth

Ints = NDArray[np.int64]


def true_groups(rig: CameraRig, detections: Detections, truth: Truth) -> Groups:
    """Group the detections that show one animal, for every animal seen by two cameras or more.

    A blob of two merged animals is a member of both their groups.
    """
    if truth.detection is None:
        raise InputError("oracle: this truth does not say which detection shows whom")
    shown = truth.detection[:, [truth.cameras.index(name) for name in rig.names]]
    shown = shown[(shown >= 0).sum(1) >= 2]
    frame = detections.frame[shown.max(1)] if len(shown) else np.zeros(0, np.int64)
    counts = (shown >= 0).sum(1).astype(np.int64)
    return triangulated(rig, frame, shown[shown >= 0], counts, detections.camera, detections.centroids)


def track_oracle(rig: CameraRig, detections: Detections, truth: Truth, settings: KalmanSettings) -> Tracks:
    """Link the true groups of every frame by the filter of 3D-SORT.

    Animals merged into one blob in all views would put two groups at one place; the filter has to part them.
    """
    if not len(detections):
        return Tracks.build([], [], [], cameras=rig.names)
    ready = Sort3D(settings).resolve(rig, detections).settings
    assert isinstance(ready, KalmanSettings)
    groups = true_groups(rig, detections, truth)
    tracks = groups_to_tracks(rig, detections, groups, link_by_kalman(ready, groups))
    return postprocess(tracks, settings.max_gap, settings.min_obs)


def at_true_pixels(detections: Detections, truth: Truth) -> tuple[Detections, Truth]:
    """Return detections moved to the true middle of the animals they show, one for each animal, and truth of these.

    False detections are left out, and two animals merged into one detection get one each: the ceiling of a tracker that
    knows how each animal is hidden.
    """
    if truth.detection is None or truth.u is None or truth.v is None:
        raise InputError("oracle: this truth does not say which detection shows whom, and where")
    animal, camera = np.nonzero(truth.detection >= 0)
    order = np.lexsort((camera, truth.frame[animal]))
    animal, camera = animal[order], camera[order]
    old = truth.detection[animal, camera]
    u, v = truth.u[animal, camera], truth.v[animal, camera]
    wide, high = 0.5 * (detections.x2 - detections.x1)[old], 0.5 * (detections.y2 - detections.y1)[old]
    moved = Detections.build(
        truth.cameras, truth.frame[animal], camera, u, v, u - wide, v - high, u + wide, v + high, detections.score[old]
    )
    row = np.full(truth.detection.shape, -1, np.int64)
    row[animal, camera] = np.arange(len(animal))
    return moved, replace(truth, detection=row)


def shown_by(truth: Truth, detections: Detections) -> Ints:
    """(N, C) detection that shows each animal, -1 for none, by assigning true pixels to detections frame by frame.

    A detection shows an animal whose true pixel is within its box diagonal of its centroid. For recordings whose
    truth was not made together with the detections.
    """
    out = np.full((len(truth), len(truth.cameras)), -1, np.int64)
    if truth.u is None or truth.v is None:
        raise InputError("truth has no pixels, so nobody can say which detection shows whom")
    reach = np.hypot(detections.x2 - detections.x1, detections.y2 - detections.y1)
    for c, name in enumerate(truth.cameras):
        rows = np.flatnonzero(detections.camera == detections.cameras.index(name))
        out[:, c] = _assign_pixels(
            truth.frame,
            np.column_stack([truth.u[:, c], truth.v[:, c]]),
            detections.frame[rows],
            np.ascontiguousarray(detections.centroids[rows]),
            reach[rows],
            rows,
        )
    return out


@njit(cache=True)
def _assign_pixels(truth_frame, truth_pixel, frame, pixel, reach, row):  # type: ignore[no-untyped-def]
    out = np.full(truth_frame.shape[0], -1, np.int64)
    begin = 0
    while begin < truth_frame.shape[0]:
        end = begin
        while end < truth_frame.shape[0] and truth_frame[end] == truth_frame[begin]:
            end += 1
        first = np.searchsorted(frame, truth_frame[begin])
        last = np.searchsorted(frame, truth_frame[begin], side="right")
        cost = np.full((end - begin, last - first), np.inf)
        for i in range(end - begin):
            for j in range(last - first):
                d = np.sqrt(np.sum((truth_pixel[begin + i] - pixel[first + j]) ** 2))
                if d <= reach[first + j]:
                    cost[i, j] = d
        chosen = assign(cost)
        for i in range(end - begin):
            if chosen[i] >= 0:
                out[begin + i] = row[first + chosen[i]]
        begin = end
    return out
