"""Association and tracking by geometry, where the truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.methods.worlds import observe, pinhole_world, swim, tank_world
from trackfish3d.cameras import CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation import evaluate
from trackfish3d.evaluation.oracle import shown_by, track_oracle, true_groups
from trackfish3d.methods.baselines.geometric import Hungarian, Sort3D
from trackfish3d.methods.baselines.svt import match_svt
from trackfish3d.methods.groups import merge
from trackfish3d.methods.matching import greedy_match, group_frames, hungarian_match
from trackfish3d.methods.registry import make_method, method_names
from trackfish3d.recordings import Detections


def scores(truth, tracks, gate=0.5):
    return evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)


def quiet(done, total):
    pass


def careful(name):
    """The method with boxes that must hold the point, where it has that setting."""
    return make_method(name, {} if name == "svt" else {"contain": True})


@pytest.mark.parametrize("name", ["hungarian", "greedy", "sort3d", "svt"])
@pytest.mark.parametrize("world", [pinhole_world, tank_world])
def test_sparse_fish_are_tracked_without_fault(name, world):
    rig, detections, truth = world()
    tracks = careful(name).track(rig, detections).tracks
    found = scores(truth, tracks)
    assert found.clear.mota > 0.99
    assert found.clear.switches == 0
    assert found.error.rmse < 0.1


@pytest.mark.parametrize("name", ["hungarian", "sort3d", "svt"])
def test_every_point_is_traced_to_detections_that_show_it(name):
    rig, detections, truth = pinhole_world()
    tracks = careful(name).track(rig, detections).tracks
    who = truth.identity_of_detections(len(detections))
    for row in np.flatnonzero(tracks.observed)[::7]:
        used = tracks.detection[row][tracks.detection[row] >= 0]
        assert len(used) == tracks.views[row] >= 2
        assert len(set(who[used])) == 1
        assert set(detections.frame[used]) == {tracks.frame[row]}
        assert tracks.error_px[row] < 3


def test_boxes_keep_false_points_out():
    rig, detections, truth = pinhole_world()
    bare = scores(truth, make_method("hungarian").track(rig, detections).tracks).clear
    boxed = scores(truth, careful("hungarian").track(rig, detections).tracks).clear
    assert boxed.false_positives < bare.false_positives


def test_drops_are_bridged_and_marked():
    rig, detections, truth = pinhole_world(fish=4, drop=0.3)
    tracks = make_method("sort3d").track(rig, detections).tracks
    assert not tracks.observed.all()
    assert scores(truth, tracks).clear.recall > 0.9
    bare = make_method("sort3d", {"max_gap": 0}).track(rig, detections).tracks
    assert bare.observed.all()
    assert len(bare) == tracks.observed.sum()


def test_units_do_not_matter():
    rig, detections, _ = pinhole_world(fish=5)
    scale = 1000.0
    large = CameraRig(tuple(replace(c, t=scale * c.t) for c in rig), "mm")
    for name in ("hungarian", "sort3d"):
        a, b = make_method(name).track(rig, detections).tracks, make_method(name).track(large, detections).tracks
        np.testing.assert_array_equal(a.track, b.track)
        np.testing.assert_allclose(scale * a.position, b.position, rtol=1e-6)


def test_lengths_are_estimated_and_settings_stay():
    rig, detections, truth = pinhole_world(box=60.0)
    ready = make_method("sort3d", {"gate": "0.7"}).resolve(rig, detections).settings
    assert ready.gate == 0.7
    middle = truth.position.mean(0)
    depth = np.mean([np.linalg.norm(c.centre - middle) for c in rig])
    assert ready.body_length == pytest.approx(60 * 2**0.5 * depth / rig[0].K[0, 0], rel=0.3)
    steps = np.linalg.norm(np.diff(truth.position.reshape(40, 6, 3), axis=0), axis=2)
    assert ready.step == pytest.approx(np.median(steps), rel=0.3)


def test_points_without_boxes_are_tracked():
    rig, d, truth = pinhole_world()
    points = Detections.build(d.cameras, d.frame, d.camera, d.u, d.v)
    assert scores(truth, make_method("sort3d").track(rig, points).tracks).clear.mota > 0.98


def test_matchers_agree_with_scipy():
    rng = np.random.default_rng(0)
    camera = np.repeat([0, 1, 2], 5)
    cost = rng.uniform(0, 10, (15, 15))
    cost = np.where(camera[:, None] == camera, np.inf, 0.5 * (cost + cost.T))
    same = hungarian_match(cost, camera)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        block = cost[np.ix_(camera == a, camera == b)]
        row, column = linear_sum_assignment(block)
        want = np.zeros((5, 5), bool)
        want[row, column] = True
        np.testing.assert_array_equal(same[np.ix_(camera == a, camera == b)], want)
    greedy = greedy_match(cost, camera)
    assert (greedy == greedy.T).all()
    i, j = np.unravel_index(np.argmin(cost), cost.shape)
    assert greedy[i, j]


def test_greedy_takes_the_cheapest_pair_though_it_costs_the_other():
    camera = np.array([0, 0, 1, 1])
    cost = np.full((4, 4), np.inf)
    for i, j, c in ((0, 2, 2.0), (0, 3, 1.0), (1, 2, 9.0), (1, 3, 1.5)):
        cost[i, j] = cost[j, i] = c
    assert greedy_match(cost, camera)[0, 3]
    assert greedy_match(cost, camera)[1, 2]
    assert hungarian_match(cost, camera)[0, 2]
    assert hungarian_match(cost, camera)[1, 3]


def test_merging_keeps_the_best_detection_of_each_camera():
    camera = np.array([0, 1, 2, 2, 0])
    same = np.zeros((5, 5), bool)
    for i, j in ((0, 1), (1, 2), (0, 3)):
        same[i, j] = same[j, i] = True
    label = merge(same, camera, np.array([0.9, 0.9, 0.4, 0.6, 0.9]), 3)
    assert label.tolist() == [0, 0, -1, 0, -1]


def test_groups_whose_point_leaves_a_box_are_rejected():
    rig, detections, _ = pinhole_world(fish=1, frames=1, noise=0.0)
    moved = Detections.build(
        rig.names, detections.frame, detections.camera, detections.u, detections.v,
        detections.x1 + 40, detections.y1, detections.x2 + 40, detections.y2, detections.score,
    )  # fmt: skip
    assert len(group_frames(rig, detections, hungarian_match, 1e9, True, quiet)) == 1
    assert len(group_frames(rig, moved, hungarian_match, 1e9, True, quiet)) == 0
    assert len(group_frames(rig, moved, hungarian_match, 1e9, False, quiet)) == 1


def test_cycle_consistency_overrules_one_misleading_pair():
    """Two animals in three views; views 1-2 are swapped by their own affinity, and the other views know better."""
    camera = np.repeat([0, 1, 2], 2)
    A = np.zeros((6, 6))
    for i, j, a in (
        (0, 2, 0.9),
        (1, 3, 0.9),
        (0, 4, 0.9),
        (1, 5, 0.9),
        (2, 5, 0.55),
        (3, 4, 0.55),
        (2, 4, 0.5),
        (3, 5, 0.5),
    ):
        A[i, j] = A[j, i] = a
    P = match_svt(A, camera) > 0.5
    want = np.equal.outer(np.array([0, 1, 0, 1, 0, 1]), np.array([0, 1, 0, 1, 0, 1]))
    np.testing.assert_array_equal(P, want)
    with np.errstate(divide="ignore"):
        pairwise = hungarian_match(np.where(A > 0, -np.log(A), np.inf), camera)
    assert pairwise[2, 5]  # pair by pair, nobody asks the third view


def test_svt_leaves_a_stranger_alone():
    camera = np.array([0, 0, 1, 2])
    A = np.zeros((4, 4))
    for i, j in ((0, 2), (0, 3), (2, 3)):
        A[i, j] = A[j, i] = 0.9
    P = match_svt(A, camera) > 0.5
    assert P[0, 2]
    assert P[0, 3]
    assert not P[1, [0, 2, 3]].any()


def test_oracle_groups_are_the_truth_and_are_a_ceiling():
    rig, detections, truth = pinhole_world(fish=8, drop=0.1)
    groups = true_groups(rig, detections, truth)
    who = truth.identity_of_detections(len(detections))
    for g in range(0, len(groups), 5):
        assert len(set(who[groups.members[groups.offsets[g] : groups.offsets[g + 1]]])) == 1
    settings = Sort3D().settings
    assert scores(truth, track_oracle(rig, detections, truth, settings)).clear.mota > 0.95
    assert "oracle" not in method_names()


def test_shown_by_finds_the_detections_of_the_truth():
    _, detections, truth = tank_world()
    assert (shown_by(truth, detections) == truth.detection).mean() > 0.99


@pytest.mark.parametrize("name", ["hungarian", "greedy", "sort3d", "svt"])
class TestBadInput:
    def test_no_detections(self, name):
        rig, _, _ = pinhole_world(fish=1, frames=1)
        tracks = make_method(name).track(rig, Detections.empty(rig.names)).tracks
        assert len(tracks) == 0
        assert tracks.cameras == rig.names

    def test_one_camera(self, name):
        rig, detections, _ = pinhole_world(fish=1, frames=3)
        one = rig.select(rig.names[:1])
        only = detections.select(detections.camera == 0)
        only = Detections.build(one.names, only.frame, only.camera, only.u, only.v)
        with pytest.raises(InputError, match="at least 2 cameras"):
            make_method(name).track(one, only)

    def test_a_dark_camera(self, name):
        rig, detections, truth = pinhole_world(fish=3)
        seen = detections.select(detections.camera != 1)
        assert scores(truth, make_method(name).track(rig, seen).tracks).clear.mota > 0.95

    def test_all_cameras_dark_but_one(self, name):
        rig, detections, _ = pinhole_world(fish=3, frames=5)
        assert len(make_method(name).track(rig, detections.select(detections.camera == 2)).tracks) == 0

    def test_cameras_of_another_rig(self, name):
        rig, detections, _ = pinhole_world(fish=1, frames=3)
        with pytest.raises(InputError, match="detections are of cameras"):
            make_method(name).track(rig.select(tuple(reversed(rig.names))), detections)


def test_unknown_methods_and_settings_are_named():
    with pytest.raises(InputError, match="'nosuch' is not known; choose one of joint"):
        make_method("nosuch")
    with pytest.raises(InputError, match="has no setting 'gat'; it has"):
        make_method("sort3d", {"gat": 1})
    with pytest.raises(InputError, match="gate: Input should be greater than 0"):
        make_method("sort3d", {"gate": "-1"})


def test_same_input_same_tracks():
    rig, detections, _ = pinhole_world(fish=8, drop=0.2)
    for name in ("hungarian", "svt"):
        a, b = make_method(name).track(rig, detections).tracks, make_method(name).track(rig, detections).tracks
        np.testing.assert_array_equal(a.position, b.position)
        np.testing.assert_array_equal(a.track, b.track)


def test_progress_ends_at_the_last_frame():
    rig, detections, _ = pinhole_world(fish=2, frames=9)
    heard = []
    Hungarian().track(rig, detections, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (9, 9)


def test_worlds_are_as_said():
    position = swim(3, 5, [0, 0, 0], 1.0)
    rig, detections, truth = pinhole_world(fish=2, frames=3, noise=0.0)
    assert position.shape == (5, 3, 3)
    assert len(detections) == 2 * 3 * 3
    again, _ = observe(rig, truth.position.reshape(3, 2, 3), noise=0.0)
    np.testing.assert_allclose(again.u, detections.u)
