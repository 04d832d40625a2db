"""Animals of any speed: from a hundredth of a body length to five in a frame."""

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.methods.joint.method import Joint
from trackfish3d.synfish.rigs import look_at

from .scenes import BOX, seen

PER_LENGTH = BOX  # px: boxes are one unit long, whatever the room


def circles(speed, animals, frames=80, seed=1):
    """A room for this speed, units a frame, with three cameras, and positions (T, A, 3) on circles in it."""
    room = max(60.0, 8.0 * speed)
    size, far = int(2.6 * room * PER_LENGTH), 4.0 * room
    K = np.array([[PER_LENGTH * far, 0, size / 2], [0, PER_LENGTH * far, size / 2], [0, 0, 1]])
    cameras = []
    for k in range(3):
        R, t = look_at(far * np.array([np.sin(k), -np.cos(k), 0.4]), np.zeros(3))
        cameras.append(Camera(name=f"cam{k}", size=(size, size), K=K, distortion=np.zeros(5), R=R, t=t))
    rng = np.random.default_rng(seed)
    reach, height = rng.uniform(0.5, 1.0, animals) * room, rng.uniform(-0.5, 0.5, animals) * room
    way = rng.choice([-1, 1], animals) * speed / reach
    angle = way * np.arange(frames)[:, None] + rng.uniform(0, 2 * np.pi, animals)
    flat = np.stack([reach * np.cos(angle), reach * np.sin(angle), np.broadcast_to(height, angle.shape)], axis=-1)
    return CameraRig(tuple(cameras), "unit"), flat


@pytest.mark.parametrize("animals", [1, 8])
@pytest.mark.parametrize("speed", [0.01, 0.2, 1.7, 5.0])
def test_an_animal_of_any_speed_is_found(speed, animals):
    rig, position = circles(speed, animals)
    detections, _ = seen(rig, position, 0.7)
    tracks = Joint().track(rig, detections)
    assert len(np.unique(tracks.track)) == animals
    near = np.linalg.norm(position[tracks.frame] - tracks.position[:, None], axis=2).min(1) < 0.5
    assert near.sum() >= 0.95 * position.shape[0] * animals
