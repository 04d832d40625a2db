"""``trackfish3d export``: tracks for other tools."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...recordings import Recording, read_tracks
from ...recordings.exporters import FORMATS, export_tracks


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    format: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    tracks: Annotated[Path | None, typer.Option(help="Other tracks than the recording's own.")] = None,
) -> None:
    """Write the tracks of a recording in the format of another tool."""
    opened = Recording.open(recording)
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")
    found = opened.tracks if tracks is None else read_tracks(tracks)
    for note in export_tracks(opened, out, format, found):
        print(f"note: {note}", file=sys.stderr)
    print(f"wrote {len(found.identities)} tracks, {len(found)} points, to {out} ({format})")
