"""Tracks as text: the paper's ``tracks.csv``, ``tracks_table.csv`` for people, and whether the first was edited."""

import csv
import warnings
from collections.abc import Iterable, Sequence
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


def letters(number: int) -> str:
    """Name of the n-th track in the paper's CSV: A, B, ... Z, AA, AB ...

    >>> letters(0), letters(25), letters(26)
    ('A', 'Z', 'AA')
    """
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(65 + digit) + name
    return name


def write_tracks_csv(tracks: Tracks, path: str | Path) -> None:
    """Write the paper's ``tracks.csv``: object, Timestamp (frame), X, Y, Z, group (number of views).

    Tracks are named A, B, C, ... by first appearance.
    """
    order: dict[int, str] = {}
    for t in tracks.track.tolist():
        order.setdefault(t, letters(len(order)))
    names = [order[t] for t in tracks.track.tolist()]
    columns = (names, tracks.frame.tolist(), *(_texts(a) for a in tracks.position.T), tracks.views.tolist())
    _write(path, PAPER_COLUMNS, zip(*columns, strict=True))


def write_tracks_table(tracks: Tracks, path: str | Path, units: str, fps: float | None) -> None:
    """Write a table for people, a row a point, with the unit in the names of the columns.

    Parameters
    ----------
    tracks : the tracks.
    path : file to write.
    units : unit of the world.
    fps : frames a second; None where it is not known: ``time_s`` is empty then.
    """
    variance = np.trace(tracks.covariance, axis1=1, axis2=2) / 3
    names = ["track", "frame", "time_s", *(f"{a}_{units}" for a in ("x", "y", "z", "sigma"))]
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
    names += ["views", "observed", "confidence"]
    if tracks.heading is not None and tracks.heading_sigma is not None:
        names += ["heading_x", "heading_y", "heading_z", "heading_sigma_rad"]
        columns += (*(_texts(axis, 4) for axis in tracks.heading.T), _texts(tracks.heading_sigma, 3))
    for name in ("length", "length_sigma", "thickness", "thickness_sigma"):
        if (size := getattr(tracks, name)) is not None:
            names.append(f"{name}_{units}")
            columns += (_texts(size, 4),)
    _write(path, names, zip(*columns, strict=True))


def _texts(values: NDArray[np.float64], digits: int = DIGITS) -> list[str]:
    """Numbers with so many significant digits, whatever the unit; nothing where a number is not known."""
    return ["" if x != x else f"{x:.{digits}g}" for x in values.tolist()]


def _write(path: str | Path, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def with_digest(table: pa.Table, path: Path) -> pa.Table:
    """Return the table of ``tracks.parquet`` with a digest of the CSV file that was written from the same tracks."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _DIGEST: _digest(path)})


def note_edits(path: Path) -> None:
    """Say in one line that the CSV beside ``tracks.parquet`` was edited since both were written.

    Parameters
    ----------
    path : the Parquet file, which is what is read; the CSV is for people and for other programs.
    """
    told = (pq.read_schema(path).metadata or {}).get(_DIGEST, b"").decode(errors="replace")
    edited = path.with_suffix(".csv")
    if not told or not edited.is_file():
        return
    if str(edited.stat().st_size) != told.rpartition(":")[2] or _digest(edited) != told:
        message = f"{edited} was edited since, and {path.name} is what is read; --tracks {edited} takes the edited one"
        warnings.warn(message, Note, stacklevel=3)


def _digest(path: Path) -> str:
    return f"{digest(path)}:{path.stat().st_size}"
