"""``trackfish3d simulate``: make recordings of schools that never lived, with everything known about them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ...cameras import CameraRig
from ...core.errors import InputError
from ...synfish.film import write_videos
from ...synfish.presets import SchoolSettings, preset
from ...synfish.rigs import common_point, paper_rig, random_rig, tank_rig, tank_water
from ...synfish.scenes import FPS, Scene, benchmark_scenes, refuse_leftovers, write_scene, write_school
from ...synfish.school import School, Water, body_volume, school_statistics, simulate_school

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Out = Annotated[Path | None, typer.Option("--out", help="Folder of the new recording.")]
Detector = Annotated[str, typer.Option(help="ideal: exact masks; detector: the failures of a real one.")]
SPREAD = "8,6"
ROOMY = 0.04  # share of the water that a school fills whose length was not asked for
Video = Annotated[bool, typer.Option("--video", help="Render an RGB video of every camera as well.")]


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    # Off a terminal a finished bar would leave an empty line in the log, and before the one line of an error.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def _rig_and_water(name: str, seed: int, spread: str | None) -> tuple[CameraRig, Water]:
    """Rig ``0``..``6`` of the paper, ``tank``, or ``random:N``, and the water before it."""
    if name == "tank":
        if spread is not None:
            raise InputError(f"--spread {spread}: the tank has its own water; leave --spread out, or take another rig")
        return tank_rig(), tank_water()
    spread = SPREAD if spread is None else spread
    try:
        half = [float(v) for v in spread.split(",")]
        rig = random_rig(int(name[7:]), seed) if name.startswith("random:") else paper_rig(int(name))
    except ValueError:
        raise InputError(
            f"--rig {name} --spread {spread}: a rig is 0 to 6, tank or random:N (2 to 8 cameras), a spread two numbers"
        ) from None
    if len(half) != 2 or not min(half) > 0:
        raise InputError(f"--spread {spread}: give half width and half height of the school's water, as in 8,6")
    return rig, Water.around(common_point(rig), np.array([half[0], half[0], half[1]]))


def _settings(name: str | None, rig: str, length: float | None, fish: int, water: Water) -> SchoolSettings:
    """Preset with the length asked for; without one, as long as leaves a school of that size room to swim."""
    settings = preset(name or ("tank" if rig == "tank" else "milling"))
    if length is None:
        roomy = (ROOMY * water.volume / (max(fish, 1) * body_volume(1.0))) ** (1 / 3)
        length = min(settings.length, round(roomy, 2))
    if not length > 0:
        raise InputError(f"--length {length}: a fish has a length above 0")
    return settings.model_copy(update={"length": length})


def describe(name: str, school: School) -> str:
    """One line of statistics: how the school swam, and that it kept the rules."""
    s = school_statistics(school)
    return (
        f"{name}: speed {s['mean_speed']:.3f} a frame ({s['speed_body_lengths']:.3f} body lengths), "
        f"turning {s['mean_turn_deg']:.2f} deg a frame (largest {s['largest_turn_deg']:.1f}), "
        f"largest step {s['largest_step']:.2f} x cruising speed, nearest bodies {s['clearance']:.3f} apart, "
        f"nearest wall {s['margin']:.3f}, blocked {100 * s['standstill']:.1f} % of the time"
    )


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
) -> None:
    """Simulate a school in front of a rig, or (synfish) the whole benchmark."""
    if context.invoked_subcommand is not None:
        return
    if out is None:
        raise InputError("simulate: give the folder of the new recording with --out, or call 'simulate synfish'")
    if fish > 1000:
        raise InputError(f"--fish {fish}: at most 1000")
    if seed < 0:
        raise InputError(f"--seed {seed}: a seed is zero or more")
    cameras, water = _rig_and_water(rig, seed, spread)
    refuse_leftovers(out, cameras.names if video else ())
    settings = _settings(preset_name, rig, length, fish, water)
    school = simulate_school(settings, water, fish, frames, seed, sick)
    fps = settings.fps or (60.0 if rig == "tank" else FPS)
    with _bar(out.name, frames) as progress:
        what = f"{fish} fish, rig {rig}, seed {seed}"
        recording = write_school(school, cameras, out, detector, seed, fps, what, progress)
    if video:
        with _bar(f"{out.name} video", frames * len(cameras)) as progress:
            write_videos(school, cameras, out, fps, seed, progress)
    print(describe(out.name, school))
    print(f"{out}: {fish} fish of length {settings.length:g}, {frames} frames, {len(recording.detections)} detections")


@app.command()
def synfish(
    out: Annotated[Path, typer.Option("--out", help="Folder that gets one recording a scene.")],
    scenes: Annotated[str | None, typer.Option(help="Names of scenes, with commas; all without.")] = None,
    seed_offset: Annotated[int, typer.Option(help="Other schools of the same scenes.")] = 0,
    detector: Detector = "detector",
    video: Video = False,
) -> None:
    """Write the SynFish benchmark: 8 train and 6 test scenes, 30 fish, 100 fish, a sick fish."""
    if seed_offset < 0:
        raise InputError(f"--seed-offset {seed_offset}: give zero or more")
    names = None if scenes is None else [name.strip() for name in scenes.split(",")]
    if names is not None and not all(names):
        raise InputError(f"--scenes '{scenes}': a name is empty; give names with commas between, as in test1,test2")
    chosen: list[Scene] = benchmark_scenes(names)
    for scene in chosen:
        folder = out / scene.name
        refuse_leftovers(folder, paper_rig(scene.rig).names if video else ())
        with _bar(scene.name, scene.frames) as progress:
            recording, school = write_scene(scene, folder, detector, seed_offset, progress)
        if video:
            with _bar(f"{scene.name} video", scene.frames * len(recording.rig)) as progress:
                write_videos(school, recording.rig, folder, FPS, scene.seed + 1000 * seed_offset, progress)
        print(describe(scene.name, school), flush=True)
