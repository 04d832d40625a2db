"""Linking of points whose true tracks are known."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from trackfish3d.maths.kalman import MotionNoise
from trackfish3d.maths.linking import link_kalman, link_nearest

NOISE = MotionNoise(acceleration=0.02, measurement=0.02, velocity=0.2)


def swimmers(fish, frames, spacing, speed, seed=0):
    """Fish on parallel lines, shuffled within each frame: frame, position, true identity."""
    rng = np.random.default_rng(seed)
    frame = np.repeat(np.arange(frames), fish)
    who = np.concatenate([rng.permutation(fish) for _ in range(frames)])
    position = np.column_stack([speed * frame, spacing * who, np.zeros(len(who))])
    return frame, position, who


def assert_same_partition(a, b):
    pairs = np.unique(np.column_stack([a, b]), axis=0)
    assert len(np.unique(a)) == len(np.unique(b)) == len(pairs)


@settings(max_examples=20, deadline=None)
@given(fish=st.integers(1, 12), seed=st.integers(0, 10**6), drop=st.floats(0, 0.3))
def test_well_parted_fish_keep_their_tracks(fish, seed, drop):
    frame, position, who = swimmers(fish, 40, 2.0, 0.1, seed)
    kept = (np.random.default_rng(seed).random(len(frame)) >= drop) | (frame % 5 == 0)
    frame, position, who = frame[kept], position[kept], who[kept]
    assert_same_partition(link_nearest(frame, position, 0.9, 10), who)
    assert_same_partition(link_kalman(frame, position, NOISE, 0.9, 10), who)


def test_crossing_fish_are_told_apart_by_velocity_only():
    t = np.arange(-20, 20) + 0.5
    frame = np.repeat(np.arange(len(t)), 2)
    position = np.zeros((2 * len(t), 3))
    position[0::2, 0], position[1::2, 0] = 0.31 * t, -0.31 * t
    position[0::2, 1], position[1::2, 1] = 0.01, -0.01
    who = np.tile([0, 1], len(t))
    assert_same_partition(link_kalman(frame, position, NOISE, 1.0, 5), who)
    nearest = link_nearest(frame, position, 1.0, 5)
    assert (nearest[-2:] != nearest[:2]).all()  # each took the other's track in the middle


def test_a_track_ends_after_its_patience():
    frame = np.array([0, 1, 2, 6])
    position = np.zeros((4, 3))
    assert link_nearest(frame, position, 1.0, 3).tolist() == [0, 0, 0, 0]  # frames 3, 4, 5 unseen
    assert link_nearest(frame, position, 1.0, 2).tolist() == [0, 0, 0, 1]
    assert link_kalman(frame, position, NOISE, 1.0, 3).tolist() == [0, 0, 0, 0]
    assert link_kalman(frame, position, NOISE, 1.0, 2).tolist() == [0, 0, 0, 1]


def test_nothing_is_linked_beyond_the_gate():
    position = np.array([[0, 0, 0], [0.99, 0, 0], [2.0, 0, 0]], float)
    assert link_nearest([0, 1, 2], position, 1.0, 5).tolist() == [0, 0, 1]


def test_nearest_pairs_go_first():
    # Track 0 is at 0, track 1 at 1; points at 0.9 and 2: the pair 1 - 0.9 is nearest and leaves 2 to nobody but a
    # new track, although 0 - 0.9, 1 - 2 would link both.
    position = np.array([[0, 0, 0], [1, 0, 0], [0.9, 0, 0], [2.0, 0, 0]], float)
    assert link_nearest([0, 0, 1, 1], position, 1.05, 5).tolist() == [0, 1, 1, 2]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_one_step_of_kalman_linking_is_the_best_assignment(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 1, (6, 3)), rng.uniform(0, 1, (6, 3))
    track = link_kalman(np.repeat([0, 1], 6), np.concatenate([a, b]), NOISE, 10.0, 1)
    cost = np.linalg.norm(a[:, None] - b[None], axis=2)
    row, column = linear_sum_assignment(cost)
    assert track[6:][column].tolist() == row.tolist()


def test_no_points_no_tracks():
    assert len(link_nearest([], np.zeros((0, 3)), 1.0, 5)) == 0
    assert len(link_kalman([], np.zeros((0, 3)), NOISE, 1.0, 5)) == 0
