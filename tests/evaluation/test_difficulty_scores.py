"""Overlap of true boxes, and how often geometry alone is right."""

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation.association import PairCounts
from trackfish3d.evaluation.difficulty import occlusion, pseudo_label_audit
from trackfish3d.recordings import Detections

NOT_SEEN = [np.nan] * 4


def test_largest_overlap_of_each_view_is_averaged() -> None:
    """Camera 0: two boxes sharing a third of their union, and one apart; camera 1: one box, so no overlap."""
    boxes = np.array(
        [
            [[0, 0, 10, 10], [0, 0, 10, 10]],
            [[5, 0, 15, 10], NOT_SEEN],
            [[100, 0, 110, 10], NOT_SEEN],
        ]
    )
    found = occlusion([3, 3, 3], boxes)
    assert found.instances == 2
    assert found.occ_score == pytest.approx((1 / 3 + 0) / 2)
    assert found.overlap == 0.5


def test_boxes_of_different_frames_do_not_overlap() -> None:
    boxes = np.tile([0.0, 0.0, 10.0, 10.0], (4, 1, 1))
    assert occlusion([0, 1, 2, 3], boxes).occ_score == 0.0
    assert occlusion([1, 0, 0, 1], boxes).occ_score == 1.0


def test_a_hundredth_is_not_yet_overlap() -> None:
    """Unit squares shifted so that they share s of 2 - s: overlap begins above 0.01."""
    for iou, expected in ((0.0099, 0.0), (0.0101, 1.0)):
        shared = 2 * iou / (1 + iou)
        boxes = np.array([[[0, 0, 1, 1]], [[1 - shared, 0, 2 - shared, 1]]])
        found = occlusion([0, 0], boxes)
        assert found.occ_score == pytest.approx(iou)
        assert found.overlap == expected


def test_touching_boxes_do_not_overlap() -> None:
    assert occlusion([0, 0], np.array([[[0, 0, 1, 1]], [[1, 0, 2, 1]]])).occ_score == 0.0


def test_no_rows_and_wrong_shapes() -> None:
    assert occlusion([], np.zeros((0, 3, 4))).instances == 0
    with pytest.raises(InputError, match=r"expected \(2, cameras, 4\)"):
        occlusion([0, 0], np.zeros((2, 4)))


def two_cameras() -> CameraRig:
    """One looks along z, the other along x, both at the origin from 10 away."""
    K = np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]])
    sideways = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])
    none = np.zeros(5)
    front = Camera("front", (640, 480), K, none, np.eye(3), np.array([0.0, 0, 10]))
    side = Camera("side", (640, 480), K, none, sideways, np.array([0.0, 0, 10]))
    return CameraRig((front, side))


def detections_of(rig: CameraRig, points: np.ndarray, half_box: float) -> Detections:
    """Every point in every camera, fish by fish within a camera, all in frame 0."""
    pixels = np.concatenate([camera.project(points) for camera in rig])
    camera = np.repeat(np.arange(len(rig)), len(points))
    low, high = pixels - half_box, pixels + half_box
    return Detections.build(rig.names, np.zeros(len(pixels)), camera, *pixels.T, *low.T, *high.T)


def test_fish_at_different_heights_are_told_apart_by_geometry() -> None:
    rig = two_cameras()
    detections = detections_of(rig, np.array([[0.0, -1, 0], [0.5, 1, 0.3]]), half_box=5)
    assert pseudo_label_audit(rig, detections, [1, 2, 1, 2]) == PairCounts(right=2, wrong=0, missing=0)


def test_fish_in_one_epipolar_plane_are_confused() -> None:
    """At the height of both cameras any two rays meet, so every cross pair is a pseudo-positive."""
    rig = two_cameras()
    detections = detections_of(rig, np.array([[0.0, 0, 0], [0.5, 0, 0.3]]), half_box=5)
    counts = pseudo_label_audit(rig, detections, [1, 2, 1, 2])
    assert counts == PairCounts(right=2, wrong=2, missing=0)
    assert counts.precision == 0.5


def test_audit_wants_one_identity_per_detection() -> None:
    rig = two_cameras()
    detections = detections_of(rig, np.zeros((1, 3)), half_box=5)
    with pytest.raises(InputError, match="3 identities for 2 detections"):
        pseudo_label_audit(rig, detections, [1, 2, 3])
