"""Which track each stretch of the tracker's own tracks belongs to: edits move stretches, never points.

A recording of a day has millions of points and a few thousand stretches, so an edit takes no time, any stretch of
frames can be mended by itself, and how many points an edit touched is known without reading them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import InputError
from .kinds import AddPoint, AnyEdit, Cut, Delete, Fill, Join, Rename, Swap

Ints = NDArray[np.int64]
GONE = int(np.iinfo(np.int64).min)  # name of points that were deleted
_ADDED = -(2**60)  # tracker's tracks that never were: those of points that a person added


def added_track(edit: int) -> int:
    """Return the number under which the points that an edit adds are known, which no tracker uses.

    Parameters
    ----------
    edit : number of the edit.
    """
    return _ADDED - edit


@dataclass(frozen=True, eq=False)
class Pieces:
    """Stretches of successive frames, all arrays (P,).

    ``raw``: number that the tracker gave, or `added_track`; ``first``, ``last``: frames; ``name``: number of the track
    that the stretch is part of now, or `GONE`.
    """

    raw: Ints
    first: Ints
    last: Ints
    name: Ints

    @classmethod
    def of(cls, chunks: Iterable[tuple[ArrayLike, ArrayLike]]) -> "Pieces":
        """Return the stretches of tracks as the tracker made them.

        Parameters
        ----------
        chunks : frame (N,) and track (N,) of points, in ascending chunks of frames.
        """
        parts = [_runs(np.asarray(f, np.int64), np.asarray(t, np.int64)) for f, t in chunks]
        if not parts:
            parts = [np.zeros((3, 0), np.int64)]
        raw, first, last = np.concatenate(parts, axis=1)
        order = np.lexsort((first, raw))
        raw, first, last = raw[order], first[order], last[order]
        new = np.ones(len(raw), bool)
        new[1:] = (raw[1:] != raw[:-1]) | (first[1:] > last[:-1] + 1)
        begin = np.flatnonzero(new)
        end = np.append(begin[1:], len(raw)) - 1
        return cls(raw[begin], first[begin], last[end], raw[begin].copy())

    def __len__(self) -> int:
        return len(self.raw)

    def take(self, rows: Any) -> "Pieces":
        """Return some of the stretches."""
        return Pieces(self.raw[rows], self.first[rows], self.last[rows], self.name[rows])

    def of_track(self, name: int) -> "Pieces":
        """Return the stretches of a track in the order of time; an `InputError` where there is none."""
        found = self.take(np.flatnonzero(self.name == name))
        if not len(found):
            some = ", ".join(map(str, self.names[:8].tolist()))
            raise InputError(f"track {name}: there is none; there are {some}{' ...' if len(self.names) > 8 else ''}")
        return found.take(np.argsort(found.first, kind="stable"))

    @property
    def names(self) -> Ints:
        """(T,) numbers of the tracks that are left, ascending."""
        return np.unique(self.name[self.name != GONE])

    @property
    def free_name(self) -> int:
        """A number that no track has or had."""
        known = [int(a[a > _ADDED // 2].max(initial=-1)) for a in (self.raw, self.name)]
        return max(known) + 1

    def within(self, name: int, first: int, last: int) -> "Pieces":
        """Return what a track has from ``first`` to ``last``, cut at both; perhaps nothing."""
        mine = self.take((self.name == name) & (self.first <= last) & (self.last >= first))
        return Pieces(mine.raw, np.maximum(mine.first, first), np.minimum(mine.last, last), mine.name)

    def split(self, names: tuple[int, ...], frame: int) -> "Pieces":
        """Return the same with a border before ``frame`` in these tracks."""
        hit = np.isin(self.name, names) & (self.first < frame) & (frame <= self.last)
        if not hit.any():
            return self
        late = self.take(hit)
        early = Pieces(self.raw, self.first, np.where(hit, frame - 1, self.last), self.name)
        return early.plus(Pieces(late.raw, np.full(len(late), frame, np.int64), late.last, late.name))

    def plus(self, more: "Pieces") -> "Pieces":
        """Return these and more."""
        return Pieces(*(np.concatenate([getattr(self, k), getattr(more, k)]) for k in self.__dataclass_fields__))

    def called(self, rows: NDArray[np.bool_], name: int) -> "Pieces":
        """Return the same with some under another name."""
        return Pieces(self.raw, self.first, self.last, np.where(rows, name, self.name))

    def after(self, edit: AnyEdit) -> "Pieces":
        """Return what an edit leaves; the edit was checked when it was made.

        Parameters
        ----------
        edit : of any kind.
        """
        if isinstance(edit, Swap):
            both = (edit.one, edit.other)
            cut = self.split(both, edit.first)
            inside = cut.first >= edit.first
            if edit.last is not None:
                cut = cut.split(both, edit.last + 1)
                inside = (cut.first >= edit.first) & (cut.last <= edit.last)
            one, other = inside & (cut.name == edit.one), inside & (cut.name == edit.other)
            return cut.called(one, edit.other).called(other, edit.one)
        if isinstance(edit, Join):
            return self.called(self.name == edit.other, edit.one)
        if isinstance(edit, Cut):
            cut = self.split((edit.track,), edit.frame)
            return cut.called((cut.name == edit.track) & (cut.first >= edit.frame), edit.new)
        if isinstance(edit, Delete):
            return self._without(edit.track, edit.first, edit.last)
        if isinstance(edit, Rename):
            return self.called(self.name == edit.track, edit.new)
        if isinstance(edit, AddPoint):
            return self._without(edit.track, edit.frame, edit.frame)._with(edit, edit.frame, edit.frame)
        if isinstance(edit, Fill):
            return self._with(edit, edit.first, edit.last)
        return self

    def _without(self, name: int, first: int, last: int) -> "Pieces":
        cut = self.split((name,), first).split((name,), last + 1)
        return cut.called((cut.name == name) & (cut.first >= first) & (cut.last <= last), GONE)

    def _with(self, edit: AddPoint | Fill, first: int, last: int) -> "Pieces":
        row = [np.array([v], np.int64) for v in (added_track(edit.id), first, last, edit.track)]
        return self.plus(Pieces(*row))

    def changed(self, before: "Pieces") -> "Pieces":
        """Return the stretches that have another name than before, or were not there; or are deleted."""
        old = before.name_of(self.raw, self.first, missing=GONE)
        rows = old != self.name
        return Pieces(self.raw[rows], self.first[rows], self.last[rows], self.name[rows])

    def name_of(self, raw: Ints, frame: Ints, missing: int | None = None) -> Ints:
        """Return the name (N,) of points.

        Parameters
        ----------
        raw : (N,) number that the tracker gave.
        frame : (N,) frame.
        missing : name of points that are in no stretch; by default the one that the tracker gave.
        """
        order = np.lexsort((self.first, self.raw))
        known, index = np.unique(self.raw, return_inverse=True)
        at = np.searchsorted(known, raw)
        found = (at < len(known)) & (known[np.minimum(at, max(len(known) - 1, 0))] == raw) if len(known) else raw != raw
        low = int(min(self.first.min(initial=0), frame.min(initial=0)))
        span = int(max(self.last.max(initial=0), frame.max(initial=0))) - low + 1
        key = index[order].astype(np.int64) * span + (self.first[order] - low)
        hit = np.searchsorted(key, np.where(found, at, 0) * span + (frame - low), side="right") - 1
        row = order[np.maximum(hit, 0)] if len(order) else np.zeros(len(raw), np.int64)
        inside = found & (hit >= 0)
        if len(order):
            inside &= (self.raw[row] == raw) & (self.first[row] <= frame) & (frame <= self.last[row])
        other = raw if missing is None else np.full(len(raw), missing, np.int64)
        return np.where(inside, self.name[row] if len(order) else other, other)

    @property
    def points(self) -> int:
        """How many points the stretches hold."""
        return int((self.last - self.first + 1).sum())

    @property
    def frames(self) -> int:
        """In how many frames there is a point."""
        return sum(b - a + 1 for a, b in self.spans())

    def spans(self) -> Iterator[tuple[int, int]]:
        """Stretches of frames in which there is any of these, in the order of time."""
        order = np.argsort(self.first, kind="stable")
        begin: int | None = None
        end = 0
        for a, b in zip(self.first[order].tolist(), self.last[order].tolist(), strict=True):
            if begin is None:
                begin, end = a, b
            elif a > end + 1:
                yield begin, end
                begin, end = a, b
            else:
                end = max(end, b)
        if begin is not None:
            yield begin, end


def _runs(frame: Ints, track: Ints) -> Ints:
    """(3, R) track, first and last frame of the stretches of points."""
    order = np.lexsort((frame, track))
    frame, track = frame[order], track[order]
    new = np.ones(len(frame), bool)
    new[1:] = (track[1:] != track[:-1]) | (frame[1:] != frame[:-1] + 1)
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(frame)) - 1
    return np.stack([track[begin], frame[begin], frame[end]]) if len(frame) else np.zeros((3, 0), np.int64)
