"""Living tracks, and what happened to them in a frame."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.compiled import kernel
from .arguments import Array, Flags, Ints, Readings


@dataclass(eq=False)
class LiveTracks:
    """Living tracks as columns (K,): candidates and confirmed ones.

    ``name``; ``state`` (K, 6) and ``cov`` (K, 6, 6); ``born`` and ``last``, frames of the first and the last detection;
    ``score``, log-likelihood ratio of its whole life, and the ``best`` it ever was; ``debt``, how unlikely it is to go
    unseen for so long. ``memory_size``, ``memory_axis``, ``memory_frame`` (K, C): last look in each view (see
    `cues.likeness`). ``window_rows`` (K, W, C) : detections of the last W frames, -1 for none, and ``window_gain``
    their share of the score. ``body`` (K, 6), ``body_cov`` (K, 6, 6) : its own shape (`bodies.extent`).
    """

    name: Ints
    confirmed: Flags
    state: Array
    cov: Array
    born: Ints
    last: Ints
    score: Array
    best: Array
    debt: Array
    memory_size: Array
    memory_axis: Array
    memory_frame: Ints
    window_rows: Ints
    window_gain: Array
    body: Array
    body_cov: Array

    @classmethod
    def empty(cls, views: int, window: int) -> "LiveTracks":
        """No tracks."""
        whole, real = np.zeros(0, np.int64), np.zeros(0)
        look = np.zeros((0, views))
        return cls(
            name=whole,
            confirmed=np.zeros(0, bool),
            state=np.zeros((0, 6)),
            cov=np.zeros((0, 6, 6)),
            born=whole,
            last=whole,
            score=real,
            best=real,
            debt=real,
            memory_size=look,
            memory_axis=look,
            memory_frame=np.zeros((0, views), np.int64),
            window_rows=np.zeros((0, window, views), np.int64),
            window_gain=np.zeros((0, window, views)),
            body=np.zeros((0, 6)),
            body_cov=np.zeros((0, 6, 6)),
        )

    def take(self, rows: Flags | Ints) -> "LiveTracks":
        """Return these tracks; themselves where all stay."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        return LiveTracks(*(getattr(self, k)[rows] for k in self.__dataclass_fields__))

    def join(self, other: "LiveTracks") -> "LiveTracks":
        """Return these tracks and others."""
        if not len(other):
            return self
        return LiveTracks(*(np.concatenate([getattr(self, k), getattr(other, k)]) for k in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, eq=False)
class FrameLog:
    """What happened to living tracks in one frame.

    ``name`` (K,), ``members`` (K, C) detection rows or -1, ``state`` (K, 6) and ``cov`` (K, 6, 6) after correction,
    ``weight`` (K,) log-likelihood ratio of the frame.
    """

    frame: int
    name: Ints
    members: Ints
    state: Array
    cov: Array
    weight: Array


class Life(NamedTuple):
    """Columns of living tracks that tell how sure they are: `LiveTracks` has them, and arrays are shared."""

    last: Ints
    score: Array
    best: Array
    debt: Array


class Memory(NamedTuple):
    """Columns of living tracks that tell how they looked, and what they took: arrays are shared with `LiveTracks`."""

    size: Array
    axis: Array
    frame: Ints
    rows: Ints
    gain: Array


@kernel
def remember(
    members: Ints, weight: Array, gain: Array, readings: Readings, start: int, life: Life, memory: Memory
) -> None:
    """Keep score, window and the last look of each track in each view, in place.

    Parameters
    ----------
    members : (T, C) detections of the frame that tracks took, or -1.
    weight : (T,) log-likelihood ratio of each.
    gain : (T,) share of each detection.
    readings : detections of the frame.
    start : row of its first one in the recording.
    life, memory : what is known of the tracks.
    """
    last, score, best, debt = life
    size, axis, frame, rows, gains = memory
    log_size, angle, number = readings.log_size, readings.axis, readings.number
    for t in range(members.shape[0]):
        score[t] += weight[t]
        best[t] = max(best[t], score[t])
        for w in range(rows.shape[1] - 1):
            for c in range(rows.shape[2]):
                rows[t, w, c], gains[t, w, c] = rows[t, w + 1, c], gains[t, w + 1, c]
        seen, now = 0, rows.shape[1] - 1
        for c in range(members.shape[1]):
            d = members[t, c]
            rows[t, now, c], gains[t, now, c] = -1, 0.0
            if d >= 0:
                seen += 1
                size[t, c], axis[t, c], frame[t, c] = log_size[d], angle[d], number
                rows[t, now, c], gains[t, now, c] = d + start, gain[t]
        if seen:
            last[t] = number
        else:
            debt[t] -= weight[t]
        if seen >= 2:
            debt[t] = 0.0
