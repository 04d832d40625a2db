"""Plain tables: the paper's CSV, Parquet with everything, and 3D-ZeF's text; of tracks that come piece by piece."""

from collections.abc import Iterable
from pathlib import Path

from ...core.files import atomic_path
from ..recording import Recording
from ..storage import write_pieces
from ..tracks import Tracks
from ..tracks_text import write_tracks_csv, write_tracks_table


def write_csv(recording: Recording, pieces: Iterable[Tracks], path: Path) -> list[str]:
    """Write the paper's columns: object, Timestamp, X, Y, Z, group."""
    write_tracks_csv(pieces, path)
    return []


def write_people(recording: Recording, pieces: Iterable[Tracks], path: Path) -> list[str]:
    """Write a table for people, with units in the names of its columns (see `write_tracks_table`)."""
    write_tracks_table(pieces, path, recording.units, recording.fps if recording.info.fps_known else None)
    return [] if recording.info.fps_known else ["the frame rate is not known: time_s is empty"]


def write_parquet(recording: Recording, pieces: Iterable[Tracks], path: Path) -> list[str]:
    """Write every column, with frame rate and unit as metadata of the file."""
    about: dict[str | bytes, str | bytes] = {"fps": f"{recording.fps!r}", "units": recording.units}
    write_pieces((piece.to_table() for piece in pieces), path, about)
    return []


def write_zef3d(recording: Recording, pieces: Iterable[Tracks], path: Path) -> list[str]:
    """Write ``frame,id,x,y,z`` without a header, as the 3D-ZeF evaluation reads it; frame numbers are kept.

    That evaluation throws away points with a coordinate of 0 or less, which is worth a word where the world's origin
    does not lie in a corner of the tank.
    """
    lost = points = 0
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for tracks in pieces:
            rows = zip(tracks.frame.tolist(), tracks.track.tolist(), tracks.position.tolist(), strict=True)
            file.writelines(f"{f},{t},{x:.10g},{y:.10g},{z:.10g}\n" for f, t, (x, y, z) in rows)
            lost += int((tracks.position <= 0).any(axis=1).sum())
            points += len(tracks)
    note = f"{lost} of {points} points have a coordinate of 0 or less; the 3D-ZeF evaluation ignores those"
    return [note] if lost else []
