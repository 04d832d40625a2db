"""Boxes that others cut: sides, what hides what, and what a detector's boxes show."""

import numpy as np
import pytest
from scipy.stats import norm

from trackfish3d.core.compiled import kernel
from trackfish3d.methods.joint.arguments import Readings, Rig
from trackfish3d.methods.joint.bodies.extent import follow_bodies, inside
from trackfish3d.methods.joint.bodies.hiding import hide
from trackfish3d.methods.joint.bodies.kind import visible_odds
from trackfish3d.methods.joint.bodies.shape import ENTRIES, BodyShape
from trackfish3d.methods.joint.bodies.sides import may_be_covered, middle, seen_middle
from trackfish3d.synfish.rigs import random_rig

from . import plain


@kernel
def call_middle(lo, hi, mid, r, a, s, cut_lo, cut_hi):
    return middle(lo, hi, mid, r, a, s, cut_lo, cut_hi)


@kernel
def call_seen(readings, d, half, hidden):
    return seen_middle(readings, d, half, hidden)


def posterior(lo, hi, r, a, s, cut_lo, cut_hi):
    """Mean and variance of the middle by its mixture, written out with SciPy."""
    side, missing = np.sqrt(2) * r, 2 * a - (hi - lo)
    spread = np.sqrt(2 * side**2 + 4 * s**2)
    less = norm.cdf(missing, scale=spread) / (2 * a)
    weight = np.array([
        (1 - cut_lo) * (1 - cut_hi) * norm.pdf(missing, scale=spread), cut_lo * (1 - cut_hi) * less,
        cut_hi * (1 - cut_lo) * less, cut_lo * cut_hi * less,
    ])  # fmt: skip
    weight /= weight.sum()
    mean = np.array([0.5 * (lo + hi), hi - a, lo + a, 0.5 * (lo + hi)])
    variance = np.array([r**2, side**2 + s**2, side**2 + s**2, r**2 + missing**2 / 12])
    total = weight @ mean
    return total, weight @ (variance + (mean - total) ** 2)


@pytest.mark.parametrize("missing", [-8.0, 0.0, 5.0, 30.0, 70.0])
@pytest.mark.parametrize("cut", [(0.2, 0.0), (0.0, 0.4), (0.3, 0.3)])
def test_the_middle_is_the_mean_of_its_mixture(missing, cut):
    found = call_middle(10.0, 110.0 - missing, 60.0 - missing / 2, 2.0, 50.0, 4.0, *cut)
    assert found == pytest.approx(posterior(10.0, 110.0 - missing, 2.0, 50.0, 4.0, *cut), rel=1e-6)


def test_a_box_that_nobody_touches_is_taken_as_it_is():
    assert call_middle(10.0, 50.0, 33.0, 2.0, 50.0, 4.0, 0.0, 0.0) == (33.0, 4.0)
    box = np.array([[10.0, 20.0, 50.0, 90.0]])
    readings = Readings(
        0, np.array([0, 1]), np.array([33.0]), np.array([51.0]), np.array([2.0]), np.zeros(1), np.zeros(1)
    )
    half, hidden = np.array([40.0, 40.0, 2.0, 2.0]), np.zeros(4, bool)
    assert call_seen(readings, 0, half, hidden) == (33.0, 51.0, 2.0, 2.0)
    assert call_seen(readings._replace(box=box, cut=np.zeros((1, 4))), 0, half, hidden) == (33.0, 51.0, 2.0, 2.0)


def test_the_lower_half_of_a_body_that_is_hidden_does_not_move_its_middle():
    box = np.array([[100.0, 40.0, 180.0, 120.0]])  # of a body 80 wide and 200 high: legs behind another
    u, v, r = np.array([140.0]), np.array([80.0]), np.array([4.0])
    cut = np.array([[0.0, 0.0, 0.0, 0.2]])
    readings = Readings(0, np.array([0, 1]), u, v, r, np.zeros(1), np.zeros(1), box, cut)
    found = call_seen(readings, 0, np.array([40.0, 100.0, 3.0, 4.0]), np.array([False, False, False, True]))
    assert found[:2] == pytest.approx((140.0, 140.0), abs=0.5)
    assert 4.0 < found[3] < 10.0


def test_sides_are_touched_by_boxes_that_reach_over_them():
    box = np.array([
        [100, 100, 140, 200],  # reached over from the right by the next, which it reaches over itself
        [130, 90, 190, 220],
        [300, 300, 340, 400],  # alone
        [0, 300, 40, 400],  # at the border
        [100, 100, 140, 200],  # of another camera
    ], float)  # fmt: skip
    camera, sizes = np.array([0, 0, 0, 0, 1]), np.array([[640.0, 480.0], [640.0, 480.0]])
    found = may_be_covered(camera, np.array([0, 5]), box, sizes)
    assert found[0].tolist() == [False, False, True, False]
    assert found[1].tolist() == [True, False, False, False]
    assert not found[2].any()
    assert found[3].tolist() == [True, False, False, False]
    assert not found[4].any()


