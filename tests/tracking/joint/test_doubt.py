"""Moments at which identities may be wrong: found where they are, named as the tracks are, and written."""

import csv

import numpy as np
import pytest

from trackfish3d.tracking.joint.belief import Sights
from trackfish3d.tracking.joint.doubt import link_confidence, suspects
from trackfish3d.tracking.joint.mending import Mended, mend
from trackfish3d.tracking.joint.method import Joint
from trackfish3d.tracking.joint.paths import Paths
from trackfish3d.tracking.joint.repair import Swaps
from trackfish3d.tracking.joint.settings import JointSettings
from trackfish3d.tracking.suspects import Suspect, write_suspects

from .scenes import belief, crossed_rig, paths_of, seen, wander

RIG = crossed_rig(3)
NOISE, ACCELERATION = 2.0, 0.004


def meeting_of_two(together):
    """Two animals that come together, swim as one for some frames, and part; (T, 2, 3)."""
    t = np.arange(90)
    away = np.maximum(np.abs(t - 45.0) - together / 2, 0)
    one = np.stack([0.01 * t - 0.5, 0.03 * away, 0.02 * away], 1)
    return np.stack([one, one * [1, -1, -1]], 1)


def mended(position, pieces=None):
    detections, rows = seen(RIG, position, NOISE)
    known = belief(RIG, NOISE, ACCELERATION)
    frames = np.arange(len(position))
    cut = (
        [(a, frames, rows[:, a], position[:, a]) for a in range(position.shape[1])] if pieces is None else pieces(rows)
    )
    paths = paths_of(RIG, detections, known, cut)
    return mend(RIG, Sights.of(RIG, detections, known), paths, known, JointSettings())


def test_an_encounter_that_nothing_decides_is_listed():
    found = suspects(mended(meeting_of_two(30)))
    assert len(found) == 1
    assert (found[0].track, found[0].other, found[0].kind) == (0, 1, "swap")
    assert 20 <= found[0].first <= found[0].last <= 70
    assert 0.2 < found[0].probability <= 0.9


def test_a_clear_crossing_is_not():
    t = np.arange(60)
    one = np.stack([0.04 * (t - 30), np.full(60, 0.1), np.zeros(60)], 1)
    assert suspects(mended(np.stack([one, -one], 1))) == []
    apart = np.stack([wander(60, ACCELERATION, [x, 0, 0, 0, 0.01, 0], k) for k, x in enumerate((-2, 2))], 1)
    assert suspects(mended(apart)) == []


def test_a_long_gap_is_a_doubtful_join():
    position = wander(60, ACCELERATION, [-1, 0, 0, 0.02, 0, 0])[:, None]

    def torn(rows):
        return [
            (0, np.arange(20), rows[:20, 0], position[:20, 0]),
            (1, np.arange(45, 60), rows[45:, 0], position[45:, 0]),
        ]

    found = suspects(mended(position, torn), least=0.0)
    assert [(s.first, s.last, s.track, s.other, s.kind) for s in found] == [(19, 45, 0, 0, "join")]
    assert 0 <= found[0].probability < 0.5


def by_hand(frames, odds, joins=(), join_odds=()):
    """Two tracks of 100 frames with doubtful moments at these frames."""
    n = 100
    paths = Paths(
        np.repeat([0, 1], n), np.tile(np.arange(n), 2), np.zeros((2 * n, 2), int), np.zeros((2 * n, 6)),
        np.zeros((2 * n, 6, 6)),
    )  # fmt: skip
    at = np.array(frames, int)
    return Mended(
        paths, Swaps(at, at + n, np.array(odds, float)), np.array(joins, int).reshape(-1, 3), np.array(join_odds)
    )


def test_moments_of_one_encounter_are_one_suspect_and_the_worst_speaks():
    found = suspects(by_hand([10, 12, 19, 60, 85], [-3, 0, -2, -1, -4], [(1, 30, 35)], [2.0]))
    assert [(s.first, s.last) for s in found] == [(10, 20), (60, 61), (30, 35), (85, 86)]
    np.testing.assert_allclose(
        [s.probability for s in found], [0.5, 1 / (1 + np.e), 1 / (1 + np.e**2), 1 / (1 + np.e**4)]
    )


@pytest.mark.parametrize("least", [0.0, 0.1, 0.4])
def test_unlikely_ones_are_left_out(least):
    odds = np.linspace(-8, 1.9, 7)
    found = suspects(by_hand(np.arange(7) * 14, odds), least)
    chance = 1 / (1 + np.exp(-odds))
    assert len(found) == (chance >= least).sum()
    assert all(0 <= s.probability <= 1 for s in found)


def test_confidence_of_a_link_is_that_nothing_was_exchanged():
    sure = link_confidence(by_hand([10, 60], [0, -1], [(1, 30, 35)], [2.0]))
    assert sure.shape == (200,)
    first, second = sure[:100], sure[100:]
    assert first[11] == second[11] == pytest.approx(0.5)
    assert first[61] == second[61] == pytest.approx(1 - 1 / (1 + np.e))
    assert second[35] == pytest.approx(1 - 1 / (1 + np.e**2))
    assert first[35] == 1
    assert (np.delete(first, [11, 61]) == 1).all()
    assert (np.delete(second, [11, 61, 35]) == 1).all()


def test_suspects_are_written(tmp_path):
    path = tmp_path / "suspects.csv"
    write_suspects([Suspect(3, 9, 0, 4, 0.25, "swap"), Suspect(20, 31, 2, 2, 0.01, "join")], path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["probability"] for r in rows] == ["0.2500", "0.0100"]
    assert rows[0] | {"probability": ""} == {
        "first_frame": "3", "last_frame": "9", "track": "0", "other": "4", "probability": "", "kind": "swap",
    }  # fmt: skip
    write_suspects([], path)
    assert len(path.read_text().splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["suspects.csv"]


@pytest.mark.parametrize("min_obs", [2, 40])
def test_suspects_name_tracks_as_they_are_returned(min_obs):
    """A third animal is there first, and leaves early; where short tracks are removed, the others move up."""
    position = np.concatenate([np.zeros((90, 1, 3)), meeting_of_two(30)], 1)
    position[:, 0] = wander(90, ACCELERATION, [-2, 0, 2, 0.01, 0, 0])
    missed = np.zeros((90, 3, 3), bool)
    missed[25:, 0], missed[:3, 1:] = True, True
    detections, rows = seen(RIG, position, NOISE, missed=missed)
    method = Joint(JointSettings(min_obs=min_obs))
    tracks = method.track(RIG, detections)
    assert len(tracks.identities) == (3 if min_obs == 2 else 2)
    assert method.suspects
    pairs = {(s.track, s.other, s.kind) for s in method.suspects}
    assert pairs == ({(1, 2, "swap")} if min_obs == 2 else {(0, 1, "swap")})
    held = tracks.detection[(tracks.track == min(pairs)[0])[:, None] & (tracks.detection >= 0)]
    assert np.isin(held, rows[:, 1:]).all()
    assert set(tracks.track[tracks.confidence < 0.9]) == set(min(pairs)[:2])
