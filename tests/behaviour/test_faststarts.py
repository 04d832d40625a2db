"""Starts that are known, because they were put in."""

import numpy as np
import pytest

from trackfish3d.behaviour.measures.faststarts import PointErrors, fast_starts

from .schools import darting, wandering

FAST = 0.3  # world a frame; the schools here cruise at 0.1


def found_in(x, noise, fps=200.0):
    level = np.full(x.shape[:2], noise)
    return fast_starts(x, PointErrors(level, np.zeros_like(level), np.zeros_like(level)), FAST, fps)


def test_every_start_is_found_within_a_frame_and_nothing_else():
    right, found, starts = 0, 0, 0
    for seed in range(10):
        x, onset = darting(fish=6, frames=400, seed=seed)
        rng = np.random.default_rng(seed)
        got = found_in(x + rng.normal(0, 0.01, x.shape), 0.01)
        found += len(got)
        starts += len(onset)
        for n, frame in enumerate(onset):
            right += bool((np.abs(got.onset[got.column == n] - frame) <= 1).any())
    assert right >= 0.95 * starts
    assert found <= 1.05 * starts


def test_cruising_schools_have_no_fast_start():
    x = wandering(fish=20, frames=2000, seed=4)
    x += np.random.default_rng(4).normal(0, 0.02, x.shape)
    assert len(found_in(x, 0.02)) == 0


def test_an_exchange_of_two_identities_is_no_start():
    x = wandering(fish=2, frames=200, seed=1)
    x[100:] = x[100:, ::-1]
    assert len(found_in(x, 0.01)) == 0


def test_speed_acceleration_and_turn_are_those_of_the_motion():
    T, onset = 60, 30
    step = np.tile([0.1, 0.0, 0.0], (T, 1))
    step[onset + 1 :] = [0.0, 0.8, 0.0]  # 90 degrees, at once
    x = np.cumsum(step, axis=0)[:, None]
    got = found_in(x, 1e-4)
    assert got.onset.tolist() == [onset]
    assert got.peak_speed[0] == pytest.approx(0.8)
    assert got.peak_acceleration[0] == pytest.approx(np.hypot(0.1, 0.8))
    assert got.turn_first_rad[0] == pytest.approx(np.pi / 2)
    assert got.turn_rad[0] == pytest.approx(np.pi / 2)
    assert got.profile[0, :10] == pytest.approx(np.full(10, 0.1))


def test_sigmas_hold_over_many_draws():
    rng = np.random.default_rng(0)
    x, onset = darting(fish=6, frames=120, seed=3)
    exact = found_in(x, 1e-6)
    share = {"turn_first_rad": [], "turn_rad": [], "onset": []}
    for _ in range(40):
        got = found_in(x + rng.normal(0, 0.02, x.shape), 0.02)
        for e, (n, frame) in enumerate(zip(exact.column, exact.onset, strict=True)):
            for i in np.flatnonzero((got.column == n) & (np.abs(got.onset - frame) < 10)):
                for name in share:
                    off = getattr(got, name)[i] - getattr(exact, name)[e]
                    share[name].append(abs(off) <= 2 * getattr(got, "sigma_" + name)[i])
    assert len(share["onset"]) > 0.9 * 40 * len(onset)
    assert np.mean(share["turn_rad"]) > 0.88
    assert np.mean(share["turn_first_rad"]) > 0.85
    assert np.mean(share["onset"]) > 0.9


def test_short_and_empty_tracks_have_none():
    assert len(found_in(np.full((50, 2, 3), np.nan), 0.1)) == 0
    assert len(found_in(np.zeros((4, 1, 3)), 0.1)) == 0
    assert found_in(np.zeros((0, 0, 3)), 0.1).profile.shape == (0, 31)


def test_the_onset_is_that_of_the_slow_first_frames():
    """The body bends for four frames at a quarter of the acceleration before it shoots off."""
    off = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        onset, push = 40, np.zeros((70, 3))
        push[onset : onset + 4, 0], push[onset + 4 : onset + 7, 0] = 0.1, 0.4
        step = np.array([0.0, 0.1, 0.0]) + np.cumsum(push, axis=0)
        x = np.concatenate([np.zeros((1, 3)), np.cumsum(step, axis=0)])[:, None]
        got = found_in(x + rng.normal(0, 0.01, x.shape), 0.01)
        assert len(got) == 1
        off.append(got.onset[0] - onset)
    assert np.mean(np.abs(off) <= 1) >= 0.95
