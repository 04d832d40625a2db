"""Animals of 0.01 to 5 body lengths a frame: part of `bench_motion.py`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.methods.joint.method import Joint
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import look_at

Array = NDArray[np.float64]
SPEEDS = (0.01, 0.03, 0.1, 0.3, 1.0, 1.7, 3.0, 5.0)  # body lengths a frame
ANIMALS = (1, 8)
SEEDS = {"tune": range(3), "report": range(100, 105)}
FRAMES = 80
BOX = 40.0  # px, a body length
NOISE = 0.7  # px
GATE = 0.5  # body lengths
GOAL = 95.0  # %


def circling(speed: float, animals: int, seed: int) -> tuple[CameraRig, Detections, Array]:
    """A room for this speed with three cameras, what they see of animals on circles, and their positions (T, A, 3).

    Body lengths are the unit.
    """
    rng = np.random.default_rng([seed, animals])
    room = max(60.0, 8.0 * speed)
    size, far = int(2.6 * room * BOX), 4.0 * room
    K = np.array([[BOX * far, 0, size / 2], [0, BOX * far, size / 2], [0, 0, 1]])
    cameras, turn = [], rng.uniform(0, 2 * np.pi)
    for k in range(3):
        R, t = look_at(far * np.array([np.sin(k + turn), -np.cos(k + turn), 0.4]), np.zeros(3))
        cameras.append(Camera(name=f"cam{k}", size=(size, size), K=K, distortion=np.zeros(5), R=R, t=t))
    reach, height = rng.uniform(0.5, 1.0, animals) * room, rng.uniform(-0.5, 0.5, animals) * room
    angle = rng.choice([-1, 1], animals) * speed / reach * np.arange(FRAMES)[:, None] + rng.uniform(0, 6.28, animals)
    position = np.stack([reach * np.cos(angle), reach * np.sin(angle), np.broadcast_to(height, angle.shape)], axis=-1)
    rig = CameraRig(tuple(cameras), "unit")
    pixel = np.stack([c.project(position.reshape(-1, 3)) for c in rig], 1).reshape(FRAMES, animals, 3, 2)
    pixel = pixel + NOISE * rng.standard_normal(pixel.shape)
    t, c, a = (index.ravel() for index in np.indices((FRAMES, 3, animals)))
    (u, v), h = pixel[t, a, c].T, BOX / 2
    return rig, Detections.build(rig.names, t, c, u, v, u - h, v - h, u + h, v + h), position


def recall(speed: float, animals: int, seeds: range) -> dict[str, Any]:
    """Share of the animals' points within half a body length of a track, and tracks an animal, over all seeds."""
    near, tracks, points = 0, 0, 0
    for seed in seeds:
        rig, detections, position = circling(speed, animals, seed)
        found = Joint().track(rig, detections).tracks
        path = {f: found.position[found.frame == f] for f in range(FRAMES)}
        for f in range(FRAMES):
            away = np.linalg.norm(position[f][:, None] - path[f], axis=2)
            near += int((away.min(1, initial=np.inf) < GATE).sum())
        tracks, points = tracks + len(np.unique(found.track)), points + position.shape[0] * animals
    return {
        "speed": speed, "animals": animals, "recall": 100 * near / points, "tracks": tracks / animals / len(seeds)
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return a row a speed."""
    lines = ["| body lengths a frame | animals | recall % | tracks an animal |", "|---:|---:|---:|---:|"]
    for r in rows:
        missed = "" if r["recall"] >= GOAL else " (!)"
        lines.append(f"| {r['speed']} | {r['animals']} | {r['recall']:.1f}{missed} | {r['tracks']:.2f} |")
    return lines
