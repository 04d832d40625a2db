"""Moments at which identities may be wrong: found where they are, named as the tracks are, and written."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement.borders import Borders
from trackfish3d.methods.joint.refinement.confidence import (
    LISTED,
    NO_SWAP,
    PLAIN,
    SCORES,
    WEIGHTS,
    Moments,
    laid_on,
    link_confidence,
    meetings,
    suspects,
    undo_doubtful_joins,
)
from trackfish3d.methods.joint.refinement.refine import Refined, refine
from trackfish3d.methods.joint.refinement.repair import Swaps
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings
from trackfish3d.methods.suspects import Suspect, write_suspects

from .scenes import crossed_rig, model, paths_of, seen, wander

RIG = crossed_rig(3)
NOISE, ACCELERATION = 2.0, 0.004
AS_IT_IS = (0.0, 1.0)  # a curve that leaves chances as they are


def meeting_of_two(together):
    """Two animals that come together, swim as one for some frames, and part; (T, 2, 3)."""
    t = np.arange(90)
    away = np.maximum(np.abs(t - 45.0) - together / 2, 0)
    one = np.stack([0.01 * t - 0.5, 0.03 * away, 0.02 * away], 1)
    return np.stack([one, one * [1, -1, -1]], 1)


def refined(position, pieces=None):
    detections, rows = seen(RIG, position, NOISE)
    known = model(RIG, NOISE, ACCELERATION)
    frames = np.arange(len(position))
    cut = (
        [(a, frames, rows[:, a], position[:, a]) for a in range(position.shape[1])] if pieces is None else pieces(rows)
    )
    paths = paths_of(RIG, detections, known, cut)
    return refine(RIG, Observations.of(RIG, detections, known), paths, known, JointSettings())


INSIDE = Borders(np.zeros(3, bool), np.zeros(3, bool), 0, 0)  # no track enters or leaves


def test_an_encounter_that_nothing_decides_is_listed():
    found = suspects(refined(meeting_of_two(30)))
    assert len(found) == 1
    assert (found[0].track, found[0].other, found[0].kind) == (0, 1, "swap")
    assert 20 <= found[0].first <= found[0].last <= 70
    assert 0.2 < found[0].probability <= 0.9


def test_a_clear_crossing_is_not():
    t = np.arange(60)
    one = np.stack([0.04 * (t - 30), np.full(60, 0.1), np.zeros(60)], 1)
    assert suspects(refined(np.stack([one, -one], 1))) == []
    apart = np.stack([wander(60, ACCELERATION, [x, 0, 0, 0, 0.01, 0], k) for k, x in enumerate((-2, 2))], 1)
    assert suspects(refined(apart)) == []


def torn(position, end, begin):
    """One animal in two pieces, with nothing between these frames."""

    def pieces(rows):
        return [
            (0, np.arange(end), rows[:end, 0], position[:end, 0]),
            (1, np.arange(begin, len(position)), rows[begin:, 0], position[begin:, 0]),
        ]

    return pieces


def test_a_long_gap_is_a_doubtful_join():
    position = wander(60, ACCELERATION, [-1, 0, 0, 0.02, 0, 0])[:, None]
    chances = []
    for begin in (24, 32, 45):
        found = meetings(refined(position, torn(position, 20, begin)), least=0.0)
        assert [(s.first, s.last, s.track, s.other, s.kind) for s in found] == [(19, begin, 0, 0, "join")]
        chances.append(found[0].probability)
    assert 0 < chances[0] < chances[1] < chances[2] < 0.5


def test_a_past_that_does_not_fit_the_future_is_more_doubtful():
    position = wander(60, ACCELERATION / 4, [-1, 0, 0, 0.02, 0, 0])[:, None]
    moved = position.copy()
    moved[30:] += [0, 0.5, 0]
    chances = [meetings(refined(p, torn(p, 20, 35)), 0.0, AS_IT_IS)[0].probability for p in (position, moved)]
    assert chances[1] > 3 * chances[0]


def by_hand(frames, odds, lost=(), score=10.0, joins=()):
    """Two tracks of 100 frames that met at these frames; the second is not seen between the pairs of ``lost``."""
    n = 100
    members = np.zeros((2 * n, 2), int)
    for a, b in lost:
        members[n + a + 1 : n + b] = -1
    paths = Trajectories(
        np.repeat([0, 1], n),
        np.tile(np.arange(n), 2),
        members,
        np.repeat(np.eye(2, 6), n, 0),
        np.tile(0.01 * np.eye(6), (2 * n, 1, 1)),
    )
    at = np.array(frames, int)
    scores = np.full(2 * n, 20.0)
    scores[[0, n]] = np.inf
    for a, b in lost:
        scores[n + (a + b) // 2] = score
    return Refined(
        paths, Swaps(at, at + n, np.array(odds, float)), scores, np.array(joins, int).reshape(-1, 3), INSIDE, False
    )


def curve(score, frames, odds=NO_SWAP, close=0.0):
    z = WEIGHTS @ [1, np.clip(score, *SCORES), np.log2(frames), odds - NO_SWAP, close]
    return 1 / (1 + np.exp(-z))


def test_moments_of_one_encounter_are_one_suspect():
    found = meetings(
        by_hand([10, 12, 19, 60, 85], [-3, 1, -2, -1, -4], [(30, 38)], -30.0, [(1, 30, 38)]), 0.0, AS_IT_IS
    )
    assert {(s.first, s.last, s.kind) for s in found} == {
        (10, 20, "swap"), (60, 61, "swap"), (30, 38, "join"), (85, 86, "swap"),
    }  # fmt: skip
    together = 1 - np.prod([1 - curve(20, 1, odds) for odds in (-3, 1, -2)])
    by_first = {s.first: s.probability for s in found}
    assert by_first[10] == pytest.approx(together)
    assert by_first[60] == pytest.approx(curve(20, 1, -1))
    assert by_first[30] == pytest.approx(curve(-30, 8))
    assert [s.probability for s in found] == sorted(by_first.values(), reverse=True)


def test_a_meeting_that_is_hardly_a_swap_names_no_other():
    found = meetings(by_hand([34], [-6.5], [(30, 38)], -30.0), 0.0, AS_IT_IS)
    mine = [s for s in found if s.track == 1]
    assert [(s.first, s.last, s.other, s.kind) for s in mine] == [(30, 38, 1, "gap")]
    assert mine[0].probability == pytest.approx(curve(-30, 8, -6.5))


@pytest.mark.parametrize("least", [1e-5, 1e-4, 0.001])
def test_unlikely_ones_are_left_out(least):
    odds = np.linspace(-3.9, 1.9, 6)
    found = meetings(by_hand(np.arange(6) * 15, odds), least)
    chance = np.array([curve(20, 1, o) for o in odds])
    assert len(found) == (chance >= least).sum()
    assert 0 < len(meetings(by_hand(np.arange(6) * 15, odds), float(np.median(chance)))) < 6


def test_confidence_of_a_link():
    sure = link_confidence(by_hand([10, 60], [0, -1], [(30, 38)], -20.0))
    assert sure.shape == (200,)
    first, second = sure[:100], sure[100:]
    assert first[0] == second[0] == 1  # there is no link before it
    assert first[11] == second[11] == pytest.approx(1 - curve(20, 1, 0))
    assert first[61] == second[61] == pytest.approx(1 - curve(20, 1, -1))
    assert second[34] == pytest.approx(1 - curve(-20, 8))  # where past and future agree least
    plain = 1 - PLAIN
    assert (np.delete(first[1:], [10, 60]) == plain).all()
    assert (np.delete(second[1:], [10, 60, 33]) == plain).all()


def test_in_the_same_place_odds_are_taken_at_their_word():
    apart = by_hand([10, 12, 40], [-1, 0.5, -3])
    close = by_hand([10, 12, 40], [-1, 0.5, -3])
    close.paths.state[:] = 0.0
    assert max(1 - link_confidence(apart)) < 0.01
    wrong = 1 - link_confidence(close)
    assert wrong[13] == wrong[113] == pytest.approx(1 - (1 - 1 / (1 + np.exp(-0.5))) * (1 - curve(20, 1, 0.5)))
    assert wrong[11] == pytest.approx(curve(20, 1, -1))  # the same encounter, counted once
    assert wrong[41] == pytest.approx(1 - (1 - 1 / (1 + np.exp(3))) * (1 - curve(20, 1, -3)))


def test_the_greatest_odds_of_several_partners_count():
    met = Swaps(np.array([10, 10]), np.array([110, 210]), np.array([1.0, -2.0]))
    n = 100
    paths = Trajectories(
        np.repeat([0, 1, 2], n), np.tile(np.arange(n), 3), np.zeros((3 * n, 2), int), np.repeat(np.eye(3, 6), n, 0),
        np.tile(0.01 * np.eye(6), (3 * n, 1, 1)),
    )  # fmt: skip
    found = meetings(Refined(paths, met, np.full(3 * n, 20.0), np.zeros((0, 3), int), INSIDE, False), 0.0, AS_IT_IS)
    assert {(s.track, s.other): pytest.approx(s.probability) for s in found} == {
        (0, 1): curve(20, 1, 1), (0, 2): curve(20, 1, -2),
    }  # fmt: skip


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
    result = Joint(JointSettings(min_obs=min_obs)).track(RIG, detections)
    tracks = result.tracks
    assert len(tracks.identities) == (3 if min_obs == 2 else 2)
    assert result.suspects
    pairs = {(s.track, s.other, s.kind) for s in result.suspects if s.kind == "swap"}
    assert pairs == ({(1, 2, "swap")} if min_obs == 2 else {(0, 1, "swap")})
    held = tracks.detection[(tracks.track == min(pairs)[0])[:, None] & (tracks.detection >= 0)]
    assert np.isin(held, rows[:, 1:]).all()
    assert set(tracks.track[tracks.confidence < 0.9]) == set(min(pairs)[:2])


def test_a_track_that_ends_in_the_middle_of_the_views_is_a_suspect_and_one_that_leaves_is_not():
    """Two animals swim apart; one is never seen again in the middle of the tank, the other swims out of the views."""
    t = np.arange(120)[:, None]
    still = np.hstack([0.2 + 0.0 * t, 0.001 * t, 0.0 * t])
    gone = np.hstack([-0.5 - 0.1 * t, 0.0 * t, 0.0 * t])
    stays = np.hstack([0.0 * t, 1.0 + 0.001 * t, 0.5 + 0.0 * t])
    missed = np.zeros((120, 3, 3), bool)
    missed[60:, 0] = True
    detections, _ = seen(RIG, np.stack([still, gone, stays], 1), NOISE, missed=missed)
    inside = ((detections.centroids >= 0) & (detections.centroids < np.array(RIG[0].size))).all(1)
    result = Joint().track(RIG, detections.select(inside))
    ends = [s for s in result.suspects if s.kind in ("end", "begin")]
    assert [(s.kind, s.first) for s in ends] == [("end", 59)]


def test_a_join_that_is_likelier_wrong_than_right_is_not_made():
    position = wander(60, ACCELERATION, [-1, 0, 0, 0.02, 0, 0])[:, None]
    whole = refined(position, torn(position, 20, 45))
    assert len(whole.paths.begin) == 2
    known = model(RIG, NOISE, ACCELERATION)
    obs = Observations.of(RIG, seen(RIG, position, NOISE)[0], known)
    kept = undo_doubtful_joins(RIG, obs, whole, known, JointSettings())
    assert kept is whole
    doubtful = replace(whole, scores=np.where(np.isfinite(whole.scores), -60.0, np.inf))
    cut = undo_doubtful_joins(RIG, obs, doubtful, known, JointSettings())
    assert len(cut.paths.begin) == 3
    assert not ((cut.paths.frame > 19) & (cut.paths.frame < 45)).any()
    assert len(cut.joins) == 0
    gone = replace(
        doubtful, joins=np.vstack([doubtful.joins, [[int(whole.paths.name[0]), 70, 90]]])
    )  # no row is left of it
    assert len(undo_doubtful_joins(RIG, obs, gone, known, JointSettings()).joins) == 0


@pytest.mark.parametrize("apart", [0.25, 0.5, 2.0])
def test_an_animal_lost_beside_another_is_more_doubtful(apart):
    """Two tracks of straight motion, one lost for eight frames; the nearer the other, the likelier they changed."""
    alone, beside = (by_hand([], [], [(30, 38)], -20.0) for _ in range(2))
    gap = float(np.linalg.norm(np.diff(beside.paths.state[beside.paths.frame == 34, :3], axis=0)))
    beside.body_length = gap / apart
    want = max(1 - apart, 0.0)
    assert Moments.of(alone).close.max() == 0.0
    assert Moments.of(beside).close.max() == pytest.approx(want, abs=0.1)
    assert (1 - link_confidence(beside)).max() == pytest.approx(curve(-20, 8, close=want), rel=0.5)


def test_what_is_listed_has_a_curve_of_its_own_and_joins_are_decided_without_it():
    position = wander(60, ACCELERATION, [-1, 0, 0, 0.02, 0, 0])[:, None]
    whole = refined(position, torn(position, 20, 45))
    scored = [replace(whole, scores=np.where(np.isfinite(whole.scores), s, np.inf)) for s in (10.0, 0.0, -10.0, -25.0)]
    plain = [meetings(r, 0.0, AS_IT_IS)[0].probability for r in scored]
    listed = [meetings(r, 0.0)[0].probability for r in scored]
    assert plain == sorted(plain)
    for chance, told in zip(plain, listed, strict=True):
        odds = np.log(chance / (1 - chance))
        assert told == pytest.approx(1 / (1 + np.exp(-LISTED[0] - LISTED[1] * odds)), rel=1e-9)
    known = model(RIG, NOISE, ACCELERATION)
    obs = Observations.of(RIG, seen(RIG, position, NOISE)[0], known)
    for chance, r in zip(plain, scored, strict=True):
        cut = undo_doubtful_joins(RIG, obs, r, known, JointSettings())
        assert (cut is r) == (chance <= 0.5)
    assert laid_on(1.0, AS_IT_IS) < 1.0
    assert laid_on(0.0, AS_IT_IS) > 0.0
