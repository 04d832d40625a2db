"""The benchmark: the paper's 8 train and 6 test scenes, and three more, each a recording with truth.

What a scene is stands in ``data/scenes_<edition>.json``. The paper gives fish, frames, rig and %Overlap. In the second
edition, the one in use, all schools are of one kind of fish in one volume of water and swim as fast as the paper's
gates allow; one number a scene, how close its school keeps together, was chosen so that %Overlap, the audit of
pseudo-labels and the geometric baseline come out as published (``benchmarks/calibrate_scenes.py``). In the first the
spread of the school and the length of its fish were chosen for every scene, and fish are slow; it stays for comparison.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
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
from .pose_detector import see_parts, true_poses
from .presets import SchoolSettings, preset
from .rigs import common_point, paper_rig
from .school import BlockedSchoolError, School, Water, simulate_school

PRESET = "milling"
FPS = 30.0
POSE = "pose"  # a detector of bodies with parts
EDITIONS = (1, 2)
EDITION = 2
DRAWS = 10  # of a school whose fish block each other
OTHER_DRAW = 1_000_000  # between the seeds of two draws; offsets are thousands


class Scene(Settings):
    """One scene of the benchmark.

    ``spread`` is half the width and half the height of the school's volume, ``speed`` the cruising speed, world units a
    frame, ``cohesion`` how close the school keeps together: see `cohesive`. Without the last two the school is that of
    the first edition.
    """

    name: str
    split: str
    fish: int = Field(ge=1)
    frames: int = Field(ge=1)
    rig: int
    spread: tuple[float, float]
    length: float
    seed: int
    speed: float | None = None
    cohesion: float | None = None
    abnormal: int = 0
    occlusion: str | None = None
    paper_overlap: float | None = None

    def settings(self) -> SchoolSettings:
        """Behaviour of the school: the common preset with this scene's length, speed and cohesion."""
        if self.cohesion is None or self.speed is None:
            return preset(PRESET).model_copy(update={"length": self.length})
        return cohesive(self.length, self.speed, self.cohesion)

    def build(self, seed_offset: int = 0) -> tuple[School, CameraRig]:
        """Simulate the school of this scene; another ``seed_offset`` gives another school of the same kind.

        A school that keeps close may end up in a corner where its fish block each other; then it is drawn again.
        """
        rig = paper_rig(self.rig)
        half = np.array([self.spread[0], self.spread[0], self.spread[1]])
        water = Water.around(common_point(rig), half)
        seed = self.seed + 1000 * seed_offset

        def drawn(draw: int) -> School:
            one = seed + draw * OTHER_DRAW
            return simulate_school(self.settings(), water, self.fish, self.frames, one, self.abnormal)

        for draw in range(DRAWS - 1):
            with suppress(BlockedSchoolError):
                return drawn(draw), rig
        return drawn(DRAWS - 1), rig


def cohesive(length: float, speed: float, cohesion: float) -> SchoolSettings:
    """Behaviour of a school that keeps together.

    Parameters
    ----------
    length : float
        Body length, world units.
    speed : float
        Cruising speed, world units a frame.
    cohesion : float
        From -0.5 (fish all over the water) by 0 (a loose shoal) to 1.5 (a tight, aligned school).
    """
    update = {
        "length": length,
        "cruise": speed / length,
        "attraction": 0.12 * 12.0**cohesion,
        "spacing": max(0.55 * (1 - cohesion), 0.0),
        "repulsion_radius": max(0.8 - 0.6 * cohesion, 0.05),
        "alignment": 0.5 + cohesion,
        "alignment_radius": 3.5,
        "milling": 0.3,
        "wander": 0.1,
        "burst_chance": 0.01,
        "speed_variation": 0.03,
    }
    return SchoolSettings.model_validate(preset(PRESET).model_dump() | update)


def _data(edition: int = EDITION) -> dict[str, Any]:
    if edition not in EDITIONS:
        raise InputError(f"edition {edition} of SynFish is not known; there are {', '.join(map(str, EDITIONS))}")
    path = resources.files("trackfish3d.synfish").joinpath(f"data/scenes_{edition}.json")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def _given(data: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Length, speed and water that a scene of the second edition shares with the others of its rig."""
    if "cohesion" not in entry:
        return {}
    return data["water"] | data["water_of_rig"].get(str(entry["rig"]), {})  # type: ignore[no-any-return]


def benchmark_scenes(names: Sequence[str] | None = None, edition: int = EDITION) -> list[Scene]:
    """Return all scenes of an edition, or the named ones, in the benchmark's order."""
    data = _data(edition)
    scenes = [Scene.model_validate(_given(data, entry) | entry) for entry in data["scenes"]]
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
    scene: Scene,
    folder: Path,
    detector: str = "detector",
    seed_offset: int = 0,
    progress: Progress | None = None,
) -> tuple[Recording, School]:
    """Simulate a scene and write it as a recording."""
    school, rig = scene.build(seed_offset)
    return write_school(
        school, rig, folder, detector, scene.seed + 1000 * seed_offset, FPS, f"SynFish {scene.name}", progress
    ), school


def write_school(
    school: School,
    rig: CameraRig,
    folder: Path,
    detector: str,
    seed: int,
    fps: float,
    description: str,
    progress: Progress | None = None,
) -> Recording:
    """Observe a school through a rig and write the recording."""
    frames, fish = school.position.shape[:2]
    bodies = "detector" if detector == POSE else detector
    detections, truth = observe(school, rig, make_detector(bodies, fish, len(rig), seed), progress)
    poses = true_poses(school) if detector == POSE else None
    if poses is not None:
        detections = see_parts(detections, truth, poses, rig, seed)
    return Recording.create(
        folder,
        rig,
        fps=fps,
        detections=detections,
        truth=truth,
        truth_poses=poses,
        frames=(0, frames),
        description=description,
    )
