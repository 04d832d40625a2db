"""Solving a doubtful stretch again, under everything that was said about it; what changes becomes edits."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ..core.errors import InputError
from ..methods.registry import make_method
from ..pipeline.keeping import pins_of
from ..recordings import Tracks
from ..recordings.edits import Change
from .store import Store

AROUND = 150  # frames before and after the stretch that are solved with it
NEAR = 40  # frames before and after it in which a change is taken over
_STEADY = 4  # frames for which a change must last
_MOST = 20  # changes


@dataclass(frozen=True)
class Resolved:
    """``lines``: what changed, an edit each; ``frames`` were solved again."""

    lines: list[str]
    frames: int

    @property
    def text(self) -> str:
        """One line."""
        what = "; ".join(self.lines) if self.lines else "nothing changes"
        return f"solved {self.frames} frames again: {what}"


@dataclass(frozen=True)
class Turn:
    """A solved track goes on as another of ours: as ``other`` from frame ``at`` on, after it was ``one``."""

    one: int
    other: int
    at: int


def resolve(store: Store, first: int, last: int) -> Resolved:
    """Solve a stretch again and take over which animal goes on as which; every change is an edit and can be undone.

    Parameters
    ----------
    store : the recording.
    first : first frame of the stretch.
    last : its last frame.
    """
    if store.editor is None:
        raise InputError("there are no tracks to solve again")
    if not first <= last <= first + 5000:
        raise InputError("solve: choose a stretch of at most 5,000 frames")
    low, high = max(first - AROUND, store.span[0]), min(last + AROUND, store.span[1])
    rec = store.recording
    rows, seen = store.seen.between(low, high)
    if not len(rows):
        raise InputError(f"solve: there are no detections from frame {low} to {high}")
    pins = [p for p in pins_of(rec) if low <= p.one.frame and p.other.frame <= high]
    result = make_method("joint", None).pinned(pins).track(rec.rig, seen, rec.fps)
    reach = 0.5 * (result.body_length or store.body_length)
    lines: list[str] = []
    while len(lines) < _MOST:
        with store.lock:
            ours = store.tracks_between(low, high)
            turns = [t for t in compare(ours, result.tracks, reach) if first - NEAR <= t.at <= last + NEAR]
            done = None if not turns else _take_over(store, ours, turns[0])
        if done is None:
            break
        lines.append(str(done))
    return Resolved(lines, high - low + 1)


def _take_over(store: Store, ours: Tracks, turn: Turn) -> Change | None:
    """Join where one ends before the other begins, else exchange; None where neither is possible."""
    assert store.editor is not None
    pieces = store.editor.mending.pieces
    ends, begins = int(pieces.of_track(turn.one).last.max()), int(pieces.of_track(turn.other).first.min())
    try:
        if ends < begins:
            return store.editor.join(turn.one, turn.other)
        return store.editor.swap(turn.one, turn.other, turn.at)
    except InputError:
        return None


def compare(ours: Tracks, solved: Tracks, reach: float) -> list[Turn]:
    """Return where a solved track follows first one of ours and then another, in the order of time.

    Parameters
    ----------
    ours : tracks of a stretch.
    solved : other tracks of the same stretch.
    reach : farthest apart that two points of one animal are, world units.
    """
    followed: dict[int, list[tuple[int, int]]] = {}
    for frame in np.intersect1d(ours.frame, solved.frame).tolist():
        a, b = (slice(*np.searchsorted(t.frame, [frame, frame + 1])) for t in (ours, solved))
        far: NDArray[np.float64] = cdist(solved.position[b], ours.position[a])
        i, j = linear_sum_assignment(np.where(far <= reach, far, 1e6 * reach))
        for p, q in zip(i.tolist(), j.tolist(), strict=True):
            if far[p, q] <= reach:
                followed.setdefault(int(solved.track[b][p]), []).append((frame, int(ours.track[a][q])))
    turns = []
    for path in followed.values():
        runs: list[list[int]] = []  # name, first frame, frames
        for frame, name in path:
            if runs and runs[-1][0] == name:
                runs[-1][2] += 1
            else:
                runs.append([name, frame, 1])
        steady = [r for r in runs if r[2] >= _STEADY]
        turns += [Turn(p[0], q[0], q[1]) for p, q in pairwise(steady) if p[0] != q[0]]
    return sorted(turns, key=lambda t: (t.at, t.one, t.other))
