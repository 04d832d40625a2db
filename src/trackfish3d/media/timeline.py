"""Which frame number a picture has: from its presentation time, so that lost pictures never shift later ones."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Presentation times of a video and the frame numbers they stand for.

    ``pts`` (P,) ascending, in units of the stream's time base; ``number`` (P,) frame number counted from 0, -1 for a
    picture that has no place; ``step`` the units between two frames; ``notes`` what a user should know, a line each.
    """

    pts: Ints
    number: Ints
    step: float
    notes: tuple[str, ...] = field(default=())

    @property
    def count(self) -> int:
        """Frames from the first to the last, lost ones included."""
        return int(self.number.max(initial=-1)) + 1

    def of(self, pts: int) -> int:
        """Frame number of the picture shown at ``pts``; -1 where the video has none there."""
        k = int(np.searchsorted(self.pts, pts))
        for near in (k, k - 1):
            if 0 <= near < len(self.pts) and abs(int(self.pts[near]) - pts) < 0.25 * self.step:
                return int(self.number[near])
        return -1


def number_frames(pts: ArrayLike, rate_step: float | None = None) -> Timeline:
    """Frame numbers of presentation times.

    At a constant rate, with jitter and with holes where the camera lost a frame, every picture gets the number of
    its place, counted in steps of the typical interval: a hole leaves its numbers out. Where the rate itself varies,
    counting would drift away from the other cameras' clocks; pictures then go to the nearest tick of the average
    rate, and of two pictures at one tick the nearer stays.

    Parameters
    ----------
    pts : (P,) presentation times, any order, in units of the time base.
    rate_step : units between two frames by the container's word; used where there are too few pictures to tell.
    """
    times = np.unique(np.asarray(pts, dtype=np.int64))
    if len(times) < 2:
        return Timeline(times, np.zeros(len(times), np.int64), float(rate_step or 1.0))
    gaps = np.diff(times)
    step = _typical(gaps)
    number = np.concatenate([[0], np.cumsum(np.maximum(np.rint(gaps / step), 1))]).astype(np.int64)
    # The mean over the whole is far finer than one interval in units of the time base (33 or 34 ms).
    slope, start = np.polyfit(number, times - times[0], 1)
    off = np.abs((times - times[0] - start) / slope - number)
    if slope > 0 and off.max() < 0.75:
        return Timeline(times, number, float(slope), _holes(number))
    step = float(times[-1] - times[0]) / (len(times) - 1) if rate_step is None else rate_step
    tick = (times - times[0]) / step
    number = np.rint(tick).astype(np.int64)
    far = np.abs(tick - number)
    order = np.lexsort((far, number))
    twice = order[1:][number[order][1:] == number[order][:-1]]
    number[twice] = -1
    note = f"variable frame rate: {len(times)} pictures put on {int(number.max()) + 1} even ticks"
    note += f", {len(twice)} that share a tick with a nearer one left out" if len(twice) else ""
    return Timeline(times, number, step, (note,))


def _typical(gaps: Ints) -> float:
    """Units between neighbouring frames: the mean of the gaps that are about the (lower) median one."""
    middle = float(np.sort(gaps)[(len(gaps) - 1) // 2])
    near = gaps[np.abs(gaps - middle) <= 0.5 * middle]
    return float(near.mean())


def _holes(number: Ints) -> tuple[str, ...]:
    missing = int(number[-1]) + 1 - len(number)
    if not missing:
        return ()
    first = int(number[int(np.argmax(np.diff(number) > 1))]) + 1
    return (f"{missing} frames were never recorded, the first is {first}; later frames keep their numbers",)
