import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trackfish3d.behaviour.measures.smoothing import SwimNoise, _prior, fit_noise, smooth

from .schools import circling, wandering


def dense_solution(z, R, use, q, prior):
    """Means and covariances of all states at once: the normal equations, solved without any recursion."""
    T = len(z)
    F = np.kron([[1, 1, 0.5], [0, 1, 1], [0, 0, 1]], np.eye(3))
    Q = np.kron(q * np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1]]), np.eye(3))
    start = np.zeros((9, 9))
    start[:3, :3], start[3:6, 3:6], start[6:, 6:] = R[0], prior[0] * np.eye(3), prior[1] * np.eye(3)
    J, h = np.zeros((9 * T, 9 * T)), np.zeros(9 * T)
    J[:9, :9] = np.linalg.inv(start)
    h[:9] = J[:9, :9] @ np.r_[z[0], np.zeros(6)]
    W = np.linalg.inv(Q)
    for k in range(1, T):
        a, b, m = slice(9 * k - 9, 9 * k), slice(9 * k, 9 * k + 9), slice(9 * k, 9 * k + 3)
        J[a, a] += F.T @ W @ F
        J[b, b] += W
        J[a, b] -= F.T @ W
        J[b, a] -= W @ F
        if use[k]:
            J[m, m] += np.linalg.inv(R[k])
            h[m] += np.linalg.inv(R[k]) @ z[k]
    C = np.linalg.inv(J)
    return (C @ h).reshape(T, 9), np.array([C[9 * k : 9 * k + 9, 9 * k : 9 * k + 9] for k in range(T)])


def test_recursion_equals_the_least_squares_solution():
    rng = np.random.default_rng(0)
    T = 30
    z = rng.normal(size=(T, 1, 3)) * 0.05 + np.arange(T)[:, None, None] * np.array([0.1, 0.05, 0.0])
    root = rng.normal(size=(T, 1, 3, 3))
    R = 0.01 * root @ root.swapaxes(2, 3) + 0.001 * np.eye(3)
    use = np.ones((T, 1), bool)
    use[10:14] = False
    found = smooth(z, R, use, SwimNoise(0.005, 1.0, 1.0))
    state, covariance = dense_solution(z[:, 0], R[:, 0], use[:, 0], 0.005**2, _prior(z, use))
    assert found.position[:, 0] == pytest.approx(state[:, :3], abs=1e-8)
    assert found.velocity[:, 0] == pytest.approx(state[:, 3:6], abs=1e-8)
    assert found.acceleration[:, 0] == pytest.approx(state[:, 6:], abs=1e-8)
    sigma = np.sqrt(np.einsum("tii->ti", covariance[:, :3, :3]))
    assert found.sigma.position[:, 0] == pytest.approx(sigma, rel=1e-8)
    ahead = state[:, 3:6] / np.linalg.norm(state[:, 3:6], axis=1, keepdims=True)
    along = np.einsum("ti,tij,tj->t", ahead, covariance[:, 3:6, 3:6], ahead)
    assert found.sigma.speed[:, 0] == pytest.approx(np.sqrt(along), rel=1e-7)


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_the_noise_that_was_added_is_found(noise):
    rng = np.random.default_rng(1)
    true = wandering(fish=6, frames=300)
    found = fit_noise(true + rng.normal(0, noise, true.shape))
    assert found.measurement == pytest.approx(noise, rel=0.1)
    # Covariances that say half the truth are found out.
    given = np.broadcast_to((0.5 * noise) ** 2 * np.eye(3), (300, 6, 3, 3))
    assert fit_noise(true + rng.normal(0, noise, true.shape), given).scale == pytest.approx(2.0, rel=0.1)


def test_smoothed_speeds_are_far_better_than_differences():
    rng = np.random.default_rng(2)
    true = circling(radius=5, period=150, frames=300, phase=(0, 1, 2))
    z = true + rng.normal(0, 0.05, true.shape)
    speed = 2 * np.pi * 5 / 150
    found = np.linalg.norm(smooth(z).velocity, axis=2)
    raw = np.linalg.norm(np.gradient(z, axis=0), axis=2)
    inner = slice(10, -10)
    assert abs(found[inner].mean() - speed) < 0.01 * speed
    assert (found[inner] - speed).std() < 0.15 * (raw[inner] - speed).std()


def test_a_point_is_trusted_as_far_as_its_covariance_says():
    z = np.zeros((41, 1, 3))
    z[:, 0, 0] = 0.1 * np.arange(41)
    z[20, 0, 1] = 0.04
    sure = np.broadcast_to(1e-4 * np.eye(3), (41, 1, 3, 3)).copy()
    noise = SwimNoise(0.02, 0.01, 1.0)
    doubtful = sure.copy()
    doubtful[20, 0, 1, 1] = 1.0
    assert abs(smooth(z, doubtful, noise=noise).position[20, 0, 1]) < 0.0005
    pulled = smooth(z, sure, noise=noise).position[20, 0, 1]
    assert pulled > 0.01
    # A gross outlier pulls hardly more than that, whatever it claims.
    z[20, 0, 1] = 5.0
    assert smooth(z, sure, noise=noise).position[20, 0, 1] < 3 * pulled


def test_a_rotated_world_gives_rotated_results():
    rng = np.random.default_rng(3)
    z = wandering(fish=3, frames=80) + rng.normal(0, 0.05, (80, 3, 3))
    root = rng.normal(size=(80, 3, 3, 3))
    R = 0.005 * root @ root.swapaxes(2, 3)
    turn = Rotation.random(random_state=4).as_matrix()
    plain, turned = smooth(z, R), smooth(z @ turn.T, turn @ R @ turn.T)
    assert turned.velocity == pytest.approx(plain.velocity @ turn.T, abs=1e-9)
    assert turned.sigma.speed == pytest.approx(plain.sigma.speed, rel=1e-7)
    assert turned.sigma.heading_rad == pytest.approx(plain.sigma.heading_rad, rel=1e-6)


def test_gaps_are_bridged_with_growing_doubt_and_long_ones_are_not():
    z = circling(frames=200)
    z[50:60], z[100:160] = np.nan, np.nan
    found = smooth(z, max_gap=30, noise=SwimNoise(0.01, 0.01, 1.0))
    assert np.isnan(found.position[50:60]).all()  # no track, no point
    assert np.isfinite(found.velocity[[49, 60, 99, 160]]).all()
    # Interpolated points are made anew, and known the worse the further from a real one.
    filled = circling(frames=200)
    line = np.linspace(filled[79], filled[90], 12)
    filled[79:91] = line
    observed = np.ones((200, 1), bool)
    observed[80:90] = False
    new = smooth(filled, observed=observed, noise=SwimNoise(0.01, 0.01, 1.0))
    true = circling(frames=200)
    assert np.abs(new.position - true)[80:90].max() < 0.2 * np.abs(filled - true)[80:90].max()
    assert (new.sigma.position[85, 0] > 3 * new.sigma.position[70, 0]).all()


def test_one_point_and_no_point_are_no_error():
    one = np.full((5, 2, 3), np.nan)
    one[2, 0] = 1.0
    found = smooth(one)
    assert found.position[2, 0] == pytest.approx([1, 1, 1])
    assert np.isnan(found.position[:, 1]).all()
    assert smooth(np.zeros((0, 0, 3))).position.shape == (0, 0, 3)
