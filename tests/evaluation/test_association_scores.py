"""Groups of detections against true identities."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.core.errors import InputError
from trackfish3d.evaluation.association import PairCounts, association_scores, compare_pairs, group_labels


def test_one_wrong_detection_among_two_fish_in_three_views() -> None:
    """The third view mixes both fish up: of six true pairs two are kept, and four wrong ones are claimed."""
    camera = [0, 0, 1, 1, 2, 2]
    identity = [10, 20, 10, 20, 10, 20]
    group = [1, 2, 1, 2, 2, 1]
    scores = association_scores([0] * 6, camera, group, identity)
    assert scores.pairs == PairCounts(right=2, wrong=4, missing=4)
    assert scores.pairs.precision == scores.pairs.recall == scores.pairs.f1 == pytest.approx(1 / 3)
    assert (scores.true_groups, scores.exact_groups) == (2, 0)


def test_perfect_groups_are_perfect_even_with_labels_that_begin_anew_each_frame() -> None:
    frame = np.repeat([5, 9], 4)
    scores = association_scores(frame, [0, 0, 1, 1] * 2, [0, 1, 0, 1, 0, 1, 1, 0], [7, 8, 7, 8, 7, 8, 8, 7])
    assert scores.to_dict() == {
        "association_precision": 1.0,
        "association_recall": 1.0,
        "association_f1": 1.0,
        "exact_group_accuracy": 1.0,
        "true_pairs": 4,
        "true_groups": 4,
    }


def test_a_ghost_in_a_group_makes_it_wrong_and_not_exact() -> None:
    scores = association_scores([0] * 3, [0, 1, 2], [4, 4, 4], [1, 1, -1])
    assert scores.pairs == PairCounts(right=1, wrong=2, missing=0)
    assert (scores.true_groups, scores.exact_groups) == (1, 0)


def test_two_ghosts_are_no_pair() -> None:
    assert association_scores([0, 0], [0, 1], [3, 3], [-1, -1]).pairs == PairCounts(0, 1, 0)


def test_ungrouped_detections_claim_nothing() -> None:
    scores = association_scores([0, 0], [0, 1], [-1, -1], [3, 3])
    assert scores.pairs == PairCounts(0, 0, 1)
    assert scores.exact_group_accuracy == 0.0
    assert math.isnan(scores.pairs.precision)


def test_a_merged_blob_belongs_with_either_of_its_animals() -> None:
    """Camera 0 shows both fish as one blob; grouping it with fish 2 is right, and fish 1 then lacks a view."""
    identity = [[1, 2], [1, -1], [2, -1]]
    scores = association_scores([0] * 3, [0, 1, 1], [0, -1, 0], identity)
    assert scores.pairs == PairCounts(right=1, wrong=0, missing=1)
    assert (scores.true_groups, scores.exact_groups) == (2, 1)


def test_a_fish_seen_by_one_camera_is_no_group() -> None:
    assert association_scores([0, 1], [0, 1], [0, 0], [5, 5]).true_groups == 0


def test_nothing_detected_gives_scores() -> None:
    scores = association_scores([], [], [], [])
    assert scores.true_groups == 0
    assert math.isnan(scores.pairs.f1)


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="differ in length"):
        association_scores([0, 0], [0, 1], [0], [1, 1])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_counts_equal_those_of_sets(n: int, seed: int) -> None:
    """The same definition written with Python sets."""
    rng = np.random.default_rng(seed)
    frame, camera = rng.integers(0, 3, n), rng.integers(0, 3, n)
    group, identity = rng.integers(-1, 4, n), rng.integers(-1, 4, n)
    claimed, true = set(), set()
    for i, j in itertools.combinations(range(n), 2):
        if frame[i] == frame[j] and camera[i] != camera[j]:
            claimed |= {(i, j)} if group[i] == group[j] >= 0 else set()
            true |= {(i, j)} if identity[i] == identity[j] >= 0 else set()
    of_group = {frozenset(np.flatnonzero((frame == f) & (group == g)).tolist()) for f in range(3) for g in range(4)}
    of_animal = [np.flatnonzero((frame == f) & (identity == a)).tolist() for f in range(3) for a in range(4)]
    of_animal = [rows for rows in of_animal if len(set(camera[rows])) > 1]
    scores = association_scores(frame, camera, group, identity)
    assert scores.pairs == PairCounts(len(claimed & true), len(claimed - true), len(true - claimed))
    assert scores.true_groups == len(of_animal)
    assert scores.exact_groups == sum(frozenset(rows) in of_group for rows in of_animal)

    matrix = (group[:, None] == group[None]) & (group >= 0)[:, None]
    by_frame = [
        compare_pairs(camera[frame == f], identity[frame == f], matrix[frame == f][:, frame == f]) for f in range(3)
    ]
    assert sum(by_frame, PairCounts(0, 0, 0)) == scores.pairs


def test_labels_of_ragged_groups() -> None:
    np.testing.assert_array_equal(group_labels([4, 0, 2], [0, 2, 3], 6), [0, -1, 1, -1, 0, -1])


def test_a_detection_in_two_groups_is_named() -> None:
    with pytest.raises(InputError, match="detection 3 is in two groups"):
        group_labels([3, 1, 3], [0, 2, 3], 4)
