"""Rigs and recordings that tell little: cameras that face each other, frames that nobody filmed."""

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.methods.joint.method import Joint
from trackfish3d.synfish.rigs import look_at

from .scenes import crossed_rig, seen, wander

FRAMES, NOISE = 150, 0.5


def facing_rig():
    """Two cameras that look at each other, 20 units from the middle."""
    K = np.array([[1200.0, 0, 500], [0, 1200.0, 400], [0, 0, 1]])
    cameras = []
    for name, y in (("near", -20.0), ("far", 20.0)):
        R, t = look_at(np.array([0.0, y, 0.0]), np.zeros(3))
        cameras.append(Camera(name=name, size=(1000, 800), K=K, distortion=np.zeros(5), R=R, t=t))
    return CameraRig(tuple(cameras), "unit")


def test_along_the_axis_of_two_cameras_an_animal_is_as_uncertain_as_it_is():
    t = np.arange(FRAMES)
    true = np.column_stack([0.3 * np.sin(t / 15), np.linspace(-5, 5, FRAMES), 0.2 * np.cos(t / 20)])
    detections, _ = seen(facing_rig(), true[:, None], NOISE, 3)
    tracks = Joint().track(facing_rig(), detections).tracks
    assert len(np.unique(tracks.track)) <= 1
    off = tracks.position - true[tracks.frame]
    sigma = np.sqrt(np.einsum("nii->ni", tracks.covariance))
    known = tracks.observed
    assert (np.abs(off[known]) < 4 * sigma[known]).all()
    if known.any():
        assert np.median(sigma[known, 1]) > 20 * np.median(sigma[known, 0])  # along what cannot be seen


@pytest.mark.parametrize(("gap", "filled"), [(10, True), (14, True), (15, False), (40, False)])
def test_frames_that_nobody_filmed_are_filled_up_to_the_stated_gap_and_marked(gap, filled):
    rig, first = crossed_rig(3), 60
    true = np.stack([wander(FRAMES, 0.001, [x, 0, x / 2, 0.01, 0, 0], k) for k, x in enumerate((-2, 1))], axis=1)
    dark = np.zeros((FRAMES, 2, 3), bool)
    dark[first : first + gap] = True
    detections, _ = seen(rig, true, NOISE, 3, dark)
    tracks = Joint().track(rig, detections).tracks
    inside = (tracks.frame >= first) & (tracks.frame < first + gap)
    assert len(np.unique(tracks.track)) == 2
    assert inside.sum() == (2 * gap if filled else 0)
    assert not tracks.observed[inside].any()
    assert not np.isfinite(tracks.covariance[inside]).any()
    assert tracks.observed[~inside].all()
