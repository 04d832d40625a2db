"""Confirmed tracks as columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..live_tracks import FrameLog

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Trajectories:
    """Confirmed tracks as columns, sorted by name and frame.

    ``name``, ``frame`` (N,); ``members`` (N, C) detection rows or -1; ``state`` (N, 6), ``cov`` (N, 6, 6).
    """

    name: Ints
    frame: Ints
    members: Ints
    state: Array
    cov: Array

    @classmethod
    def of(cls, logs: list[FrameLog], names: set[int]) -> "Trajectories":
        """Collect the logs of these tracks, without the frames after two views last agreed on it."""
        return cls.collected(logs, names).trimmed(logs[-1].frame)

    @classmethod
    def collected(cls, logs: list[FrameLog], names: set[int]) -> "Trajectories":
        """Collect the logs of these tracks, all frames of their lives."""
        name = np.concatenate([g.name for g in logs])
        rows = np.flatnonzero(np.isin(name, np.array(sorted(names), np.int64)))
        frame = np.repeat(np.array([g.frame for g in logs], np.int64), [len(g.name) for g in logs])[rows]
        order = np.lexsort((frame, name[rows]))
        rows, frame = rows[order], frame[order]
        members, weight, state, cov = (
            np.concatenate([getattr(g, k) for g in logs])[rows] for k in ("members", "weight", "state", "cov")
        )
        return cls(name[rows], frame, _once(members, weight), state, cov)

    def trimmed(self, last: int) -> "Trajectories":
        """Return the tracks from the first to the last frame in which two views agreed, or one at the end: ``last``."""
        views = (self.members >= 0).sum(1)
        hit = (views >= 2) | ((views == 1) & (self.frame > last - 2))
        low = np.full(self.name.max(initial=0) + 1, 2**62)
        high = -low
        np.minimum.at(low, self.name[hit], self.frame[hit])
        np.maximum.at(high, self.name[hit], self.frame[hit])
        return self.take((self.frame <= high[self.name]) & (self.frame >= low[self.name]))

    def take(self, rows: Any) -> "Trajectories":
        """Return these rows."""
        return Trajectories(*(getattr(self, k)[rows] for k in self.__dataclass_fields__))

    @property
    def begin(self) -> Ints:
        """(T + 1,) first row of each track."""
        return np.append(np.flatnonzero(np.diff(self.name, prepend=-1)), len(self.name)).astype(np.int64)

    def longer_than(self, frames: int) -> "Trajectories":
        """Return tracks of more than this many frames."""
        begin = self.begin
        long = np.diff(begin) > frames
        return self.take(np.repeat(long, np.diff(begin)))

    def renamed(self, name: Ints) -> "Trajectories":
        """Return the same rows under other names, sorted again."""
        order = np.lexsort((self.frame, name))
        out = self.take(order)
        out.name = name[order]
        return out

    def join(self, other: "Trajectories") -> "Trajectories":
        """Return these rows and others, in no order."""
        return Trajectories(*(np.concatenate([getattr(self, k), getattr(other, k)]) for k in self.__dataclass_fields__))


def _once(members: Ints, weight: Array) -> Ints:
    """Leave each detection of members (N, C) to the row of most views that holds it, of those the likeliest.

    Candidates live side by side and may have shared some before they were confirmed.
    """
    row, view = np.nonzero(members >= 0)
    detection = members[row, view]
    order = np.lexsort((-weight[row], -(members >= 0).sum(1)[row], detection))
    again = order[1:][np.diff(detection[order]) == 0]
    out: Ints = members.copy()
    out[row[again], view[again]] = -1
    return out
