"""Likelihoods of a frame against plain matrices, numerical derivatives and all sets there are."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.kernels import opened
from trackfish3d.methods.joint import kernels
from trackfish3d.methods.joint.arguments import Beliefs, Readings, Rig
from trackfish3d.methods.joint.hypotheses import hypotheses
from trackfish3d.methods.joint.kernels import absorb, add_dart, correct, innovation, look, look_one
from trackfish3d.synfish.rigs import common_point, paper_rig, random_rig, tank_rig

from . import plain

absorb = opened(absorb)
innovation = opened(innovation)

MIDDLE = np.array([14.0, 14.0, 7.0])  # of the tank


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["pinhole", "lens", "water"]))
def test_derivative_of_a_pixel_is_that_of_the_camera(seed, kind):
    rig = {"pinhole": paper_rig(2), "lens": random_rig(3, 1), "water": tank_rig()}[kind]
    x = (MIDDLE if kind == "water" else common_point(rig)) + np.random.default_rng(seed).uniform(-4, 4, 3)
    for c, camera in enumerate(rig):
        pixel, J = np.empty(2), np.empty((2, 3))
        assert look_one(rig.packed[c], x, 1e-4, pixel, J)
        np.testing.assert_allclose(pixel, camera.project(x[None])[0], atol=1e-6)
        np.testing.assert_allclose(J, plain.jacobian(camera, x), atol=1e-3)


def test_pinhole_derivative_in_closed_form():
    rig = paper_rig(2)
    x = common_point(rig) + [1.0, -2.0, 0.5]
    for c, camera in enumerate(rig):
        pixel, J = np.empty(2), np.empty((2, 3))
        look_one(rig.packed[c], x, 1e-4, pixel, J)
        X, Y, Z = camera.R @ x + camera.t
        inner = np.array([[1 / Z, 0, -X / Z**2], [0, 1 / Z, -Y / Z**2]])
        np.testing.assert_allclose(J, camera.K[:2, :2] @ inner @ camera.R, atol=1e-4)


def test_a_point_behind_a_camera_or_in_air_is_not_seen():
    pixel, J = np.empty(2), np.empty((2, 3))
    rig = paper_rig(0)
    behind = rig[0].centre - 5 * (rig[0].R[2])
    assert not look_one(rig.packed[0], behind, 1e-4, pixel, J)
    tank = tank_rig()
    top = tank.packed[tank.index("top")]
    assert look_one(top, MIDDLE, 1e-4, pixel, J)
    assert not look_one(top, MIDDLE * [1, 1, -3], 1e-4, pixel, J)  # in air: z runs down from the surface


def looked(rig, x, h=1e-4):
    """Pixels (C, 2) and Jacobians (C, 2, 3) of a point."""
    tracks = plain.predicted(1, len(rig), state=np.append(x, np.zeros(3))[None])
    look(Rig(rig.packed, np.array([c.size for c in rig], float), h), tracks)
    assert tracks.seen.all()
    return tracks.pixel[0], tracks.J[0]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([3, 6]), off=st.floats(0, 60), r=st.floats(0.5, 10))
def test_update_is_the_textbook_one_with_the_noise_of_a_mixture(seed, n, off, r):
    rng = np.random.default_rng(seed)
    P, J = plain.spd(rng, n, 0.01), rng.normal(0, 30, (2, 3))
    x, pixel = rng.normal(0, 1, n), rng.normal(500, 100, 2)
    x0 = x[:3] + rng.normal(0, 0.1, 3)
    z = pixel + off * rng.normal(0, 1, 2)
    state, cov = x.copy(), P.copy()
    density = absorb(state, cov, x0, pixel, J, z[0], z[1], r)
    want_x, want_P, want = plain.absorb(x, P, x0, pixel, J, z, r)
    assert density == pytest.approx(want, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(state, want_x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(cov, want_P, atol=1e-10)
    np.testing.assert_array_equal(cov, cov.T)


def test_density_of_a_detection_integrates_to_one():
    rng = np.random.default_rng(1)
    P, J = plain.spd(rng, 3, 0.005), rng.normal(0, 30, (2, 3))
    x, pixel = np.zeros(3), np.array([300.0, 200.0])
    axis = np.arange(-150, 150.5, 1.5)
    total = sum(
        np.exp(absorb(x.copy(), P.copy(), np.zeros(3), pixel, J, 300 + a, 200 + b, 5.0)) for a in axis for b in axis
    )
    assert total * 1.5**2 == pytest.approx(1, abs=1e-3)


def stacked(x, P, x0, pixel, J, z, r):
    """Likelihood and update of all views at once, Gaussian noise."""
    H, y = J.reshape(-1, 3), (z - pixel - J @ (x - x0)).ravel()
    S = H @ P @ H.T + np.diag(np.repeat(r**2, 2))
    K = P @ H.T @ np.linalg.inv(S)
    return x + K @ y, P - K @ H @ P, multivariate_normal.logpdf(y, np.zeros(len(y)), S)


@pytest.mark.parametrize("rig", [random_rig(4, 0), tank_rig()], ids=["four", "water"])
def test_views_one_by_one_in_any_order_are_all_views_at_once(rig, monkeypatch):
    monkeypatch.setattr(kernels, "TAIL_SHARE", 1e-300)  # without the heavy tail the problem is Gaussian
    monkeypatch.setattr(kernels, "absorb_axes", kernels.absorb_axes.py_func)
    rng = np.random.default_rng(2)
    x0 = common_point(rig) if len(rig) > 2 else MIDDLE
    pixel, J = looked(rig, x0)
    P, r = plain.spd(rng, 3, 0.01), rng.uniform(1, 4, len(rig))
    z = pixel + rng.normal(0, 4, pixel.shape)
    want_x, want_P, want = stacked(x0, P, x0, pixel, J, z, r)
    for order in permutations(range(len(rig))):
        x, cov = x0.copy(), P.copy()
        total = sum(absorb.py_func(x, cov, x0, pixel[c], J[c], *z[c], r[c]) for c in order)
        assert total == pytest.approx(want, abs=1e-8)
        np.testing.assert_allclose(x, want_x, atol=1e-9)
        np.testing.assert_allclose(cov, want_P, atol=1e-10)


def test_with_the_tail_the_order_matters_little():
    """Sequential updates keep one Gaussian of a mixture's 2^C: near the mean that is good to a fraction of a nat."""
    rng = np.random.default_rng(3)
    rig = random_rig(3, 0)
    x0 = common_point(rig)
    pixel, J = looked(rig, x0)
    errors = []
    for _ in range(20):
        P, r = 0.02 * np.eye(3), np.full(3, 2.0)
        true = x0 + np.linalg.cholesky(P) @ rng.standard_normal(3)
        z = pixel + J @ (true - x0) + 2.0 * rng.standard_normal(pixel.shape)
        parts = []
        for wide in product([False, True], repeat=3):
            w = np.array(wide)
            chance = np.log(np.where(w, plain.TAIL_SHARE, 1 - plain.TAIL_SHARE)).sum()
            parts.append(chance + stacked(x0, P, x0, pixel, J, z, np.where(w, plain.TAIL_SCALE, 1) * r)[2])
        exact = np.logaddexp.reduce(parts)
        for order in permutations(range(3)):
            x, cov = x0.copy(), P.copy()
            total = sum(absorb(x, cov, x0, pixel[c], J[c], *z[c], r[c]) for c in order)
            errors.append(abs(total - exact))
    assert np.mean(errors) < 0.4
    assert np.max(errors) < 2


