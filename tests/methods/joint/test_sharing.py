"""Detections that show several animals: whose they are, against trying every choice, and what they say of each."""

from itertools import combinations, product

import numpy as np
import pytest

from tests.methods.joint.scenes import crossed_rig, model, paths_of, wander
from trackfish3d.methods.joint.bodies import sharing
from trackfish3d.methods.joint.bodies.shape import any_direction
from trackfish3d.methods.joint.bodies.sharing import Bodies, Scene, around, chosen_groups, options, placed, shared
from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.recordings import Detections, Tracks

NOISE, ACCELERATION, FRAMES = 1.0, 0.003, 60
HALF = np.array([30.0, 12.0])  # px


def school(apart, animals=2, merged=(25, 35), seed=0):
    """Animals side by side whose boxes one view draws as one for some frames: rig, detections, rows, positions."""
    rng = np.random.default_rng(seed)
    rig = crossed_rig(3)
    starts = [(apart * k, 0.8 * k, 0.05 * k + 0.3 * (k == 1), 0, 0, 0) for k in range(animals)]
    position = np.stack([wander(FRAMES, ACCELERATION, s, seed) for s in starts], 1)
    rows, columns = np.full((FRAMES, animals, 3), -1), []
    for t, c in product(range(FRAMES), range(3)):
        pixel = rig[c].project(position[t])
        box = np.hstack([pixel - HALF, pixel + HALF]) + NOISE * rng.standard_normal((animals, 4))
        if c == 0 and merged[0] <= t < merged[1]:
            box = np.concatenate([box[:, :2].min(0), box[:, 2:].max(0)])[None]
        for k in range(animals):
            rows[t, k, c] = len(columns) + min(k, len(box) - 1)
        columns += [(t, c, *b) for b in box]
    t, c, x1, y1, x2, y2 = np.array(columns).T
    detections = Detections.build(rig.names, t.astype(int), c.astype(int), (x1 + x2) / 2, (y1 + y2) / 2, x1, y1, x2, y2)
    return rig, detections, rows, position


def held(rig, detections, rows, position):
    """Observations and tracks of which only the first holds what is merged, and the model."""
    known = model(rig, NOISE, ACCELERATION, body=any_direction(1.0))
    alone = rows.copy()
    for k in range(1, rows.shape[1]):
        alone[:, k][(rows[:, k] == rows[:, 0])] = -1
    frames = np.arange(len(rows))
    pieces = [(k, frames, alone[:, k], position[:, k]) for k in range(rows.shape[1])]
    return Observations.of(rig, detections, known), paths_of(rig, detections, known, pieces), known


@pytest.mark.parametrize("animals", [2, 3])
def test_animals_in_one_box_share_it_and_none_is_moved(animals):
    rig, detections, rows, position = school(0.6, animals)
    obs, paths, known = held(rig, detections, rows, position)
    more, told = shared(rig, obs, detections.frame, paths, known)
    shown = more.detections_of(told.members)
    np.testing.assert_array_equal(shown.reshape(animals, FRAMES, 3), rows.transpose(1, 0, 2))
    for k, t in product((0, animals - 1), range(25, 35)):
        row = told.members.reshape(animals, FRAMES, 3)[k, t, 0]
        pixel = rig[0].project(position[t, k : k + 1])[0]
        assert abs(more.u[row] - pixel[0]) < 10  # the middle of the box is 18 px away, and more


def test_an_animal_that_is_only_hidden_shares_nothing():
    rig, detections, rows, position = school(0.6)
    obs, paths, known = held(rig, detections, rows, position)
    merged = np.flatnonzero((detections.camera == 0) & (detections.frame >= 25) & (detections.frame < 35))
    pixel = rig[0].project(position[25:35, 0])
    obs.box[merged] = np.hstack([pixel - HALF, pixel + HALF])  # the box is as large as the first animal
    more, told = shared(rig, obs, detections.frame, paths, known)
    assert more is obs
    assert told is paths


