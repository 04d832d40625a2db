"""Burst-and-coast swimming: a fish beats its tail, then glides."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bursts:
    """E events. ``start``, ``peak``, ``end`` (E,) rows of the trough before, the peak, and the trough after; speeds
    ``speed_start``, ``speed_peak``, ``speed_end`` (E,) there. An event that the data ends in has no trough after it:
    ``end`` is its last row.
    """

    start: Ints
    peak: Ints
    end: Ints
    speed_start: Array
    speed_peak: Array
    speed_end: Array

    def __len__(self) -> int:
        return len(self.peak)


def burst_and_coast(speed: ArrayLike, rise: ArrayLike) -> Bursts:
    """Find bursts in a speed (T,): it rises by at least ``rise`` (a number, or (T,)) above the trough before.

    A coast is the way down to the next trough, again by at least ``rise``: what wavers less than that, such as noise,
    makes no event. Set ``rise`` to a share of the usual speed, but to no less than a few standard deviations of it.
    A missing speed ends an event.
    """
    v = np.ascontiguousarray(speed, dtype=np.float64)
    least = np.ascontiguousarray(np.broadcast_to(np.asarray(rise, dtype=np.float64), v.shape))
    found = _zigzag(v, least)
    start, peak, end = found[:, 0], found[:, 1], found[:, 2]
    return Bursts(start, peak, end, v[start], v[peak], v[end])


@njit(cache=True, nogil=True)
def _note(out, count, trough, peak, end):  # type: ignore[no-untyped-def]
    out[count, 0], out[count, 1], out[count, 2] = trough, peak, end
    return count + 1


@njit(cache=True, error_model="numpy", nogil=True)
def _zigzag(v, rise):  # type: ignore[no-untyped-def]
    """(E, 3) rows of trough, peak and next trough."""
    T = v.shape[0]
    out = np.empty((T // 2 + 1, 3), np.int64)
    count = 0
    low = high = -1  # the extremes since the last turn
    trough = -1  # begins the event that is under way
    rising = False
    for t in range(T):
        if not np.isfinite(v[t]):
            if rising and high >= 0:
                count = _note(out, count, trough, high, t - 1)
            elif not rising and trough >= 0:
                out[count - 1, 2] = low
            low = high = trough = -1
            rising = False
            continue
        if low < 0:
            low = high = t
            continue
        if rising:
            if v[t] > v[high]:
                high = t
            elif v[high] - v[t] >= rise[t]:
                count = _note(out, count, trough, high, t)
                rising = False
                low = t
        else:
            if v[t] <= v[low]:
                low = t
            elif v[t] - v[low] >= rise[t]:
                if trough >= 0:
                    out[count - 1, 2] = low
                trough = low
                rising = True
                high = t
    if rising and high >= 0:
        count = _note(out, count, trough, high, T - 1)
    elif trough >= 0 and low >= 0:
        out[count - 1, 2] = low
    return out[:count]