def test_innovation_is_a_mahalanobis_distance():
    rng = np.random.default_rng(4)
    P, J, d = plain.spd(rng, 3, 0.01), rng.normal(0, 30, (2, 3)), rng.normal(0, 20, 2)
    S = J @ P @ J.T + (2 * 3.0) ** 2 * np.eye(2)
    assert innovation(P, np.zeros(2), J, d[0], d[1], 3.0) == pytest.approx(d @ np.linalg.solve(S, d))


def test_a_dart_is_a_kick_at_a_moment_spread_over_the_frame():
    rng = np.random.default_rng(5)
    kick, left = rng.normal(0, 0.7, 10**6), rng.random(10**6)
    way = kick * left
    cov = np.zeros((6, 6))
    add_dart(cov, 0.49)
    np.testing.assert_allclose(cov[:3, :3], np.mean(way**2) * np.eye(3), atol=2e-3)
    np.testing.assert_allclose(cov[3:, 3:], np.mean(kick**2) * np.eye(3), atol=2e-3)
    np.testing.assert_allclose(cov[:3, 3:], np.mean(way * kick) * np.eye(3), atol=2e-3)
    np.linalg.cholesky(cov)


class Frame:
    """One track's prediction and detections around it, each view with some."""

    def __init__(self, seed, each, views=3, spread=12.0):
        rng = np.random.default_rng(seed)
        self.rig = random_rig(views, seed)
        self.x = common_point(self.rig)
        self.cov = plain.spd(rng, 6, 0.004)
        self.pixel, self.J = looked(self.rig, self.x)
        true = self.x + np.linalg.cholesky(self.cov[:3, :3]) @ rng.standard_normal(3)
        own = self.pixel + (self.J @ (true - self.x))
        z = own[:, None] + np.where(np.arange(each)[None, :, None] > 0, spread, 2.0) * rng.standard_normal(
            (views, each, 2)
        )
        self.u, self.v = z.reshape(-1, 2).T.copy()
        self.begin = np.arange(views + 1) * each
        self.r = rng.uniform(1.5, 3, views * each)
        self.found = rng.uniform(0.6, 0.97, views)
        self.clutter = np.log(rng.uniform(1e-6, 1e-4, views))
        self.gate = 25.0
        self.free = np.ones(len(self.u), bool)

    def tracks(self, velocity=(0.0, 0.0, 0.0)):
        return plain.predicted(
            1,
            len(self.rig),
            state=np.append(self.x, velocity)[None],
            cov=self.cov[None].copy(),
            pixel=self.pixel[None],
            J=self.J[None],
            seen=np.ones((1, len(self.rig)), bool),
            found=self.found[None],
        )

    @property
    def readings(self):
        nothing = np.zeros(len(self.u))
        return Readings(7, self.begin, self.u, self.v, self.r, nothing, nothing)

    def run(self):
        beliefs = Beliefs(self.found, self.found, self.clutter, np.zeros(3), self.found)
        return hypotheses(self.tracks(), self.readings, self.free, beliefs, self.gate)

    def all_sets(self):
        """Weight of every set of detections within the gate, by plain matrices."""
        out = {(): (self.x, self.cov[:3, :3], 0.0)}
        for c in range(len(self.rig)):
            grown = {}
            S = self.J[c] @ self.cov[:3, :3] @ self.J[c].T
            for key, (x, P, total) in out.items():
                grown[key + (-1,)] = x, P, total + np.log(1 - self.found[c])
                for d in range(self.begin[c], self.begin[c + 1]):
                    z = np.array([self.u[d], self.v[d]])
                    off = z - self.pixel[c]
                    if not self.free[d] or off @ np.linalg.solve(S + 4 * self.r[d] ** 2 * np.eye(2), off) >= self.gate:
                        continue
                    nx, nP, density = plain.absorb(x, P, self.x, self.pixel[c], self.J[c], z, self.r[d])
                    grown[key + (d,)] = nx, nP, total + density + np.log(self.found[c]) - self.clutter[c]
            out = grown
        return {key: value[2] for key, value in out.items()}


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), each=st.integers(1, 3))
def test_all_sets_of_a_small_frame_that_explain_anything(seed, each):
    frame = Frame(seed, each)
    owner, members, weight = frame.run()
    assert (owner == 0).all()
    assert (members[0] == -1).all()
    assert weight[0] == pytest.approx(np.log(1 - frame.found).sum())
    want = {k: w for k, w in frame.all_sets().items() if w >= weight[0] and max(k) >= 0}
    found = {tuple(int(d) for d in m): w for m, w in zip(members[1:], weight[1:], strict=True)}
    if (1 + each) ** 2 <= 48 // (1 + each):  # the beam keeps all partial sets
        assert found.keys() == want.keys()
    for key, value in found.items():
        assert value == pytest.approx(want[key], abs=1e-6)
    best = max(want, key=want.__getitem__, default=None)
    assert best is None or best in found


