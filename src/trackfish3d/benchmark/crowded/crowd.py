"""Crowds drawn at random within stated ranges, so that no scene is tuned for or fitted to.

Draws of even number are for tuning, those of odd number are looked at only to report. A draw is a school, a rig and a
detector: what is drawn, and between which ends, stands in `Draw` and `draw_crowd`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cameras import CameraRig, Interface
from ...core.errors import InputError
from ...recordings import Detections, Recording, Truth
from ...synfish.body import BodyMesh
from ...synfish.detector import DetectorRates, FittedDetector
from ...synfish.observe import mesh_for, observe, pose_frame
from ...synfish.presets import preset
from ...synfish.rendering.raster import project_vertices, rectangles
from ...synfish.rigs import random_rig
from ...synfish.school import School, Water, simulate_school

Array = NDArray[np.float64]
FPS = 30.0
DRAWS = 24
MOTIONS = ("open", "milling", "tank", "startle")
_TARGET = np.array([2.0, -6.0, 20.0])
_DISTANCE, _FOCAL = 48.0, 1866.67  # of `random_rig`
_MEMORY = 0.85  # correlation of a box side's error from frame to frame
_SMALLEST = 3.0  # px, of a side of a box
_TRIES = 20


@dataclass(frozen=True)
class Draw:
    """One draw.

    fish : 8 to 80. frames : 120 to 180. cameras : 2 to 6. motion : preset of the school. pace : 0.6 to 1.5 times its
    speed. stride : every first to third frame is filmed. length : 2.0 to 3.2 world units. girth : 1 to 3 times as
    thick as usual. room : side of the cube that a fish has to itself, 1.1 to 2.0 body lengths.
    water : cameras look through a flat port. whole : boxes of whole bodies, of visible parts else. masks : centroids
    and moments of masks (visible parts only), middles of boxes else. jitter : 1 to 5 px. miss : 0 to 8 % of animals in
    full view, in bursts. visible_half : share of a body at which half are found, 0.15 to 0.5. merge : 0 to 60 % of
    missed animals that touch another join it. split : 0 to 2 %.
    """

    number: int
    fish: int
    frames: int
    cameras: int
    motion: str
    pace: float
    stride: int
    length: float
    girth: float
    room: float
    water: bool
    whole: bool
    masks: bool
    jitter: float
    miss: float
    visible_half: float
    merge: float
    split: float

    def words(self) -> str:
        """Say what was drawn."""
        boxes = "whole bodies" if self.whole else "masks" if self.masks else "visible parts"
        water = ", water" if self.water else ""
        return (
            f"{self.fish} fish, {self.motion} x {self.pace:.1f} / {self.stride}, room {self.room:.2f}, "
            f"girth {self.girth:.1f}, {self.cameras} cameras{water}; "
            f"{boxes}, jitter {self.jitter:.1f} px, missed {100 * self.miss:.0f} %"
        )


def draw_crowd(number: int, attempt: int = 0) -> Draw:
    """Return draw ``number``; another ``attempt`` where the school of the first would be a jam."""
    rng = np.random.default_rng([number, attempt, 20260])
    kind = number // 2 % 3  # both halves have as many of each
    return Draw(
        number=number,
        fish=int(np.exp(rng.uniform(np.log(8), np.log(80)))),
        frames=int(rng.integers(120, 181)),
        cameras=2 + number // 2 % 5,
        motion=MOTIONS[rng.integers(len(MOTIONS))],
        pace=float(rng.uniform(0.6, 1.5)),
        stride=int(rng.integers(1, 4)),
        length=float(rng.uniform(2.0, 3.2)),
        girth=float(rng.uniform(1.0, 3.0)),
        room=float(rng.uniform(1.1, 2.0)),
        water=bool(rng.integers(2)),
        whole=kind == 1,
        masks=kind == 2,
        jitter=float(rng.uniform(1.0, 5.0)),
        miss=float(rng.uniform(0.0, 0.08)),
        visible_half=float(rng.uniform(0.15, 0.5)),
        merge=float(rng.uniform(0.0, 0.6)),
        split=float(rng.uniform(0.0, 0.02)),
    )


def scene_name(number: int) -> str:
    """Name of a draw's scene."""
    return f"crowd{number:02d}"


def scene_number(name: str) -> int:
    """Return the draw of a scene's name."""
    if name.startswith("crowd") and name[5:].isdigit():
        return int(name[5:])
    raise InputError(f"scene '{name}' is no draw of crowd: they are crowd00, crowd01, ...")


def half_of(half: str) -> list[str]:
    """Return names of the draws of the half ``tune`` or ``report``."""
    if half not in ("tune", "report"):
        raise InputError(f"half '{half}' is not known; choose tune or report")
    return [scene_name(k) for k in range(int(half == "report"), DRAWS, 2)]


