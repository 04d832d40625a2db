"""The benchmark that holds claimed doubt against what happened, on tracks whose mistakes are known."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.methods.suspects import Suspect
from trackfish3d.recordings import Tracks, Truth

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "joint_doubt.py"
FRAMES, ANIMALS, VIEWS = 100, 3, 2


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("joint_doubt", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    sys.modules["joint_doubt"] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["joint_doubt"]


def told(bench, whom, confidence=None):
    """Tracks that follow animal whom[t, f] (-1: a mixture of two) in each frame; runs and events."""
    whom = np.asarray(whom)
    row = np.arange(FRAMES * ANIMALS * VIEWS).reshape(FRAMES, ANIMALS, VIEWS)
    names = ("a", "b")
    truth = Truth.build(
        np.repeat(np.arange(FRAMES), ANIMALS), np.tile(np.arange(ANIMALS), FRAMES), np.zeros((FRAMES * ANIMALS, 3)),
        cameras=names, detection=row.reshape(-1, VIEWS),
    )  # fmt: skip
    frame, track = np.tile(np.arange(FRAMES), len(whom)), np.repeat(np.arange(len(whom)), FRAMES)
    held = np.stack(
        [row[f, a] if a >= 0 else [row[f, 0, 0], row[f, 1, 1]] for f, a in zip(frame, whom.ravel(), strict=True)]
    )
    sure = np.ones(len(frame)) if confidence is None else confidence.ravel()
    tracks = Tracks.build(
        frame, track, np.zeros((len(frame), 3)), detection=held, confidence=sure, cameras=names
    )  # fmt: skip
    runs = bench.runs_of(track, frame, bench.true_identity(held, truth, row.size))
    return tracks, runs, bench.events_of(runs)


def followed(changes):
    """(T, F) animals: track t is animal t, until the frames of ``changes`` {track: [(frame, animal)]}."""
    whom = np.repeat(np.arange(ANIMALS)[:, None], FRAMES, 1)
    for track, moves in changes.items():
        for frame, animal in moves:
            whom[track, frame:] = animal
    return whom


def swap(first, last, one=0, other=1, chance=0.3):
    return Suspect(first, last, one, other, chance, "swap")


def test_a_swap_is_right_where_the_two_were_exchanged(bench):
    _, runs, events = told(bench, followed({0: [(50, 1)], 1: [(50, 0)]}))
    assert {(e.track, e.before, e.after, e.old, e.new) for e in events} == {(0, 49, 50, 0, 1), (1, 49, 50, 1, 0)}
    claimed, right, named = bench.judge_suspects([swap(47, 51)], runs, events)
    assert claimed.tolist() == [0.3]
    assert right.tolist() == [True]
    assert named == 2


def test_one_side_of_a_swap_is_enough_and_may_come_late(bench):
    whom = followed({0: [(50, 1)], 1: [(45, -1), (70, 0)]})
    _, runs, events = told(bench, whom)
    _, right, named = bench.judge_suspects([swap(47, 51)], runs, events)
    assert right.tolist() == [True]
    assert named == 2
    whom[1, 70:] = 2
    _, runs, events = told(bench, whom)
    _, right, named = bench.judge_suspects([swap(47, 51)], runs, events)
    assert right.tolist() == [True]
    assert named == 1  # track 1 left as well, but for somebody else's animal


@pytest.mark.parametrize(
    "suspect",
    [
        swap(47, 51, 0, 2),  # the track left, but not for that one's animal
        swap(47, 51, 1, 2),  # neither of them did
        swap(70, 75),  # they did, but not then
        Suspect(20, 30, 0, 0, 0.3, "join"),
    ],
)
def test_other_suspects_are_wrong(bench, suspect):
    _, runs, events = told(bench, followed({0: [(50, 1)], 1: [(50, 0)]}))
    _, right, named = bench.judge_suspects([suspect], runs, events)
    assert right.tolist() == [False]
    assert named == 0


def test_three_at_once(bench):
    _, runs, events = told(bench, followed({0: [(50, 2)], 1: [(50, 0)], 2: [(50, 1)]}))
    claimed = [swap(48, 51, 0, 1), swap(48, 51, 0, 2), swap(48, 51, 1, 2)]
    _, right, _ = bench.judge_suspects(claimed, runs, events)
    assert right.tolist() == [True, True, True]  # a ring of three: each pair has one that went over
    _, runs, events = told(bench, followed({0: [(50, 2)], 2: [(50, 0)], 1: [(50, -1)]}))
    _, right, _ = bench.judge_suspects([swap(48, 51, 0, 1), swap(48, 51, 0, 2)], runs, events)
    assert right.tolist() == [True]  # of the first nobody can tell: track 1 is nobody afterwards


def test_an_animal_that_the_other_left_long_ago_is_not_the_other_s(bench):
    whom = followed({0: [(50, 1)], 1: [(20, 2), (50, 0)], 2: [(20, 1), (50, 2)]})
    _, runs, events = told(bench, whom)
    _, right, _ = bench.judge_suspects([swap(48, 51, 0, 2), swap(48, 51, 1, 2)], runs, events)
    assert right.tolist() == [True, True]
    whom = followed({0: [(50, 1)], 1: [(20, 2)], 2: [(20, 1), (50, 0)]})
    _, runs, events = told(bench, whom)
    _, right, named = bench.judge_suspects([swap(48, 51, 0, 1)], runs, events)
    assert right.tolist() == [False]
    assert named == 0


def test_a_join_is_right_where_its_track_changed(bench):
    _, runs, events = told(bench, followed({2: [(40, -1), (60, 0)]}))
    _, right, named = bench.judge_suspects([Suspect(45, 58, 2, 2, 0.1, "join")], runs, events)
    assert right.tolist() == [True]
    assert named == 1


def test_short_visits_and_changes_back_are_no_events(bench):
    for moves in ([(50, 1), (50 + 9, 0)], [(50, -1), (70, 0)]):
        assert told(bench, followed({0: moves}))[2] == []


def test_an_event_is_charged_to_the_most_doubtful_link_near_it(bench):
    sure = np.full((ANIMALS, FRAMES), 1.0)
    sure[0, 44], sure[0, 80], sure[1, 52] = 0.9, 0.5, 0.8
    tracks, runs, events = told(bench, followed({0: [(50, 1)], 1: [(50, 0)]}), sure)
    chance, wrong = bench.judge_links(tracks, runs, events)
    assert len(chance) == ANIMALS * (FRAMES - 1)
    assert sorted(chance[wrong]) == pytest.approx([0.1, 0.2])
    assert wrong.sum() == 2


def test_links_that_nobody_could_judge_are_left_out(bench):
    tracks, runs, events = told(bench, followed({0: [(95, 1)], 1: [(0, -1), (10, 1)], 2: [(0, -1)]}))
    chance, wrong = bench.judge_links(tracks, runs, events)
    assert len(chance) == 94 + 89
    assert not wrong.any()


def test_bins_count_claims_and_events(bench):
    count, claimed, happened = bench.binned(np.array([0.0, 0.2, 0.25, 1.0]), np.array([False, True, False, True]))
    assert sum(count) == 4
    k = int(np.digitize(0.2, bench.EDGES)) - 1
    assert (count[k], claimed[k], happened[k]) == (2, pytest.approx(0.45), 1)
    assert (count[-1], happened[-1]) == (1, 1)
