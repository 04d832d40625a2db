"""Tracks in the pixels of each view: what can be had without a calibration."""

import numpy as np
from numpy.typing import NDArray

from ..maths.kalman import MotionNoise
from ..maths.linking import link_kalman
from ..recordings import Detections

Ints = NDArray[np.int64]
Array = NDArray[np.float64]
GAP = 15  # frames that an animal may be out of sight
SHORTEST = 5  # detections of a track
_NOISE, _CHANGE, _WIDE = 0.1, 0.1, 0.75  # of a body: error of a centroid, change of velocity a frame, gate
_FAR = 4.0  # usual steps a frame that a track may be off


def link_views(detections: Detections, gap: int = GAP, shortest: int = SHORTEST) -> Ints:
    """Return the 2D track (N,) of each detection, -1 for none; numbers are of one camera, from 0 by first appearance.

    A constant-velocity Kalman filter in pixels and the assignment of least total distance, in each view alone. The
    size of bodies and how far they go in a frame are taken from the detections.

    Parameters
    ----------
    detections : of one camera or several.
    gap : frames that an animal may be out of sight.
    shortest : detections that a track has at least.
    """
    track = np.full(len(detections), -1, np.int64)
    for camera in range(len(detections.cameras)):
        rows = np.flatnonzero(detections.camera == camera)
        if len(rows):
            track[rows] = _link(detections.frame[rows], detections.centroids[rows], detections.boxes[rows], gap)
            track[rows] = _longer(track[rows], shortest)
    return track


def _link(frame: Ints, pixel: Array, box: Array, gap: int) -> Ints:
    body = max(float(np.median(np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]))), 1.0)
    step = _usual_step(frame, pixel, body)
    noise = MotionNoise(acceleration=max(_CHANGE * body, 0.5 * step), measurement=_NOISE * body, velocity=2 * step)
    flat = np.column_stack([pixel, np.zeros(len(pixel))])
    return link_kalman(frame, flat, noise, max(_WIDE * body, _FAR * step), gap)


def _usual_step(frame: Ints, pixel: Array, body: float) -> float:
    """Pixels that an animal goes in a frame: the median distance to the nearest detection of the next frame."""
    starts = np.flatnonzero(np.diff(frame, prepend=frame[0] - 1))
    ends = np.append(starts[1:], len(frame))
    if len(starts) < 2:
        return 0.25 * body
    near = []
    for k in np.unique(np.linspace(0, len(starts) - 2, min(len(starts) - 1, 300)).astype(int)):
        if frame[starts[k + 1]] == frame[starts[k]] + 1:
            here, then = pixel[starts[k] : ends[k]], pixel[starts[k + 1] : ends[k + 1]]
            near.append(np.linalg.norm(here[:, None] - then[None], axis=2).min(1))
    return min(float(np.median(np.concatenate(near))), 2 * body) if near else 0.25 * body


def _longer(track: Ints, shortest: int) -> Ints:
    """Keep tracks of `shortest` detections or more, numbered anew."""
    numbers, of, count = np.unique(track, return_inverse=True, return_counts=True)
    new = np.full(len(numbers), -1, np.int64)
    new[count >= shortest] = np.arange(int((count >= shortest).sum()))
    return new[of.ravel()]
