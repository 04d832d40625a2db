"""What people said of identities, kept while tracks are exchanged and joined: these are one animal, these are two."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ....recordings.edits.kinds import Pin
from ..fit.canonical import Canonical
from .repair import Swaps
from .trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_SLACK = 3  # frames about an anchor in which its animal is looked for
_LOOKED = 15  # frames about an anchor that a person has looked at too
MUST = 1e6  # log-odds of a link that a person vouched for


@dataclass(frozen=True, eq=False)
class Pins:
    """Pairs of moments of animals, in the order in which they were said.

    ``same`` (K,): whether both are one animal; ``frame`` (K, 2); ``at`` (K, 2, 3) places, world units; ``reach``: how
    far a track may be from such a place to be meant, world units; ``members`` (K, 2, C): detections of the rows that
    are meant, by which they are known again when tracks were exchanged and smoothed; -1 for none.
    """

    same: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    frame: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    at: Array = field(default_factory=lambda: np.zeros((0, 2, 3)))
    reach: float = 0.0
    members: Ints | None = None

    @classmethod
    def of(cls, pins: Sequence[Pin], world: Canonical, reach: float) -> "Pins":
        """Return pins in the world and the clock of the tracker."""
        if not pins:
            return cls()
        frame = np.array([(p.one.frame, p.other.frame) for p in pins], np.int64) - world.first
        at = np.array([(p.one.at, p.other.at) for p in pins], np.float64) - world.origin
        return cls(np.array([p.same for p in pins]), frame, at, reach)

    def __len__(self) -> int:
        return len(self.same)

    def bound(self, paths: Trajectories) -> "Pins":
        """Return the same, bound to the rows that are meant in tracks that nobody has changed yet."""
        if not len(self):
            return self
        rows = self.rows(paths)
        known = rows >= 0
        members = np.where(known[..., None], paths.members[rows], -1)
        return replace(self, frame=np.where(known, paths.frame[rows], self.frame), members=members)

    def rows(self, paths: Trajectories) -> Ints:
        """(K, 2) rows of the tracks that are meant; -1 where none is near enough."""
        order = np.argsort(paths.frame, kind="stable")
        frame = paths.frame[order]
        out = np.full(self.frame.shape, -1, np.int64)
        for k, e in np.ndindex(*out.shape):
            low, high = np.searchsorted(frame, [self.frame[k, e] - _SLACK, self.frame[k, e] + _SLACK + 1])
            near = order[low:high]
            if not len(near):
                continue
            if self.members is not None and (self.members[k, e] >= 0).any():
                shared = ((paths.members[near] == self.members[k, e]) & (self.members[k, e] >= 0)).sum(1)
                out[k, e] = near[int(np.argmax(shared))] if shared.max() else -1
                continue
            late = np.abs(paths.frame[near] - self.frame[k, e])
            far = np.linalg.norm(paths.state[near, :3] - self.at[k, e], axis=1)
            best = int(np.argmin(np.where(far <= self.reach, late * self.reach + far, np.inf)))
            if far[best] <= self.reach:
                out[k, e] = near[best]
        return out

    def enforce(self, paths: Trajectories) -> Trajectories:
        """Exchange futures until every pin holds that can; the one said last wins."""
        for k in range(len(self)):
            one, other = self.rows(paths)[k]
            if one < 0 or other < 0:
                continue
            a, b = int(paths.name[one]), int(paths.name[other])
            name = paths.name.copy()
            if self.same[k] and a != b:
                at = _meeting(paths, a, b, int(paths.frame[one]), int(paths.frame[other]))
                late = paths.frame >= at
                name[late & (paths.name == a)], name[late & (paths.name == b)] = b, a
            elif not self.same[k] and a == b:
                name[(paths.name == a) & (paths.frame >= paths.frame[other])] = name.max() + 1
            else:
                continue
            paths = paths.renamed(name)
        return paths

    def allowed(self, paths: Trajectories, swaps: Swaps) -> Swaps:
        """Leave out exchanges that would break what was said, or take it back a few frames before or after."""
        if not len(self) or not len(swaps):
            return swaps
        rows = self.rows(paths)
        keep = np.ones(len(swaps), bool)
        at = paths.frame[swaps.one]
        one, other = paths.name[swaps.one], paths.name[swaps.other]
        for (a, b), same in zip(rows, self.same, strict=True):
            if a < 0 or b < 0:
                continue
            inside = (at >= paths.frame[a] - _LOOKED) & (at < paths.frame[b] + _LOOKED)
            if same:
                keep &= ~(inside & ((one == paths.name[a]) | (other == paths.name[a])))
            else:
                pair = {int(paths.name[a]), int(paths.name[b])}
                keep &= ~(inside & np.isin(one, list(pair)) & np.isin(other, list(pair)))
        return Swaps(swaps.one[keep], swaps.other[keep], swaps.odds[keep])

    def weigh(self, paths: Trajectories, value: Array) -> None:
        """Put into the log-odds (T, T) of links, end of a track to beginning of another, what was said of them."""
        if not len(self):
            return
        begin = paths.begin
        whose = np.searchsorted(begin, np.arange(len(paths.name)), side="right") - 1
        first, last = paths.frame[begin[:-1]], paths.frame[begin[1:] - 1]
        for (a, b), same in zip(self.rows(paths), self.same, strict=True):
            if a < 0 or b < 0:
                continue
            i, j = int(whose[a]), int(whose[b])
            if i != j and last[i] < first[j]:
                value[i, j] = MUST if same else -np.inf

    def sure(self, paths: Trajectories) -> NDArray[np.bool_]:
        """(N,) whether the link of a row to the row before it lies within what was said to be one animal."""
        out = np.zeros(len(paths.name), bool)
        for (a, b), same in zip(self.rows(paths), self.same, strict=True):
            if same and 0 <= a < b and paths.name[a] == paths.name[b]:
                out[a + 1 : b + 1] = True
        return out


NONE = Pins()


def _meeting(paths: Trajectories, a: int, b: int, after: int, until: int) -> int:
    """Frame after ``after`` and up to ``until`` at which two tracks are nearest; ``until`` where they never meet."""
    mine, others = paths.take(paths.name == a), paths.take(paths.name == b)
    common, i, j = np.intersect1d(mine.frame, others.frame, return_indices=True)
    inside = (common > after) & (common <= until)
    if not inside.any():
        return until
    far = np.linalg.norm(mine.state[i[inside], :3] - others.state[j[inside], :3], axis=1)
    return int(common[inside][np.argmin(far)])
