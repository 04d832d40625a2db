"""What a pair network says, added to sets of detections."""

import numpy as np
import pytest

from trackfish3d.methods.joint.arguments import NO_ODDS, PairOdds
from trackfish3d.methods.joint.hypotheses import add_pair_odds


def test_pairs_of_a_set_count_once_each_and_views_share():
    rng = np.random.default_rng(0)
    n, start = 12, 5
    first, second = np.triu_indices(n, 1)
    keep = rng.random(len(first)) < 0.6
    first, second = first[keep], second[keep]
    odds = rng.normal(0, 2, len(first))
    order = rng.permutation(len(first))
    pair_odds = PairOdds.of(n + start, first[order] + start, second[order] + start, odds[order])
    table = {(a, b): o for a, b, o in zip(first, second, odds, strict=True)}
    sets = np.array([[0, 4, 8], [1, -1, 9], [-1, 5, -1], [-1, -1, -1], [2, 6, 11]])
    value = rng.normal(0, 1, len(sets))
    want = value.copy()
    for h, row in enumerate(sets):
        held = [d for d in row if d >= 0]
        pairs = [table.get((a, b), 0.0) for i, a in enumerate(held) for b in held[i + 1 :]]
        if pairs:
            want[h] += sum(pairs) / (len(held) - 1)
    add_pair_odds(value, sets, start, pair_odds)
    assert value == pytest.approx(want)


def test_no_network_says_nothing():
    value = np.array([1.0, 2.0])
    add_pair_odds(value, np.array([[0, 1], [1, 2]]), 0, NO_ODDS)
    assert value.tolist() == [1.0, 2.0]
