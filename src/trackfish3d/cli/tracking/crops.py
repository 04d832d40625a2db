"""``trackfish3d crops``: pictures of a recording's detections, for the methods that look at them."""

from pathlib import Path
from typing import Annotated

import typer

from ...detection.features.film_crops import cut_crops
from ...recordings import Recording
from .._progress import Bars


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of a recording with videos and detections.")],
    out: Annotated[Path, typer.Option(help="Crops, FILE.npz.")],
) -> None:
    """Cut every detection out of its film, for methods rest, asnet, motip, mctr and sambamotr."""
    source = Recording.open(recording)
    with Bars() as bars:
        notes = cut_crops(source, out, progress=bars)
    for note in notes:
        bars.say(f"note: {note}")
    print(f"{len(source.detections)} crops: {out}")
