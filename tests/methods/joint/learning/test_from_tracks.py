"""Learning from tracks: what becomes a label, and that it is learned and calibrated without truth."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trackfish3d.methods.joint.learning.batches import score_pairs  # noqa: E402
from trackfish3d.methods.joint.learning.kernels import COLUMNS, Column  # noqa: E402
from trackfish3d.methods.joint.learning.lessons import LearnSettings, Lesson, owners, teach  # noqa: E402
from trackfish3d.methods.joint.learning.network import PairSettings  # noqa: E402
from trackfish3d.methods.joint.learning.pair_features import TOKEN, PairFrames  # noqa: E402
from trackfish3d.recordings import Tracks  # noqa: E402

SMALL = PairSettings(width=16, layers=0, heads=2, feed_forward=16, pair_width=16)


def test_only_what_two_views_agree_on_for_long_is_a_label():
    frames = np.arange(30)
    rows = np.full((60, 2), -1)
    rows[:30, 0], rows[:30, 1] = 4 * frames, 4 * frames + 1  # track 5: two views, 30 frames
    rows[20:25, 1] = -1  # but one view alone in five of them
    rows[30:, 0] = 4 * frames + 2  # track 6: long, but only 10 frames of two views
    rows[30:40, 1] = 4 * frames[:10] + 3
    tracks = Tracks.build(
        np.tile(frames, 2), np.repeat([5, 6], 30), np.zeros((60, 3)), detection=rows, cameras=("a", "b")
    )
    owner = owners(tracks, 120, 20)
    expected = np.full(120, -1)
    kept = np.setdiff1d(frames, np.arange(20, 25))
    expected[4 * kept] = expected[4 * kept + 1] = 5
    np.testing.assert_array_equal(owner, expected)
    assert set(owners(tracks, 120, 10)) == {-1, 5, 6}
    assert (owners(tracks, 120, 26) == -1).all()


def world(odds, frames=800, seed=0, held=0.3):
    """Two views of three animals; column 0 tells with geometry's ratio, column 15 adds ``odds`` times a sign."""
    rng = np.random.default_rng(seed)
    offsets = 6 * np.arange(frames + 1)
    first = (np.repeat(offsets[:-1], 9) + np.tile(np.repeat([0, 1, 2], 3), frames)).astype(np.int64)
    second = (np.repeat(offsets[:-1], 9) + np.tile(np.tile([3, 4, 5], 3), frames)).astype(np.int64)
    same = first % 3 == second % 3
    sure = 1 / (1 + math.exp(-odds))
    columns = np.zeros((9 * frames, COLUMNS), np.float32)
    columns[:, Column.FAR_MOST] = np.where(same, rng.normal(1.0, 1, len(same)), rng.normal(-1.0, 1, len(same)))
    columns[:, Column.LENGTH_DIFFERENCE] = np.where((rng.random(len(same)) < sure) == same, 1.0, -1.0)
    tokens = np.zeros((6 * frames, TOKEN), np.float32)
    camera = np.tile([0, 0, 0, 1, 1, 1], frames).astype(np.int64)
    made = PairFrames(offsets, camera, tokens, 9 * np.arange(frames + 1), first, second, columns)
    owner = np.tile([0, 1, 2, 0, 1, 2], frames)
    return Lesson.of(made, owner, np.arange(frames) >= (1 - held) * frames), same


def test_both_parts_are_the_log_likelihood_ratios_of_a_made_up_world():
    """Geometry's ratio is 2 x by construction, shape's is +-odds; both are found, and the prior of 1 to 2 is gone."""
    lesson, _ = world(odds=2.0)
    assert lesson.prior == pytest.approx(math.log(0.5), abs=0.01)
    settings = LearnSettings(steps=250, learning_rate=1e-2, tokens=300, without_masks=0.0, model=SMALL)
    net = teach([lesson], settings)
    fresh, _ = world(odds=2.0, seed=1)
    known, beyond = score_pairs(net, fresh.frames)
    x = fresh.frames.columns[:, Column.FAR_MOST]
    usual = np.abs(x) < 2
    assert np.abs(known[usual] - 2 * x[usual]).mean() < 0.35
    sign = fresh.frames.columns[:, Column.LENGTH_DIFFERENCE]
    assert beyond[sign > 0].mean() == pytest.approx(2.0, abs=0.5)
    assert beyond[sign < 0].mean() == pytest.approx(-2.0, abs=0.5)
    again = teach([lesson], settings)
    assert all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), again.state_dict().values(), strict=True))


def test_calibration_takes_back_what_was_learned_too_surely():
    """Learned where shape never errs, calibrated where it errs one time in eight: log-odds 2, not infinity."""
    sure, _ = world(odds=20.0)
    doubtful, _ = world(odds=2.0)
    columns = sure.frames.columns.copy()
    late = np.repeat(sure.held, 9)
    columns[late] = doubtful.frames.columns[late]
    f = sure.frames
    mixed = Lesson.of(PairFrames(f.offsets, f.camera, f.tokens, f.starts, f.first, f.second, columns),
                      np.tile([0, 1, 2, 0, 1, 2], len(f)), sure.held)  # fmt: skip
    net = teach([mixed], LearnSettings(steps=200, learning_rate=1e-2, tokens=300, without_masks=0.0, model=SMALL))
    assert float(net.scale) < 0.7
    _, beyond = score_pairs(net, mixed.frames)
    assert np.abs(beyond[late]).mean() == pytest.approx(2.0, abs=0.6)


def test_without_shape_nothing_is_added_to_geometry():
    lesson, _ = world(odds=0.0)
    net = teach([lesson], LearnSettings(steps=200, learning_rate=1e-2, tokens=300, model=SMALL))
    _, beyond = score_pairs(net, world(odds=0.0, seed=1)[0].frames)
    assert np.abs(beyond).mean() < 0.3
