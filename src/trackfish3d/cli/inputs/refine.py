"""``trackfish3d refine``: better cameras, clocks and water from the animals themselves."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...cameras.formats import FORMATS
from ...core.errors import InputError
from ...pipeline.refining import (
    apply_parts,
    apply_refinement,
    refine,
    refine_parts,
    refuse_old,
    write_parts,
    write_refinement,
)
from ...recordings import Recording
from ...refinement import Refinement, RefusedError, tell_parts
from .._progress import Bars

_WRITE = ", ".join(f.name for f in FORMATS.values() if f.write)


def command(
    recording: Annotated[Path, typer.Argument(metavar="REC", help="Recording with detections.")],
    out: Annotated[Path, typer.Option(help="The calibration to write; what changed lies beside it.")],
    cameras: Annotated[
        Path | None,
        typer.Option(help="Refine this calibration, not the recording's own; any format that 'convert' reads."),
    ] = None,
    to: Annotated[str, typer.Option("--to", help=f"Format of the calibration: {_WRITE}.")] = "trackfish3d",
    new_recording: Annotated[
        Path | None,
        typer.Option(help="Also make this recording: the same detections with the new cameras, on the new clocks."),
    ] = None,
    poses: Annotated[
        bool, typer.Option(help="Cameras may have moved; where only the water did, --no-poses tells its height best.")
    ] = True,
    clocks: Annotated[bool, typer.Option(help="Clocks may be off: by whole frames, by fractions, in rate.")] = True,
    widest: Annotated[int, typer.Option(min=0, help="Frames by which a clock may be off.")] = 12,
    lenses: Annotated[
        bool, typer.Option(help="Focal lengths and distortion may change, where held-out tracks are better for it.")
    ] = True,
    index: Annotated[bool, typer.Option("--index", help="The water's refractive index may change.")] = False,
    rolling_shutter: Annotated[
        bool, typer.Option("--rolling-shutter", help="Cameras read their rows one after the other: fit how fast.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of tracking and adjusting, at most.")] = 5,
    window: Annotated[
        int | None,
        typer.Option(
            min=400,
            metavar="FRAMES",
            help="Look every so many frames whether a camera or the water was moved; each part gets its own "
            "calibration. Clocks are taken as they are.",
        ),
    ] = None,
    started: Annotated[
        datetime | None, typer.Option(help="With --window: when the first frame was filmed, to name day and hour.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Refine cameras, clocks and water from the animals a recording shows.

    A fifth of the tracks is held out, and judges: exit code 1, and nothing written, where new cameras explain them no
    better than the old ones, or where the tracks cannot tell. The recording's own calibration is never changed.
    """
    console = Console(width=120, highlight=False, markup=False, soft_wrap=True, emoji=False)
    source = Recording.open(recording)
    refuse_old(source, out, cameras, to, new_recording)
    if started is not None and window is None:
        raise InputError("--started goes with --window, which looks for moments at which cameras were moved")
    if window is not None:
        _parts(console, source, out, to, new_recording, window, (poses, lenses, index), cameras, started, as_json)
        return
    try:
        with Bars("refine") as bars:
            found = refine(
                source,
                clocks=clocks,
                widest=widest,
                lenses=lenses,
                index=index,
                readout=rolling_shutter,
                rounds=rounds,
                poses=poses,
                cameras=cameras,
                progress=lambda done, total: bars("refine", done, total),
            )
    except RefusedError as refused:
        print(f"refused: {refused}")
        raise typer.Exit(1) from None
    _finish(console, found, source, out, to, new_recording, as_json)


def _finish(
    console: Console,
    found: Refinement,
    source: Recording,
    out: Path,
    to: str,
    new_recording: Path | None,
    as_json: bool,
) -> None:
    """Say what was found, and write it where it is accepted."""
    if as_json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        for line in found.lines():
            console.print(line)
    if not found.accepted:
        raise typer.Exit(1)
    numbers, picture = write_refinement(found, source, out, to)
    if new_recording is not None:
        apply_refinement(found, source, new_recording)
    if not as_json:
        console.print(f"{out}, numbers {numbers}, picture {picture}")
        if found.offsets and new_recording is None:
            offsets = ", ".join(f"{name} = {frames}" for name, frames in found.offsets.items())
            console.print(f"clocks: --new-recording FOLDER applies them; whole frames to add: {offsets}")


def _parts(
    console: Console,
    source: Recording,
    out: Path,
    to: str,
    new_recording: Path | None,
    window: int,
    free: tuple[bool, bool, bool],
    cameras: Path | None,
    started: datetime | None,
    as_json: bool,
) -> None:
    """Refine in windows, say when what was moved, and write a calibration for each part."""
    poses, lenses, index = free
    with Bars("refine") as bars:
        parts = refine_parts(
            source,
            window,
            poses=poses,
            lenses=lenses,
            index=index,
            cameras=cameras,
            progress=lambda done, total: bars("refine", done, total),
        )
    fps = source.fps if source.info.fps_known else None
    paths = write_parts(parts, source, out, to)
    if new_recording is not None:
        apply_parts(parts, source, new_recording)
    if as_json:
        print(json.dumps([part.to_dict() for part in parts], indent=1))
        return
    for line in [*tell_parts(parts, fps, started), ", ".join(str(p) for p in paths)]:
        console.print(line)
