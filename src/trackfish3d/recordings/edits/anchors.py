"""Edits without the names of tracks: which animal of which moment is which of another one."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...core.errors import InputError
from ..tracks import Tracks
from .kinds import Anchor, Pin
from .mending import Mending, TrackFile, added_points
from .pieces import Pieces


@dataclass(frozen=True)
class Anchors:
    """Finds where mended tracks are.

    Parameters
    ----------
    file : the tracker's tracks.
    state : what the edits so far make of them.
    """

    file: TrackFile
    state: Mending

    @cached_property
    def _added(self) -> dict[int, Tracks]:
        return added_points(self.state.added, ())

    def at(self, name: int, frame: int) -> Anchor:
        """Return where a track is in a frame in which it is there."""
        piece = self.state.pieces.within(name, frame, frame)
        if not len(piece):
            raise InputError(f"track {name}: is not there in frame {frame}")
        raw = int(piece.raw[0])
        if raw in self._added:
            points = self._added[raw]
            place = points.position[points.frame == frame][0]
        else:
            table = self.file.table([raw], frame, frame, ["x", "y", "z"])
            if not table.num_rows:
                raise InputError(f"track {name}: is not there in frame {frame}")
            place = np.array([table[k][0].as_py() for k in "xyz"], np.float64)
        return Anchor(frame=frame, at=tuple(place.tolist()))

    def before(self, name: int, frame: int) -> Anchor | None:
        """Return where a track was last before a frame; None where it was not."""
        last = [b if b < frame else frame - 1 for a, b in self._spans(name) if a < frame]
        return self.at(name, max(last)) if last else None

    def from_(self, name: int, frame: int) -> Anchor | None:
        """Return where a track is in a frame, or first after it; None where it is not."""
        first = [max(a, frame) for a, b in self._spans(name) if b >= frame]
        return self.at(name, min(first)) if first else None

    def _spans(self, name: int) -> list[tuple[int, int]]:
        mine = self.state.pieces
        return list(mine.take(mine.name == name).spans())

    def of_swap(self, one: int, other: int, first: int, last: int | None) -> tuple[Pin, ...]:
        """Each goes on as the other, and, where the exchange ends, back again."""
        pins = []
        for frame in [first] if last is None else [first, last + 1]:
            for a, b in ((one, other), (other, one)):
                pins += _pin(True, self.before(a, frame), self.from_(b, frame))
        return tuple(pins)

    def of_join(self, one: Pieces, other: Pieces) -> tuple[Pin, ...]:
        """Where one track ends and the other begins, they are one animal."""
        parts = [(a, b, int(p.name[0])) for p in (one, other) for a, b in p.spans()]
        parts.sort()
        pins = []
        for (_, end, name), (begin, _, following) in pairwise(parts):
            if name != following:
                pins += _pin(True, self.at(name, end), self.at(following, begin))
        return tuple(pins)

    def of_cut(self, track: int, frame: int) -> tuple[Pin, ...]:
        """Before and after are two animals."""
        return tuple(_pin(False, self.before(track, frame), self.from_(track, frame)))

    def of_stretch(self, track: int, first: int, last: int) -> tuple[Pin, ...]:
        """Pin a stretch as one animal: from where it begins to where it ends."""
        return tuple(_pin(True, self.from_(track, first), self.before(track, last + 1)))

    def of_accepted(self, track: int, other: int, first: int, last: int, what: str) -> tuple[Pin, ...]:
        """Each track is one animal all through; an end or a beginning is one indeed."""
        if what in ("end", "begin"):
            if track == other:
                return ()
            spans = sorted((self._spans(n)[0], n) for n in (track, other))
            early, late = spans[0][1], spans[1][1]
            end, begin = self._spans(early)[-1][1], self._spans(late)[0][0]
            return tuple(_pin(False, self.at(early, end), self.at(late, begin))) if end < begin else ()
        pins: list[Pin] = []
        for name in sorted({track, other}):
            pins += _pin(True, self.before(name, first + 1) or self.from_(name, first), self.from_(name, last))
        return tuple(pins)


def _pin(same: bool, one: Anchor | None, other: Anchor | None) -> list[Pin]:
    if one is None or other is None or one.frame >= other.frame:
        return []
    return [Pin(same=same, one=one, other=other)]
