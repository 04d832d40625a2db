"""Compile what the default method needs, before a user waits for it."""

from typing import Any

import numpy as np

from ..cameras import Camera, CameraRig
from ..recordings.detections import Detections
from .registry import DEFAULT_METHOD, make_method

FRAMES, ANIMALS = 40, 9


def warm_up() -> None:
    """Track a few animals that come close to each other, so that every kernel of `track` is called once.

    Kernels stay on disk (``NUMBA_CACHE_DIR``, or beside the package): a second call takes a second.
    """
    rig = _rig()
    crowd = _crowd(rig)
    for detector in ("auto", "visible"):  # boxes that others cut, which these may not be taken for
        make_method(DEFAULT_METHOD, {"detector": detector}).track(rig, crowd, 30.0, lambda done, total: None)


def _rig() -> CameraRig:
    """Three cameras around the origin, 20 away."""
    K = np.array([[800.0, 0.0, 320.0], [0.0, 800.0, 240.0], [0.0, 0.0, 1.0]])
    cameras = []
    for k, turn in enumerate((0.0, 1.2, 2.4)):
        R = np.array([[np.cos(turn), 0.0, np.sin(turn)], [0.0, 1.0, 0.0], [-np.sin(turn), 0.0, np.cos(turn)]])
        cameras.append(Camera(f"camera{k}", (640, 480), K, np.zeros(5), R, np.array([0.0, 0.0, 20.0])))
    return CameraRig(tuple(cameras))


def _crowd(rig: CameraRig) -> Detections:
    """Animals that swim through one another; some detections are lost."""
    rng = np.random.default_rng(0)
    start, way = rng.uniform(-2.0, 2.0, (ANIMALS, 3)), rng.uniform(-0.1, 0.1, (ANIMALS, 3))
    time = np.arange(FRAMES)
    place = (start + time[:, None, None] * way + 0.02 * rng.standard_normal((FRAMES, ANIMALS, 3))).reshape(-1, 3)
    frame = np.repeat(time, ANIMALS)
    pixel = np.concatenate([camera.project(place) for camera in rig]) + rng.standard_normal((3 * len(place), 2))
    kept = rng.random(len(pixel)) < 0.9
    (u, v), frame = pixel[kept].T, np.tile(frame, 3)[kept]
    camera = np.repeat(np.arange(3), len(place))[kept]
    size, turn = np.full(len(u), 6.0), rng.uniform(-1.5, 1.5, len(u))
    boxes = u - 15, v - 10, u + 15, v + 10
    moments: dict[str, Any] = {"area": 9.0 * size, "angle": turn, "major": size, "minor": 0.3 * size}
    return Detections.build(rig.names, frame, camera, u, v, *boxes, **moments)
