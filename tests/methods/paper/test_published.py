"""The published tracker on groups whose story is known."""

import numpy as np
import pytest

from trackfish3d.methods.paper.tracker import PaperTracker, TrackerSettings

from .slow_published import SlowTracker


def walk(frames, start, velocity):
    return np.asarray(start) + np.arange(frames)[:, None] * np.asarray(velocity)


def run(paths, embeddings, missing=(), settings=None, predict=None):
    """Feed paths (A, F, 3) with constant embeddings (A, D); `missing` holds (animal, frame). Numbers (A, F), -1."""
    tracker = PaperTracker(settings, predict)
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
    tracker = PaperTracker()
    first = tracker.update(0, np.zeros((1, 3)), AXES[:1])[0]
    second = tracker.update(40, np.array([where]), embedding[None])[0]
    final = tracker.finish()
    assert final[first] != final[second]


def test_one_end_is_joined_to_one_beginning_only():
    tracker = PaperTracker()
    tracker.update(0, np.zeros((1, 3)), AXES[:1])
    two = tracker.update(40, np.array([[0.1, 0, 0], [0.2, 0, 0]]), np.stack([AXES[0], AXES[0]]))
    final = tracker.finish()
    assert final[two[0]] != final[two[1]]


def test_numbers_are_never_revised():
    # What update returned after 30 frames is what it returned for them after 50.
    rng = np.random.default_rng(0)
    paths = np.cumsum(rng.normal(scale=0.05, size=(6, 50, 3)), axis=1) + rng.uniform(-3, 3, (6, 1, 3))
    missing = {(int(a), int(f)) for a, f in zip(rng.integers(0, 6, 60), rng.integers(0, 50, 60), strict=True)}
    embeddings = rng.normal(size=(6, 16))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    once, _ = run(paths, embeddings, missing)
    partial, _ = run(paths[:, :30], embeddings, {m for m in missing if m[1] < 30})
    np.testing.assert_array_equal(once[:, :30], partial)


@pytest.mark.parametrize("seed", range(6))
def test_the_tracker_is_the_plain_one(seed):
    """Crowded, noisy, with long absences and a predictor that turns: every rule has its turn."""
    rng = np.random.default_rng(seed)
    animals, frames, width = 9, 90, 8
    paths = np.cumsum(rng.normal(scale=0.12, size=(frames, animals, 3)), axis=0) + rng.uniform(-1.5, 1.5, (animals, 3))
    looks = rng.normal(size=(animals, width))
    turn = np.linalg.qr(np.eye(width) + 0.15 * rng.normal(size=(width, width)))[0]
    turn *= np.sign(np.diag(turn))  # near the identity
    away = rng.random((frames, animals)) < 0.12
    for animal in range(animals):
        begin = rng.integers(10, frames - 35)
        away[begin : begin + rng.integers(5, 35), animal] = True
    settings = TrackerSettings()
    fast = PaperTracker(settings, lambda x: x @ turn.astype(np.float32))
    slow = SlowTracker(settings, lambda x: x @ turn)
    frame = 0
    for f in range(frames):
        frame += 1 if rng.random() < 0.9 else 3  # frames without any detection are not even announced
        seen = np.flatnonzero(~away[f])
        vectors = looks[seen] + 0.3 * rng.normal(size=(len(seen), width))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        assert fast.update(frame, paths[f, seen], vectors).tolist() == slow.update(frame, paths[f, seen], vectors)
    final = fast.finish().tolist()
    assert final == slow.finish()
    assert slow.count > animals  # tracks broke
    assert len(set(final)) < slow.count  # and some were stitched


def test_lost_tracks_are_where_they_were_heading():
    tracker = PaperTracker()
    for f in range(3):
        tracker.update(f, np.array([[0.3 * f, 0, 0], [5, 0, 0]]), AXES[:2])
    tracker.update(5, np.array([[5.0, 0, 0]]), AXES[1:2])
    number, where = tracker.lost(5)
    assert number.tolist() == [0]
    np.testing.assert_allclose(where, [[0.6 + 3 * 0.3 * 0.91, 0, 0]])  # velocity after two steps: 0.7 + 0.3 * 0.7


def test_a_tracker_that_saw_nothing_has_nothing():
    tracker = PaperTracker()
    assert tracker.update(0, np.zeros((0, 3)), np.zeros((0, 8))).shape == (0,)
    assert tracker.lost(0)[1].shape == (0, 3)
    assert tracker.finish().shape == (0,)


def test_settings_reject_unknown_names():
    with pytest.raises(ValueError, match="Extra inputs"):
        TrackerSettings(max_agee=3)
