"""Left taken for right in one view: put right before anything is learnt, where the other views say so."""

import warnings

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from .segments import Segment, Sightings

Array = NDArray[np.float64]
AROUND = 5  # frames before and after that say which side is which
SURE = 6.0  # squared sigmas by which the other way round must be better


def turn_back(
    rig: CameraRig, sightings: Sightings, segment: Segment, sigma: Array, mirror: NDArray[np.int64], cap: float
) -> int:
    """Exchange left and right of views that agree better that way with the points of all; returns how many.

    Parameters
    ----------
    rig : the cameras.
    sightings : parts of all detections.
    segment : with first points; its rows and parts are changed in place.
    sigma : (C, K) px.
    mirror : (K,) the other of each left/right pair.
    cap : squared sigmas beyond which a part tells nothing more.
    """
    paired = np.flatnonzero(mirror != np.arange(len(mirror)))
    if not len(paired):
        return 0
    frames, parts = segment.points.shape[:2]
    changed = 0
    for c, camera in enumerate(rig):
        at = camera.project(segment.points.reshape(-1, 3)).reshape(frames, parts, 2)
        rows, taken = segment.rows[:, c], segment.taken[:, c]
        pixel = np.where((rows >= 0)[..., None], sightings.pixel[np.maximum(rows, 0), taken], np.nan)
        straight = _cost(pixel, at, sigma[c], cap)
        turned = _cost(pixel[:, mirror], at, sigma[c], cap)
        both = np.isfinite(straight) & np.isfinite(turned)
        gain = np.where(both, straight - turned, 0.0)[:, paired].sum(1)
        flip = np.flatnonzero(gain > SURE)
        segment.rows[flip, c] = segment.rows[flip, c][:, mirror]
        segment.taken[flip, c] = segment.taken[flip, c][:, mirror]
        changed += len(flip)
    return changed


def _cost(pixel: Array, at: Array, sigma: Array, cap: float) -> Array:
    """Capped squared errors (F, K) in sigmas; NaN where nothing is seen or expected."""
    far = ((pixel - at) ** 2).sum(-1) / sigma**2
    return np.where(np.isfinite(far), np.minimum(far, cap), np.nan)


def turn_frames(segment: Segment, mirror: NDArray[np.int64]) -> int:
    """Exchange left and right in frames in which most views took them for each other, as the frames around say.

    Parameters
    ----------
    segment : with first points; its rows and parts are changed in place.
    mirror : (K,) the other of each left/right pair.

    Returns
    -------
    In how many frames.
    """
    paired = np.flatnonzero(mirror != np.arange(len(mirror)))
    if not len(paired) or len(segment) < 3:
        return 0
    points = segment.points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        beside = points - np.nanmedian(points, axis=1, keepdims=True)
        reach = np.minimum(np.arange(len(points))[:, None] + np.arange(-AROUND, AROUND + 1), len(points) - 1)
        usual = np.nanmedian(beside[np.maximum(reach, 0)], axis=1)
        straight = np.linalg.norm(beside - usual, axis=-1)
        turned = np.linalg.norm(beside[:, mirror] - usual, axis=-1)
        apart = np.linalg.norm(usual - usual[:, mirror], axis=-1)
    known = np.isfinite(straight) & np.isfinite(turned)
    gain = np.where(known, straight - turned, 0.0)[:, paired].sum(1)
    flip = np.flatnonzero(gain > 0.5 * np.where(known, np.nan_to_num(apart), 0.0)[:, paired].sum(1))
    flip = flip[known[flip][:, paired].any(1)]
    segment.rows[flip] = segment.rows[flip][:, :, mirror]
    segment.taken[flip] = segment.taken[flip][:, :, mirror]
    return len(flip)