@pytest.mark.parametrize("seed", range(15))
def test_the_choice_is_the_best_of_all(seed, monkeypatch):
    """Boxes drawn at random in one view; every way to join is tried one by one."""
    rng = np.random.default_rng(seed)
    holders, lost = 3, 4
    n = holders + lost
    middle = np.vstack([rng.uniform(0, 120, (holders, 2)), rng.uniform(20, 100, (lost, 2))])
    bodies = Bodies(middle, rng.uniform(15, 30, (n, 2)), rng.uniform(1, 30, (n, 2)))
    box = np.vstack(
        [middle[:holders] - rng.uniform(15, 70, (holders, 2)), middle[:holders] + rng.uniform(15, 70, (holders, 2))]
    )
    box = np.hstack([box[:holders], box[holders:]])

    monkeypatch.setattr(sharing, "LEAST", 0.5)
    holder = np.arange(holders)
    holder[-1] = -1  # what nobody holds
    scene = Scene(box, np.full(holders, 2.0), np.full(holders, -12.0), np.zeros(holders, np.int64), holder)
    who = np.arange(holders, n)
    owner, joins, weight = options(scene, np.zeros(holders, bool), bodies, np.zeros(lost, np.int64), who)
    groups = chosen_groups(owner, joins, weight)
    value = {(int(o), *sorted(j[j >= 0].tolist())): w for o, j, w in zip(owner, joins, weight, strict=True)}
    takings = [()] + [c for k in (1, 2, 3) for c in combinations(range(holders, n), k)]
    best = 0.0
    for takes in product(takings, repeat=holders):
        everyone = [x for take in takes for x in take]
        if len(set(everyone)) == len(everyone) and all(not t or (o, *t) in value for o, t in enumerate(takes)):
            best = max(best, sum(value[(o, *t)] for o, t in enumerate(takes) if t))
    assert sum(value[(o, *sorted(j))] for o, j in groups) == pytest.approx(best)


def test_sides_of_a_box_place_those_whose_they_are():
    bodies = Bodies(
        np.array([[20.0, 50], [60, 50], [40, 52]]), np.array([[15.0, 12], [15, 10], [15, 4]]), np.ones((3, 2))
    )
    sides, _, whose = around(bodies)
    assert sides.tolist() == [5, 38, 75, 62]
    assert whose.tolist() == [0, 0, 1, 0]
    at, deviation = placed(np.array([3.0, 38, 77, 62]), 1.0, bodies)
    assert at[0].tolist() == [18, 50]
    assert at[1].tolist() == [62, 50]
    assert at[2].tolist() == [40, 50]
    assert deviation[0] < deviation[1] < deviation[2]


def test_tracks_name_a_shared_detection_twice_and_keep_their_identities():
    rig, detections, _, position = school(0.6, seed=3)
    tracks = Joint().track(rig, detections).tracks
    assert len(tracks.identities) == 2
    for track in tracks.identities:
        mine = tracks.track == track
        off = np.linalg.norm(tracks.position[mine][:, None] - position[tracks.frame[mine]], axis=2)
        assert len(np.unique(off.argmin(1))) == 1
        assert off.min(1).max() < 0.15
    merged = (tracks.frame >= 25) & (tracks.frame < 35)
    assert tracks.shared[merged, 0].mean() > 0.8
    assert not tracks.shared[~merged].any()


def test_no_detection_is_shared_where_nobody_holds_it_twice():
    alone = Tracks.build([0, 0], [1, 2], np.zeros((2, 3)), detection=[[0, -1], [-1, 3]], cameras=("a", "b"))
    assert not alone.shared.any()
    both = Tracks.build([0, 0], [1, 2], np.zeros((2, 3)), detection=[[0, 3], [-1, 3]], cameras=("a", "b"))
    assert both.shared.tolist() == [[False, True], [False, True]]
