"""Of plausible pairs those that all views agree on are kept."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.methods.paper.agreement import agreed_pairs
from trackfish3d.methods.paper.labels import PseudoLabels
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene


def choose(camera, pairs):
    """Result by pair, for one frame; `pairs` maps (i, j) to a confidence."""
    keys = list(pairs)
    first = np.array([i for i, _ in keys], np.int32)
    second = np.array([j for _, j in keys], np.int32)
    confidence = np.array([pairs[k] for k in keys], np.float32)
    camera = np.array(camera, np.int64)
    found = agreed_pairs(camera, np.array([0, len(camera)]), np.array([0, len(keys)]), first, second, confidence)
    return dict(zip(keys, found.tolist(), strict=True))


def test_a_chance_pair_loses_against_three_views():
    sure = {(0, 2): 0.3, (0, 4): 0.3, (2, 4): 0.3, (1, 3): 0.2, (1, 5): 0.2, (3, 5): 0.2}
    found = choose([0, 0, 1, 1, 2, 2], sure | {(0, 3): 0.9})
    assert found[0, 3] == 0
    assert all(found[k] > 0 for k in sure)


def test_what_no_third_view_confirms_stays_undecided():
    found = choose([0, 0, 1, 1, 2], {(0, 2): 0.5, (0, 4): 0.5, (2, 4): 0.5, (1, 3): 0.9})
    assert found[1, 3] == -1


def test_two_cameras_take_the_surest_pairs():
    found = choose([0, 0, 1, 1], {(0, 2): 0.5, (0, 3): 0.6, (1, 2): 0.1, (1, 3): 0.2})
    assert {k for k, v in found.items() if v > 0} == {(0, 3), (1, 2)}
    assert found[0, 2] == found[1, 3] == 0


def test_a_fourth_camera_joins():
    found = choose([0, 1, 2, 3], {pair: 0.5 for pair in combinations(range(4), 2)})
    assert all(v > 0 for v in found.values())


def greedy(camera, pairs):
    """Sets of detections, once more and plainly."""
    table = {frozenset(k): v for k, v in pairs.items()}
    sets = [t for t in combinations(range(len(camera)), 3) if all(frozenset(p) in table for p in combinations(t, 2))]
    weight = {t: -np.float32(sum(np.float32(table[frozenset(p)]) for p in combinations(t, 2))) for t in sets}
    taken, used = [], set()
    for t in sorted(sets, key=lambda t: (weight[t], t)):
        if not used & set(t):
            taken.append(t)
            used |= set(t)
    return taken


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_three_cameras_as_a_plain_search_finds(data):
    counts = data.draw(st.lists(st.integers(1, 5), min_size=3, max_size=3))
    camera = [c for c, n in enumerate(counts) for _ in range(n)]
    every = [p for p in combinations(range(len(camera)), 2) if camera[p[0]] != camera[p[1]]]
    chosen = data.draw(st.lists(st.sampled_from(every), unique=True, min_size=1))
    pairs = {p: (1 + data.draw(st.integers(0, 1000))) / 1024 for p in chosen}
    found = choose(camera, pairs)
    member = {i: t for t in greedy(camera, pairs) for i in t}
    for (i, j), value in found.items():
        same = i in member and member[i] == member.get(j)
        assert (value > 0) == same
        assert (value == -1) == (i not in member and j not in member)


def precision(labels, detections, whom):
    """Share of the positives whose two detections show one animal."""
    frame = np.repeat(np.arange(len(labels.offsets) - 1), np.diff(labels.offsets))
    rows = detections.offsets[frame]
    one, other = whom[rows + labels.first], whom[rows + labels.second]
    same = ((one[:, :, None] == other[:, None]) & (one[:, :, None] >= 0)).any((1, 2))
    return same[labels.confidence > 0].mean()


def test_labels_of_a_dense_school_become_right(tmp_path):
    recording, _ = write_scene(benchmark_scenes(["train8"])[0], tmp_path / "rec")
    detections = recording.detections
    whom = recording.truth.identities_of_detections(len(detections))
    plausible = PseudoLabels.compute(recording.rig, detections)
    assert precision(plausible, detections, whom) < 0.4
    assert precision(plausible.agreed(detections), detections, whom) > 0.9
