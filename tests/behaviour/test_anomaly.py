import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from trackfish3d.behaviour.abnormal.anomaly import (
    MEASURES,
    AnomalySettings,
    evidence,
    judge_whole,
    judge_windows,
    probability_of,
)
from trackfish3d.behaviour.abnormal.kernels import against_others, window_means
from trackfish3d.behaviour.abnormal.scores import score_default
from trackfish3d.behaviour.analysis import World, analyse

from .schools import tracks_of, truth_of, wandering

M = len(MEASURES)


def healthy_bins(windows, fish, seed, bins=40):
    """Measures of animals that differ just as healthy ones are believed to, the same in all bins of a window."""
    rng = np.random.default_rng(seed)
    spread = np.array([m.spread or 1.0 for m in MEASURES])
    return [np.tile(rng.normal(size=(1, fish, M)) * spread, (bins, 1, 1)) for _ in range(windows)]


@pytest.mark.parametrize("fish", [4, 8, 20])
@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_the_false_alarm_rate_asked_for_is_the_one_that_comes_out(fish, rate):
    settings = AnomalySettings(false_alarm_rate=rate)
    flags = np.concatenate(
        [judge_windows(b, settings, 40).abnormal for b in healthy_bins(2400 // fish, fish, seed=fish)]
    )
    wrong = int(flags.sum())
    assert stats.binomtest(wrong, flags.size, rate).pvalue > 1e-4


def test_t_is_students_where_nobody_is_spared_and_nothing_believed():
    x = np.random.default_rng(0).normal(size=(1, 6, 1))
    found = against_others(x, np.zeros(1), 0.0, 0.0)[0, :, 0]
    for i in range(6):
        others = np.delete(x[0, :, 0], i)
        expected = (x[0, i, 0] - others.mean()) / (others.std(ddof=1) * np.sqrt(1 + 1 / 5))
        assert found[i] == pytest.approx(expected)


def test_two_abnormal_animals_do_not_hide_each_other():
    x = np.zeros((1, 16, 1))
    x[0, :, 0] = np.random.default_rng(1).normal(0, 0.1, 16)
    x[0, :2, 0] = 2.0
    spared = against_others(x, np.zeros(1), 0.0, 0.15)[0, :, 0]
    hidden = against_others(x, np.zeros(1), 0.0, 0.0)[0, :, 0]
    assert spared[:2].min() > 10
    assert hidden[:2].max() < 5


def test_window_means_are_trimmed_means():
    bins = np.random.default_rng(2).normal(size=(40, 3, 2))
    found = window_means(bins, np.array([0, 10]), 20, 0.5, 0.1)
    assert found[1] == pytest.approx(stats.trim_mean(bins[10:30], 0.1, axis=0))
    bins[5:20, 0] = np.nan
    assert np.isnan(window_means(bins, np.array([0]), 20, 0.5, 0.1)[0, 0]).all()


def test_what_all_do_is_no_anomaly():
    """A fright that makes the whole school dash changes nobody's verdict."""
    bins = healthy_bins(1, 8, seed=3, bins=64)[0]
    frightened = bins.copy()
    frightened[20:40, :, 0] += 2.0
    assert judge_whole(frightened, AnomalySettings()).p == pytest.approx(judge_whole(bins, AnomalySettings()).p)


def test_probability_is_the_prior_for_the_usual_and_nears_one_for_the_rare():
    found = probability_of(np.array([0.9, 0.05, 0.01, 1e-6]), prior=0.05)
    assert found[0] == pytest.approx(0.05)
    assert (np.diff(found) > 0).all()
    assert found[2] < 0.5  # one in a hundred is not yet proof
    assert found[3] > 0.99


def test_evidence_names_the_strongest_first():
    t = np.zeros(M)
    t[0], t[1], t[2] = -5.1, 3.2, 1.0
    assert evidence(t) == "slow (-5.1), erratic (+3.2)"
    assert evidence(np.full(M, np.nan)) == ""


@pytest.mark.parametrize("fish", [0, 1, 3])
def test_too_few_animals_are_not_judged(fish):
    verdict = judge_windows(np.zeros((40, fish, M)), AnomalySettings(), 40)
    assert np.isnan(verdict.p).all()
    assert not verdict.abnormal.any()
    assert np.isnan(judge_whole(np.zeros((40, fish, M)), AnomalySettings()).p).all()


def test_a_recording_shorter_than_a_window_is_one_window():
    bins = healthy_bins(1, 6, seed=4, bins=5)[0]
    assert judge_windows(bins, AnomalySettings(), 40).p.shape == (1, 6)
    assert judge_windows(np.zeros((0, 6, M)), AnomalySettings(), 40).p.shape == (0, 6)


def school(sick, seed):
    rng = np.random.default_rng(seed)
    cruise, turn = 0.1 * np.exp(rng.normal(0, 0.08, 8)), 0.06 * np.exp(rng.normal(0, 0.1, 8))
    if sick:
        cruise[7], turn[7] = 0.05, 0.25
    return wandering(fish=8, frames=400, seed=seed, cruise=cruise, turn=turn)


def test_a_slow_erratic_fish_is_found_with_its_symptoms_and_when():
    x = school(True, seed=5)
    windows = []
    found = analyse(
        tracks_of(x, noise=0.02, missing=0.03, interpolated=0.05), World(30.0),
        sink=lambda name, table: windows.append(table) if name == "windows" else None,
    )  # fmt: skip
    fish = found.fish.to_pylist()
    assert [row["abnormal"] for row in fish] == [False] * 7 + [True]
    assert "slow" in fish[7]["evidence"]
    assert "erratic" in fish[7]["evidence"]
    assert fish[7]["abnormal_windows_share"] > 0.9
    scores, alarms = score_default(pa.concat_tables(windows), tracks_of(x, noise=0.02), truth_of(x), [7], 1.0)
    assert scores.f1 > 0.97
    assert alarms < 0.02


def test_healthy_schools_are_left_in_peace():
    flagged = 0
    for seed in range(6):
        found = analyse(tracks_of(school(False, seed=10 + seed), noise=0.02), World(30.0))
        flagged += int(found.windows.abnormal.sum())
    assert flagged <= 0.02 * 6 * found.windows.abnormal.size


def test_a_fish_that_falls_ill_is_flagged_from_then_on():
    x = wandering(fish=8, frames=1000, seed=8, turn=0.06)
    x[400:, 7] = wandering(fish=1, frames=600, seed=9, cruise=0.04, turn=0.3)[:, 0]
    found = analyse(tracks_of(x, noise=0.02), World(30.0))
    middle = 0.5 * (found.windows.first_bin + found.windows.last_bin) * found.plan.bin_frames
    flags = found.windows.abnormal[:, 7]
    assert flags[middle > 600].mean() > 0.9
    assert flags[middle < 250].mean() < 0.1
