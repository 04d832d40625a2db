"""``trackfish3d check``: what a user runs first."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...core.errors import InputError
from ...health import Health
from ...health.intake import WINDOWS, take_in
from ...health.kept import keep_verdict
from ...health.picture import animals, draw_rig
from ...health.verdict import judge
from ...pipeline.refining import advise_refinement
from ...recordings import Recording


def command(
    recording: Annotated[Path, typer.Argument(help="The recording's folder.")],
    picture: Annotated[
        Path | None, typer.Option(help="Where to draw the rig (PNG); RECORDING/rig.png by default.")
    ] = None,
    frames: Annotated[int, typer.Option(min=10, help="How many frames to compare.")] = 200,
    advice: Annotated[bool, typer.Option(help="Also try whether 'refine' would help: up to half a minute.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Tell whether cameras, synchronisation and water are good enough, without ground truth.

    Detections of any two cameras are matched as well as they can be; what is left over is the residual. It is
    compared with views of another time or place (chance), with each camera shifted in time, with films exchanged, with
    and without water, and with other lenses and poses. Exit code 1 when something is wrong; what cannot be told is
    said, with exit code 0. Of a long recording a sample is compared. The verdict is kept in ``check.json``, for the
    report and the viewer.
    """
    rec = Recording.open(recording)
    intake = take_in(rec)
    health = judge(rec, intake, frames)
    with suppress(InputError, OSError):  # a folder that cannot be written to gets its verdict all the same
        keep_verdict(rec.folder, health)
    path = picture or rec.folder / "rig.png"
    drawn = f"the rig: {path}"
    try:
        draw_rig(rec.rig, animals(rec.rig, intake.detections), path)
    except (InputError, OSError) as error:  # the verdict is worth more than the picture
        drawn = f"the rig could not be drawn: {error}; --picture names another place"
    better = advise_refinement(rec) if advice and intake.whole and len(intake.detections) else None
    if as_json:
        typer.echo(json.dumps(health.to_dict() | {"refinement": better}, indent=1))
    else:
        _show(health, rec, drawn, intake.whole)
        if better is not None:
            typer.echo(better)
    raise typer.Exit(1 if health.problems else 0)


LEANING = (
    "a smaller residual at another time is no late clock by itself: middles of boxes that lie ahead of or behind an\n"
    "animal's own do the same while it swims; the verdict weighs both"
)


def _least_elsewhere(health: Health) -> bool:
    """Whether the residual of a camera is clearly smaller at another time: a reader would take that for its clock."""
    for camera in health.cameras:
        here = dict(zip(health.shifts, camera.shift_error_px, strict=True))
        if min(here.values()) < 0.9 * here[0]:
            return True
    return False


def _show(health: Health, recording: Recording, drawn: str, whole: bool) -> None:
    console = Console(width=120, markup=False, emoji=False)
    table = Table(box=None, pad_edge=False)
    for name in ("camera", "frames", "gaps (frames)", "detections", "per frame", "residual px", "with partner"):
        table.add_column(name, justify="left" if name == "camera" else "right")
    for c in health.cameras:
        table.add_row(
            c.name,
            str(c.frames),
            f"{c.gaps} ({c.missing_frames})",
            str(c.detections),
            f"{c.detections / max(c.frames, 1):.1f}",
            f"{c.residual_px:.1f}",
            f"{100 * c.partner_share:.0f} %",
        )
    console.print(table)
    if len(health.cameras) > 1:
        typical, chance = health.typical_error_px, health.chance_error_px
        console.print(f"\ntypical residual {typical:.1f} px; by chance {chance:.1f} px", highlight=False)
        windows = "" if whole else f", spread over {WINDOWS} windows of a recording too long to be read as a whole"
        text = f"compared in {health.frames_compared} of {health.frames} frames{windows}"
        console.print(text, highlight=False, soft_wrap=True)
        if recording.rig.refractive:
            console.print(f"without the water {health.other_water_px:.1f} px", highlight=False)
        elif health.water is not None:
            console.print(f"with a guessed flat water surface {health.water.with_px:.1f} px", highlight=False)
        shifts = Table(
            box=None, pad_edge=False, title="\nmean residual in px if a camera were late by", title_justify="left"
        )
        for head in ("camera", *(f"{s:+d}" for s in health.shifts)):
            shifts.add_column(head, justify="left" if head == "camera" else "right")
        for c in health.cameras:
            shifts.add_row(c.name, *(f"{e:.1f}" for e in c.shift_error_px))
        console.print(shifts)
        if not health.problems and _least_elsewhere(health):
            console.print(LEANING, highlight=False, soft_wrap=True)
    console.print(f"\n{drawn}", highlight=False, soft_wrap=True)
    for note in health.notes:
        console.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
    for problem in health.problems:
        console.print(problem, style="bold red", markup=False, highlight=False, soft_wrap=True)
    if not health.problems:
        verdict = "nothing wrong was found" if health.notes else "good: the cameras agree"
        console.print(verdict, style="bold green")
