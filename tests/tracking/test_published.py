"""The published tracker on groups whose story is known."""

import numpy as np
import pytest

from trackfish3d.tracking.published import PublishedTracker, TrackerSettings


def walk(frames, start, velocity):
    return np.asarray(start) + np.arange(frames)[:, None] * np.asarray(velocity)


def run(paths, embeddings, missing=(), settings=None, predict=None):
    """Feed paths (A, F, 3) with constant embeddings (A, D); `missing` holds (animal, frame). Numbers (A, F), -1."""
    tracker = PublishedTracker(settings, predict)
    paths = np.asarray(paths)
    numbers = np.full(paths.shape[:2], -1)
    for f in range(paths.shape[1]):
        seen = np.array([a for a in range(len(paths)) if (a, f) not in missing], dtype=int)
        numbers[seen, f] = tracker.update(f, paths[seen, f].reshape(-1, 3), np.asarray(embeddings)[seen])
    return numbers, tracker


AXES = np.eye(8)


def test_two_animals_keep_their_numbers():
    numbers, _ = run([walk(30, [0, 0, 0], [0.1, 0, 0]), walk(30, [5, 0, 0], [0, 0.1, 0])], AXES[:2])
    assert (numbers[0] == numbers[0, 0]).all()
    assert (numbers[1] == numbers[1, 0]).all()
    assert numbers[0, 0] != numbers[1, 0]


def test_embeddings_decide_where_animals_meet():
    # Both bounce off each other at frame 15; straight prediction would swap them, embeddings do not.
    x = np.abs(np.arange(30) - 15) * 0.1 + 0.05
    left, right = np.zeros((30, 3)), np.zeros((30, 3))
    left[:, 0], right[:, 0] = -x, x
    numbers, _ = run([left, right], AXES[:2])
    assert (numbers[0] == numbers[0, 0]).all()
    assert (numbers[1] == numbers[1, 0]).all()


def test_a_gap_is_bridged_by_velocity_until_the_track_dies():
    path = walk(60, [0, 0, 0], [0.3, 0, 0])
    numbers, _ = run([path], AXES[:1], missing={(0, f) for f in range(10, 20)})
    assert numbers[0, 20] == numbers[0, 0]
    numbers, _ = run([path], AXES[:1], missing={(0, f) for f in range(10, 27)})  # 17 frames: more than 15
    assert numbers[0, 27] != numbers[0, 0]


def test_the_predictor_is_rolled_at_most_five_times():
    calls = []

    def predict(x):
        calls.append(len(x))
        return x

    run([walk(30, [0, 0, 0], [0, 0, 0])], AXES[:1], missing={(0, f) for f in range(5, 15)}, predict=predict)
    assert len(calls) == 5  # only the frame that sees the animal again matches anything; its gap of 10 is cut to 5


def test_a_fragment_is_stitched_to_the_one_it_resembles():
    here, gone = walk(80, [0, 0, 0], [0, 0, 0]), {(0, f) for f in range(10, 40)}
    numbers, tracker = run([here], AXES[:1], missing=gone)
    assert numbers[0, 45] != numbers[0, 5]
    final = tracker.finish()
    assert final[numbers[0, 45]] == final[numbers[0, 5]]


@pytest.mark.parametrize(("where", "embedding"), [([2.5, 0, 0], AXES[0]), ([0.5, 0, 0], AXES[1])])
def test_far_or_unlike_fragments_stay_apart(where, embedding):
    tracker = PublishedTracker()
    first = tracker.update(0, np.zeros((1, 3)), AXES[:1])[0]
    second = tracker.update(40, np.array([where]), embedding[None])[0]
    final = tracker.finish()
    assert final[first] != final[second]


def test_one_end_is_joined_to_one_beginning_only():
    tracker = PublishedTracker()
    tracker.update(0, np.zeros((1, 3)), AXES[:1])
    two = tracker.update(40, np.array([[0.1, 0, 0], [0.2, 0, 0]]), np.stack([AXES[0], AXES[0]]))
    final = tracker.finish()
    assert final[two[0]] != final[two[1]]


def test_online_is_offline_before_stitching():
    # What update returned is what a second run over all frames at once returns: no number is ever revised.
    rng = np.random.default_rng(0)
    paths = np.cumsum(rng.normal(scale=0.05, size=(6, 50, 3)), axis=1) + rng.uniform(-3, 3, (6, 1, 3))
    missing = {(int(a), int(f)) for a, f in zip(rng.integers(0, 6, 60), rng.integers(0, 50, 60), strict=True)}
    embeddings = rng.normal(size=(6, 16))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    once, _ = run(paths, embeddings, missing)
    partial, _ = run(paths[:, :30], embeddings, {m for m in missing if m[1] < 30})
    np.testing.assert_array_equal(once[:, :30], partial)


def test_settings_reject_unknown_names():
    with pytest.raises(ValueError, match="Extra inputs"):
        TrackerSettings(max_agee=3)
