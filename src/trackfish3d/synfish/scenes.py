"""The benchmark: the paper's 8 train and 6 test scenes, and three more, each a recording with truth.

What a scene is stands in ``data/scenes.json``. The paper gives fish, frames, rig and %Overlap; the spread of the
school and the length of its fish were chosen once, per scene, so that %Overlap, the audit of pseudo-labels and
the geometric baseline come out as published. Nothing else differs between scenes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from ..cameras import CameraRig
from ..core.errors import InputError
from ..core.progress import Progress
from ..core.settings import Settings
from ..recordings import Recording
from .detector import make_detector
from .observe import observe
from .presets import SchoolSettings, preset
from .rigs import common_point, paper_rig
from .school import School, Water, simulate_school

PRESET = "milling"
FPS = 30.0


class Scene(Settings):
    """One scene of the benchmark; ``spread`` is half the width and half the height of the school's volume."""

    name: str
    split: str
    fish: int = Field(ge=1)
    frames: int = Field(ge=1)
    rig: int
    spread: tuple[float, float]
    length: float
    seed: int
    abnormal: int = 0
    occlusion: str | None = None
    paper_overlap: float | None = None

    def settings(self) -> SchoolSettings:
        """Behaviour of the school: the common preset with this scene's length."""
        return preset(PRESET).model_copy(update={"length": self.length})

    def build(self, seed_offset: int = 0) -> tuple[School, CameraRig]:
        """Simulate the school of this scene; another ``seed_offset`` gives another school of the same kind."""
        rig = paper_rig(self.rig)
        half = np.array([self.spread[0], self.spread[0], self.spread[1]])
        water = Water.around(common_point(rig), half)
        seed = self.seed + 1000 * seed_offset
        return simulate_school(self.settings(), water, self.fish, self.frames, seed, self.abnormal), rig


def _data() -> dict[str, Any]:
    return json.loads(resources.files("trackfish3d.synfish").joinpath("data/scenes.json").read_text())  # type: ignore[no-any-return]


def benchmark_scenes(names: Sequence[str] | None = None) -> list[Scene]:
    """Return all scenes, or the named ones, in the benchmark's order."""
    scenes = [Scene.model_validate(entry) for entry in _data()["scenes"]]
    if names is None:
        return scenes
    known = {scene.name for scene in scenes}
    for name in names:
        if name not in known:
            raise InputError(f"scene '{name}' is not in the benchmark; it has {', '.join(s.name for s in scenes)}")
    return [scene for scene in scenes if scene.name in names]


def paper_audit() -> dict[int, tuple[float, float]]:
    """Return published precision and recall (percent) of pseudo-positives, by number of fish."""
    return {int(fish): (row[0], row[1]) for fish, row in _data()["paper_audit"].items()}


def refuse_leftovers(folder: Path, videos: Sequence[str] = ()) -> None:
    """Refuse a folder with tracks, or videos other than ``videos``, of an earlier recording: they would not fit."""
    shot = sorted(path.name for path in (folder / "videos").glob("*") if path.stem not in videos)
    left = [name for name in ("tracks.parquet", "tracks.csv") if (folder / name).exists()]
    left += [f"videos/{name}" for name in shot]
    if left:
        raise InputError(f"{folder}: has {left[0]} of an earlier recording; give a new folder to --out, or delete it")


def write_scene(
    scene: Scene, folder: Path, detector: str = "detector", seed_offset: int = 0,
    progress: Progress | None = None,
) -> tuple[Recording, School]:  # fmt: skip
    """Simulate a scene and write it as a recording."""
    school, rig = scene.build(seed_offset)
    return write_school(
        school, rig, folder, detector, scene.seed + 1000 * seed_offset, FPS, f"SynFish {scene.name}", progress
    ), school


def write_school(
    school: School, rig: CameraRig, folder: Path, detector: str, seed: int, fps: float, description: str,
    progress: Progress | None = None,
) -> Recording:  # fmt: skip
    """Observe a school through a rig and write the recording."""
    frames, fish = school.position.shape[:2]
    detections, truth = observe(school, rig, make_detector(detector, fish, len(rig), seed), progress)
    return Recording.create(
        folder, rig, fps=fps, detections=detections, truth=truth, frames=(0, frames), description=description
    )
