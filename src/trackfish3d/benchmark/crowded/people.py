"""Gatherings drawn at random: upright bodies on a floor, who walk, stand and hide each other from four corners.

Made to tune what real rooms of people (`cmc`) are only reported for. Draws of even number are for tuning.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...cameras import Camera, CameraRig
from ...core.errors import InputError
from ...recordings import Detections, Recording
from ...synfish.body import BodyMesh
from ...synfish.detector import DetectorRates, FittedDetector
from ...synfish.observe import observe
from ...synfish.school import School, Water

Array = NDArray[np.float64]
FPS = 4.0
GATE_M = 0.5
_SIZE = (960, 512)  # px, half of what such cameras have
_PERSONAL = 0.42  # m, that people keep
# From the floor to the crown: height, half width (shoulders), half depth, as shares of the height.
_FIGURE = np.array([
    (0.00, 0.07, 0.06), (0.03, 0.09, 0.07), (0.25, 0.09, 0.05), (0.47, 0.12, 0.07), (0.60, 0.12, 0.07),
    (0.78, 0.15, 0.07), (0.83, 0.10, 0.05), (0.87, 0.05, 0.05), (0.94, 0.05, 0.06), (1.00, 0.01, 0.01),
])  # fmt: skip


@dataclass(frozen=True)
class Gathering:
    """One draw.

    people : 6 to 15. frames : 120 to 200. floor : sides, 3.5 to 6 m. pace : 0.4 to 1.2 m/s. standing : share of
    time, 0 to 60 %. jitter : of limbs that move and of the detector, 1 to 4 % of a box's diagonal. turned : error of
    the cameras' calibration, 0 to 0.6 degrees. miss : 0 to 6 %. visible_half : share of a body at which half are found,
    0.15 to 0.5. merge : 0 to 30 %. clutter : 0 to 6 % of boxes.
    """

    number: int
    people: int
    frames: int
    floor: tuple[float, float]
    pace: float
    standing: float
    jitter: float
    turned: float
    miss: float
    visible_half: float
    merge: float
    clutter: float

    def words(self) -> str:
        """Say what was drawn."""
        return (
            f"{self.people} people on {self.floor[0]:.1f} x {self.floor[1]:.1f} m, {self.pace:.1f} m/s, "
            f"missed {100 * self.miss:.0f} %"
        )


def draw_gathering(number: int) -> Gathering:
    """Return draw ``number``."""
    rng = np.random.default_rng([number, 4711])
    return Gathering(
        number=number,
        people=int(rng.integers(6, 16)),
        frames=int(rng.integers(120, 201)),
        floor=(float(rng.uniform(3.5, 6.0)), float(rng.uniform(3.5, 6.0))),
        pace=float(rng.uniform(0.4, 1.2)),
        standing=float(rng.uniform(0.0, 0.6)),
        jitter=float(rng.uniform(0.01, 0.04)),
        turned=float(rng.uniform(0.0, 0.6)),
        miss=float(rng.uniform(0.0, 0.06)),
        visible_half=float(rng.uniform(0.15, 0.5)),
        merge=float(rng.uniform(0.0, 0.3)),
        clutter=float(rng.uniform(0.0, 0.06)),
    )


def gathering_number(name: str) -> int:
    """Return the draw of a scene's name."""
    if name.startswith("people") and name[6:].isdigit():
        return int(name[6:])
    raise InputError(f"scene '{name}' is no gathering: they are people00, people01, ...")


def figure(segments: int = 10) -> BodyMesh:
    """Return an upright body of height 1 about its middle."""
    angle = 2 * np.pi * np.arange(segments) / segments
    ring = np.empty((len(_FIGURE), segments, 3))
    ring[..., 0] = _FIGURE[:, 2:3] * np.cos(angle)
    ring[..., 1] = _FIGURE[:, 1:2] * np.sin(angle)
    ring[..., 2] = _FIGURE[:, :1] - 0.5
    faces = []
    for i in range(len(_FIGURE) - 1):
        for j in range(segments):
            a, b = i * segments + j, i * segments + (j + 1) % segments
            faces += [(a, b, a + segments), (b, b + segments, a + segments)]
    vertices = ring.reshape(-1, 3)
    return BodyMesh(vertices, np.zeros_like(vertices), np.array(faces, np.int32), np.zeros(len(vertices), bool), 0.0)


