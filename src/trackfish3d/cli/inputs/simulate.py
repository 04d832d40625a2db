"""``trackfish3d simulate``: make recordings of schools that never lived, with everything known about them."""

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...core.settings import parse_settings
from ...pipeline.inputs import SPREAD
from ...pipeline.inputs import simulate as school
from ...pipeline.inputs import simulate_synfish as benchmark
from .._progress import Bars

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Out = Annotated[Path | None, typer.Option("--out", help="Folder of the new recording.")]
Detector = Annotated[
    str, typer.Option(help="ideal: exact masks; detector: the failures of a real one; pose: with parts.")
]
Video = Annotated[bool, typer.Option("--video", help="Render an RGB video of every camera as well.")]


@app.callback(invoke_without_command=True)
def simulate(
    context: typer.Context,
    fish: Annotated[int, typer.Option(help="Number of fish, 1 to 1000.")] = 16,
    rig: Annotated[str, typer.Option(help="0 to 6: the paper's; tank: 2 cameras through water; random:N.")] = "0",
    frames: Annotated[int, typer.Option(help="Number of frames.")] = 360,
    seed: Annotated[int, typer.Option(help="Same seed, same recording.")] = 0,
    out: Out = None,
    preset_name: Annotated[str | None, typer.Option("--preset", help="tank, open, milling or startle.")] = None,
    detector: Detector = "detector",
    sick: Annotated[int, typer.Option(help="How many fish are abnormal: slow, erratic, apart.")] = 0,
    length: Annotated[float | None, typer.Option(help="Body length, world units.")] = None,
    spread: Annotated[
        str | None, typer.Option(help=f"Half width and half height of the water, world units; {SPREAD} unless told.")
    ] = None,
    video: Video = False,
    film: Annotated[
        list[str] | None,
        typer.Option("--film", help="What makes the videos difficult, key=value; docs/synfish.md has the list."),
    ] = None,
) -> None:
    """Simulate a school in front of a rig, or (synfish) the whole benchmark."""
    if context.invoked_subcommand is not None:
        return
    if out is None:
        raise InputError("simulate: give the folder of the new recording with --out, or call 'simulate synfish'")
    with Bars() as bars:
        school(
            out,
            fish,
            rig,
            frames,
            seed,
            preset_name=preset_name,
            detector=detector,
            sick=sick,
            length=length,
            spread=spread,
            video=video,
            film=parse_settings(film or []),
            progress=bars,
            say=_say,
        )


@app.command()
def synfish(
    out: Annotated[Path, typer.Option("--out", help="Folder that gets one recording a scene.")],
    scenes: Annotated[str | None, typer.Option(help="Names of scenes, with commas; all without.")] = None,
    seed_offset: Annotated[int, typer.Option(help="Other schools of the same scenes.")] = 0,
    detector: Detector = "detector",
    video: Video = False,
    edition: Annotated[int, typer.Option(help="2; 1: the slower, looser schools of before.")] = 2,
) -> None:
    """Write the SynFish benchmark: 8 train and 6 test scenes, 30 fish, 100 fish, a sick fish."""
    names = None if scenes is None else [name.strip() for name in scenes.split(",")]
    if names is not None and not all(names):
        raise InputError(f"--scenes '{scenes}': a name is empty; give names with commas between, as in test1,test2")
    with Bars() as bars:
        benchmark(
            out,
            names,
            seed_offset=seed_offset,
            detector=detector,
            video=video,
            edition=edition,
            progress=bars,
            say=_say,
        )


def _say(line: str) -> None:
    print(line, flush=True)
