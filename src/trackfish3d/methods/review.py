"""Suspects as edits leave them: under the present names, without what was mended or accepted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..recordings.edits.mending import Mending
from ..recordings.edits.pieces import GONE, Pieces
from .suspects import Suspect

NEAR = 10  # frames between a moment and an edit that is about it
_DONE = 0.01  # share of its chance below which a moment is no longer open


@dataclass(frozen=True)
class Moment:
    """A suspect, and what became of it.

    Attributes
    ----------
    suspect : as the tracker named it.
    track : number that its track has now.
    other : number that the other track has now.
    probability : that the identity is wrong, as far as people have not looked.
    state : ``open``, ``accepted``, ``mended``, or ``gone`` where a track was deleted.
    """

    suspect: Suspect
    track: int
    other: int
    probability: float
    state: str


def review(suspects: Sequence[Suspect], mending: Mending) -> list[Moment]:
    """Return all moments, the open ones first, the most doubtful of them first.

    A track that a person vouched for in a moment cannot have been exchanged in it with anybody: what was accepted of
    one encounter lowers the chance of its neighbours by the share of their frames in which one of their tracks is
    vouched for.

    Parameters
    ----------
    suspects : as the tracker named them.
    mending : what edits made of the tracks.
    """
    found = [_moment(s, mending) for s in suspects]
    return sorted(found, key=lambda m: (m.state != "open", -m.probability, m.suspect.first, m.track))


def _moment(suspect: Suspect, mending: Mending) -> Moment:
    pieces = mending.pieces
    late = suspect.last if suspect.kind == "end" else suspect.first
    track, other = _name(pieces, suspect.track, suspect.first), _name(pieces, suspect.other, late)
    share = 1.0
    for raw in {suspect.track, suspect.other}:
        share *= 1.0 - _vouched(mending, raw, suspect.first, suspect.last)
    state = "open"
    if GONE in (track, other):
        state = "gone"
    elif (suspect.track != suspect.other and track == other) or any(
        _border(pieces, raw, suspect) for raw in (suspect.track, suspect.other)
    ):
        state = "mended"
    elif share < _DONE:
        state = "accepted"
    return Moment(suspect, track, other, suspect.probability * share if state == "open" else 0.0, state)


def _name(pieces: Pieces, raw: int, frame: int) -> int:
    """Name of the tracker's track in a frame, or in the one nearest to it in which it is there."""
    mine = pieces.take(pieces.raw == raw)
    if not len(mine):
        return GONE
    far = np.maximum(np.maximum(mine.first - frame, frame - mine.last), 0)
    return int(mine.name[int(np.argmin(far))])


def _border(pieces: Pieces, raw: int, suspect: Suspect) -> bool:
    """Whether the tracker's track changes its name about the moment: by a swap, a cut, or a join at its end."""
    mine = pieces.take(pieces.raw == raw)
    mine = mine.take(np.argsort(mine.first, kind="stable"))
    at = mine.first[1:][mine.name[1:] != mine.name[:-1]]
    return bool(((at >= suspect.first - NEAR) & (at <= suspect.last + NEAR)).any())


def _vouched(mending: Mending, raw: int, first: int, last: int) -> float:
    """Share of a track's frames in a moment that a person vouched for."""
    mine = mending.pieces.take(mending.pieces.raw == raw)
    known = np.zeros(last - first + 1, bool)
    there = known.copy()
    for a, b in zip(mine.first.tolist(), mine.last.tolist(), strict=True):
        there[max(a - first, 0) : max(b - first + 1, 0)] = True
    for whose, a, b in mending.sure:
        if whose == raw:
            known[max(a - first, 0) : max(b - first + 1, 0)] = True
    return float((known & there).sum() / there.sum()) if there.any() else 0.0
