"""Who comes back: animals that leave the views of a long recording and return, by their number, which stays the same.

Sections join what motion can bridge. An animal that is out of sight for longer returns as a new track. Where nearly all
frames show the same number of animals, nobody else can have come: who appears is one of those who are absent. In an
open scene the number varies, and nothing is joined here.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ....recordings.tracks import Tracks
from ...postprocess import renumber
from ...suspects import Suspect
from ..refinement.confidence import LIKELY
from .sections import MARGIN
from .windows import Piece

Array = NDArray[np.float64]
STEADY = 0.9  # share of frames with one number of animals from which it is theirs; a Poisson number has 0.37 at most
SURPLUS = 0.01  # share of frames that may show more, as where an animal is tracked twice for a moment


@dataclass(eq=False)
class Life:
    """First and last frame of a track, and where it was in them (3,), world units."""

    first: int
    last: int
    born: Array
    lost: Array


@dataclass(frozen=True, eq=False)
class Return:
    """An animal that came back: the track that ended, the one that goes on, and who else was absent."""

    lost: int
    found: int
    absent: int


@dataclass(eq=False)
class Roster:
    """Lives of all tracks and how many there were at once, counted section by section.

    Attributes
    ----------
    lives : by number of the track.
    present : frames by the number of tracks in them.
    frames : first and last frame of the recording.
    """

    lives: dict[int, Life] = field(default_factory=dict)
    present: Counter[int] = field(default_factory=Counter)
    frames: tuple[int, int] = (0, -1)

    def add(self, tracks: Tracks) -> None:
        """Count a section.

        Parameters
        ----------
        tracks : of the section; sections ascend in time.
        """
        if not len(tracks):
            return
        here = int(tracks.frame.min()), int(tracks.frame.max())
        self.frames = (self.frames[0] if self.lives else here[0], here[1])
        self.present.update(np.unique(tracks.frame, return_counts=True)[1].tolist())
        order = np.lexsort((tracks.frame, tracks.track))
        begin = np.flatnonzero(np.diff(tracks.track[order], prepend=-1))
        end = np.append(begin[1:], len(order)) - 1
        for a, b in zip(order[begin].tolist(), order[end].tolist(), strict=True):
            last, lost = int(tracks.frame[b]), tracks.position[b]
            life = self.lives.setdefault(
                int(tracks.track[a]), Life(int(tracks.frame[a]), last, tracks.position[a], lost)
            )
            life.last, life.lost = last, lost

    @property
    def animals(self) -> int | None:
        """How many animals there are, where their number stays the same; None where it varies."""
        whole = self.present.total()
        if not whole:
            return None
        number, frames = self.present.most_common(1)[0]
        more = sum(count for n, count in self.present.items() if n > number)
        return number if frames >= STEADY * whole and more <= SURPLUS * whole else None

    def returns(self) -> list[Return]:
        """Tell who came back as whom, in the order of time; of several absent ones, who was lost nearest by.

        Who appears while all are there is an animal tracked twice, and nobody is missed when that track ends.
        """
        animals = self.animals
        if animals is None:
            return []
        found: list[Return] = []
        absent: set[int] = set()
        over: set[int] = set()  # tracks that are nobody's any more: another has their animal
        ending = sorted((life.last, name) for name, life in self.lives.items() if life.last < self.frames[1])
        known = founders = 0
        for first, name in sorted((life.first, name) for name, life in self.lives.items()):
            while known < len(ending) and ending[known][0] < first:
                absent |= {ending[known][1]} - over
                known += 1
            unseen = max(animals - founders, 0)
            choice = absent or (set() if unseen else self._ending(first, name, [n for _, n in ending[known:]]))
            if choice and first > self.frames[0]:
                nearest = self._nearest(choice, name)
                found.append(Return(nearest, name, len(choice) + unseen))
                absent.discard(nearest)
                over.add(nearest)
            elif unseen:
                founders += 1
            else:
                over.add(name)
        return self._exchanged(found)

    def _exchanged(self, found: list[Return]) -> list[Return]:
        """Let two who came back about the same time exchange whom they continue, where both are nearer so.

        One of them may have appeared before the other was known to be lost.
        """
        out = list(found)
        for j, late in enumerate(out):
            for i in range(j - 1, -1, -1):
                early = out[i]
                if self.lives[late.found].first - self.lives[early.found].first > MARGIN:
                    break
                if self._can(late.lost, early.found) and self._can(early.lost, late.found):
                    here = self._apart(early.lost, early.found) + self._apart(late.lost, late.found)
                    there = self._apart(late.lost, early.found) + self._apart(early.lost, late.found)
                    if there < here:
                        out[i] = Return(late.lost, early.found, max(early.absent, 2))
                        out[j] = late = Return(early.lost, late.found, max(late.absent, 2))
        return out

    def _can(self, lost: int, found: int) -> bool:
        """Whether one track can go on as another: it began before, and ends before or soon after that begins."""
        before, after = self.lives[lost], self.lives[found]
        return before.first < after.first and before.last <= min(after.first + MARGIN, after.last)

    def _apart(self, lost: int, found: int) -> float:
        return float(np.linalg.norm(self.lives[lost].lost - self.lives[found].born))

    def _nearest(self, absent: set[int], name: int) -> int:
        return min(absent, key=lambda n: (self._apart(n, name), n))

    def _ending(self, first: int, name: int, later: Sequence[int]) -> set[int]:
        """Return the track, if there is one, that goes on unseen for some frames beside one that has its animal."""
        own = self.lives[name].last
        soon = [n for n in later if self.lives[n].last <= min(first + MARGIN, own) and self.lives[n].first < first]
        return set(soon[:1])


@dataclass(frozen=True, eq=False)
class Names:
    """Final numbers of tracks.

    ``number`` by old number; ``until``: frame from which another track has the animal of one that ended; ``returns``:
    who came back; ``lives`` of all tracks; ``animals``: how many there are, 0 where that varies.
    """

    number: dict[int, int]
    until: dict[int, int]
    returns: tuple[Return, ...]
    lives: dict[int, Life]
    animals: int

    @classmethod
    def of(cls, roster: Roster) -> "Names":
        """Give numbers by first appearance; who comes back keeps the one it had."""
        returns = tuple(roster.returns())
        root = {name: name for name in roster.lives}
        for back in returns:  # in the order of time, so that who is lost has its root already
            root[back.found] = root[back.lost]
        order = sorted(set(root.values()), key=lambda n: (roster.lives[n].first, n))
        number = {name: k for k, name in enumerate(order)}
        until = {r.lost: roster.lives[r.found].first for r in returns}
        return cls({name: number[r] for name, r in root.items()}, until, returns, roster.lives, roster.animals or 0)

    def apply(self, piece: Piece) -> Piece:
        """Return a section under final numbers; of an animal that two tracks had, the later one counts.

        Parameters
        ----------
        piece : as `windows.mend` made it.
        """
        tracks = piece.tracks
        for lost, frame in self.until.items():
            if self.lives[lost].last >= frame:
                tracks = tracks.select((tracks.track != lost) | (tracks.frame < frame))
        found = tuple(s.renamed(self.number) for s in piece.suspects)
        return replace(piece, tracks=renumber(tracks, self.number) if len(tracks) else tracks, suspects=found)

    @property
    def suspects(self) -> list[Suspect]:
        """Returns as moments to check: one of several absent animals is any of them."""
        return [
            Suspect(
                min(self.lives[r.lost].last, self.lives[r.found].first),
                self.lives[r.found].first,
                self.number[r.found],
                self.number[r.found],
                max(LIKELY, 1.0 - 1.0 / r.absent),
                "join",
            )
            for r in self.returns
        ]


def names_of(pieces: Iterable[Piece], scene: str) -> Names:
    """Go through sections once to tell who is who.

    Parameters
    ----------
    pieces : all sections, ascending in time.
    scene : as it was set; where it is open, nobody comes back.
    """
    roster = Roster()
    for piece in pieces:
        roster.add(piece.tracks)
    if scene == "open":
        roster.present.clear()
    return Names.of(roster)
