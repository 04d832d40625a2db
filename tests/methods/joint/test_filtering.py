"""Filters, smoother and the meeting of past and future against matrices of whole tracks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.kernels import opened
from trackfish3d.methods.joint import kernels
from trackfish3d.methods.joint.refinement import filtering
from trackfish3d.methods.joint.refinement.filtering import linearised, meeting, mirror, run_filter
from trackfish3d.methods.joint.refinement.smoothing import smooth
from trackfish3d.synfish.rigs import common_point, random_rig, tank_rig

from . import plain

meeting = opened(meeting)
mirror = opened(mirror)

Q, V0, P0, H = 0.01**2, 0.2**2, 2.0**2, 1e-4


class Swimmers:
    """Tracks whose motion is the model's: states (N, 6), their detections and the rows of each."""

    def __init__(self, frames, rig=None, seed=0, drop=0.2, noise=2.0, start=None):
        rng = np.random.default_rng(seed)
        self.rig = random_rig(3, 4) if rig is None else rig
        middle = np.array([14.0, 14.0, 7.0]) if self.rig.refractive else common_point(self.rig)
        states, numbers, self.begin = [], [], [0]
        for steps in frames:
            x = np.append(middle + rng.uniform(-2, 2, 3), rng.normal(0, 0.1, 3)) if start is None else start
            last = steps[0]
            for f in steps:
                F, noise_ = plain.motion(max(f - last, 1e-9), Q)
                x = F @ x + (np.linalg.cholesky(noise_ + 1e-30 * np.eye(6)) @ rng.standard_normal(6) if f > last else 0)
                states.append(x), numbers.append(f)
                last = f
            self.begin.append(len(states))
        self.begin = np.array(self.begin)
        self.state, self.frame = np.array(states), np.array(numbers)
        n, views = len(self.frame), len(self.rig)
        self.members = np.arange(n * views).reshape(n, views)
        self.members[rng.random((n, views)) < drop] = -1
        z = np.stack([c.project(self.state[:, :3]) for c in self.rig], 1) + noise * rng.standard_normal((n, views, 2))
        self.u, self.v = z.reshape(-1, 2).T.copy()
        self.r = np.full(n * views, noise)
        self.q = Q * rng.choice([1.0, 50.0], n, p=[0.8, 0.2])  # some steps are darts

    def filter(self, back=False, run=run_filter):
        lines = linearised(self.rig.packed, self.members, self.state, H)
        return run(
            self.begin, self.frame, self.members, self.state, lines, self.u, self.v, self.r, self.q, V0, P0, back
        )

    def measurements(self, i):
        """Views of row i: Jacobian (2, 3) and pixel as if measured of the absolute position, with their noise."""
        out = []
        for c, d in enumerate(self.members[i]):
            if d >= 0:
                pixel, J = np.empty(2), np.empty((2, 3))
                x0 = self.state[i, :3]
                assert kernels.look_one(self.rig.packed[c], x0, H, pixel, J)
                out.append((pixel, J, np.array([self.u[d], self.v[d]]), self.r[d]))
        return out


def plain_filter(s, back):
    """The same filter, with a constant-velocity model of negative time where it runs backwards."""
    n = len(s.frame)
    before, after, density = np.empty((n, 6)), np.empty((n, 6)), np.zeros(n)
    before_cov, after_cov = np.empty((n, 6, 6)), np.empty((n, 6, 6))
    for t in range(len(s.begin) - 1):
        rows = range(s.begin[t], s.begin[t + 1])
        last = None
        for i in reversed(rows) if back else rows:
            if last is None:
                x = np.append(s.state[i, :3], np.zeros(3))
                P = np.diag([P0] * 3 + [V0] * 3)
            else:
                F, _ = plain.motion(s.frame[i] - s.frame[last], Q)
                dt = abs(s.frame[i] - s.frame[last])
                _, noise = plain.motion(dt, s.q[max(i, last)])
                if back:
                    noise[:3, 3:] *= -1
                    noise[3:, :3] *= -1
                x, P = F @ x, F @ P @ F.T + noise
            before[i], before_cov[i] = x, P
            for pixel, J, z, r in s.measurements(i):
                x, P, d = plain.absorb(x, P, s.state[i, :3], pixel, J, z, r)
                density[i] += d
            after[i], after_cov[i] = x, P
            last = i
    return before, before_cov, after, after_cov, density


