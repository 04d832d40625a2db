"""Tracklets of two views: links, gaps of rays, what other frames say of a pair, and when that is asked."""

from dataclasses import replace

import numpy as np
import pytest

from tests.methods.joint.scenes import crossed_rig, model, seen
from trackfish3d.cameras import CameraRig, Interface
from trackfish3d.methods.joint.arguments import Columns, Lines, PairOdds
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.tracklets.deciding import crowded, with_pairing, worth
from trackfish3d.methods.joint.tracklets.evidence import ASTRAY, FAR, Gaps, gap_ratio, ray_gaps, spreads
from trackfish3d.methods.joint.tracklets.linking import link_views
from trackfish3d.methods.joint.tracklets.pairing import WINDOW, Leads, best_other, looked_up, others
from trackfish3d.synfish.rigs import random_rig

NOISE = 1.0  # px


def columns_of(camera, pixel, noise=NOISE):
    n = len(camera)
    return Columns(camera, *pixel.T.copy(), np.full(n, noise), np.full(n, np.log(50.0)), np.full(n, np.nan))


def lines_of(rig, columns):
    rays = [rig[c].rays(np.array([[u, v]])) for c, u, v in zip(columns.camera, columns.u, columns.v, strict=True)]
    return Lines(np.concatenate([r.origin for r in rays]), np.concatenate([r.direction for r in rays]), columns.camera)


@pytest.mark.parametrize("water", [False, True])
def test_gaps_of_one_animal_are_as_wide_as_the_noise_makes_them(water):
    """Drawn pixels are the oracle: in its own deviations the gap is a standard normal, through water too."""
    rig = random_rig(2, 3, np.zeros(3))
    if water:
        ports = [(c.centre / np.linalg.norm(c.centre), c) for c in rig]
        rig = CameraRig(tuple(replace(c, interfaces=(Interface(point=8 * n, normal=n),)) for n, c in ports), rig.units)
    rng = np.random.default_rng(0)
    draws = 600
    place = rng.uniform(-3, 3, (draws, 3))
    camera = np.tile(np.arange(2), draws)
    pixel = np.stack([c.project(place) for c in rig], axis=1).reshape(-1, 2)
    columns = columns_of(camera, pixel + NOISE * rng.standard_normal(pixel.shape))
    gaps = ray_gaps(2 * np.arange(draws + 1), columns, lines_of(rig, columns), spreads(rig, columns), FAR)
    assert len(gaps.first) == draws
    assert np.mean(gaps.off) == pytest.approx(0.0, abs=4 / np.sqrt(draws))
    assert np.mean(gaps.off**2) == pytest.approx(1.0, abs=4 * np.sqrt(2 / draws))


def test_no_single_frame_speaks_against_a_pair_by_more_than_tracklets_go_astray():
    off = np.concatenate([np.linspace(0, 3, 20), np.linspace(50, 5000, 200)])
    ratio = gap_ratio(Gaps(np.zeros(220, np.int64), np.ones(220, np.int64), off, np.full(220, 0.01), 0.01 * off))
    assert ratio.min() >= np.log(ASTRAY) - 1e-9
    assert (ratio[:5] > 3).all()
    assert (np.diff(ratio[:20]) < 0).all()


def test_tracklets_end_where_two_animals_pass_and_nowhere_else():
    t = np.arange(40)
    one, other = np.stack([10.0 * t, 100.0 + 5.0 * t], 1), np.stack([390.0 - 10.0 * t, 105.0 + 5.0 * t], 1)
    alone = np.stack([10.0 * t, np.full(40, 900.0)], 1)
    pixel = np.stack([one, other, alone], axis=1)
    columns = columns_of(np.zeros(120, np.int64), pixel.reshape(-1, 2))
    label = link_views(columns, 3 * np.arange(41), t, 1).reshape(40, 3)
    assert len(np.unique(label[:, 2])) == 1
    assert len(np.unique(label[:15, 0])) == len(np.unique(label[25:, 0])) == 1
    assert not set(label[:15, 0]) & set(label[25:, 1])
    assert not set(label[:15, 1]) & set(label[25:, 0])
    assert not set(label[:, 0]) & set(label[:, 2])


def test_a_detection_of_another_size_begins_a_tracklet():
    columns = columns_of(np.zeros(3, np.int64), np.array([[0.0, 0], [1, 0], [2, 0]]))
    columns.log_size[2] += 0.6
    assert list(link_views(columns, np.arange(4), np.arange(3), 1)) == [0, 0, 1]


