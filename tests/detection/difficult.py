"""Small rendered films of four fish under difficult conditions, and how many of them a detector finds."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.detection.camera_job import see_film
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video
from trackfish3d.synfish.film import write_videos
from trackfish3d.synfish.rendering.conditions import Conditions, rested
from trackfish3d.synfish.scenes import benchmark_scenes
from trackfish3d.synfish.school import School

SIZE, FRAMES = (480, 270), 72


@dataclass
class Found:
    """Which fish (T, N) were found, detections (T,) that are none, and what was said."""

    fish: np.ndarray
    extra: np.ndarray
    notes: list[str]


def scene(conditions: Conditions) -> tuple[School, CameraRig]:
    """Four fish of a train scene before one camera."""
    chosen = benchmark_scenes(["train3"], 1)[0].model_copy(update={"fish": 4, "length": 4.5, "frames": FRAMES})
    school, rig = chosen.build(3)
    K = rig["cam0"].K.copy()
    K[:2] *= SIZE[0] / rig["cam0"].size[0]
    return rested(school, conditions), CameraRig((replace(rig["cam0"], size=SIZE, K=K),), rig.units)


def film(folder: Path, fps: float = 30.0, **values: object) -> Found:
    """Film, detect, and count detections within half a body's picture of the true middles."""
    conditions = Conditions.model_validate(values)
    school, rig = scene(conditions)
    write_videos(school, rig, folder, fps, 5, None, conditions)
    camera = rig["cam0"]
    notes, seen = see_film(Video.open(folder / "videos" / "cam0.mp4"), make_detector("background"))
    fish, extra = np.zeros((FRAMES, 4), bool), np.zeros(FRAMES, int)
    for picture, found in seen:
        place = camera.project(school.position[picture.number])
        if conditions.nudge_frame is not None and picture.number >= conditions.nudge_frame:
            place = place + conditions.nudge_px * np.array([1.0, 0.5])
        depth = np.linalg.norm(school.position[picture.number] - camera.centre, axis=1)
        near = 0.5 * school.length * camera.K[0, 0] / depth
        apart = np.hypot(place[:, :1] - found.columns["u"], place[:, 1:] - found.columns["v"]) < near[:, None]
        fish[picture.number] = apart.any(axis=1)
        extra[picture.number] = int((~apart.any(axis=0)).sum())
    return Found(fish, extra, notes)
