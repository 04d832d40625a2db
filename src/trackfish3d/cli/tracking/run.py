"""``trackfish3d run``: from videos and a calibration to tracks and a report, in one line."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...core.progress import Progress
from ...core.settings import parse_settings
from ...detection.registry import detector_names
from ...methods.registry import DEFAULT_METHOD, method_names
from ...pipeline.run import run
from ...pipeline.stages import Listener
from ...pipeline.tracking import problems_of
from .._progress import Bars
from .track import scene_of


def command(
    videos: Annotated[
        list[str],
        typer.Argument(
            help="A video of each camera; CAMERA=FILE where names differ, CAMERA=FOLDER, CAMERA='GX*0001.MP4' or "
            "CAMERA=FILE+FILE where a film is in chapters."
        ),
    ],
    cameras: Annotated[Path, typer.Option(help="Calibration, in any format 'convert' reads.")],
    out: Annotated[Path, typer.Option(help="Folder of the recording; a stopped run goes on there.")],
    detector: Annotated[str, typer.Option(help=f"One of: {', '.join(detector_names())}.")] = "background",
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"One of: {', '.join(method_names())}.")
    ] = DEFAULT_METHOD,
    animals: Annotated[int | None, typer.Option(min=1, help="How many animals there are, where that is known.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Animals come and go.")] = False,
    closed: Annotated[bool, typer.Option("--closed", help="No animal can leave; who is lost is still there.")] = False,
    region: Annotated[
        str | None, typer.Option(help="Track there only: x0:x1,y0:y1,z0:z1, or a file of corners x y, from above.")
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Trained network of a method that has one.")] = None,
    learn: Annotated[bool, typer.Option("--learn", help="Let the network learn on this recording first.")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, key=value.")] = None,
    detect_set: Annotated[list[str] | None, typer.Option(help="A setting of the detector, key=value.")] = None,
    fps: Annotated[float | None, typer.Option(min=1e-6, help="Frames a second, where the videos are wrong.")] = None,
    time_offset: Annotated[
        list[str] | None, typer.Option(help="CAMERA=frames, added to its frame numbers. Repeatable.")
    ] = None,
    units: Annotated[str | None, typer.Option(help="Unit of the calibration's world, where it does not say.")] = None,
    water_plane: Annotated[
        str | None, typer.Option(metavar="PLANE", help="Water, where the calibration lacks it: z=0 or x,y,z,nx,ny,nz.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="True positions, for scores only: a recording, CSV or Parquet.")
    ] = None,
    gate: Annotated[float | None, typer.Option(help="Distance of a match for scores, world units.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Cameras detected at once; one a core by default.")] = None,
    look_again: Annotated[
        int, typer.Option(min=0, max=20, help="Rounds of looking at the films again with what the tracks expect.")
    ] = 1,
    again: Annotated[bool, typer.Option("--again", help="Do finished stages again.")] = False,
) -> None:
    """Detect, check, track and report: everything from videos to tracks.csv and report.html.

    Each stage is done once: a stopped run goes on where it stopped, and after a change of videos, calibration or
    settings only what depends on them is done again. Exit code 1 when the check finds something wrong or nothing could
    be tracked; tracks and report are written all the same.
    """
    with Bars() as bars:
        recording = run(
            videos,
            cameras,
            out,
            detector=detector,
            detector_settings=parse_settings(detect_set or []),
            method=method,
            settings=parse_settings(set_ or []),
            animals=animals,
            scene=scene_of(open_, closed),
            region=region,
            model=model,
            learn=learn,
            fps=fps,
            time_offset_frames=_offsets(time_offset or []),
            units=units,
            water_plane=water_plane,
            truth=truth,
            gate=gate,
            workers=workers,
            look_again=look_again,
            again=again,
            listener=StageBars(bars),
        )
    raise typer.Exit(1 if problems_of(recording) else 0)


class StageBars(Listener):
    """Shows a bar for the stage that is under way, on a terminal.

    Parameters
    ----------
    bars : where to show it.
    """

    def __init__(self, bars: Bars) -> None:
        self._bars = bars

    def begin(self, stage: str) -> Progress:
        """Show a new bar."""
        return self._bars.start(stage)

    def end(self, stage: str, text: str, before: bool) -> None:
        """Take the bar away and print the stage's lines."""
        if not before:
            self._bars.end(stage)
        super().end(stage, text, before)


def _offsets(texts: list[str]) -> dict[str, int]:
    offsets = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[+-]?\d{1,9}", value):
            raise InputError(f"--time-offset {text}: write CAMERA=frames, a whole number")
        offsets[name] = int(value)
    return offsets