@pytest.mark.parametrize("back", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("rig", [None, tank_rig()], ids=["air", "water"])
def test_filter_is_a_plain_kalman_filter(rig, back):
    s = Swimmers([range(0, 20), [3, 4, 6, 11, 12], [7]], rig)
    for mine, want in zip(s.filter(back), plain_filter(s, back), strict=True):
        np.testing.assert_allclose(mine, want, atol=1e-7)


def test_time_turned_around_twice_is_time():
    rng = np.random.default_rng(0)
    x, P = rng.standard_normal(6), plain.spd(rng, 6)
    state, cov = x.copy(), P.copy()
    mirror(state, cov)
    np.testing.assert_array_equal(state, x * [1, 1, 1, -1, -1, -1])
    np.linalg.cholesky(cov)
    mirror(state, cov)
    np.testing.assert_array_equal(state, x)
    np.testing.assert_array_equal(cov, P)


def gaussian_filter(s, back, monkeypatch):
    """The filter without the heavy tail of the noise, which makes the whole track one Gaussian."""
    monkeypatch.setattr(kernels, "TAIL_SHARE", 1e-300)
    monkeypatch.setattr(filtering, "absorb_quickly", kernels.absorb_quickly.py_func)
    if hasattr(kernels.absorb_axes, "py_func"):
        monkeypatch.setattr(kernels, "absorb_axes", kernels.absorb_axes.py_func)
    return s.filter(back, run_filter.py_func)


def batch(s, prior):
    """Mean and covariance of all states of the first track, (6 N,), given all its detections: one linear system."""
    n = s.begin[1]
    A, b = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    A[:6, :6] += np.linalg.inv(prior[1])
    b[:6] += np.linalg.solve(prior[1], prior[0])
    for i in range(n):
        if i:
            F, noise = plain.motion(s.frame[i] - s.frame[i - 1], s.q[i])
            W = np.linalg.inv(noise)
            G = np.hstack([-F, np.eye(6)])
            A[6 * i - 6 : 6 * i + 6, 6 * i - 6 : 6 * i + 6] += G.T @ W @ G
        for pixel, J, z, r in s.measurements(i):
            M = np.hstack([J, np.zeros((2, 3))])
            A[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] += M.T @ M / r**2
            b[6 * i : 6 * i + 6] += M.T @ (z - pixel + J @ s.state[i, :3]) / r**2
    cov = np.linalg.inv(A)
    return (cov @ b).reshape(n, 6), cov


@pytest.mark.parametrize("frames", [range(30), [0, 1, 4, 5, 9, 20, 21, 22]], ids=["dense", "gaps"])
def test_smoother_is_the_least_squares_of_the_whole_track(frames, monkeypatch):
    s = Swimmers([frames], drop=0.3)
    _, _, state, cov, _ = gaussian_filter(s, False, monkeypatch)
    smooth(s.begin, s.frame, state, cov, s.q)
    prior = np.append(s.state[0, :3], np.zeros(3)), np.diag([P0] * 3 + [V0] * 3)
    want, whole = batch(s, prior)
    np.testing.assert_allclose(state, want, atol=1e-5)
    for i in range(len(state)):
        np.testing.assert_allclose(cov[i], whole[6 * i : 6 * i + 6, 6 * i : 6 * i + 6], rtol=1e-3, atol=1e-7)


def test_tracks_are_smoothed_apart():
    s, alone = Swimmers([range(15), range(5, 25)]), Swimmers([range(15)])
    _, _, state, cov, _ = s.filter()
    first = state[:15].copy(), cov[:15].copy()
    smooth(s.begin, s.frame, state, cov, s.q)
    smooth(alone.begin, alone.frame, *first, s.q[:15])
    np.testing.assert_allclose(state[:15], first[0], atol=1e-12)
    truth = np.linalg.norm(state[:, :3] - s.state[:, :3], axis=1)
    assert np.median(truth) < 0.05


def joint_density(s):
    """Log density of all detections of the first track under one Gaussian over all of them."""
    n = s.begin[1]
    mean = np.append(s.state[0, :3], np.zeros(3))
    covs = np.zeros((6 * n, 6 * n))
    covs[:6, :6] = np.diag([P0] * 3 + [V0] * 3)
    means = [mean]
    for i in range(1, n):
        F, noise = plain.motion(s.frame[i] - s.frame[i - 1], s.q[i])
        means.append(F @ means[-1])
        covs[6 * i : 6 * i + 6, : 6 * i] = F @ covs[6 * i - 6 : 6 * i, : 6 * i]
        covs[: 6 * i, 6 * i : 6 * i + 6] = covs[6 * i : 6 * i + 6, : 6 * i].T
        covs[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = F @ covs[6 * i - 6 : 6 * i, 6 * i - 6 : 6 * i] @ F.T + noise
    rows, off, noise = [], [], []
    for i in range(n):
        for pixel, J, z, r in s.measurements(i):
            M = np.zeros((2, 6 * n))
            M[:, 6 * i : 6 * i + 3] = J
            rows.append(M)
            off.append(z - pixel - J @ (means[i][:3] - s.state[i, :3]))
            noise += [r**2] * 2
    M = np.vstack(rows)
    return multivariate_normal.logpdf(np.concatenate(off), np.zeros(len(noise)), M @ covs @ M.T + np.diag(noise))


def test_densities_of_frames_add_up_to_that_of_the_track(monkeypatch):
    s = Swimmers([range(12)])
    assert gaussian_filter(s, False, monkeypatch)[4].sum() == pytest.approx(joint_density(s), abs=1e-5)


def concatenated(past, future, gap):
    """One track of the detections of two."""
    joined = Swimmers([range(2)], past.rig)
    joined.begin = np.array([0, len(past.frame) + len(future.frame)])
    joined.frame = np.concatenate([past.frame, future.frame - future.frame[0] + past.frame[-1] + gap])
    joined.state = np.vstack([past.state, future.state])
    shift = np.where(future.members >= 0, future.members + len(past.u), -1)
    joined.members = np.vstack([past.members, shift])
    joined.u, joined.v = np.append(past.u, future.u), np.append(past.v, future.v)
    joined.r = np.append(past.r, future.r)
    joined.q = np.append(past.q, future.q)
    joined.q[len(past.frame)] = Q  # `meeting` supposes a calm gap
    return joined


@pytest.mark.parametrize("gap", [1, 5])
def test_meeting_ranks_continuations_as_the_whole_track_does(gap, monkeypatch):
    """log p(past and future) = log p(past) + log p(future) + meeting + what all futures share."""
    monkeypatch.setattr(f"{__name__}.P0", 30.0**2)  # what is not known beforehand must not decide
    monkeypatch.setattr(f"{__name__}.V0", 30.0**2)
    past = Swimmers([range(10)], seed=1, drop=0.0)
    shared, reached = [], []
    rng = np.random.default_rng(2)
    for seed in range(5):
        start = past.state[-1] + rng.normal(0, 0.2, 6)  # some are likely continuations, some are not
        future = Swimmers([range(10)], seed=10 + seed, drop=0.0, start=start)
        forth, back = gaussian_filter(past, False, monkeypatch), gaussian_filter(future, True, monkeypatch)
        whole = gaussian_filter(concatenated(past, future, gap), False, monkeypatch)[4].sum()
        met = meeting(forth[2][-1], forth[3][-1], back[2][0], back[3][0], float(gap), Q, 0.0, 0.0)
        shared.append(whole - forth[4].sum() - back[4].sum() - met)
        reached.append(met)
    assert np.ptp(reached) > 20
    np.testing.assert_allclose(shared, shared[0], atol=0.03)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), gap=st.integers(1, 20))
def test_meeting_is_the_density_of_what_is_found(seed, gap):
    rng = np.random.default_rng(seed)
    a, A, b, B = rng.standard_normal(6), plain.spd(rng, 6), rng.standard_normal(6), plain.spd(rng, 6)
    x, P = plain.predict(a, A, gap, 0.3)
    calm = multivariate_normal.logpdf(b, x, P + B)
    assert meeting(a, A, b, B, float(gap), 0.3, 0.0, 1.0) == pytest.approx(calm)
    darting = meeting(a, A, b, B, float(gap), 0.3, 0.01, 4.0)
    assert darting >= calm  # a dart is one way more


def test_a_dart_makes_a_sudden_turn_possible():
    a, b, tight = np.zeros(6), np.zeros(6), 1e-4 * np.eye(6)
    b[:3], b[3:] = 0.5, 1.0
    calm = meeting(a, tight, b, tight, 1.0, 1e-4, 0.0, 1.0)
    assert meeting(a, tight, b, tight, 1.0, 1e-4, 0.01, 1.0) > calm + 100
