"""What a pair of detections says: geometry, length along the body axis, third views."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.methods.joint.learning.kernels import COLUMNS, Column
from trackfish3d.methods.joint.learning.pair_features import TOKEN, VECTORS, pair_frames
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import tank_rig, tank_water

K = np.array([[1000.0, 0, 960], [0, 1000, 540], [0, 0, 1]])


def looking_at_origin(*places):
    """A rig of cameras at these places, all towards the origin."""
    cameras = []
    for n, place in enumerate(places):
        z = -np.asarray(place, float) / np.linalg.norm(place)
        x = np.cross(z, [0.31, 0.53, 0.79])
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        cameras.append(Camera(f"c{n}", (1920, 1080), K, np.zeros(5), R, -R @ np.asarray(place, float)))
    return CameraRig(tuple(cameras), "unit")


THREE = looking_at_origin((40, 3, 5), (-4, 38, -7), (6, -9, 45))


def see(rig, centres, axes, lengths, frame=None):
    """Detections of rods: centres (A, 3), unit axes (A, 3), lengths (A,); row a * C + c before sorting by camera."""
    rows = []
    axes = np.asarray(axes, float)
    for a, (X, d, length) in enumerate(zip(centres, axes, lengths, strict=True)):
        for c, cam in enumerate(rig):
            ends = cam.project(np.array([X, X - 0.5 * length * d, X + 0.5 * length * d]))
            (u, v), along = ends[0], ends[2] - ends[1]
            angle = math.atan(along[1] / along[0]) if along[0] else math.pi / 2
            major = np.hypot(*along) / math.sqrt(12)
            low, high = ends.min(0) - 2, ends.max(0) + 2
            rows.append((0 if frame is None else frame[a], c, u, v, *low, *high, 0.9, 4 * major, angle, major, 2.0))
    t = np.array(rows)
    names = ("area", "angle", "major", "minor")
    return Detections.build(rig.names, *t[:, :9].T, **dict(zip(names, t[:, 9:].T, strict=True)))


def table(rig, detections, noise=1.0, body=3.0):
    return pair_frames(rig, detections, np.full(len(detections), noise), body)


def test_views_of_one_rod_agree_on_place_size_and_length():
    rng = np.random.default_rng(1)
    axes = rng.normal(size=(5, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    f = table(THREE, see(THREE, rng.uniform(-6, 6, (5, 3)), axes, np.full(5, 3.0), np.arange(5)))
    assert len(f.first) == 15
    assert (f.camera[f.first] != f.camera[f.second]).all()
    assert np.abs(f.columns[:, Column.FAR_MOST]).max() < 1e-3  # deviations
    assert (f.columns[:, Column.IN_BOXES] == 1).all()  # inside both boxes
    assert np.expm1(f.columns[:, Column.THIRD_BEST]).max() < 1e-2  # the third view is hit
    clear = f.columns[:, Column.AXES_ANGLE] > 0.2
    assert clear.sum() > 5
    assert f.columns[clear, Column.LENGTH_DIFFERENCE].max() < 0.05
    assert f.columns[clear, Column.TILT].max() < 0.03


def test_lengths_of_two_rods_disagree_as_much_as_they_differ():
    """Two views of crossing rods whose planes meet in the same line: only the length along it tells them apart."""
    axis = Rotation.from_euler("xyz", [0.4, 0.7, 0.2]).apply([1.0, 0, 0])
    d = see(THREE, np.zeros((2, 3)), [axis, axis], [2.0, 4.0])
    f = table(THREE, d)
    size = [d.major[d.camera == c].max() for c in range(3)]
    is_long = d.major == np.array(size)[d.camera]
    same = is_long[f.first] == is_long[f.second]
    assert len(f.first) == 12
    assert same.sum() == 6
    assert np.abs(f.columns[same, Column.LENGTH_DIFFERENCE]).max() < 0.05
    np.testing.assert_allclose(f.columns[~same, Column.LENGTH_DIFFERENCE], math.log(2), atol=0.05)


def test_pairs_far_apart_are_left_out_and_rivals_counted():
    d = see(THREE, [[0, 0, 0], [0.05, 0, 0]], [[0, 0, 1.0], [0, 0, 1.0]], [3.0, 3.0])
    near, alone = table(THREE, d), table(THREE, d.select(np.array([0, 2, 4])))
    assert len(near.first) == 12
    assert len(alone.first) == 3
    assert near.columns[:, Column.RIVALS_MOST].min() > 0.5
    assert alone.columns[:, Column.RIVALS_MOST].max() < 1e-6
    far = see(THREE, [[0, 0, 0], [3, 3.5, 4]], [[0, 0, 1.0], [0, 0, 1.0]], [3.0, 3.0])
    assert len(table(THREE, far, noise=0.5).first) == 6


@pytest.mark.parametrize("what", ["turned", "larger", "renumbered"])
def test_the_world_s_axes_units_and_camera_order_change_no_pair(what):
    rng = np.random.default_rng(2)
    axes = rng.normal(size=(6, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    centres, lengths = rng.uniform(-4, 4, (6, 3)), np.full(6, 3.0)
    base = table(THREE, see(THREE, centres, axes, lengths), 3.0)
    turn = Rotation.from_euler("xyz", [1.0, 2.0, 0.5]).as_matrix()
    if what == "turned":
        rig = CameraRig(tuple(Camera(c.name, c.size, c.K, c.distortion, c.R @ turn.T, c.t) for c in THREE), "unit")
        other = table(rig, see(rig, centres @ turn.T, axes @ turn.T, lengths), 3.0)
        vectors = base.tokens[:, :VECTORS].reshape(-1, 3, 3) @ turn.T
        found = other.tokens[:, :VECTORS].reshape(-1, 3, 3)
        found[:, 2] *= np.sign((found[:, 2] * vectors[:, 2]).sum(1))[:, None]  # an axis has no sign
        np.testing.assert_allclose(found, vectors, atol=1e-4)
    elif what == "larger":
        rig = CameraRig(tuple(Camera(c.name, c.size, c.K, c.distortion, c.R, 10 * c.t) for c in THREE), "mm")
        other = table(rig, see(rig, 10 * centres, axes, 10 * lengths), 3.0, 30.0)
        np.testing.assert_allclose(other.tokens, base.tokens, atol=1e-4)
    else:
        rig = CameraRig((THREE[2], THREE[0], THREE[1]), "unit")
        other = table(rig, see(rig, centres, axes, lengths), 3.0)
    assert len(other.first) == len(base.first) > 18
    key = [
        np.lexsort(t.columns[:, [Column.FAR_BOTH, Column.THIRD_MEAN, Column.SIZE_DIFFERENCE]].T.round(3))
        for t in (base, other)
    ]
    np.testing.assert_allclose(other.columns[key[1]], base.columns[key[0]], atol=2e-3)


def test_through_water_and_without_masks():
    rig, water = tank_rig(), tank_water()
    rng = np.random.default_rng(0)
    points = water.centre + rng.uniform(-0.25, 0.25, (4, 3)) * (water.high - water.low)
    pixels = np.stack([cam.project(points) for cam in rig])
    assert np.isfinite(pixels).all()
    d = Detections.build(rig.names, np.tile(np.arange(4), 2), np.repeat([0, 1], 4), *pixels.reshape(-1, 2).T)
    f = table(rig, d)
    assert len(f.first) == 4
    assert f.columns.shape == (4, COLUMNS)
    assert f.tokens.shape == (8, TOKEN)
    assert np.isfinite(f.columns).all()
    assert np.isfinite(f.tokens).all()
    assert f.columns[:, Column.FAR_MOST].max() < 0.02
    assert (f.columns[:, [Column.THIRD, Column.MASKS, Column.TILTED]] == 0).all()
