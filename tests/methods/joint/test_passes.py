"""Readings in both directions of time, what they are worth, and the best parts of two."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.methods.joint.scenes import crossed_rig, model, paths_of, seen, wander
from trackfish3d.methods.joint.arguments import PairOdds
from trackfish3d.methods.joint.live_tracks import LiveTracks
from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.passes.combining import combined, common_rows
from trackfish3d.methods.joint.passes.ending import best_stretches, ended
from trackfish3d.methods.joint.passes.turning import Course, going_back, mirrored, turned_back
from trackfish3d.methods.joint.passes.worth import worth
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings

NOISE, ACCELERATION = 1.0, 0.01


def school(frames=30, animals=4, cameras=2, seed=0, missed=None):
    """Animals that wander side by side: rig, detections, rows (T, A, C), positions (T, A, 3)."""
    rig = crossed_rig(cameras)
    starts = [(0.7 * k - 1, 0.4 * k - 0.5, 0.5 * k - 1, 0, 0, 0) for k in range(animals)]
    position = np.stack([wander(frames, ACCELERATION, s, seed + k) for k, s in enumerate(starts)], 1)
    detections, rows = seen(rig, position, NOISE, seed, missed)
    return rig, detections, rows, position


def reading(rig, detections, known, rows, position, owner):
    """Tracks that follow animal owner[t, k] in frame t."""
    frames, animals = owner.shape
    t = np.arange(frames)
    pieces = [(k, t, rows[t, owner[:, k]], position[t, owner[:, k]]) for k in range(animals)]
    return paths_of(rig, detections, known, pieces)


def bare(name, frame, members):
    """Tracks of which only the detections matter."""
    name, frame = np.asarray(name), np.asarray(frame)
    paths = Trajectories(name, frame, np.asarray(members), np.zeros((len(name), 6)), np.zeros((len(name), 6, 6)))
    return paths.renamed(name)


def chains(paths):
    """Tracks as a set of chains of detections, whatever they are called."""
    return {
        tuple(tuple(row) for row in paths.members[paths.begin[k] : paths.begin[k + 1]].tolist())
        for k in range(len(paths.begin) - 1)
    }


class TestTurning:
    def test_a_recording_turned_twice_is_as_it_was(self):
        rig, detections, _, _ = school(missed=np.random.default_rng(1).random((30, 4, 2)) < 0.3)
        obs = Observations.of(rig, detections, model(rig, NOISE, ACCELERATION))
        course = Course.forwards(detections.frames, detections.offsets, obs)
        twice = course.turned().turned()
        np.testing.assert_array_equal(twice.row, np.arange(len(detections)))
        np.testing.assert_array_equal(twice.offsets, course.offsets)
        np.testing.assert_array_equal(twice.obs.u, obs.u)

    @pytest.mark.parametrize("first", [0, 7])
    def test_detections_of_a_turned_frame_are_those_of_the_frame(self, first):
        rig, detections, _, _ = school(missed=np.random.default_rng(2).random((30, 4, 2)) < 0.3)
        obs = Observations.of(rig, detections, model(rig, NOISE, ACCELERATION))
        turned = Course.forwards(detections.frames + first, detections.offsets, obs).turned()
        assert (turned.first, turned.last) == (first, first + 29)
        for k, frame in enumerate(turned.frames):
            rows = turned.row[turned.offsets[k] : turned.offsets[k + 1]]
            assert (detections.frame[rows] + first == turned.first + turned.last - frame).all()
            assert (np.diff(detections.camera[rows]) >= 0).all()

    def test_odds_of_pairs_go_with_their_detections(self):
        rig, detections, rows, _ = school()
        n = len(detections)
        obs = Observations.of(rig, detections, model(rig, NOISE, ACCELERATION))
        odds = np.random.default_rng(3).normal(size=30)
        pairs = PairOdds.of(n, rows[:, 0, 0], rows[:, 0, 1], odds)
        course = Course.forwards(detections.frames, detections.offsets, replace(obs, pair_odds=pairs))
        turned = course.turned()
        back = turned.obs.pair_odds
        first = np.repeat(np.arange(n), np.diff(back.begin))
        told = {(turned.row[a], turned.row[b]): o for a, b, o in zip(first, back.partner, back.odds, strict=True)}
        assert told == {(a, b): o for a, b, o in zip(rows[:, 0, 0], rows[:, 0, 1], odds, strict=True)}

    @pytest.mark.parametrize("first", [0, 7])
    def test_tracks_turned_there_and_back_are_the_same(self, first):
        rig, detections, rows, position = school()
        known = model(rig, NOISE, ACCELERATION)
        obs = Observations.of(rig, detections, known)
        course = Course.forwards(detections.frames + first, detections.offsets, obs).turned()
        paths = reading(rig, detections, known, rows, position, np.tile(np.arange(4), (30, 1)))
        paths = replace(paths, frame=paths.frame + first)
        place = np.argsort(course.row)
        state, cov = mirrored(paths.state, paths.cov)
        there = Trajectories(paths.name, 2 * first + 29 - paths.frame, place[paths.members], state, cov)
        back = turned_back(there.renamed(there.name), course)
        np.testing.assert_array_equal(back.frame, paths.frame)
        np.testing.assert_array_equal(back.members, paths.members)
        np.testing.assert_allclose(back.state, paths.state)
        np.testing.assert_allclose(back.cov, paths.cov)

    @pytest.mark.parametrize("first", [0, 7])
    def test_tracks_that_go_back_arrive_where_they_were(self, first):
        live = LiveTracks.empty(2, 12).join(_two_live())
        back = going_back(live, Course(np.arange(first, 51), np.zeros(52 - first, np.int64), None, np.zeros(0, int)))
        assert back.name.tolist() == [7]  # the other was not confirmed
        np.testing.assert_allclose(back.state[0, :3] + back.state[0, 3:], live.state[0, :3])
        np.testing.assert_allclose(back.state[0, 3:], -live.state[0, 3:])
        assert back.memory_frame.tolist() == [[first - 1, first - 6]]  # one frame before the first, and five more

    def test_a_track_that_two_views_hardly_showed_is_not_known_at_the_turn(self):
        two = _two_live()
        two.confirmed[:] = True
        two.window_rows[1, 1:8, 0] = -1  # seven frames of twelve with one view
        live = LiveTracks.empty(2, 12).join(two)
        back = going_back(live, Course(np.arange(51), np.zeros(52, np.int64), None, np.zeros(0, int)))
        assert back.name.tolist() == [7]


def _two_live():
    return LiveTracks(
        name=np.array([7, 8]), confirmed=np.array([True, False]), state=np.arange(12.0).reshape(2, 6),
        cov=np.tile(np.eye(6), (2, 1, 1)), born=np.zeros(2, int), last=np.array([50, 50]), score=np.zeros(2),
        best=np.zeros(2), debt=np.zeros(2), memory_size=np.zeros((2, 2)), memory_axis=np.zeros((2, 2)),
        memory_frame=np.array([[50, 45], [50, 50]]), window_rows=np.zeros((2, 12, 2), int),
        window_gain=np.zeros((2, 12, 2)), body=np.zeros((2, 6)), body_cov=np.zeros((2, 6, 6)),
    )  # fmt: skip


class TestCombining:
    def test_rows_are_common_that_hold_the_same_detections_of_two_views(self):
        one = bare([0, 0, 1, 1], [0, 1, 0, 1], [[0, 4], [1, 5], [2, -1], [3, 7]])
        other = bare([5, 5, 6, 6], [0, 1, 0, 1], [[2, -1], [1, 5], [0, 4], [3, 6]])
        match, back = common_rows(one, other)
        assert match.tolist() == [2, 1, -1, -1]
        assert back.tolist() == [-1, 1, 0, -1]

    @pytest.mark.parametrize("seed", range(20))
    def test_the_best_of_all_choices_of_knots_is_found(self, seed):
        """Every way to take stretches from either reading, tried one by one, for readings that meet now and then."""
        rng = np.random.default_rng(seed)
        rows = np.arange(2 * 3 * 12).reshape(12, 3, 2)  # detections of three animals in two views
        one_owner, other_owner = (np.tile(np.arange(3), (12, 1)) for _ in range(2))
        for begin in (2, 6, 9):  # stretches in which readings exchange views of two animals, in one way or another
            one_owner[begin : begin + 2] = rng.permutation(3)
            other_owner[begin : begin + 2] = rng.permutation(3)
        paths = [_mixed(rows, owner) for owner in (one_owner, other_owner)]
        value = [rng.normal(size=len(p.name)) for p in paths]
        _, back = common_rows(*paths)
        value[1][back >= 0] = value[0][back[back >= 0]]  # what both have is worth the same
        found, _ = combined(*paths, *value)
        told = {
            tuple(m): w for p, v in zip(paths, value, strict=True) for m, w in zip(p.members.tolist(), v, strict=True)
        }
        best = -np.inf
        for takes in product(range(2), repeat=3):
            owner = one_owner.copy()
            for begin, take in zip((2, 6, 9), takes, strict=True):
                owner[begin : begin + 2] = (one_owner, other_owner)[take][begin : begin + 2]
            best = max(best, sum(told[tuple(m)] for m in _mixed(rows, owner).members.tolist()))
        assert sum(told[tuple(m)] for m in found.members.tolist()) == pytest.approx(best)
        assert len(np.unique(found.members)) == found.members.size  # each detection once
        assert len(found.begin) - 1 == 3

    def test_an_exchange_goes_over_at_the_common_rows(self):
        rows = np.arange(2 * 2 * 9).reshape(9, 2, 2)
        straight = np.tile([0, 1], (9, 1))
        wrong = straight.copy()
        wrong[4:] = [1, 0]  # the other reading goes on with the other animal
        one, other = _whole(rows, wrong), _whole(rows, straight)
        worse, better = np.zeros(18), np.zeros(18)
        worse[(one.frame == 4)] = -10.0
        found, knots = combined(one, other, worse, better)
        assert knots == 1
        assert chains(found) == chains(other)
        kept, knots = combined(other, one, better, worse)
        assert knots == 0
        assert kept is other

    def test_an_animal_that_only_one_reading_knows_comes_in(self):
        rows = np.arange(2 * 2 * 6).reshape(6, 2, 2)
        one = bare(np.zeros(6, int), np.arange(6), rows[:, 0])
        other = bare(np.repeat([3, 4], 6), np.tile(np.arange(6), 2), rows.transpose(1, 0, 2).reshape(-1, 2))
        found, _ = combined(one, other, np.ones(6), np.ones(12))
        assert chains(found) == chains(other)
        none, _ = combined(one, other, np.ones(6), np.repeat([1.0, -1.0], 6))
        assert chains(none) == chains(one)


def _mixed(rows, owner):
    """Tracks whose first view is their own and whose second is that of ``owner`` (T, A)."""
    t = np.arange(len(rows))
    members = [np.column_stack([rows[:, k, 0], rows[t, owner[:, k], 1]]) for k in range(owner.shape[1])]
    return bare(np.repeat(np.arange(owner.shape[1]), len(t)), np.tile(t, owner.shape[1]), np.concatenate(members))


def _whole(rows, owner):
    """Tracks that follow animal ``owner`` (T, A) in both views."""
    t = np.arange(len(rows))
    members = np.concatenate([rows[t, owner[:, k]] for k in range(owner.shape[1])])
    return bare(np.repeat(np.arange(owner.shape[1]), len(t)), np.tile(t, owner.shape[1]), members)


class TestWorth:
    @pytest.fixture
    def scene(self):
        rig, detections, rows, position = school()
        known = model(rig, NOISE, ACCELERATION)
        return rig, detections, rows, position, known, Observations.of(rig, detections, known)

    def test_the_truth_is_worth_more_than_an_exchange(self, scene):
        rig, detections, rows, position, known, obs = scene
        owner = np.tile(np.arange(4), (30, 1))
        right = worth(rig, obs, reading(rig, detections, known, rows, position, owner), known, JointSettings())
        owner[15:, :2] = [1, 0]
        wrong = worth(rig, obs, reading(rig, detections, known, rows, position, owner), known, JointSettings())
        assert right.sum() > wrong.sum() + 10

    def test_an_animal_that_is_left_out_costs_what_its_detections_are_worth(self, scene):
        rig, detections, rows, position, known, obs = scene
        whole = reading(rig, detections, known, rows, position, np.tile(np.arange(4), (30, 1)))
        value = worth(rig, obs, whole, known, JointSettings())
        part = whole.take(whole.name < 3)
        assert value[whole.name == 3].sum() > 0
        assert worth(rig, obs, part, known, JointSettings()).sum() < value.sum()


class TestEnding:
    def test_a_track_begins_when_its_animal_comes(self):
        """Nothing was detected of it before; its neighbours, of which views miss some, stay as they are."""
        missed = np.zeros((30, 4, 2), bool)
        missed[:10, 0] = missed[3:5, 1, 0] = missed[12:14, 2] = True
        rig, detections, rows, position = school(missed=missed)
        known = model(rig, NOISE, ACCELERATION)
        obs = Observations.of(rig, detections, known)
        paths = reading(rig, detections, known, rows, position, np.tile(np.arange(4), (30, 1)))
        assert len(paths.name) == 120
        shorter, value = ended(rig, obs, paths, known, JointSettings())
        assert len(value) == len(shorter.name) == 110
        first = [shorter.frame[b] for b in shorter.begin[:-1]]
        assert sorted(first) == [0, 0, 0, 10]
        assert value.sum() > worth(rig, obs, paths, known, JointSettings()).sum()

    @pytest.mark.parametrize("seed", range(20))
    def test_the_best_stretch_is_the_best_of_all(self, seed):
        value = np.random.default_rng(seed).normal(0.2, 1.0, 12)
        kept = np.flatnonzero(best_stretches(value, np.array([0, 12])))
        value[0] = max(value[0], 0.0)
        assert (np.diff(kept) == 1).all()
        best = max(value[a:b].sum() for a in range(12) for b in range(a + 1, 13))
        assert value[kept].sum() == pytest.approx(best)


class TestReading:
    def test_an_animal_that_hides_at_first_is_known_from_the_beginning(self):
        """One view of two misses it now and then for forty frames; a forward pass finds it late, a backward one not."""
        rng = np.random.default_rng(5)
        missed = np.zeros((90, 4, 3), bool)
        missed[:40, 3] = rng.random((40, 3)) < 0.6
        rig, detections, _, position = school(90, cameras=3, seed=11, missed=missed)
        begins = []
        for passes in (1, 2):
            result = Joint(JointSettings(passes=passes)).track(rig, detections)
            assert any("gone through" in note for note in result.notes) == (passes > 1)
            tracks = result.tracks
            mine = np.linalg.norm(tracks.position - position[tracks.frame, 3], axis=1) < 0.2
            begins.append(tracks.frame[mine].min())
        assert begins[0] > 12
        assert begins[1] < begins[0] - 8

    def test_whole_tracks_are_not_read_again(self):
        rig, detections, _, _ = school(60)
        result = Joint().track(rig, detections)
        assert not any("gone through" in note for note in result.notes)
