"""Fates of animals in the published grouping, one rule broken at a time."""

import numpy as np
import pytest

from tests.methods.worlds import observe
from trackfish3d.benchmark.fates import (
    DOUBTFUL,
    EXACT,
    FATES,
    MERGED,
    MIXED,
    OUTSIDE,
    PART,
    UNPAIRED,
    fates,
    matched_components,
)
from trackfish3d.methods.paper.grouping import group_detections
from trackfish3d.methods.paper.settings import GroupingSettings
from trackfish3d.synfish.rigs import paper_rig

POINTS = np.array([[2.0, -6.0, 20.0], [4.0, -5.0, 22.0]])


def school(**options):
    """One frame of two fish, and the true affinity."""
    rig = paper_rig(6)
    detections, truth = observe(rig, POINTS[None], noise=0.0, **options)
    whom = truth.identities_of_detections(len(detections))[:, 0]
    other = detections.camera[:, None] != detections.camera[None]
    return rig, detections, truth, whom, ((whom[:, None] == whom[None]) & other).astype(np.float32)


def fate(rig, d, truth, affinity, **settings):
    s = GroupingSettings(**settings)
    groups = group_detections(rig, d.frames, d.offsets, d.camera, d.score, d.centroids, d.boxes, affinity[None], s)
    found = fates(d, truth, groups, {0: affinity}, s)
    assert set(found) == set(FATES)
    assert sum(found.values()) == 2
    return {k: v for k, v in found.items() if v}


def test_true_scores_find_everybody():
    rig, d, truth, _, affinity = school()
    assert fate(rig, d, truth, affinity) == {EXACT: 2}
    assert len(np.unique(matched_components(d.camera, affinity, 0.5))) == 2


def test_scores_below_the_threshold_find_nobody():
    rig, d, truth, _, affinity = school()
    assert fate(rig, d, truth, 0.4 * affinity) == {UNPAIRED: 2}


def test_a_missing_view_and_two_doubtful_ones():
    rig, d, truth, whom, affinity = school()
    alone = np.flatnonzero((whom == 0) & (d.camera == 2))[0]
    affinity[alone] = affinity[:, alone] = 0
    assert fate(rig, d, truth, affinity) == {EXACT: 1, PART: 1}
    mine = np.flatnonzero((whom == 0) & (d.camera < 2))
    affinity[np.ix_(mine, mine)] *= 0.7
    assert fate(rig, d, truth, affinity) == {EXACT: 1, DOUBTFUL: 1}


@pytest.mark.parametrize(("box", "expected"), [(30.0, {MERGED: 2}), (3000.0, {MIXED: 2})])
def test_one_wrong_pair_merges_two_animals(box, expected):
    rig, d, truth, whom, affinity = school(box=box)
    # The pairs of cameras 0 and 2 are exchanged: with those of 0-1 and 1-2 all six detections hang together.
    first, last = (np.array([np.flatnonzero((whom == w) & (d.camera == c))[0] for w in (0, 1)]) for c in (0, 2))
    block = affinity[np.ix_(first, last)]
    affinity[np.ix_(first, last)] = block[::-1]
    affinity[np.ix_(last, first)] = block[::-1].T
    assert len(np.unique(matched_components(d.camera, affinity, 0.5))) == 1
    assert fate(rig, d, truth, affinity) == expected


def test_a_point_outside_a_box():
    rig, d, truth, _, affinity = school()
    u = d.u + np.where(d.camera == 1, 80.0, 0.0)
    moved = type(d).build(d.cameras, d.frame, d.camera, u, d.v, u - 1, d.v - 1, u + 1, d.v + 1, d.score)
    assert fate(rig, moved, truth, affinity) == {OUTSIDE: 2}
