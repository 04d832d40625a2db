"""Tracks as text: the paper's ``tracks.csv``, ``tracks_table.csv`` for people, and whether the first was edited."""

import csv
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import Note
from ..core.files import atomic_path, digest
from .tracks import Tracks

PAPER_COLUMNS = ("object", "Timestamp", "X", "Y", "Z", "group")
TABLE = "tracks_table.csv"
DIGITS = 10  # significant: a tenth of a millimetre in a world a thousand kilometres wide
_DIGEST = b"tracks_csv_digest"


def write_tracks_csv(tracks: Tracks | Iterable[Tracks], path: str | Path) -> None:
    """Write the paper's ``tracks.csv``: object, Timestamp (frame), X, Y, Z, group (number of views).

    An object has the track's number, as everywhere else; the paper counts them A, B, C, ..., which is nobody's name
    once tracks are joined or cut. Tracks may come in pieces of ascending frames.
    """

    def rows(piece: Tracks) -> Iterable[tuple[Any, ...]]:
        columns = (*(_texts(a) for a in piece.position.T), piece.views.tolist())
        return zip(piece.track.tolist(), piece.frame.tolist(), *columns, strict=True)

    _write(path, PAPER_COLUMNS, map(rows, _pieces(tracks)))


def _pieces(tracks: Tracks | Iterable[Tracks]) -> Iterable[Tracks]:
    return [tracks] if isinstance(tracks, Tracks) else tracks


def write_tracks_table(tracks: Tracks | Iterable[Tracks], path: str | Path, units: str, fps: float | None) -> None:
    """Write a table for people, a row a point, with the unit in the names of the columns.

    Parameters
    ----------
    tracks : the tracks, or pieces of them in ascending frames.
    path : file to write.
    units : unit of the world.
    fps : frames a second; None where it is not known: ``time_s`` is empty then.
    """
    pieces = iter(_pieces(tracks))
    first = next(pieces, None)
    if first is None:
        raise ValueError("there must be one piece at least, which says what columns there are")
    _write(path, _names(first, units), (_rows(piece, fps) for piece in chain([first], pieces)))


_SIZES = ("length", "length_sigma", "thickness", "thickness_sigma")


def _names(tracks: Tracks, units: str) -> list[str]:
    """Columns of the table for people."""
    names = ["track", "frame", "time_s", *(f"{a}_{units}" for a in ("x", "y", "z", "sigma"))]
    names += ["views", "observed", "confidence"]
    if tracks.heading is not None and tracks.heading_sigma is not None:
        names += ["heading_x", "heading_y", "heading_z", "heading_sigma_rad"]
    return names + [f"{name}_{units}" for name in _SIZES if getattr(tracks, name) is not None]


def _rows(tracks: Tracks, fps: float | None) -> Iterable[tuple[Any, ...]]:
    """Rows of the table for people."""
    variance = np.trace(tracks.covariance, axis1=1, axis2=2) / 3
    time = np.full(len(tracks), np.nan) if fps is None else tracks.frame / fps
    columns: tuple[list[Any], ...] = (
        tracks.track.tolist(),
        tracks.frame.tolist(),
        _texts(time),
        *(_texts(axis) for axis in tracks.position.T),
        _texts(np.sqrt(variance), 4),
        tracks.views.tolist(),
        tracks.observed.astype(int).tolist(),
        _texts(tracks.confidence, 6),
    )
    if tracks.heading is not None and tracks.heading_sigma is not None:
        columns += (*(_texts(axis, 4) for axis in tracks.heading.T), _texts(tracks.heading_sigma, 3))
    sizes = [size for name in _SIZES if (size := getattr(tracks, name)) is not None]
    return zip(*columns, *(_texts(size, 4) for size in sizes), strict=True)


def _texts(values: NDArray[np.float64], digits: int = DIGITS) -> list[str]:
    """Numbers with so many significant digits, whatever the unit; nothing where a number is not known."""
    return ["" if x != x else f"{x:.{digits}g}" for x in values.tolist()]


def _write(path: str | Path, names: Sequence[str], pieces: Iterable[Iterable[tuple[Any, ...]]]) -> None:
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for rows in pieces:
            writer.writerows(rows)


def digest_of(path: Path) -> dict[bytes, str]:
    """Return what ``tracks.parquet`` says of the CSV file that was written from the same tracks: a digest."""
    return {_DIGEST: _digest(path)}


def note_edits(path: Path) -> None:
    """Say in one line that the CSV beside ``tracks.parquet`` was edited since both were written.

    Parameters
    ----------
    path : the Parquet file, which is what is read; the CSV is for people and for other programs.
    """
    edited = path.with_suffix(".csv")
    if _was_edited(path, edited):
        message = f"{edited} was edited since, and {path.name} is what is read; --tracks {edited} takes the edited one"
        warnings.warn(message, Note, stacklevel=3)


def set_edited_aside(path: Path) -> None:
    """Keep the CSV beside ``tracks.parquet`` under another name where it was edited: new tracks are to be written.

    Parameters
    ----------
    path : the Parquet file.
    """
    edited = path.with_suffix(".csv")
    try:
        if not path.is_file() or edited.is_symlink() or not _was_edited(path, edited):
            return
    except (pa.ArrowException, OSError, ValueError):  # tracks that cannot be read tell nothing
        return
    kept = (edited.with_name(f"{path.stem}.edited{number}.csv") for number in ("", *range(2, 10_000)))
    free = next(place for place in kept if not place.exists())
    edited.rename(free)
    warnings.warn(f"{edited} was edited by hand; it is kept as {free}", Note, stacklevel=3)


def _was_edited(path: Path, text: Path) -> bool:
    """Whether a CSV file differs from what was written beside a Parquet file."""
    told = (pq.read_schema(path).metadata or {}).get(_DIGEST, b"").decode(errors="replace")
    if not told or not text.is_file():
        return False
    same: bool = str(text.stat().st_size) == told.rpartition(":")[2] and _digest(text) == told
    return not same


def _digest(path: Path) -> str:
    return f"{digest(path)}:{path.stat().st_size}"
