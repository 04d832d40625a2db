"""Moments at which identities may be wrong, as a list to look through."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import InputError
from ..core.files import atomic_path, read_text
from ..core.reading.limits import LARGEST_FRAME, LONGEST

TRACKS, SUSPECTS = "tracks", "suspects.csv"
KINDS = ("swap", "gap", "join", "end", "begin")


def suspects_path(tracks: Path) -> Path:
    """Return where the suspects of a tracks file are: ``suspects.csv`` for ``tracks.*``, else ``NAME.suspects.csv``.

    Parameters
    ----------
    tracks : file of the tracks.
    """
    return tracks.with_name(SUSPECTS if tracks.stem == TRACKS else f"{tracks.stem}.{SUSPECTS}")


@dataclass(frozen=True)
class Suspect:
    """A moment at which identities may be wrong.

    Attributes
    ----------
    first : first frame of the moment.
    last : its last frame.
    track : number of the track.
    other : of the track it may have been exchanged with; the track itself after a gap or a join.
    probability : that the identity is wrong afterwards.
    kind : ``swap`` of two tracks; a ``gap`` in which no two views saw the track; or a ``join`` of two parts over such a
        gap, after which it may be any other animal; the ``end`` or ``begin`` of a track where none can leave or come
        (``other`` is then a track that begins after the end and may be the same animal).
    """

    first: int
    last: int
    track: int
    other: int
    probability: float
    kind: str

    def renamed(self, names: dict[int, int]) -> "Suspect":
        """Return the same moment with tracks under new numbers, the smaller one first.

        Parameters
        ----------
        names : new number of every old one.
        """
        one, other = sorted((names[self.track], names[self.other]))
        return replace(self, track=one, other=other)


def write_suspects(found: Iterable[Suspect], path: Path) -> None:
    """Write suspects as CSV: first, last, track, other, probability, kind."""
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["first_frame", "last_frame", "track", "other", "probability", "kind"])
        for s in found:
            writer.writerow([s.first, s.last, s.track, s.other, f"{s.probability:.4f}", s.kind])


def read_suspects(path: Path) -> list[Suspect]:
    """Return the suspects of a file that `write_suspects` wrote; none where it is not there.

    Parameters
    ----------
    path : the file.
    """
    if not path.is_file():
        return []
    found = []
    for number, row in enumerate(csv.DictReader(read_text(path).splitlines()), 2):
        try:
            first, last, track, other = (int(row[k]) for k in ("first_frame", "last_frame", "track", "other"))
            probability, kind = float(row["probability"]), str(row["kind"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}: line {number}: is not a suspect; track again") from None
        sound = max(map(abs, (first, last))) <= LARGEST_FRAME and max(map(abs, (track, other))) <= 2**53
        if not (sound and 0 <= last - first <= LONGEST and 0 <= probability <= 1 and kind in KINDS):
            raise InputError(f"{path}: line {number}: holds what no suspect has; track again")
        found.append(Suspect(first, last, track, other, probability, kind))
    return found
