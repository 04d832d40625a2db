"""Which way animals swim: from smoothed motion, and only where they move more than their places are uncertain."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
REACH = 6  # frames before and after over which motion is smoothed
_SURE = 2.0  # standard deviations of a place that the way must be longer than
_LEAST = 0.1  # body lengths that it must be longer than


def headings(frame: Ints, track: Ints, position: Array, sigma: Array, body_length: float) -> Array:
    """Return unit vectors (N, 3) in which animals swim, NaN where that cannot be told.

    The direction is that of the straight line through the points within `REACH` frames, by least squares. It is told
    where the way along the line in that time is longer than twice the standard deviation of a point, because errors
    of smoothed tracks last, and a tenth of a body.

    Parameters
    ----------
    frame : (N,) frame numbers.
    track : (N,) tracks.
    position : (N, 3) places, world units.
    sigma : (N,) standard deviation of each, world units; NaN where unknown.
    body_length : world units.
    """
    out = np.full((len(frame), 3), np.nan)
    if not len(frame):
        return out
    _, who = np.unique(track, return_inverse=True)
    span = int(frame.max() - frame.min()) + 2 * REACH + 1
    key = who.reshape(-1).astype(np.int64) * span + (frame - frame.min())
    order = np.argsort(key, kind="stable")
    key, time = key[order], (frame[order] - frame.min()).astype(np.float64)
    place = position[order] - np.nanmean(position, axis=0)
    low, high = np.searchsorted(key, key - REACH), np.searchsorted(key, key + REACH, side="right")

    def within(values: Array) -> Array:
        """Sum (N, ...) of values over each point's window."""
        total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        found: Array = total[high] - total[low]
        return found

    known = np.isfinite(place).all(1)
    place = np.where(known[:, None], place, 0.0)
    weight = known.astype(np.float64)
    n, t = within(weight), within(weight * time)
    spread = n * within(weight * time * time) - t * t
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (n[:, None] * within(time[:, None] * place) - t[:, None] * within(place)) / spread[:, None]
        speed = np.linalg.norm(slope, axis=1)
        way = speed * (time[high - 1] - time[low])
        told = known & (spread > 0) & (way > np.maximum(_SURE * np.nan_to_num(sigma[order]), _LEAST * body_length))
        out[order[told]] = slope[told] / speed[told, None]
    return out
