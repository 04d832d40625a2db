"""The choice of hypotheses against a mixed-integer solver (HiGHS)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from tests.kernels import opened
from trackfish3d.methods.joint.packing import components, pack

components = opened(components)

PLENTY = 10**7


def problem(rng, tracks, detections, views, sets, tied=False):
    """Random hypotheses: each track nothing, and up to ``sets`` sets of detections, one a view; weights as found."""
    view = np.sort(rng.integers(views, size=detections))
    owner, members, weight = [], [], []
    for t in range(tracks):
        base = rng.normal(-3, 1)
        owner.append(t)
        members.append(np.full(views, -1))
        weight.append(base)
        for _ in range(rng.integers(sets + 1)):
            row = np.full(views, -1)
            for c in range(views):
                mine = np.flatnonzero(view == c)
                if len(mine) and rng.random() < 0.7:
                    row[c] = rng.choice(mine)
            if (row < 0).all():
                continue
            owner.append(t)
            members.append(row)
            worth = rng.gamma(2, 4) * (row >= 0).sum() / views
            weight.append(base + (round(worth) if tied else worth))
    return np.array(owner), np.array(members), np.array(weight)


def crowd(rng, tracks, views, doubt=0.5):
    """Tracks in a row whose detections their neighbours may want, the nearer the likelier: one long component."""
    owner, members, weight = [], [], []
    for t in range(tracks):
        owner.append(t)
        members.append(np.full(views, -1))
        weight.append(-5.0)
        for k in range(12):
            step = rng.integers(-2, 3, views) if k else np.zeros(views, np.int64)
            row = np.arange(views) * tracks + np.clip(t + step, 0, tracks - 1)
            row[rng.random(views) < 0.2] = -1
            if (row >= 0).any():
                owner.append(t)
                members.append(row)
                weight.append(-5.0 + (4.0 - step[row >= 0] ** 2).sum() + doubt * rng.standard_normal())
    return np.array(owner), np.array(members), np.array(weight)


def optimum(owner, members, weight, tracks, detections):
    """Greatest total weight by HiGHS."""
    one = np.zeros((tracks, len(owner)))
    one[owner, np.arange(len(owner))] = 1
    once = np.zeros((detections, len(owner)))
    h, c = np.nonzero(members >= 0)
    once[members[h, c], h] = 1
    rules = [LinearConstraint(one, 1, 1)] + ([LinearConstraint(once, -np.inf, 1)] if detections else [])
    found = milp(-weight, constraints=rules, integrality=np.ones(len(owner)), bounds=(0, 1), options={"mip_rel_gap": 0})
    assert found.success
    return -found.fun


def check(owner, members, chosen, tracks):
    """One hypothesis a track, no detection twice."""
    np.testing.assert_array_equal(owner[chosen], np.arange(tracks))
    used = members[chosen][members[chosen] >= 0]
    assert len(np.unique(used)) == len(used)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6), tracks=st.integers(1, 9), detections=st.integers(0, 14), views=st.integers(1, 5),
    sets=st.integers(0, 8), tied=st.booleans(),
)  # fmt: skip
def test_choice_is_the_best_there_is(seed, tracks, detections, views, sets, tied):
    owner, members, weight = problem(np.random.default_rng(seed), tracks, detections, views, sets, tied)
    chosen, gap, stopped = pack(owner, members, weight, tracks, detections, PLENTY)
    check(owner, members, chosen, tracks)
    assert (stopped, gap) == (0, 0)
    assert weight[chosen].sum() == pytest.approx(optimum(owner, members, weight, tracks, detections), abs=2e-6)


def test_many_tracks_that_all_share_detections():
    tracks, views = 40, 3
    proved = 0
    for seed in range(8):
        owner, members, weight = crowd(np.random.default_rng(seed), tracks, views)
        assert len(np.unique(components(owner, members, tracks, tracks * views))) == 1
        chosen, gap, stopped = pack(owner, members, weight, tracks, tracks * views, 20000)
        check(owner, members, chosen, tracks)
        missed = optimum(owner, members, weight, tracks, tracks * views) - weight[chosen].sum()
        assert -2e-6 <= missed <= gap + 2e-6
        assert (gap == 0) == (stopped == 0)
        proved += stopped == 0
    assert proved >= 2


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), nodes=st.integers(1, 30))
def test_a_search_that_ends_early_says_how_much_it_may_have_missed(seed, nodes):
    rng = np.random.default_rng(seed)
    tracks, detections, views = 12, 10, 3
    owner, members, weight = problem(rng, tracks, detections, views, 10)
    parts = len(np.unique(components(owner, members, tracks, detections)))
    chosen, gap, stopped = pack(owner, members, weight, tracks, detections, nodes)
    check(owner, members, chosen, tracks)
    missed = optimum(owner, members, weight, tracks, detections) - weight[chosen].sum()
    assert 0 <= stopped <= parts
    assert -2e-6 <= missed <= stopped * gap + 2e-6  # each component is within the largest gap
    assert (stopped > 0) == (gap > 0)


def test_some_searches_do_end_early():
    ended = [pack(*crowd(np.random.default_rng(seed), 40, 3, 8.0), 40, 120, 1)[1:] for seed in range(8)]
    assert any(stopped for _, stopped in ended)
    assert all(gap > 0 for gap, stopped in ended if stopped)


def labels_by_search(owner, members, tracks):
    """Components by a plain flood over shared detections."""
    wants = [set(members[owner == t][members[owner == t] >= 0].tolist()) for t in range(tracks)]
    label = [-1] * tracks
    for t in range(tracks):
        if label[t] >= 0:
            continue
        queue = [t]
        label[t] = t
        while queue:
            a = queue.pop()
            for b in range(tracks):
                if label[b] < 0 and wants[a] & wants[b]:
                    label[b] = t
                    queue.append(b)
    return label


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), tracks=st.integers(1, 15), detections=st.integers(1, 40))
def test_components_are_the_tracks_that_share_detections(seed, tracks, detections):
    owner, members, _ = problem(np.random.default_rng(seed), tracks, detections, 2, 3)
    found = components(owner, members, tracks, detections)
    np.testing.assert_array_equal(found, labels_by_search(owner, members, tracks))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_far_tracks_want_changes_nothing(seed):
    """A problem solved beside another one has the solution it has alone, in whatever order tracks come."""
    rng = np.random.default_rng(seed)
    first, second = problem(rng, 5, 8, 3, 6), problem(rng, 6, 7, 3, 6)
    alone = [pack(*p, n, d, PLENTY)[0] for p, n, d in ((first, 5, 8), (second, 6, 7))]
    shifted = np.where(second[1] >= 0, second[1] + 8, -1)
    owner = np.concatenate([2 * first[0], 2 * second[0] + 1])  # tracks of both take turns
    order = np.argsort(owner, kind="stable")
    _, owner = np.unique(owner[order], return_inverse=True)
    members = np.concatenate([first[1], shifted])[order]
    weight = np.concatenate([first[2], second[2]])[order]
    both, gap, stopped = pack(owner, members, weight, 11, 15, PLENTY)
    assert (stopped, gap) == (0, 0)
    together = {tuple(row) for row in members[both]}
    apart = {tuple(r) for r in first[1][alone[0]]} | {tuple(r) for r in shifted[alone[1]]}
    assert together == apart


def test_no_tracks_no_detections():
    chosen, gap, stopped = pack(np.zeros(0, np.int64), np.zeros((0, 3), np.int64), np.zeros(0), 0, 0, 10)
    assert (len(chosen), gap, stopped) == (0, 0, 0)
