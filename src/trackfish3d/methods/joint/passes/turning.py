"""A recording in the other direction of time, and tracks that go back the way they came."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import PairOdds
from ..live_tracks import LiveTracks
from ..observations import Observations
from ..refinement.trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
SHOWN = 0.5  # share of the last frames of a window in which two views must show an animal that is known


@dataclass(frozen=True, eq=False)
class Course:
    """A recording in one direction of time.

    ``frames`` (F,) numbers, ascending; ``offsets`` (F + 1,) of their detections; ``obs`` : the detections; ``row``
    (N,) : where each of them is in the recording.
    """

    frames: Ints
    offsets: Ints
    obs: Observations
    row: Ints

    @classmethod
    def forwards(cls, frames: Ints, offsets: Ints, obs: Observations) -> "Course":
        """Return the recording as it was filmed."""
        frames, offsets = np.array(frames, np.int64), np.array(offsets, np.int64)
        return cls(frames, offsets, obs, np.arange(len(obs.u)))

    @property
    def first(self) -> int:
        """Number of the first frame."""
        return int(self.frames[0])

    @property
    def last(self) -> int:
        """Number of the last frame."""
        return int(self.frames[-1])

    def turned(self) -> "Course":
        """Return the same the other way round: first and last frame change numbers; detections keep their order."""
        count = np.diff(self.offsets)[::-1]
        offsets = np.concatenate([[0], np.cumsum(count)])
        begin = np.repeat(self.offsets[:-1][::-1], count)
        row = begin + np.arange(len(begin)) - np.repeat(offsets[:-1], count)
        return Course(self.first + self.last - self.frames[::-1], offsets, _reordered(self.obs, row), self.row[row])


def _reordered(obs: Observations, row: Ints) -> Observations:
    """Return observations with their rows (N,) in another order, in which those of a frame keep theirs."""
    n = len(obs.u)
    changed: dict[str, Any] = {}
    for f in fields(obs):
        values = getattr(obs, f.name)
        if isinstance(values, np.ndarray) and len(values) == n:
            changed[f.name] = np.ascontiguousarray(values[row])
    pairs = obs.pair_odds
    if len(pairs.begin):
        place = np.empty(n, np.int64)
        place[row] = np.arange(n)
        first = np.repeat(np.arange(n), np.diff(pairs.begin))
        changed["pair_odds"] = PairOdds.of(n, place[first], place[pairs.partner], pairs.odds)
    return replace(obs, **changed)


def mirrored(state: Array, cov: Array) -> tuple[Array, Array]:
    """Return states (K, 6) and covariances (K, 6, 6) as they are if time goes the other way."""
    state, cov = state.copy(), cov.copy()
    state[:, 3:] *= -1.0
    cov[:, :3, 3:] *= -1.0
    cov[:, 3:, :3] *= -1.0
    return state, cov


def going_back(live: LiveTracks, course: Course) -> LiveTracks:
    """Return confirmed tracks as they are one frame before the turned recording begins.

    Of a track that two views hardly showed of late, nobody knows whether its animal is still there: if it is, it is
    found again.

    Parameters
    ----------
    live : tracks after the last frame.
    course : the recording that they went through, or the same turned.
    """
    shown = ((live.window_rows >= 0).sum(2) >= 2).mean(1) >= SHOWN
    live = live.take(live.confirmed & shown)
    state, cov = mirrored(live.state, live.cov)
    state[:, :3] -= state[:, 3:]
    return replace(
        live,
        state=state,
        cov=cov,
        born=live.born - course.last + course.first - 1,
        last=live.last - course.last + course.first - 1,
        memory_frame=live.memory_frame - course.last + course.first - 1,
        window_rows=np.full_like(live.window_rows, -1),
        window_gain=np.zeros_like(live.window_gain),
    )


def turned_back(paths: Trajectories, course: Course) -> Trajectories:
    """Return tracks of a turned recording in the time and the rows of the recording."""
    state, cov = mirrored(paths.state, paths.cov)
    members = np.where(paths.members >= 0, course.row[np.maximum(paths.members, 0)], -1)
    return Trajectories(paths.name, course.first + course.last - paths.frame, members, state, cov).renamed(paths.name)
