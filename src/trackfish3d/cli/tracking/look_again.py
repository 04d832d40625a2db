"""``trackfish3d look-again``: read every film once more with what the tracks expect."""

from pathlib import Path
from typing import Annotated

import typer

from ...pipeline.again.rounds_of_looks import look_again
from .._progress import Bars


def command(
    recording: Annotated[Path, typer.Argument(metavar="REC", help="Recording with videos, detections and tracks.")],
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Rounds of looking and tracking, at most.")] = 1,
    workers: Annotated[int | None, typer.Option(min=1, help="Cameras at once; one a core by default.")] = None,
    preview: Annotated[bool, typer.Option(help="Draw pictures to look at: preview/<camera>-again.png.")] = True,
) -> None:
    """Look at the films again with what the tracks expect, and track what is then seen.

    Merged animals are told apart, faint and half hidden ones found, and what no track explains gets a lower score. What
    was there before is kept: detections.first.parquet and tracks.first.parquet.
    """
    with Bars("frames") as bars:
        looked = look_again(recording, rounds=rounds, workers=workers, previews=preview, progress=bars)
    for line in (*looked.lines(), *looked.notes):
        typer.echo(line)
