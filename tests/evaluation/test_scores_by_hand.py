"""Scores of small scenes that can be worked out on paper."""

import doctest

import numpy as np
import pytest

from trackfish3d.evaluation import Scores, evaluate
from trackfish3d.evaluation import scores as scores_module


def one_fish(tracks: list[int | None], drift: float = 0.0) -> Scores:
    """One fish at the origin; in each frame the id of the track on it, or None where it is missed."""
    found = [f for f, track in enumerate(tracks) if track is not None]
    ids = [track for track in tracks if track is not None]
    frames = np.arange(len(tracks))
    return evaluate(
        frames, np.zeros(len(frames), int), np.zeros((len(frames), 3)),
        found, ids, np.tile([drift, 0.0, 0.0], (len(found), 1)), gate=1.0,
    )  # fmt: skip


def swapping_pair() -> Scores:
    """Two fish 10 apart for 100 frames; their tracks swap once, half way."""
    frame = np.repeat(np.arange(100), 2)
    fish = np.tile([0, 1], 100)
    xyz = np.stack([10.0 * fish, 0.1 * frame, 0.0 * frame], axis=1)
    return evaluate(frame, fish, xyz, frame, np.where(frame < 50, fish, 1 - fish), xyz, gate=1.0)


def test_two_fish_that_swap_once_fail_every_50_frames() -> None:
    mtbf = swapping_pair().mtbf
    assert (mtbf.runs, mtbf.gaps) == (4, 0)
    assert mtbf.mtbf_s == 50.0
    assert mtbf.mtbf_m == 50.0
    assert mtbf.mtbf_m_compat == pytest.approx(200 / 6)


def test_two_fish_that_swap_once_switch_twice_and_lose_half_their_identity() -> None:
    scores = swapping_pair()
    assert scores.clear.switches == 2
    assert scores.clear.fragmentations == 0
    assert scores.clear.mota == 1 - 2 / 200
    assert scores.identity.idf1 == 0.5
    assert scores.hota.deta == 1.0
    # each of the four (fish, track) pairs shares 50 of 100 + 100 - 50 frames
    assert scores.hota.assa == pytest.approx(1 / 3)
    assert scores.hota.hota == pytest.approx(np.sqrt(1 / 3))


@pytest.mark.parametrize(
    ("tracks", "runs", "gaps", "mtbf_s", "mtbf_m"),
    [
        ([1] * 10, 1, 0, 10.0, 10.0),
        ([1] * 4 + [None] * 2 + [1] * 4, 2, 1, 4.0, 8 / 3),
        ([1] * 4 + [None] * 5 + [1] * 4, 2, 1, 4.0, 8 / 3),  # a longer gap is still one gap
        ([1] * 5 + [2] * 5, 2, 0, 5.0, 5.0),  # a switch is not a gap
        ([1] * 3 + [None] + [2] * 3, 2, 1, 3.0, 2.0),  # a gap and a switch at once end one run
        ([None] * 2 + [1] * 6 + [None] * 2, 1, 2, 6.0, 2.0),  # gaps at both ends count
        ([None] * 6, 0, 1, 0.0, 0.0),
    ],
)
def test_mtbf_of_one_fish(tracks: list[int | None], runs: int, gaps: int, mtbf_s: float, mtbf_m: float) -> None:
    mtbf = one_fish(tracks).mtbf
    assert (mtbf.runs, mtbf.gaps) == (runs, gaps)
    assert mtbf.mtbf_s == pytest.approx(mtbf_s)
    assert mtbf.mtbf_m == pytest.approx(mtbf_m)


def test_compatible_mtbf_takes_a_switch_to_a_new_track_for_a_gap() -> None:
    assert one_fish([1] * 5 + [2] * 5).mtbf.mtbf_m_compat == pytest.approx(10 / 3)


def test_an_old_track_is_taken_up_again_without_a_switch() -> None:
    """Track 1 is back after a gap, and a nearer stranger does not get the fish."""
    frame = [0, 2, 2]
    scores = evaluate(
        [0, 1, 2], [5, 5, 5], np.zeros((3, 3)), frame, [1, 1, 2], [[0, 0, 0], [0.5, 0, 0], [0.1, 0, 0]], gate=1.0
    )
    assert scores.clear.switches == 0
    assert scores.clear.motp == pytest.approx(0.25)
    assert scores.clear.fragmentations == 1
    assert scores.clear.false_positives == 1


def test_tracked_for_exactly_four_fifths_is_mostly_tracked() -> None:
    clear = one_fish([1] * 8 + [None] * 2).clear
    assert (clear.mostly_tracked, clear.partly_tracked, clear.mostly_lost) == (1, 0, 0)


def test_tracked_for_exactly_one_fifth_is_partly_tracked() -> None:
    clear = one_fish([1] * 2 + [None] * 8).clear
    assert (clear.mostly_tracked, clear.partly_tracked, clear.mostly_lost) == (0, 1, 0)


def test_the_gate_itself_is_still_a_match() -> None:
    assert one_fish([1] * 3, drift=1.0).clear.recall == 1.0
    assert one_fish([1] * 3, drift=np.nextafter(1.0, 2.0)).clear.recall == 0.0


def test_at_the_gate_similarity_is_one_half() -> None:
    """So a constant error of one gate counts at alphas 0.05 to 0.5, ten of nineteen."""
    hota = one_fish([1] * 3, drift=1.0).hota
    assert hota.deta == pytest.approx(10 / 19)
    assert hota.by_alpha["loca"][0] == pytest.approx(0.5)


def test_rmse_is_per_axis_and_in_all() -> None:
    offset = np.array([0.3, -0.4, 0.0])
    truth = np.random.default_rng(0).random((50, 3)) * 100
    frame = np.arange(50)
    error = evaluate(frame, np.zeros(50), truth, frame, np.ones(50), truth + offset, gate=1.0).error
    assert (error.rmse_x, error.rmse_y, error.rmse_z) == pytest.approx((0.3, 0.4, 0.0))
    assert error.rmse == pytest.approx(0.5)


def test_perfect_tracks_under_other_names_score_full() -> None:
    rng = np.random.default_rng(1)
    frame, fish = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    xyz = rng.random((120, 3)) * 50
    scores = evaluate(frame, fish, xyz, frame, 1000 - 7 * fish, xyz, gate=0.5).to_dict()
    for name in ("mota", "recall", "precision", "idf1", "hota", "deta", "assa", "loca"):
        assert scores[name] == pytest.approx(1.0), name
    assert scores["motp"] == scores["rmse"] == 0.0
    assert scores["mtbf_m"] == 30.0


def test_the_examples_in_docstrings_hold() -> None:
    tried = doctest.testmod(scores_module)
    assert tried.attempted > 0
    assert tried.failed == 0
