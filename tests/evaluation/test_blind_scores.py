"""Scores without any truth."""

import math

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation.blind import held_out_error, track_lengths
from trackfish3d.recordings import Detections, Tracks

WATER = Interface(np.zeros(3), np.array([0.0, 0, -1]), 1.0, 1.33)


def camera_above(name: str, x: float, y: float) -> Camera:
    """A camera 50 above the water at (x, y), looking straight down (z points down)."""
    K = np.array([[800.0, 0, 640], [0, 800, 480], [0, 0, 1]])
    return Camera(name, (1280, 960), K, np.zeros(5), np.eye(3), np.array([-x, -y, 50.0]), interfaces=(WATER,))


@pytest.fixture
def rig() -> CameraRig:
    return CameraRig((camera_above("a", 0, 0), camera_above("b", 15, 0), camera_above("c", 0, 15)))


def tracked(rig: CameraRig, shift_px: np.ndarray) -> tuple[Tracks, Detections]:
    """30 points under water, seen by every camera; each camera's pixels moved by a row of shift_px (C, 2)."""
    points = np.random.default_rng(0).uniform([-5, -5, 5], [15, 15, 15], (30, 3))
    pixels = np.concatenate([camera.project(points) + move for camera, move in zip(rig, shift_px, strict=True)])
    frame = np.tile(np.arange(30), len(rig))
    camera = np.repeat(np.arange(len(rig)), 30)
    detections = Detections.build(rig.names, frame, camera, *pixels.T)
    rows = np.arange(30 * len(rig)).reshape(30, len(rig))  # sorted by frame, then camera
    return Tracks.build(np.arange(30), np.zeros(30), points, detection=rows, cameras=rig.names), detections


def test_exact_detections_reproject_exactly_through_water(rig: CameraRig) -> None:
    error = held_out_error(rig, *tracked(rig, np.zeros((3, 2))))
    assert error.error_px.shape == (30, 3)
    assert error.error_px.max() < 1e-4


def test_a_moved_camera_shows_at_its_true_distance(rig: CameraRig) -> None:
    """Camera c is 5 px off; judged by a and b alone, all of it shows (its own pull is not in the point)."""
    summary = held_out_error(rig, *tracked(rig, np.array([[0, 0], [0, 0], [3.0, 4.0]])))
    np.testing.assert_allclose(summary.error_px[:, 2], 5.0, atol=1e-4)
    assert summary.to_dict()["held_out_median_px_c"] == pytest.approx(5.0, abs=1e-4)
    assert summary.to_dict()["held_out_count"] == 90


def test_forgetting_the_water_shows(rig: CameraRig) -> None:
    """Little, from straight above, where an apparent depth explains most of it, but far more than rounding."""
    tracks, detections = tracked(rig, np.zeros((3, 2)))
    assert held_out_error(rig.without_water(), tracks, detections).to_dict()["held_out_median_px"] > 0.1


def test_cameras_are_matched_by_name_not_by_order(rig: CameraRig) -> None:
    tracks, detections = tracked(rig, np.array([[0, 0], [0, 0], [3.0, 4.0]]))
    turned = CameraRig(tuple(reversed(tuple(rig))))
    np.testing.assert_allclose(held_out_error(turned, tracks, detections).error_px[:, 2], 5.0, atol=1e-4)


def test_two_views_leave_nothing_to_judge_by(rig: CameraRig) -> None:
    tracks, detections = tracked(rig, np.zeros((3, 2)))
    rows = tracks.detection.copy()
    rows[:, 1] = -1
    pair = Tracks.build(tracks.frame, tracks.track, tracks.position, detection=rows, cameras=tracks.cameras)
    summary = held_out_error(rig, pair, detections).to_dict()
    assert summary["held_out_count"] == 0
    assert math.isnan(summary["held_out_median_px"])


def test_tracks_without_detections_are_refused(rig: CameraRig) -> None:
    tracks, detections = tracked(rig, np.zeros((3, 2)))
    bare = Tracks.build(tracks.frame, tracks.track, tracks.position)
    with pytest.raises(InputError, match="do not say which detections they use"):
        held_out_error(rig, bare, detections)
    with pytest.raises(InputError, match="tracks refer to detection 89, but there are 50"):
        held_out_error(rig, tracks, detections.select(np.arange(50)))


def test_lengths_of_tracks_count_points_and_span() -> None:
    lengths = track_lengths([0, 1, 2, 3, 9, 5, 6], [4, 4, 4, 4, 4, 2, 2])
    np.testing.assert_array_equal(lengths.track, [2, 4])
    np.testing.assert_array_equal(lengths.points, [2, 5])
    np.testing.assert_array_equal(lengths.span, [2, 10])
    summary = lengths.to_dict()
    assert summary["full_length_tracks"] == 1
    assert summary["filled"] == pytest.approx(7 / 12)
    assert summary["length_median"] == 3.5


def test_no_tracks_have_no_length() -> None:
    summary = track_lengths([], []).to_dict()
    assert summary["tracks"] == 0
    assert math.isnan(summary["length_median"])
