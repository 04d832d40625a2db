"""Tracking frame by frame: the same as tracking a recording, and clear about what it cannot take."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.methods.worlds import pinhole_world  # noqa: E402
from trackfish3d.core.errors import InputError  # noqa: E402
from trackfish3d.methods.paper.checkpoint import save_model  # noqa: E402
from trackfish3d.methods.paper.inference import group_frames  # noqa: E402
from trackfish3d.methods.paper.method import PaperSettings, link_groups, load_network  # noqa: E402
from trackfish3d.methods.paper.network import TrackFishNet  # noqa: E402
from trackfish3d.methods.paper.online import OnlineTracker  # noqa: E402
from trackfish3d.methods.paper.settings import GroupingSettings  # noqa: E402
from trackfish3d.methods.paper.tracker import TrackerSettings  # noqa: E402
from trackfish3d.recordings import Detections  # noqa: E402

from .networks import SeeingNet, named  # noqa: E402


def world(**options):
    rig, detections, truth = pinhole_world(**options)
    return rig, named(detections, truth), truth


def one_frame(detections, frame):
    return detections.select(detections.frame == frame)


@pytest.mark.parametrize("seeing", [True, False], ids=["seeing", "shipped"])
def test_online_is_offline_before_stitching(seeing):
    rig, detections, _ = world(fish=7, frames=40, drop=0.25, box=200.0)
    net = SeeingNet() if seeing else load_network(rig, None, "cpu")
    loose = GroupingSettings(threshold=0.0, two_view_threshold=0.0)  # the shipped network does not know these cameras
    apart = TrackerSettings(merge_similarity=2.0)  # a cosine that no two fragments reach: no stitching
    settings = PaperSettings(grouping=loose, tracker=apart)
    groups = group_frames(net, rig, detections, loose)
    offline = link_groups(net, groups, detections, rig, apart)
    assert len(offline) > 50
    tracker = OnlineTracker(rig, net, settings)
    for frame in range(40):
        now = tracker.update(one_frame(detections, frame), frame)
        assert (now.frame == frame).all()
        seen, expected = now.select(now.observed), offline.select(offline.frame == frame)
        np.testing.assert_array_equal(seen.track, expected.track)
        np.testing.assert_array_equal(seen.position, expected.position)  # of the same detections
        np.testing.assert_array_equal(seen.views, expected.views)
        np.testing.assert_allclose(seen.confidence, expected.confidence, rtol=1e-4)  # a batch rounds in its own way
        first = np.searchsorted(detections.frame, frame)
        rows = np.where(seen.detection >= 0, seen.detection + first, -1)  # online rows count within the frame
        np.testing.assert_array_equal(rows, expected.detection)


def test_animals_keep_their_numbers_and_lost_ones_are_predicted():
    rig, detections, truth = world(fish=4, frames=30)
    tracker = OnlineTracker(rig, SeeingNet())
    hidden = truth.detection[(truth.identity == 2) & (truth.frame >= 20)]
    detections = detections.select(~np.isin(np.arange(len(detections)), hidden))
    for frame in range(30):
        now = tracker.update(one_frame(detections, frame))
        assert len(now.identities) == 4
        np.testing.assert_array_equal(now.observed, now.views > 0)
        if frame == 19:
            where = truth.position[truth.frame == 19]
            whom = np.argmin(np.linalg.norm(now.position[:, None] - where[None], axis=2), axis=1)
            lost = now.track[whom == 2]
        if frame >= 20:
            assert now.track[~now.observed].tolist() == lost.tolist()
            true = truth.position[(truth.frame == frame) & (truth.identity == 2)]
            moved = np.linalg.norm(true - truth.position[(truth.frame == 19) & (truth.identity == 2)])
            assert np.linalg.norm(now.position[~now.observed] - true) < 0.1 + 0.5 * moved


def test_empty_frames_age_the_tracks():
    rig, detections, _ = world(fish=3, frames=5)
    tracker = OnlineTracker(rig, SeeingNet())
    nothing = Detections.empty(rig.names)
    assert len(tracker.update(nothing)) == 0
    assert tracker.frame == 0
    for frame in range(1, 5):
        assert len(tracker.update(one_frame(detections, frame))) == 3
    for missed in range(15):
        late = tracker.update(nothing)
        assert tracker.frame == 5 + missed
        assert len(late) == 3
        assert not late.observed.any()
    assert len(tracker.update(nothing)) == 0  # unseen for more than 15 frames


def test_one_camera_alone_gives_no_tracks():
    rig, detections, _ = world(fish=3, frames=3)
    tracker = OnlineTracker(rig, SeeingNet())
    for frame in range(3):
        assert len(tracker.update(one_frame(detections.select(detections.camera == 1), frame))) == 0


def test_a_dark_camera_leaves_two_views():
    rig, detections, _ = world(fish=3, frames=3)
    tracker = OnlineTracker(rig, SeeingNet())
    for frame in range(3):
        now = tracker.update(one_frame(detections.select(detections.camera != 1), frame))
        assert now.views.tolist() == [2, 2, 2]
        np.testing.assert_allclose(now.confidence, 0.45)


def test_what_cannot_be_taken_is_refused(tmp_path):
    rig, detections, _ = world(fish=3, frames=3)
    tracker = OnlineTracker(rig, SeeingNet())
    with pytest.raises(InputError, match="takes one frame; these detections are of 3"):
        tracker.update(detections)
    with pytest.raises(InputError, match="detections are of cameras a, b, the calibration of cam0"):
        tracker.update(Detections.empty(["a", "b"]))
    tracker.update(one_frame(detections, 1))
    with pytest.raises(InputError, match="frame 1 comes after frame 1"):
        tracker.update(one_frame(detections, 1))
    with pytest.raises(InputError, match="no such model"):
        OnlineTracker(rig, tmp_path / "nosuch.safetensors")
    save_model(TrackFishNet(), tmp_path / "two.safetensors", 2)
    with pytest.raises(InputError, match="was trained for 2 cameras, the recording has 3"):
        OnlineTracker(rig, tmp_path / "two.safetensors")
