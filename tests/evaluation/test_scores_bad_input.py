"""Input that is empty, doubled, shifted or not a number."""

import math

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.evaluation import evaluate

NONE = (np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3)))
THREE = (np.array([0, 1, 2]), np.array([4, 4, 4]), np.zeros((3, 3)))


def test_no_predictions_give_scores() -> None:
    scores = evaluate(*THREE, *NONE, gate=1.0).to_dict()
    assert scores["mota"] == scores["recall"] == scores["hota"] == scores["idf1"] == 0.0
    assert scores["misses"] == 3
    assert scores["mostly_lost"] == 1
    assert math.isnan(scores["precision"])
    assert math.isnan(scores["motp"])
    assert math.isnan(scores["rmse"])


def test_no_truth_gives_scores_all_false() -> None:
    scores = evaluate(*NONE, *THREE, gate=1.0).to_dict()
    assert scores["false_positives"] == 3
    assert scores["precision"] == scores["hota"] == scores["mtbf_s"] == 0.0
    assert math.isnan(scores["recall"])
    assert scores["mota"] == -math.inf


def test_nothing_at_all_gives_scores() -> None:
    scores = evaluate(*NONE, *NONE, gate=1.0).to_dict()
    assert scores["frames"] == scores["misses"] == scores["false_positives"] == 0
    assert math.isnan(scores["mota"])


def test_plain_empty_lists_are_empty_columns() -> None:
    assert evaluate([], [], [], [], [], [], gate=1.0).clear.frames == 0


def test_frames_that_do_not_match_are_misses_and_false_positives() -> None:
    frame, identity, xyz = THREE
    clear = evaluate(frame, identity, xyz, frame + 100, identity, xyz, gate=1.0).clear
    assert (clear.misses, clear.false_positives, clear.frames) == (3, 3, 6)
    assert clear.mota == -1.0


@pytest.mark.parametrize("kind", ["truth", "prediction"])
def test_an_id_twice_in_a_frame_is_named(kind: str) -> None:
    doubled = (np.array([7, 3, 7]), np.array([12, 5, 12]), np.zeros((3, 3)))
    sides = (doubled, THREE) if kind == "truth" else (THREE, doubled)
    with pytest.raises(InputError, match=rf"^{kind}: id 12 appears twice in frame 7; .*"):
        evaluate(*sides[0], *sides[1], gate=1.0)


def test_positions_that_are_not_finite_are_absent_and_counted() -> None:
    truth = np.array([[0, 0, 0], [np.nan, 0, 0], [0, 0, 0]], float)
    pred = np.array([[0, 0, 0], [0, 0, 0], [0, np.inf, 0]], float)
    scores = evaluate(*THREE[:2], truth, *THREE[:2], pred, gate=1.0).to_dict()
    assert (scores["truth_points"], scores["predicted_points"]) == (2, 2)
    assert (scores["misses"], scores["false_positives"]) == (1, 1)
    assert (scores["dropped_truth"], scores["dropped_predictions"]) == (1, 1)


def test_an_id_twice_is_fine_where_one_of_them_is_absent() -> None:
    xyz = np.array([[np.nan] * 3, [0, 0, 0]], float)
    assert evaluate([0, 0], [1, 1], xyz, [0], [1], np.zeros((1, 3)), gate=1.0).clear.mota == 1.0


@pytest.mark.parametrize("gate", [0.0, -1.0, math.nan, math.inf])
def test_a_gate_that_is_no_distance_is_refused(gate: float) -> None:
    with pytest.raises(InputError, match="the gate is"):
        evaluate(*THREE, *THREE, gate=gate)


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="truth: 2 frames, 3 ids and 3 positions"):
        evaluate([0, 1], [1, 1, 1], np.zeros((3, 3)), *THREE, gate=1.0)


def test_positions_in_two_dimensions_are_refused() -> None:
    with pytest.raises(InputError, match=r"prediction: positions have shape \(3, 2\)"):
        evaluate(*THREE, *THREE[:2], np.zeros((3, 2)), gate=1.0)


def test_whole_floats_are_ids_and_halves_are_not() -> None:
    assert evaluate(THREE[0] * 1.0, THREE[1] * 1.0, THREE[2], *THREE, gate=1.0).clear.mota == 1.0
    with pytest.raises(InputError, match=r"truth id: row 1 holds 4.5"):
        evaluate(THREE[0], [4, 4.5, 4], THREE[2], *THREE, gate=1.0)
    with pytest.raises(InputError, match=r"truth frame: row 2 holds nan"):
        evaluate([0, 1, np.nan], THREE[1], THREE[2], *THREE, gate=1.0)


def test_names_are_no_ids() -> None:
    with pytest.raises(InputError, match="prediction id: expected one column of whole numbers"):
        evaluate(*THREE, THREE[0], np.array(["a", "b", "c"]), THREE[2], gate=1.0)
