"""What the sections of a recording add up to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ...suspects import Suspect
from ..refinement.confidence import LIKELY, ROWS
from .roster import Names, names_of
from .windows import Piece

STOPPED = "{} searches ended before the best choice was proved (--set most_nodes=N searches longer)"
OPEN = (
    "animals were taken to come and go: {} of {} beginnings and ends of tracks are at the border of the views; "
    "--closed if none can leave"
)
CLOSED = (
    "no animal was taken to leave or come, as few tracks begin or end at the border of the views; --open if some do"
)
RETURNED = (
    "{} times an animal came back after it was out of sight and kept its number, since nearly all frames show {}; "
    "--open if others come and go"
)


@dataclass
class Totals:
    """Counts of finished tracks, as one line and some notes tell them; plain values, so that they can be kept.

    Attributes
    ----------
    points : rows of the tracks.
    tracks : how many there are.
    two_views : points that two views or more saw.
    one_view : points that a single view saw.
    inner : beginnings and ends of tracks in sections where animals come and go.
    at_border : those of them at the border of the views.
    most : tracks at one moment.
    returned : how often an animal came back to the views.
    steady : tracks in nearly all frames, where some came back.
    suspects : moments to check, in no order.
    """

    points: int = 0
    tracks: int = 0
    two_views: int = 0
    one_view: int = 0
    inner: int = 0
    at_border: int = 0
    most: int = 0
    returned: int = 0
    steady: int = 0
    suspects: list[Suspect] = field(default_factory=list)

    def add(self, piece: Piece) -> None:
        """Count a section.

        Parameters
        ----------
        piece : its tracks.
        """
        t = piece.tracks
        self.points += len(t)
        self.tracks = max(self.tracks, int(t.track.max(initial=-1)) + 1)
        self.two_views += int((t.observed & (t.views != 1)).sum())
        self.one_view += int((t.observed & (t.views == 1)).sum())
        self.inner += piece.borders[0]
        self.at_border += piece.borders[1]
        self.most = max(self.most, int(np.unique(t.frame, return_counts=True)[1].max(initial=0)))
        self.suspects += piece.suspects

    @property
    def ranked(self) -> tuple[Suspect, ...]:
        """Moments to check, the most doubtful first: all likely ones, and others until there are enough."""
        found = sorted(self.suspects, key=lambda s: (-s.probability, s.first, s.track))
        return tuple(s for k, s in enumerate(found) if s.probability >= LIKELY or k < ROWS)

    @property
    def summary(self) -> str:
        """One line, as of a `Result`."""
        if not self.points:
            return "0 tracks"
        seen = f"{100 * self.two_views / self.points:.1f} % seen by two views or more, "
        return f"{self.tracks} tracks, {self.points} points, {seen}{100 * self.one_view / self.points:.1f} % by one"

    def notes(self, stopped: int, scene: str, told: int | None) -> list[str]:
        """Return what a user should know, a line each.

        Parameters
        ----------
        stopped : searches that ended early.
        scene : as it was set.
        told : how many animals there are, or None.
        """
        notes = [STOPPED.format(stopped)] if stopped else []
        if self.returned:
            notes.append(RETURNED.format(self.returned, self.steady))
        elif scene == "auto":
            notes.append(OPEN.format(self.at_border, self.inner) if self.inner else CLOSED)
        return notes + number_note(self.tracks, self.most, told)


def number_note(count: int, most: int, told: int | None) -> list[str]:
    """Say why there are other tracks than animals, where their number was told.

    Parameters
    ----------
    count : of tracks.
    most : of them at one moment.
    told : how many animals there are, or None.
    """
    if told is None or count == told:
        return []
    if count > told:
        why = "some were lost for longer than can be bridged" if most <= told else "there are more at one moment"
    else:
        why = "the others were never seen by two views long enough"
    return [f"{count} tracks for {told} animals, at most {most} at one moment: {why}"]


def total(pieces: Callable[[], Iterable[Piece]], scene: str) -> tuple[Totals, Names]:
    """Count sections, and tell who is who in them.

    Parameters
    ----------
    pieces : gives all sections anew at every call.
    scene : as it was set.
    """
    names = names_of(pieces(), scene)
    totals = Totals(returned=len(names.returns), steady=names.animals, suspects=names.suspects)
    for piece in pieces():
        totals.add(names.apply(piece))
    return totals, names