def write_crowd(number: int, folder: Path) -> Recording:
    """Simulate a draw and write it as a recording."""
    for attempt in range(_TRIES):
        draw = draw_crowd(number, attempt)
        try:
            school, rig = build(draw)
            break
        except InputError:  # a jam: fish block each other, or the rig misses the water
            if attempt == _TRIES - 1:
                raise
    detections, truth = observe_crowd(draw, school, rig)
    return Recording.create(
        folder, rig, fps=FPS, detections=detections, truth=truth, frames=(0, draw.frames), description=draw.words()
    )


def build(draw: Draw) -> tuple[School, CameraRig]:
    """School and rig of a draw; all cameras have all of the water in view, where the port allows."""
    side = draw.room * draw.length * draw.fish ** (1 / 3)
    half = 0.5 * side * np.array([1.1, 1.1, 1 / 1.21])
    settings = preset(draw.motion)
    pace = min(draw.pace * settings.cruise, 0.15)
    settings = settings.model_copy(update={"length": draw.length, "cruise": pace})
    water = Water.around(_TARGET, half)
    school = simulate_school(settings, water, draw.fish, draw.frames * draw.stride, 7000 + draw.number)
    school = _every(school, draw.stride)
    distance = max(_DISTANCE, 3.9 * float(half.max()))
    rig = random_rig(draw.cameras, 7000 + draw.number, _TARGET, distance)
    return school, _through_ports(rig, half, draw.number) if draw.water else rig


def _every(school: School, stride: int) -> School:
    """Return each ``stride``-th frame of a school."""
    films = ("position", "heading", "speed", "yaw_rate", "beat", "starting", "resting")
    filmed: dict[str, Any] = {k: np.ascontiguousarray(getattr(school, k)[::stride]) for k in films}
    return replace(school, **filmed)


def body_of(draw: Draw, school: School, rig: CameraRig) -> BodyMesh:
    """Return the body of this draw: the usual one, thicker."""
    mesh = mesh_for(school, rig)
    return replace(mesh, vertices=mesh.vertices * [1.0, draw.girth, draw.girth])


def _through_ports(rig: CameraRig, half: Array, seed: int) -> CameraRig:
    """Give each camera a flat port outside of the water, tilted against its axis by up to 0.2."""
    rng = np.random.default_rng([seed, 31])
    cameras = []
    for camera in rig:
        towards = (camera.centre - _TARGET) / np.linalg.norm(camera.centre - _TARGET)
        normal = towards + rng.uniform(-0.2, 0.2, 3)
        normal /= np.linalg.norm(normal)
        point = _TARGET + normal * (float(np.linalg.norm(half)) + 0.5)
        cameras.append(replace(camera, interfaces=(Interface(point=point, normal=normal),)))
    return CameraRig(tuple(cameras), rig.units)


def observe_crowd(draw: Draw, school: School, rig: CameraRig) -> tuple[Detections, Truth]:
    """Let the drawn detector see the school."""
    middle = np.mean([np.linalg.norm(c.centre - _TARGET) / c.K[0, 0] for c in rig])
    diagonal = 0.8 * draw.length / float(middle)  # px, of a usual box
    rates = DetectorRates.fitted().model_copy(
        update={
            "miss": draw.miss,
            "visible_half": draw.visible_half,
            "merge": 0.0 if draw.whole else draw.merge,
            "split": 0.0 if draw.whole else draw.split,
            "jitter": draw.jitter / diagonal,
        }
    )
    mesh = body_of(draw, school, rig)
    found, truth = observe(school, rig, FittedDetector(rates, draw.fish, len(rig), 7000 + draw.number), mesh=mesh)
    if draw.masks:
        return found, truth
    sides = {k: np.array(getattr(found, k)) for k in ("x1", "y1", "x2", "y2")}
    if draw.whole:
        _whole_boxes(draw, school, rig, mesh, truth, sides)
    u, v = 0.5 * (sides["x1"] + sides["x2"]), 0.5 * (sides["y1"] + sides["y2"])
    boxes = Detections.build(
        rig.names, found.frame, found.camera, u, v, sides["x1"], sides["y1"], sides["x2"], sides["y2"], found.score
    )
    return boxes, truth


def _whole_boxes(
    draw: Draw, school: School, rig: CameraRig, mesh: BodyMesh, truth: Truth, sides: dict[str, Array]
) -> None:
    """Replace the boxes of real animals by those of their whole bodies, with errors that last for some frames."""
    assert truth.detection is not None
    rng = np.random.default_rng([draw.number, 77])
    drift = rng.standard_normal((len(rig), draw.fish, 4))
    shown = truth.detection.reshape(draw.frames, draw.fish, len(rig))
    for t in range(draw.frames):
        vertices = pose_frame(school, mesh, t)
        drift = _MEMORY * drift + np.sqrt(1 - _MEMORY**2) * rng.standard_normal(drift.shape)
        for c, camera in enumerate(rig):
            box = rectangles(project_vertices(rig.packed[c], vertices), *camera.size) + draw.jitter * drift[c]
            row = shown[t, :, c]
            seen = row >= 0
            for low, high, k in (("x1", "x2", 0), ("y1", "y2", 1)):
                sides[low][row[seen]] = box[seen, k]
                sides[high][row[seen]] = np.maximum(box[seen, k + 2], box[seen, k] + _SMALLEST)
