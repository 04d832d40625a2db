"""Features, pseudo-labels and grouping on scenes whose truth is known."""

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.methods.groups import confidence_of
from trackfish3d.methods.paper.features import raw_features
from trackfish3d.methods.paper.grouping import group_detections
from trackfish3d.methods.paper.labels import PseudoLabels, pseudo_labels
from trackfish3d.methods.paper.settings import GroupingSettings
from trackfish3d.recordings import Detections

K = [[1500.0, 0, 960], [0, 1500, 540], [0, 0, 1]]


def ring(n=3, water=False):
    cameras = []
    for i in range(n):
        angle = 2 * np.pi * i / n
        centre = np.array([20 * np.cos(angle), 20 * np.sin(angle), -20])
        z = -centre / np.linalg.norm(centre)
        x = np.cross([0, 0, 1.0], z)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        faces = (Interface([0, 0, -5], [0, 0, -1]),) if water else ()
        cameras.append(Camera(f"c{i}", (1920, 1080), K, [], R, -R @ centre, interfaces=faces))
    return CameraRig(tuple(cameras))


def frame_of(rig, points, half=15.0):
    camera = np.repeat(np.arange(len(rig)), len(points))
    pixels = np.concatenate([c.project(points) for c in rig])
    boxes = np.column_stack([pixels - half, pixels + half])
    return camera, pixels, boxes, np.tile(np.arange(len(points)), len(rig))


POINTS = np.array([[0, 0, 0], [3, 1, 1], [-2, 3, 2], [1, -4, 3.0]])


@pytest.mark.parametrize("water", [False, True])
def test_pseudo_labels_hold_every_true_pair(water):
    camera, pixels, boxes, identity = frame_of(ring(water=water), POINTS)
    label, confidence = pseudo_labels(ring(water=water), camera, pixels, boxes)
    same_camera = camera[:, None] == camera[None]
    true_pair = (identity[:, None] == identity[None]) & ~same_camera
    assert (label[same_camera] == -1).all()
    assert (label[true_pair] == 1).all()
    np.testing.assert_allclose(confidence[true_pair], 1.0, atol=1e-3)  # no pixel error: 1 / (1 + 0)
    assert (label[~same_camera & ~true_pair] == 0).mean() > 0.5


def test_cached_labels_are_the_computed_ones_and_follow_their_input(tmp_path):
    rig = ring()
    camera, pixels, boxes, _ = frame_of(rig, POINTS)
    det = Detections.build(rig.names, np.zeros(12), camera, *pixels.T, *boxes.T)
    fresh = PseudoLabels.cached(rig, det, tmp_path)
    again = PseudoLabels.cached(rig, det, tmp_path)
    np.testing.assert_array_equal(fresh.first, again.first)
    (file,) = tmp_path.glob("pseudo_*.npz")
    file.write_bytes(file.read_bytes()[:100])  # a damaged cache is made anew
    np.testing.assert_array_equal(fresh.first, PseudoLabels.cached(rig, det, tmp_path).first)
    PseudoLabels.cached(rig, det.select(det.camera > 0), tmp_path)
    assert len(list(tmp_path.glob("pseudo_*.npz"))) == 2


def perfect_affinity(camera, identity):
    return ((identity[:, None] == identity[None]) & (camera[:, None] != camera[None])).astype(np.float32)[None]


def grouped(rig, camera, pixels, boxes, affinity, score=None, **settings):
    n = len(camera)
    score = np.full(n, 0.9) if score is None else score
    return group_detections(
        rig, np.array([7]), np.array([0, n]), camera, score, pixels, boxes, affinity, GroupingSettings(**settings)
    )


@pytest.mark.parametrize("water", [False, True])
def test_a_perfect_affinity_gives_the_animals(water):
    rig = ring(water=water)
    camera, pixels, boxes, identity = frame_of(rig, POINTS)
    groups = grouped(rig, camera, pixels, boxes, perfect_affinity(camera, identity))
    assert len(groups) == 4
    assert (groups.frame == 7).all()
    np.testing.assert_allclose(groups.confidence, 0.8)
    owner = [np.unique(identity[groups.members[a:b]]) for a, b in zip(groups.offsets, groups.offsets[1:], strict=False)]
    assert all(len(o) == 1 for o in owner)
    np.testing.assert_allclose(groups.position, POINTS[np.concatenate(owner)], atol=1e-5)


def test_two_views_need_the_stricter_threshold():
    rig = ring(2)
    camera, pixels, boxes, identity = frame_of(rig, POINTS[:2])
    affinity = perfect_affinity(camera, identity)
    assert len(grouped(rig, camera, pixels, boxes, affinity * 0.79)) == 0
    groups = grouped(rig, camera, pixels, boxes, affinity * 0.81)
    np.testing.assert_allclose(groups.confidence, 0.45)


def test_a_group_whose_point_leaves_a_box_is_rejected():
    rig = ring()
    camera, pixels, boxes, identity = frame_of(rig, POINTS[:1])
    pixels = pixels + [[0, 0], [0, 0], [0, 60]]
    boxes = np.column_stack([pixels - 15, pixels + 15])
    assert len(grouped(rig, camera, pixels, boxes, perfect_affinity(camera, identity))) == 0


def test_one_detection_a_camera_the_surer_one():
    rig = ring()
    camera, pixels, boxes, _ = frame_of(rig, POINTS[:1])
    camera, pixels, boxes = np.append(camera, 2), np.vstack([pixels, pixels[2:]]), np.vstack([boxes, boxes[2:]])
    affinity = np.zeros((1, 4, 4), np.float32)
    affinity[0, 0, 2] = affinity[0, 1, 3] = affinity[0, 0, 1] = 0.9  # both detections of camera 2 are pulled in
    groups = grouped(rig, camera, pixels, boxes, affinity, score=np.array([0.5, 0.5, 0.5, 0.9]))
    assert groups.members.tolist() == [0, 1, 3]


def test_confidence_of_groups():
    np.testing.assert_allclose(confidence_of(np.array([2, 3, 4, 9])), [0.45, 0.8, 1.0, 1.0])


def test_raw_features_are_normalised_and_see_through_water():
    for water in (False, True):
        rig = ring(water=water)
        camera, pixels, boxes, _ = frame_of(rig, POINTS)
        det = Detections.build(rig.names, np.zeros(12), camera, *pixels.T, *boxes.T, np.full(12, 0.7))
        raw = raw_features(rig, det)
        np.testing.assert_allclose(raw[:, 0], pixels[:, 0] / 1920, rtol=1e-6)
        np.testing.assert_allclose(raw[:, 3], 30 / 1080, rtol=1e-5)
        np.testing.assert_allclose(raw[:, 4], camera / 2)
        np.testing.assert_allclose(raw[:, 5], 0.7, rtol=1e-6)
        expected = np.concatenate([c.rays(p).direction for c, p in zip(rig, pixels.reshape(3, 4, 2), strict=True)])
        np.testing.assert_allclose(raw[:, 6:], expected, atol=1e-6)
