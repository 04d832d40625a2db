import numpy as np
import pytest

from trackfish3d.behaviour.abnormal import paper as pub
from trackfish3d.behaviour.abnormal.scores import score_published, score_published_view
from trackfish3d.behaviour.abnormal.single_camera import followed, follows_abnormal, view_tracks

from .schools import recording_of, tracks_of, truth_of, wandering


def test_features_of_a_window_by_hand():
    x = np.array([[[0.0, 0, 0], [0, 4, 0]], [[1, 0, 0], [0, 4, 0]], [[1, 2, 0], [0, 4, 0]]])
    first, second = pub.window_features(x)[0]
    named = dict(zip(pub.FEATURES, first, strict=True))
    assert named["speed_mean"] == pytest.approx(1.5)
    assert named["speed_std"] == pytest.approx(0.5)
    assert named["speed_max"] == pytest.approx(2.0)
    assert named["path_length"] == pytest.approx(3.0)
    assert named["straightness"] == pytest.approx(np.sqrt(5) / 3)
    assert named["acceleration"] == pytest.approx(1.0)
    away = np.array([2, np.sqrt(17) / 2, np.sqrt(5) / 2])  # half the distance to the other
    assert named["centroid_distance_mean"] == pytest.approx(away.mean())
    assert named["centroid_distance_std"] == pytest.approx(away.std())
    assert named["nearest_neighbour"] == pytest.approx(2 * away.mean())
    assert second[pub.FEATURES.index("speed_mean")] == 0
    assert second[pub.FEATURES.index("straightness")] == 1  # who does not move has not strayed


def test_as_many_windows_as_the_paper_has():
    assert len(pub.window_features(np.zeros((361, 8, 3)))) == 359


def test_pixels_are_as_good_as_world():
    x = np.random.default_rng(0).normal(size=(10, 5, 2))
    flat = np.concatenate([x, np.zeros((10, 5, 1))], axis=2)
    assert pub.window_features(x) == pytest.approx(pub.window_features(flat))


def test_every_forest_and_lof_window_flags_exactly_one():
    found = pub.detect(wandering(fish=8, frames=30))
    assert (found.flags["iforest"].sum(1) == 1).all()
    assert (found.flags["lof"].sum(1) == 1).all()
    votes = sum(found.flags[m].astype(int) for m in ("iforest", "lof", "zscore"))
    assert (found.flags["consensus"] == (votes >= 2)).all()


def test_a_slow_and_lonely_fish_is_found():
    x = wandering(fish=8, frames=60, turn=0.01, cruise=[0.1] * 7 + [0.01], box=3.0)
    x[:, 7] += 30
    found = pub.detect(x)
    for method in pub.METHODS:
        assert found.flags[method][:, 7].mean() > 0.95


def test_short_tracks_are_left_out_and_gaps_are_not_judged():
    x = wandering(fish=8, frames=100)
    x[29:, 0] = np.nan  # 29 % of the recording
    x[50, 1] = np.nan
    assert pub.long_enough(x).tolist() == [False] + [True] * 7
    found = pub.detect(x)
    assert np.isnan(found.features[:, 0]).all()
    assert np.isnan(found.features[48:51, 1]).all()
    assert np.isfinite(found.features[47, 1]).all()
    assert not found.flags["iforest"][:, 0].any()


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 3, 3), (10, 0, 3), (10, 1, 3), (10, 2, 3)])
def test_too_little_flags_nobody(shape):
    found = pub.detect(np.random.default_rng(0).normal(size=shape))
    assert not any(f.any() for f in found.flags.values())


def test_scores_of_windows_by_hand():
    truth = np.array([[True, False, False]] * 4)
    flags = np.array([[True, False, False], [True, True, False], [False, True, False], [False, False, False]])
    s = pub.score_windows(flags, truth)
    assert s.exact == pytest.approx(1 / 4)
    assert s.precision == pytest.approx((1 + 1 / 2 + 0 + 0) / 4)
    assert s.recall == pytest.approx(2 / 4)
    assert s.f1 == pytest.approx((1 + 2 / 3 + 0 + 0) / 4)
    nobody = pub.score_windows(np.zeros((3, 2), bool), np.zeros((3, 2), bool))
    assert (nobody.exact, nobody.f1) == (1, 1)
    lost = pub.score_windows(np.zeros((3, 2), bool), np.zeros((3, 2), bool), np.ones(3, bool))
    assert (lost.exact, lost.f1) == (0, 0)


def test_a_track_is_the_animal_it_follows_most():
    truth = np.array([[[0.0, 0, 0], [5, 0, 0]]] * 6)
    track = truth[:, :1].copy()
    track[3:] = [[5.1, 0, 0]]
    track[5] = [[9.0, 0, 0]]
    whom = followed(track, truth, gate=1.0)
    assert whom[:, 0].tolist() == [0, 0, 0, 1, 1, -1]
    at = np.array([0, 1, 2, 3])
    assert follows_abnormal(whom, [1], at, at + 2)[:, 0].tolist() == [False, False, True, True]


def test_each_view_is_tracked_by_itself(tmp_path):
    x = wandering(fish=4, frames=60, turn=0.01, cruise=[0.1] * 3 + [0.01], box=4.0)
    recording = recording_of(tmp_path / "r", x)
    names, position = view_tracks(recording.detections, 1)
    assert position.shape == (60, len(names), 2)
    assert np.isfinite(position).all(2).sum(0).max() == 60
    one = recording.rig[1].project(recording.truth.position[recording.truth.identity == 3])
    nearest = np.nanmin(np.linalg.norm(position - one[:, None], axis=2), axis=1)
    assert nearest.max() < 1e-6
    scores = score_published_view(recording.detections, 1, recording.rig, recording.truth, [3])
    assert scores["zscore"].recall > 0.5


def test_a_perfect_tracker_scores_by_its_truth():
    x = wandering(fish=8, frames=60, turn=0.01, cruise=[0.1] * 7 + [0.01], box=3.0)
    x[:, 7] += 30
    truth = truth_of(x)
    assert score_published(tracks_of(x), truth, [7], 0.5)["zscore"].f1 > 0.95
    assert score_published(tracks_of(x, noise=0.003), truth, [7], 0.5, smoothed=True)["zscore"].f1 > 0.95
    assert score_published(tracks_of(x[:, :7]), truth, [7], 0.5)["zscore"].recall == 0
