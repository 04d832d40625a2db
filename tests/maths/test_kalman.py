"""The Kalman filter against matrices written out, and against what it must do in the limit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.maths.kalman import MotionNoise, initial_states, predict, update


def reference_predict(x, P, dt, q):
    F = np.eye(6)
    F[:3, 3:] = dt * np.eye(3)
    Q = q * np.block([[dt**3 / 3 * np.eye(3), dt**2 / 2 * np.eye(3)], [dt**2 / 2 * np.eye(3), dt * np.eye(3)]])
    return F @ x, F @ P @ F.T + Q


def reference_update(x, P, z, R):
    H = np.eye(3, 6)
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    y = z - H @ x
    joseph = np.eye(6) - K @ H
    return x + K @ y, joseph @ P @ joseph.T + K @ R @ K.T, y @ np.linalg.solve(S, y)


def spd(rng, n, k):
    a = rng.standard_normal((n, k, k))
    return a @ a.transpose(0, 2, 1) + 0.1 * np.eye(k)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), q=st.floats(1e-4, 10), dt=st.integers(1, 30))
def test_filter_is_the_textbook_one(seed, q, dt):
    rng = np.random.default_rng(seed)
    n = 5
    x, P, R, z = rng.standard_normal((n, 6)), spd(rng, n, 6), spd(rng, n, 3), rng.standard_normal((n, 3))
    state, cov = x.copy(), P.copy()
    predict(state, cov, np.full(n, float(dt)), q)
    for i in range(n):
        want_x, want_P = reference_predict(x[i], P[i], dt, q)
        np.testing.assert_allclose(state[i], want_x, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(cov[i], want_P, rtol=1e-12, atol=1e-12)
    before_x, before_P = state.copy(), cov.copy()
    distance = update(state, cov, z, R)
    for i in range(n):
        want_x, want_P, want_d = reference_update(before_x[i], before_P[i], z[i], R[i])
        scale = np.abs(before_P[i]).max()
        np.testing.assert_allclose(state[i], want_x, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(cov[i], want_P, atol=1e-9 * scale)
        np.testing.assert_allclose(distance[i], want_d, rtol=1e-7)


def test_two_steps_of_one_frame_are_one_step_of_two():
    rng = np.random.default_rng(0)
    x, P = rng.standard_normal((1, 6)), spd(rng, 1, 6)
    once_x, once_P = x.copy(), P.copy()
    predict(once_x, once_P, np.array([2.0]), 0.3)
    predict(x, P, np.array([1.0]), 0.3)
    predict(x, P, np.array([1.0]), 0.3)
    np.testing.assert_allclose(x, once_x, rtol=1e-12)
    np.testing.assert_allclose(P, once_P, rtol=1e-12)


def test_velocity_of_a_straight_swimmer_is_found():
    noise = MotionNoise(acceleration=1e-3, measurement=0.1, velocity=1.0)
    speed = np.array([0.3, -0.2, 0.1])
    state, P = initial_states(np.zeros((1, 3)), noise)
    rng = np.random.default_rng(1)
    R = noise.measurement**2 * np.eye(3)[None]
    for t in range(1, 200):
        predict(state, P, np.ones(1), noise.acceleration**2)
        update(state, P, (t * speed + 0.1 * rng.standard_normal(3))[None], R)
    truth = np.concatenate([199 * speed, speed])
    sigma = np.sqrt(np.diag(P[0]))
    assert (np.abs(state[0] - truth) < 4 * sigma).all()
    assert sigma[:3].max() < 0.5 * noise.measurement  # it averaged
    assert sigma[3:].max() < 0.02


def test_a_measurement_counts_by_its_covariance():
    noise = MotionNoise(acceleration=0.1, measurement=1.0, velocity=1.0)
    known = np.diag([1e-8, 1e8, 1.0])[None]
    state, P = initial_states(np.zeros((1, 3)), noise)
    update(state, P, np.ones((1, 3)), known)
    np.testing.assert_allclose(state[0, :3], [1.0, 0.0, 0.5], atol=1e-6)