def walk(draw: Gathering) -> School:
    """Let people walk from place to place, keep their distance, and stand now and then."""
    rng = np.random.default_rng([draw.number, 4712])
    n, steps = draw.people, 8  # of the walk in a frame
    low, high = np.zeros(2), np.array(draw.floor)
    place, goal = rng.uniform(low, high, (n, 2)), rng.uniform(low, high, (n, 2))
    velocity, stands = np.zeros((n, 2)), np.zeros(n)
    height = rng.uniform(1.55, 1.9, n)
    pace = draw.pace * rng.uniform(0.7, 1.3, n)
    heading, film, course = rng.standard_normal((n, 2)), [], []
    dt = 1.0 / (FPS * steps)
    for k in range((draw.frames + 20) * steps):
        way = goal - place
        far = np.linalg.norm(way, axis=1, keepdims=True)
        there = far[:, 0] < 0.3
        stands = np.where(there, rng.exponential(6.0 * draw.standing + 1e-9, n), np.maximum(stands - dt, 0.0))
        goal[there] = rng.uniform(low, high, (int(there.sum()), 2))
        wish = np.where(stands[:, None] > 0, 0.0, pace[:, None] * way / np.maximum(far, 1e-9))
        apart = place[:, None] - place[None]
        gap = np.linalg.norm(apart, axis=2) + 1e-9
        push = np.clip(1.6 * _PERSONAL - gap, 0.0, None) * ~np.eye(n, dtype=bool)
        wish += 6.0 * (push[..., None] * apart / gap[..., None]).sum(1)
        velocity += 4.0 * dt * (wish - velocity)
        place = np.clip(place + dt * velocity, low, high)
        fast = np.linalg.norm(velocity, axis=1) > 0.15
        turned = heading[fast] + 4.0 * dt * velocity[fast] / np.linalg.norm(velocity[fast], axis=1, keepdims=True)
        heading[fast] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        if k % steps == 0:
            film.append(place.copy())
            course.append(heading / np.linalg.norm(heading, axis=1, keepdims=True))
    path, ahead = np.stack(film[20:]), np.stack(course[20:])
    shape = path.shape[:2]
    still, no = np.zeros(shape), np.zeros(shape, bool)
    return School(
        water=Water(np.array([0.0, 0.0, 0.0]), np.array([*high, 1.8])),
        position=np.dstack([path, np.broadcast_to(0.5 * height, shape)]),
        heading=np.dstack([ahead, still]),
        speed=still,
        yaw_rate=still,
        beat=still,
        length=height,
        shade=np.ones(n),
        cruise=np.ones(n),
        abnormal=np.zeros(n, bool),
        starting=no,
        resting=no,
    )


def room(draw: Gathering) -> CameraRig:
    """Four cameras in the corners, 1 to 2 m outside of the floor and 2.2 to 2.9 m above it."""
    rng = np.random.default_rng([draw.number, 4713])
    wide, deep = draw.floor
    cameras = []
    for k, (x, y) in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
        out = rng.uniform(1.0, 2.0, 2)
        centre = np.array([x * wide + (2 * x - 1) * out[0], y * deep + (2 * y - 1) * out[1], rng.uniform(2.2, 2.9)])
        target = np.array([0.5 * wide, 0.5 * deep, 0.9]) + rng.uniform(-0.3, 0.3, 3)
        forward = (target - centre) / np.linalg.norm(target - centre)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        R = np.stack([right, np.cross(forward, right), forward])
        focal = float(rng.uniform(480, 560))
        K = np.array([[focal, 0, _SIZE[0] / 2], [0, focal, _SIZE[1] / 2], [0, 0, 1]])
        cameras.append(Camera(f"cam{k}", _SIZE, K, np.zeros(5), R, -R @ centre))
    return CameraRig(tuple(cameras), "m")


def write_gathering(number: int, folder: Path) -> Recording:
    """Simulate a draw and write it as a recording: boxes of visible parts, and their middles."""
    draw = draw_gathering(number)
    school, rig = walk(draw), room(draw)
    rates = DetectorRates.fitted().model_copy(
        update={
            "miss": draw.miss,
            "visible_half": draw.visible_half,
            "merge": draw.merge,
            "split": 0.0,
            "jitter": draw.jitter,
            "false_positives": draw.clutter,
        }
    )
    found, truth = observe(school, rig, FittedDetector(rates, draw.people, len(rig), 4714 + number), mesh=figure())
    u, v = 0.5 * (found.x1 + found.x2), 0.5 * (found.y1 + found.y2)
    boxes = Detections.build(
        rig.names, found.frame, found.camera, u, v, found.x1, found.y1, found.x2, found.y2, found.score
    )
    return Recording.create(
        folder,
        _turned(rig, draw),
        fps=FPS,
        detections=boxes,
        truth=truth,
        frames=(0, draw.frames),
        description=draw.words(),
    )


def _turned(rig: CameraRig, draw: Gathering) -> CameraRig:
    """Return the rig as it was calibrated: each camera a little turned."""
    rng = np.random.default_rng([draw.number, 4715])
    turns = Rotation.from_rotvec(np.radians(draw.turned) * rng.standard_normal((len(rig), 3))).as_matrix()
    return CameraRig(
        tuple(replace(c, R=turn @ c.R, t=turn @ c.t) for c, turn in zip(rig, turns, strict=True)), rig.units
    )
