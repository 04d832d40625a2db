"""A camera or a detection that is given twice counts once, and is said."""

from dataclasses import replace

import numpy as np
import pytest

from tests.methods.joint.scenes import crossed_rig, seen
from trackfish3d.cameras import CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.methods.doubles import once
from trackfish3d.methods.joint.method import Joint
from trackfish3d.recordings import Detections

COLUMNS = ("frame", "camera", "u", "v", "x1", "y1", "x2", "y2")


def school(cameras, animals=4, frames=60):
    angle = 0.03 * np.arange(frames)[:, None] + np.linspace(0, 6, animals)
    height = np.broadcast_to(np.linspace(-1.5, 1.5, animals), angle.shape)
    position = np.stack([2 * np.cos(angle), 2 * np.sin(angle), height], axis=-1)
    rig = crossed_rig(cameras)
    return rig, seen(rig, position, 0.5)[0]


def listed(detections, names, *parts):
    """Detections of several parts, each a mask of rows and the camera that they are given to (None: their own)."""
    columns = {k: [] for k in COLUMNS}
    for rows, camera in parts:
        for k in COLUMNS:
            values = getattr(detections, k)[rows]
            columns[k].append(np.full(len(values), camera) if k == "camera" and camera is not None else values)
    return Detections.build(names, **{k: np.concatenate(v) for k, v in columns.items()})


def test_every_detection_twice():
    rig, detections = school(2)
    everything = np.ones(len(detections), bool)
    twice = listed(detections, rig.names, (everything, None), (everything, None))
    want, result = Joint().track(rig, detections), Joint().track(rig, twice)
    assert len(np.unique(result.tracks.track)) == 4
    np.testing.assert_allclose(result.tracks.position, want.tracks.position, atol=1e-9)
    for c in range(2):  # detections are named by their rows as they were given
        rows = result.tracks.detection[:, c]
        assert (twice.camera[rows[rows >= 0]] == c).all()
        np.testing.assert_array_equal(twice.frame[rows[rows >= 0]], result.tracks.frame[rows >= 0])
    assert result.notes[0] == "camera cam0: 240 detections are listed twice and count once"


def test_a_camera_twice():
    rig, detections = school(2)
    again = CameraRig((rig[0], replace(rig[0], name="again"), rig[1]), rig.units)
    first = detections.camera == 0
    given = listed(detections, again.names, (first, 0), (first, 1), (~first, 2))
    want, result = Joint().track(rig, detections), Joint().track(again, given)
    np.testing.assert_allclose(result.tracks.position, want.tracks.position, atol=1e-9)
    assert result.tracks.cameras == again.names
    assert (result.tracks.detection[:, 1] == -1).all()
    assert (given.camera[result.tracks.detection[:, 2]] == 2).all()
    assert result.notes == ("camera again is camera cam0 again: it was left out",)


def test_one_camera_twice_is_one():
    rig, detections = school(2)
    first = detections.camera == 0
    both = CameraRig((rig[0], replace(rig[0], name="again")), rig.units)
    with pytest.raises(InputError, match="the recording has 1; camera again is camera cam0 again"):
        Joint().track(both, listed(detections, both.names, (first, 0), (first, 1)))


def test_two_animals_may_coincide():
    rig, detections = school(2)
    everything = np.ones(len(detections), bool)
    few = np.arange(len(detections)) % 10 == 0
    given = listed(detections, rig.names, (everything, None), (few, None))
    assert len(once(rig, given).detections) == len(given)
