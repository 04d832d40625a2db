"""The picture of a scene shows the events that were counted."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.image import imread

from trackfish3d.evaluation import Scores, evaluate
from trackfish3d.evaluation.score_timeline import _colours, _resumed, _runs, _switched, draw_timeline

from .oracles import Scene, scenes

NONE = (np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3)))


def one_fish(frames: list[int], tracks: list[int | None]) -> Scores:
    """One fish at the origin in these frames, on these tracks."""
    found = [f for f, track in zip(frames, tracks, strict=True) if track is not None]
    ids = [track for track in tracks if track is not None]
    true = (frames, [0] * len(frames), np.zeros((len(frames), 3)))
    return evaluate(*true, found, ids, np.zeros((len(found), 3)), gate=1.0)


def test_runs_are_stretches_on_one_track() -> None:
    animal, track, begin, end = _runs(one_fish([0, 1, 2, 3, 4, 5], [8, 8, None, 8, 9, 9]))
    np.testing.assert_array_equal(animal, [0, 0, 0, 0])
    np.testing.assert_array_equal(track, [0, -1, 0, 1])
    np.testing.assert_array_equal(begin, [-0.5, 1.5, 2.5, 3.5])
    np.testing.assert_array_equal(end, [1.5, 2.5, 3.5, 5.5])


def test_frames_counted_in_tens_leave_no_slits() -> None:
    _, _, begin, end = _runs(one_fish([0, 10, 20, 30], [1, 1, 2, 2]))
    np.testing.assert_array_equal(begin, [-0.5, 19.5])
    np.testing.assert_array_equal(end, [19.5, 30.5])


def test_a_fish_that_was_away_has_two_bars() -> None:
    """Another fish is there in frames 2 and 3, so those frames exist, and the first fish is not in them."""
    frame, fish = [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0]
    xyz = np.zeros((6, 3))
    animal, _, begin, end = _runs(evaluate(frame, fish, xyz, frame, fish, xyz, gate=1.0))
    np.testing.assert_array_equal(animal, [0, 0, 1])
    np.testing.assert_array_equal(begin, [-0.5, 3.5, 1.5])
    np.testing.assert_array_equal(end, [1.5, 5.5, 3.5])


@settings(max_examples=60, deadline=None)
@given(scenes())
def test_marks_are_as_many_as_the_scores_count(scene: Scene) -> None:
    scores = evaluate(*scene.columns, 0.7)
    assert len(_switched(scores)) == scores.clear.switches
    assert len(_resumed(scores)) == scores.clear.fragmentations


def test_nine_fish_on_nine_tracks_have_nine_colours() -> None:
    frame, fish = np.repeat(np.arange(4), 9), np.tile(np.arange(9), 4)
    xyz = np.stack([10.0 * fish, 0 * fish, 0 * fish], axis=1)
    scores = evaluate(frame, fish, xyz, frame, 50 - fish, xyz, gate=1.0)
    animal, track, begin, end = _runs(scores)
    colours = _colours(scores, animal, track, end - begin)
    assert len(np.unique(colours, axis=0)) == 9
    assert np.isfinite(colours).all()


def test_a_png_is_written_the_same_twice(tmp_path: Path) -> None:
    scores = one_fish(list(range(6)), [8, 8, None, 8, 9, 9])
    draw_timeline(scores, tmp_path / "plots" / "a.png", "one fish")
    draw_timeline(scores, tmp_path / "plots" / "b.png", "one fish")
    assert (tmp_path / "plots" / "a.png").read_bytes() == (tmp_path / "plots" / "b.png").read_bytes()
    image = imread(tmp_path / "plots" / "a.png")
    assert image.shape[1] == 1320
    assert sorted(p.name for p in (tmp_path / "plots").iterdir()) == ["a.png", "b.png"]


@pytest.mark.parametrize(
    "scores",
    [
        evaluate(*NONE, *NONE, gate=1.0),
        evaluate([0, 1], [3, 3], np.zeros((2, 3)), *NONE, gate=1.0),
        evaluate(*NONE, [0, 1], [3, 3], np.zeros((2, 3)), gate=1.0),
    ],
    ids=["nothing", "no tracks", "no truth"],
)
@pytest.mark.filterwarnings("error")
def test_empty_scenes_are_drawn_too(scores: Scores, tmp_path: Path) -> None:
    draw_timeline(scores, tmp_path / "empty.png", "empty")
    assert (tmp_path / "empty.png").stat().st_size > 1000
