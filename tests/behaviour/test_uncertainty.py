"""Sigmas against a truth that is known: of points as measured, and of points that a tracker has smoothed before."""

import numpy as np
import pytest

from trackfish3d.behaviour.measures.kinematics import speed
from trackfish3d.behaviour.measures.smoothing import fit_noise, smooth
from trackfish3d.behaviour.measures.uncertainty import lasting_covariance, running_mean
from trackfish3d.maths.kalman import predict, update
from trackfish3d.methods.joint.refinement.smoothing import smooth as smooth_back

from .schools import wandering

NOISE, PUSH = 0.03, 0.012


def tracked(true, seed=0):
    """Positions and covariances (T, N, ...) as a tracker leaves them: filtered and smoothed with constant velocity."""
    T, N = true.shape[:2]
    rng = np.random.default_rng(seed)
    z = true + rng.normal(0, NOISE, true.shape)
    position, covariance = np.empty((T, N, 3)), np.empty((T, N, 3, 3))
    R = np.broadcast_to(NOISE**2 * np.eye(3), (1, 3, 3)).copy()
    for n in range(N):
        state, P = np.zeros((T, 6)), np.zeros((T, 6, 6))
        x, C = np.zeros((1, 6)), np.eye(6)[None].copy()
        x[0, :3] = z[0, n]
        C[0, :3, :3] *= NOISE**2
        for t in range(T):
            if t:
                predict(x, C, np.ones(1), PUSH**2)
                update(x, C, z[t, n][None], R)
            state[t], P[t] = x[0], C[0]
        smooth_back(np.array([0, T]), np.arange(T), state, P, np.full(T, PUSH**2))
        position[:, n], covariance[:, n] = state[:, :3], P[:, :3, :3]
    return position, covariance


def inside(error, sigma):
    z = np.abs(error / sigma)[10:-10]
    return np.mean(z < 1), np.mean(z < 2)


def driven(seed, frames=400, fish=5):
    """(T, N, 3) motion of white acceleration, as trackers believe, and its velocity."""
    rng = np.random.default_rng(seed)
    velocity = 0.1 + np.cumsum(rng.normal(0, PUSH, (frames, fish, 3)), axis=0)
    return np.cumsum(velocity, axis=0), velocity


def test_points_that_were_smoothed_before_keep_the_errors_their_covariances_tell():
    for seed in range(3):
        true = wandering(fish=6, frames=300, seed=seed)
        position, covariance = tracked(true, seed)
        noise = fit_noise(position, covariance)
        assert noise.scale < 0.3  # scatter tells next to nothing of the error
        found = smooth(position, covariance, noise=noise)
        one, two = inside(found.position - true, found.sigma.position)
        assert 0.58 < one < 0.82
        assert two > 0.9
        one, two = inside(speed(found.velocity) - speed(np.gradient(true, axis=0)), found.sigma.speed)
        assert 0.55 < one < 0.9
        assert two > 0.88


def test_velocity_of_a_driven_motion_errs_by_the_root_of_position_times_acceleration():
    """The closed form of the docstring, without the factor for calm animals, on the motion that it is derived for."""
    true, _ = driven(1)
    position, covariance = tracked(true, 1)
    found = smooth(position, covariance)
    error = (found.velocity - np.gradient(true, axis=0))[20:-20]
    P = np.trace(covariance, axis1=2, axis2=3)[20:-20].mean() / 3
    A = (found.acceleration[20:-20] ** 2).mean()
    assert np.sqrt((error**2).mean()) == pytest.approx((P * A) ** 0.25, rel=0.25)


def test_points_as_measured_are_smoothed_and_known_the_better_for_it():
    rng = np.random.default_rng(5)
    true = wandering(fish=6, frames=300, seed=5)
    given = np.broadcast_to(NOISE**2 * np.eye(3), (300, 6, 3, 3))
    found = smooth(true + rng.normal(0, NOISE, true.shape), given)
    one, two = inside(found.position - true, found.sigma.position)
    assert 0.5 < one < 0.8
    assert two > 0.85
    assert np.median(found.sigma.position) < 0.8 * NOISE


def test_without_covariances_nothing_is_claimed_below_the_scatter():
    rng = np.random.default_rng(6)
    true = wandering(fish=4, frames=200, seed=6)
    z = true + rng.normal(0, NOISE, true.shape)
    found = smooth(z)
    scatter = np.sqrt(((z - found.position) ** 2).mean())
    assert found.sigma.position.min() > 0.9 * scatter
    assert scatter == pytest.approx(NOISE, rel=0.3)


def test_honest_independent_points_have_no_lasting_error():
    C = np.broadcast_to(np.eye(3), (4, 2, 3, 3)).copy()
    C[0, 0] = np.nan
    assert (lasting_covariance(C, 0.95) == 0).all()
    assert lasting_covariance(C, 0.0)[1, 1] == pytest.approx(np.eye(3))
    assert (lasting_covariance(C, 0.0)[0, 0] == 0).all()


def test_running_mean_is_that_of_what_is_known():
    values = np.array([[1.0], [np.nan], [3.0], [8.0], [np.nan]])
    assert running_mean(values, 3)[:, 0] == pytest.approx([1.0, 2.0, 5.5, 5.5, 8.0])


def test_velocities_that_the_tracker_knows_are_taken_at_its_word():
    """An offset that stays is in the covariance of positions and moves nothing."""
    t = np.arange(200.0)
    path = np.stack([0.1 * t, np.sin(0.02 * t), 0 * t], axis=-1)[:, None]
    wide = np.broadcast_to(4.0 * np.eye(3), (200, 1, 3, 3))
    told = smooth(path, wide, sigma_velocity=np.full((200, 1), 0.003))
    guessed = smooth(path, wide)
    assert told.sigma.speed == pytest.approx(0.003, rel=0.05)
    assert np.median(guessed.sigma.speed) > 0.003
    np.testing.assert_allclose(told.sigma.position, guessed.sigma.position)
