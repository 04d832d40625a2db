"""``trackfish3d report``: one HTML page to look at a recording's tracks."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ...pipeline.results import write_report


def command(
    recording: Annotated[Path, typer.Argument(help="A recording's folder.")],
    out: Annotated[Path | None, typer.Option(help="The page to write; report.html in the recording otherwise.")] = None,
    tracks: Annotated[Path | None, typer.Option(help="Tracks to show instead of the recording's own.")] = None,
    gate: Annotated[
        float | None,
        typer.Option(help="Distance of a match, world units; a third of the estimated body length otherwise."),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Tracks as the tracker left them, without edits.")] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write one self-contained page: 3D trajectories, camera views, residuals, timelines, scores."""
    path = write_report(recording, out, tracks, gate, raw)
    print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")
    if open_page:
        webbrowser.open(path.resolve().as_uri())
