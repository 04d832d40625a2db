"""Recordings to begin with: simulated schools, with everything known about them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..cameras import CameraRig
from ..core.errors import InputError
from ..core.progress import Say, TaskProgress, of_task, silent_tasks
from ..core.settings import make_settings
from ..recordings import Recording
from ..synfish.film import write_videos
from ..synfish.presets import SchoolSettings, preset
from ..synfish.rendering.conditions import Conditions, rested
from ..synfish.rigs import common_point, paper_rig, random_rig, tank_rig, tank_water
from ..synfish.scenes import EDITION, FPS, Scene, benchmark_scenes, refuse_leftovers, write_scene, write_school
from ..synfish.school import School, Water, body_volume, school_statistics, simulate_school

SPREAD = "8,6"
ROOMY = 0.04  # share of the water that a school fills whose length was not asked for


def simulate(
    out: str | Path,
    fish: int = 16,
    rig: str = "0",
    frames: int = 360,
    seed: int = 0,
    *,
    preset_name: str | None = None,
    detector: str = "detector",
    sick: int = 0,
    length: float | None = None,
    spread: str | None = None,
    video: bool = False,
    film: Mapping[str, Any] | None = None,
    progress: TaskProgress | None = None,
    say: Say | None = None,
) -> Recording:
    """Simulate a school in front of a rig, and write the recording.

    Parameters
    ----------
    out : folder of the new recording.
    fish : number of fish, 1 to 1000.
    rig : ``0`` to ``6``: the paper's; ``tank``: two cameras through water; ``random:N``: N cameras.
    frames : number of frames.
    seed : same seed, same recording.
    preset_name : how fish swim.
    detector : ``ideal``: exact masks; ``detector``: the failures of a real one; ``pose``: of one that gives parts.
    sick : how many fish are abnormal: slow, erratic, apart.
    length : body length, world units; by default as long as leaves the school room to swim.
    spread : half width and half height of the water, world units, as in ``8,6``.
    video : whether an RGB video of every camera is rendered as well.
    film : what makes the videos difficult, by name: ``{"light_drift": 0.3}``; see `synfish.rendering.conditions`.
    progress : called with what is being made, steps done and steps in all.
    say : called with a line about each school.
    """
    conditions = make_settings(Conditions, film or {}, "--film")
    if film and not video:
        raise InputError("--film: belongs to --video")
    folder, tell = Path(out), progress or silent_tasks
    if fish > 1000:
        raise InputError(f"--fish {fish}: at most 1000")
    if seed < 0:
        raise InputError(f"--seed {seed}: a seed is zero or more")
    cameras, water = _rig_and_water(rig, seed, spread)
    refuse_leftovers(folder, cameras.names if video else ())
    settings = _settings(preset_name, rig, length, fish, water)
    school = rested(simulate_school(settings, water, fish, frames, seed, sick), conditions)
    fps = settings.fps or (60.0 if rig == "tank" else FPS)
    what = f"{fish} fish, rig {rig}, seed {seed}"
    recording = write_school(school, cameras, folder, detector, seed, fps, what, of_task(tell, folder.name))
    if video:
        write_videos(school, cameras, folder, fps, seed, of_task(tell, f"{folder.name} video"), conditions)
    if say is not None:
        size = f"{frames} frames, {len(recording.detections)} detections"
        say(describe(folder.name, school))
        say(f"{folder}: {fish} fish of length {settings.length:g}, {size}")
    return recording


def simulate_synfish(
    out: str | Path,
    scenes: Sequence[str] | None = None,
    *,
    seed_offset: int = 0,
    detector: str = "detector",
    video: bool = False,
    edition: int = EDITION,
    progress: TaskProgress | None = None,
    say: Say | None = None,
) -> dict[str, Recording]:
    """Write scenes of the SynFish benchmark, a recording each.

    Parameters
    ----------
    out : folder that gets one recording a scene.
    scenes : names of scenes; all by default.
    seed_offset : other schools of the same scenes.
    detector : as in `simulate`.
    video : whether videos are rendered as well.
    edition : 2, or 1 for the slower and looser schools of before.
    progress : called with what is being made, steps done and steps in all.
    say : called with a line about each school.
    """
    if seed_offset < 0:
        raise InputError(f"--seed-offset {seed_offset}: give zero or more")
    tell = progress or silent_tasks
    chosen: list[Scene] = benchmark_scenes(None if scenes is None else list(scenes), edition)
    made = {}
    for scene in chosen:
        folder = Path(out) / scene.name
        refuse_leftovers(folder, paper_rig(scene.rig).names if video else ())
        recording, school = write_scene(scene, folder, detector, seed_offset, of_task(tell, scene.name))
        if video:
            seed = scene.seed + 1000 * seed_offset
            write_videos(school, recording.rig, folder, FPS, seed, of_task(tell, f"{scene.name} video"))
        if say is not None:
            say(describe(scene.name, school))
        made[scene.name] = recording
    return made


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