@pytest.mark.parametrize("seed", range(2))
def test_the_beam_keeps_the_best_set_of_a_crowd(seed):
    frame = Frame(seed, 8)
    _, members, weight = frame.run()
    every = frame.all_sets()
    best = max(every, key=every.__getitem__)
    assert tuple(members[np.argmax(weight)]) == best
    assert weight.max() == pytest.approx(every[best], abs=1e-6)


def test_taken_detections_are_in_no_set():
    frame = Frame(0, 4)
    frame.free[::2] = False
    _, members, _ = frame.run()
    assert (members >= 0).any()
    assert frame.free[members[members >= 0]].all()


def test_states_are_corrected_by_their_sets():
    frame = Frame(1, 3)
    tracks = frame.tracks([0.1, 0.0, -0.1])
    correct(tracks, np.array([[0, -1, 6]]), frame.readings)
    x, P = np.append(frame.x, [0.1, 0.0, -0.1]), frame.cov
    for c, d in ((0, 0), (2, 6)):
        z = np.array([frame.u[d], frame.v[d]])
        x, P, _ = plain.absorb(x, P, frame.x, frame.pixel[c], frame.J[c], z, frame.r[d])
    np.testing.assert_allclose(tracks.state[0], x, atol=1e-8)
    np.testing.assert_allclose(tracks.cov[0], P, atol=1e-9)
