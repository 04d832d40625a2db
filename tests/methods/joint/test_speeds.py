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
    tracks = Joint().track(rig, detections).tracks
    assert len(np.unique(tracks.track)) == animals
    near = np.linalg.norm(position[tracks.frame] - tracks.position[:, None], axis=2).min(1) < 0.5
    assert near.sum() >= 0.95 * position.shape[0] * animals


@pytest.mark.parametrize(
    ("apart", "seed", "found"),
    [
        (0.0, 1, 0),
        (0.005, 1, 0),
        (0.01, 1, 0),
        (0.02, 1, 0),
        (0.02, 4, 0),
        (0.03, 4, 0),
        (0.1, 1, 0),
        (0.5, 1, 6),
        (5.0, 1, 6),
    ],
)
def test_no_animal_is_born_from_rays_without_parallax(apart, seed, found):
    """Two cameras side by side, 20 lengths away: 0.1 lengths apart, a pixel is 5 lengths of depth.

    Nearer to each other, noise alone puts animals anywhere, the closer the smaller they would be.
    """
    cameras = []
    for k in range(2):
        R, t = look_at(np.array([apart * k, -20.0, 0.0]), np.zeros(3))
        K = np.array([[1200.0, 0, 500], [0, 1200.0, 400], [0, 0, 1]])
        cameras.append(Camera(name=f"cam{k}", size=(1000, 800), K=K, distortion=np.zeros(5), R=R, t=t))
    rig, rng = CameraRig(tuple(cameras), "unit"), np.random.default_rng(seed)
    angle = 0.03 * np.arange(80)[:, None] + rng.uniform(0, 6, 6)
    height = np.broadcast_to(np.linspace(-2, 2, 6), angle.shape)
    detections, _ = seen(rig, np.stack([2 * np.cos(angle), 2 * np.sin(angle), height], axis=-1), 0.7, seed)
    assert len(np.unique(Joint().track(rig, detections).tracks.track)) == found