def test_sums_over_other_frames_and_best_rivals_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    n = 300
    moment = rng.choice(6 * 150, n, replace=False)
    pair, frame, ratio = moment // 150, moment % 150, rng.standard_normal(n)
    pair = np.unique(pair, return_inverse=True)[1]
    total, count = others(pair, frame, ratio)
    key = rng.integers(0, 80, n)
    best = best_other(key, ratio, 80)
    for k in range(n):
        near = (pair == pair[k]) & (np.abs(frame - frame[k]) <= WINDOW) & (np.arange(n) != k)
        assert count[k] == near.sum()
        assert total[k] == pytest.approx(ratio[near].sum(), abs=1e-9)
        rivals = ratio[(key == key[k]) & (np.arange(n) != k)]
        assert best[k] == rivals.max(initial=-np.inf)


def crossing_heights(frames=60):
    """Four animals that are all at one height in the middle of the film, where any two rays meet."""
    t = np.linspace(-1, 1, frames)
    position = np.empty((frames, 4, 3))
    for k in range(4):
        angle = 1.0 + k * np.pi / 2
        position[:, k] = 3 * np.array([np.cos(angle), np.sin(angle), 0.0])
        position[:, k, 2] = (k - 1.5) * t
    return position


def test_where_all_rays_meet_other_frames_tell_who_is_who():
    rig = crossed_rig(2)
    detections, rows = seen(rig, crossing_heights(), NOISE)
    known = model(rig, NOISE, 0.01, tracklets=True)
    pairs = Observations.of(rig, detections, known).pair_odds
    middle = rows[29:31]
    true, false = [], []
    for frame in middle:
        for i in range(4):
            for j in range(4):
                odds = looked_up(pairs, frame[i : i + 1, 0], frame[j : j + 1, 1])[0]
                (true if i == j else false).append(odds)
    assert min(true) > 1.0
    assert max(false) < -1.0
    assert Observations.of(rig, detections, known.with_(tracklets=False)).pair_odds.begin.size == 0


def test_rays_that_meet_one_other_ask_no_tracklets():
    rig = crossed_rig(2)
    apart = crossing_heights()
    apart[..., 2] = np.array([-3.0, -1.0, 1.0, 3.0])
    for position, needed in ((apart, False), (np.zeros_like(apart) + crossing_heights()[30:31], True)):
        detections, _ = seen(rig, position, NOISE)
        found = with_pairing(rig, detections, model(rig, NOISE, 0.01, tracklets=True))
        assert found.tracklets is needed
        assert found.shape is None


def test_outlines_are_used_where_they_tell_sure_pairs_from_false_ones():
    rng = np.random.default_rng(2)
    pair = np.repeat(np.arange(60), 8)
    lead = np.where(pair < 20, 6.0, -10.0)
    leads = Leads(pair, pair, pair, lead)
    tells, nothing = np.where(pair < 20, 1.0, -1.0), rng.choice([-1.0, 1.0], 60)[pair]
    assert worth(leads, tells) > 10.0 > worth(leads, nothing)
    assert worth(leads, np.full(len(pair), 2.0)) < 0.0 == worth(leads, np.zeros(len(pair)))
    assert worth(leads._replace(lead=np.zeros(len(pair))), tells) == 0.0


def test_a_crowd_is_told_by_how_many_rays_of_another_view_each_meets():
    lead, pair = np.zeros(10), np.arange(10)
    two = np.repeat([0, 1], 10)
    assert not crowded(Leads(pair, pair + 10, pair, lead), two)
    assert crowded(Leads(pair // 2, pair + 10, pair, lead), two)
    three = np.repeat([0, 1, 2], 5)  # one partner in each of two other views is no crowd
    assert not crowded(Leads(np.tile(np.arange(5), 2), np.arange(5, 15), pair, lead), three)
    empty = np.zeros(0, np.int64)
    assert not crowded(Leads(empty, empty, empty, np.zeros(0)), empty)


def test_odds_of_pairs_without_an_entry_are_nothing():
    pairs = PairOdds.of(4, np.array([0, 0]), np.array([2, 3]), np.array([1.5, -2.0]))
    assert list(looked_up(pairs, np.array([0, 0, 1]), np.array([3, 2, 3]))) == [-2.0, 1.5, 0.0]
