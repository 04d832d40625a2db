"""Which candidates are animals: detections count once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.methods.joint.confirmation import duplicates, explain

NONE = np.zeros(0, np.int64)


def plain_explain(score, detection, gain, taken, least):
    """Greedy by its definition: the candidate that keeps most, again and again."""
    used, left, chosen = set(taken.tolist()), set(range(len(score))), []
    while left:
        kept = {
            i: score[i] - sum(g for d, g in zip(detection[i].flat, gain[i].flat, strict=True) if d in used)
            for i in left
        }
        best = max(sorted(left), key=lambda i: kept[i])
        if kept[best] < least:
            break
        chosen.append(best)
        left.remove(best)
        used |= set(detection[best][detection[best] >= 0].tolist())
    return chosen


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(0, 12), least=st.floats(0, 30))
def test_greedy_choice_by_what_nobody_else_explains(seed, count, least):
    rng = np.random.default_rng(seed)
    first, rows = 100, 40
    detection = rng.integers(first, first + rows, (count, 4, 3))
    detection[rng.random(detection.shape) < 0.3] = -1
    gain = rng.uniform(1, 10, detection.shape) * (detection >= 0)
    score = gain.sum((1, 2)) + rng.uniform(0, 5, count)
    taken = np.concatenate([rng.integers(first, first + rows, 5), [3, 500]])  # and rows before and after the window
    chosen, _ = explain(score, detection, gain, taken, first, rows, least)
    assert np.flatnonzero(chosen).tolist() == sorted(plain_explain(score, detection, gain, taken, least))


def test_a_ghost_that_borrows_its_detections_is_dropped_and_an_animal_is_not():
    """Two animals, and a third reading made of the views of one and the other."""
    one = np.array([[[0, 2, 4]], [[6, 8, 10]]]).reshape(1, 2, 3)
    other = one + 1
    ghost = np.array([[[0, 3, -1], [6, 9, -1]]])
    detection = np.concatenate([ghost, one, other])
    gain = np.where(detection >= 0, 10.0, 0.0)
    score = gain.sum((1, 2)) + [15.0, 0, 0]  # even where it fits a little better
    chosen, kept = explain(score, detection, gain, NONE, 0, 12, 20.0)
    assert chosen.tolist() == [False, True, True]
    assert kept[0] <= 15


def test_detections_of_confirmed_tracks_count_for_none():
    detection = np.array([[[0, 1]], [[2, 3]]])
    gain = np.full((2, 1, 2), 20.0)
    chosen, _ = explain(np.full(2, 40.0), detection, gain, np.array([0]), 0, 4, 30.0)
    assert chosen.tolist() == [False, True]


def test_the_same_two_detections_are_one_candidate():
    members = np.array([[0, 3, -1], [0, 3, -1], [0, 3, 5], [1, -1, -1], [1, -1, -1], [2, 4, 6], [2, 4, 6]])
    score = np.array([5.0, 9.0, 7.0, 1.0, 2.0, 4.0, 4.0])
    # the worse of two goes; another view makes another reading; one detection alone proves nothing; a tie keeps one
    assert duplicates(members, score).tolist() == [True, False, False, False, False, False, True]
