"""``trackfish3d clip``: a film of some frames with tracks drawn into it."""

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...viewer.clip import clip
from .._progress import Bars


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    frames: Annotated[str, typer.Option(help="first:end, as in 100:400; the end is not shown.")],
    out: Annotated[Path, typer.Option(help="Film to write, .mp4.")],
    views: Annotated[str, typer.Option(help="Cameras with commas; all, or none for the 3D scene alone.")] = "all",
    no_space: Annotated[bool, typer.Option("--no-3d", help="Leave the 3D scene out.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Tracks as the tracker left them, without edits.")] = False,
) -> None:
    """Write an annotated film: camera views in a grid with the 3D scene, trails, numbers."""
    first, _, end = frames.partition(":")
    try:
        wanted = int(first), int(end)
    except ValueError:
        raise InputError(f"--frames {frames}: write first:end, as in 100:400") from None
    names = {"all": None, "none": []}.get(views, [n.strip() for n in views.split(",") if n.strip()])
    with Bars() as bars:
        path = clip(recording, wanted, out, names, space=not no_space, raw=raw, progress=bars.start("frames"))
    print(f"{path} ({wanted[1] - wanted[0]} frames, {path.stat().st_size / 1e6:.2f} MB)")
