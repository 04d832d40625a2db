"""``trackfish3d export``: tracks for other tools."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...pipeline.results import tracks_in_pieces
from ...recordings import Recording, Tracks
from ...recordings.exporters import FORMATS, export_tracks
from ...recordings.exporters.datasets import DATASETS, export_dataset
from ...recordings.exporters.poses import POSE_FORMATS, export_poses
from ...recordings.exporters.session import about_session


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    format: Annotated[
        str,
        typer.Option(
            help=f"Tracks: {', '.join(FORMATS)}; poses: {', '.join(POSE_FORMATS)}; "
            f"whole dataset: {', '.join(DATASETS)}."
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write; of a dataset, a new folder.")],
    tracks: Annotated[Path | None, typer.Option(help="Other tracks than the recording's own.")] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(help="Of the session, for nwb-poses: a YAML file, or session_start=..., lab=..., species=..."),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Tracks as the tracker left them, without edits.")] = False,
) -> None:
    """Write the tracks of a recording, or the recording itself as a dataset, in the format of another tool."""
    opened = Recording.open(recording)
    if format in DATASETS:
        for note in export_dataset(opened, out, format):
            print(f"note: {note}", file=sys.stderr)
        print(f"wrote {len(opened.detections)} detections of {len(opened.rig)} cameras to {out} ({format})")
        return
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")
    if format in POSE_FORMATS:
        if tracks is not None or raw:
            raise InputError(f"--tracks and --raw: {format} writes the recording's poses")
        for note in export_poses(opened, out, format, about_session(about or [])):
            print(f"note: {note}", file=sys.stderr)
        print(f"wrote the poses of {opened.folder} to {out} ({format})")
        return
    if about:
        raise InputError(f"--about: {format} has no place for it; nwb-poses has")
    counted = Counted(tracks_in_pieces(opened, tracks, raw))
    for note in export_tracks(opened, out, format, counted):
        print(f"note: {note}", file=sys.stderr)
    print(f"wrote {len(counted.names)} tracks, {counted.points} points, to {out} ({format})")


class Counted:
    """Pieces of tracks that are counted as they are handed on.

    Parameters
    ----------
    pieces : the tracks.
    """

    def __init__(self, pieces: Iterable[Tracks]) -> None:
        self._pieces = pieces
        self.names: set[int] = set()
        self.points = 0

    def __iter__(self) -> Iterator[Tracks]:
        for piece in self._pieces:
            self.names.update(piece.identities.tolist())
            self.points += len(piece)
            yield piece