def test_visible_shares_are_those_of_a_fine_raster():
    rng = np.random.default_rng(3)
    rig = Rig(np.zeros((1, 1)), np.array([[640.0, 480.0]]), 1e-4, np.zeros((1, 3)))
    y, x = np.mgrid[0:480, 0:640].astype(float)
    for _ in range(5):
        n = 5
        half = np.zeros((n, 1, 4))
        half[:, 0, :2] = rng.uniform(25, 60, (n, 2))
        pixel = rng.uniform([250, 180], [390, 300], (n, 2))[:, None]
        state = np.zeros((n, 6))
        state[:, 2] = rng.permutation(n) + 1.0
        tracks = plain.predicted(n, 1, state=state, pixel=pixel, half=half, seen=np.ones((n, 1), bool))
        share = np.empty((n, 1))
        hide(rig, tracks, np.arange(n), np.ones(n, bool), share)
        body = [
            ((x - p[0]) / h[0]) ** 2 + ((y - p[1]) / h[1]) ** 2 < 1
            for p, h in zip(pixel[:, 0], half[:, 0], strict=True)
        ]
        for t in range(n):
            left = body[t].copy()
            for s in range(n):
                if state[s, 2] < state[t, 2]:
                    left &= ~body[s]
            assert share[t, 0] == pytest.approx(left.sum() / body[t].sum(), abs=0.08)
            if left.any() and left.sum() > 0.05 * body[t].sum():
                column = np.flatnonzero(left.any(0))
                cut = (column[0] - np.flatnonzero(body[t].any(0))[0]) / (2 * half[t, 0, 0])
                assert bool(tracks.hidden[t, 0, 0]) == (cut > 0.06) or abs(cut - 0.06) < 0.12


RIG = random_rig(3, 5, np.zeros(3))
S = np.diag([0.09, 0.04, 0.64])
USUAL = BodyShape(np.array([S[i, j] for i, j in ENTRIES]), 0.02**2 * np.eye(6), 0.03)


def walkers(cut_share, seed=0, rows=120):
    """Boxes of one body at changing places, of which the low side is cut now and then; half extents that are true."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((rows, 1, 2, 3)) * [[[30.0], [30.0]]]
    half = np.sqrt(np.einsum("ncki,ij,nckj->nck", J, S, J))
    box = np.concatenate([-half[:, 0], half[:, 0]], axis=1) + rng.normal(0, 0.4, (rows, 4))
    box[:, 3] -= (rng.uniform(size=rows) < cut_share) * rng.uniform(0.2, 1.2, rows) * half[:, 0, 1]
    sides = np.zeros((rows, 4), bool)
    sides[:, 3] = rng.uniform(size=rows) < 0.7
    box[~sides[:, 3], 3] = half[~sides[:, 3], 0, 1]
    return J, half, box, sides


@pytest.mark.parametrize("cut_share", [0.0, 0.4])
def test_extents_are_found_whether_boxes_are_cut_or_not(cut_share):
    J, half, box, sides = walkers(cut_share)
    n = len(box)
    found, _ = follow_bodies(
        np.array([0, n]), np.arange(n), np.arange(n)[:, None], J, np.ones((n, 1), bool), box, sides, USUAL, 0.98
    )
    late = slice(20, None)
    assert np.median(np.abs(found[late, :, :2] / half[late] - 1)) < 0.04


@pytest.mark.parametrize(("cut_share", "visible"), [(0.0, False), (0.3, True)])
def test_the_kind_of_detector_is_told_by_sizes(cut_share, visible):
    J, _, box, sides = walkers(cut_share, 1)
    n = len(box)
    members, use = np.arange(n)[:, None], np.ones((n, 1), bool)
    half, _ = follow_bodies(np.array([0, n]), np.arange(n), members, J, use, box, sides, USUAL, 0.98)
    odds, share = visible_odds(members, use, half, box, sides, np.full(n, 1.0))
    assert (odds > 10.0) == visible
    if visible:
        assert share == pytest.approx(cut_share, abs=0.15)


def test_a_body_is_not_inside_another():
    body = USUAL.mean[None]
    point = np.array([[0.1, 0.0, 0.2], [0.5, 0.0, 0.0], [0.0, 0.0, 0.6], [0.0, 0.19, 0.0]])
    assert inside(point, np.zeros((1, 3)), body).tolist() == [True, False, True, False]
    assert not inside(point, np.zeros((0, 3)), np.zeros((0, 6))).any()
