"""The adjustment: derivatives, its minimum against SciPy's, and cameras and clocks that are known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.recordings import Detections
from trackfish3d.refinement.adjustment import Freedom, adjust_pieces, missed, prior_for, with_paths
from trackfish3d.refinement.bundle import Bundle
from trackfish3d.refinement.kernels import CLOCK, LEAN, curve
from trackfish3d.refinement.rigs import rig_of, state_of
from trackfish3d.refinement.sights import spread
from trackfish3d.synfish.rigs import paper_rig, tank_rig

from .moving import off_by, world


@pytest.fixture(scope="module")
def school():
    return world(paper_rig(5), offset=[0, 0.4, -0.3], rate=[0, 1e-4, -1e-4], lean=[0, 0.1, -0.05])


def small(rig):
    made = world(rig, animals=2, frames=16, noise=1.0, offset=np.arange(len(rig)) * 0.2, lean=np.arange(len(rig)) * 0.1)
    setup = made.setup(perturb_rig(rig, 0.1, 1))
    start, bend = with_paths(setup, made.pieces)
    everything = Freedom(index=True, focal=True, distortion=True, readout=True, water=True)
    prior = prior_for(setup, everything, made.pieces.position.mean(0), 1.0)
    bundle = Bundle(start, prior, made.pieces.sights, bend)
    bundle.noise[:] = 50.0  # no error beyond Huber's limit, so that the cost is a plain sum of squares
    return bundle, start


@pytest.mark.parametrize("rig", [paper_rig(5), tank_rig()], ids=["air", "water"])
def test_the_gradient_is_that_of_the_cost(rig):
    bundle, start = small(rig)
    errors, _ = bundle.errors(start)
    H, g, band, _, b = bundle.normal(start, errors)
    size, paths = bundle.size, len(start.paths.control)
    rng = np.random.default_rng(0)
    for k in [*range(size), *(size + rng.integers(0, 3 * paths, 12))]:
        x, y = np.zeros(size), np.zeros((paths, 3))
        curvature = H[k, k] if k < size else band[0, k - size]
        if curvature == 0:
            continue
        h = 1e-3 / np.sqrt(curvature)
        (x if k < size else y.reshape(-1))[k if k < size else k - size] = h
        up, down = (bundle.errors(bundle.moved(start, (s * x, s * y)))[1] for s in (1, -1))
        assert -(up - down) / (4 * h) == pytest.approx(
            (g if k < size else b)[k if k < size else k - size], rel=2e-3, abs=2e-3 * np.sqrt(curvature)
        )


def test_the_step_is_that_of_the_whole_system():
    bundle, start = small(paper_rig(5))
    errors, _ = bundle.errors(start)
    normal = bundle.normal(start, errors)
    H, g, band, B, b = normal
    n = band.shape[1]
    whole = np.zeros((n, n))
    for k in range(len(band)):
        whole[np.arange(k, n), np.arange(n - k)] = band[k, : n - k]
    whole += np.tril(whole, -1).T
    system = np.block([[H, B.T], [B, whole]])
    x, y = bundle.step(normal, 0.0)
    expected = np.linalg.solve(system, np.concatenate([g, b]))
    unit = np.sqrt(np.diag(system))
    assert np.abs(unit * (np.concatenate([x, y.ravel()]) - expected)).max() < 1e-5 * np.abs(unit * expected).max()


def test_the_minimum_is_that_of_scipy():
    made = world(paper_rig(5), animals=2, frames=14, noise=0.5)
    setup = made.setup(perturb_rig(made.rig, 0.05, 2))
    start, bend = with_paths(setup, made.pieces)
    prior = prior_for(setup, Freedom(leans=False, rates=False), made.pieces.position.mean(0), 1.0)
    bundle = Bundle(start, prior, made.pieces.sights, bend)
    bundle.noise[:] = 10.0
    from trackfish3d.maths.descent import descend

    found, _ = descend(bundle, start, 100, 1e-12)
    n = len(start.paths.control)

    def cost(step):
        return bundle.errors(bundle.moved(found, (step[: bundle.size], step[bundle.size :].reshape(n, 3))))[1]

    errors, least = bundle.errors(found)
    H, _, band, _, _ = bundle.normal(found, errors)
    unit = 1 / np.sqrt(np.concatenate([np.diag(H), band[0]]))
    rng = np.random.default_rng(0)
    for _ in range(20):  # nothing near is better
        assert cost(0.02 * unit * rng.standard_normal(len(unit))) > least


def test_cameras_and_clocks_are_found(school):
    believed = perturb_rig(school.rig, 0.3, 0)
    setup, done = adjust_pieces(school.setup(believed), Freedom(), school.pieces)
    turn, distance = off_by(rig_of(setup.state, believed), school.rig)
    assert off_by(believed, school.rig)[0] > 0.2
    assert turn < 0.03
    assert distance < 0.03
    assert setup.clock[:, 0] - school.middle == pytest.approx(school.offset, abs=0.03)
    assert setup.clock[:, LEAN - CLOCK] == pytest.approx(school.lean, abs=0.03)  # headings fade where it is slow
    assert done.noise == pytest.approx(0.5, rel=0.25)


def test_standard_deviations_of_clocks_hold():
    off = []
    for seed in range(12):
        made = world(paper_rig(5), seed=seed, animals=4, frames=60, offset=[0, 0.3, -0.2])
        setup, done = adjust_pieces(made.setup(perturb_rig(made.rig, 0.1, seed)), Freedom(rates=False), made.pieces)
        sigma = np.sqrt(np.diag(done.covariance))[done.places[1:, CLOCK]]
        off.append((setup.clock[1:, 0] - made.middle[1:] - made.offset[1:]) / sigma)
    off = np.abs(np.concatenate(off))
    assert (off < 1).mean() > 0.4
    assert (off < 2).mean() > 0.8
    assert off.mean() > 0.3  # nor are they far too wide


def test_the_waters_height_is_found():
    true = tank_rig()
    lower = type(true)(tuple(_lowered(c, 1.0) for c in true), true.units)
    made = world(lower, animals=8, frames=150, noise=0.5, reach=2.0)
    # the cameras stand where they are said to stand; only the water is not where it was
    setup, _ = adjust_pieces(
        made.setup(true), Freedom(poses=False, leans=False, clocks=False, rates=False), made.pieces
    )
    q = int(np.argmax(np.abs(setup.state.normal[:, 2])))
    before = state_of(true)
    assert (setup.state.point[q] - before.point[q]) @ before.normal[q] == pytest.approx(-1.0, abs=0.05)


def _lowered(camera, by):
    from dataclasses import replace

    faces = tuple(replace(f, point=f.point - by * f.normal) if abs(f.normal[2]) > 0.9 else f for f in camera.interfaces)
    return replace(camera, interfaces=faces)


def test_held_out_pieces_prefer_the_true_cameras(school):
    held = school.pieces.part(school.pieces.held)
    noise = np.full(3, 0.5)
    good = missed(school.truth(), held, noise)[0].mean()
    bad = missed(school.setup(perturb_rig(school.rig, 0.2, 3)), held, noise)[0].mean()
    assert good < 2.2  # two coordinates of one variance each, less what the paths take
    assert bad > 5 * good


def test_a_rig_comes_back_from_what_is_adjusted():
    for rig in (paper_rig(0), tank_rig()):
        again = rig_of(state_of(rig), rig)
        points = np.random.default_rng(0).normal(0, 1, (50, 3)) + [15, 15, 5] * np.array(rig.refractive)
        for a, b in zip(rig, again, strict=True):
            assert a.project(points) == pytest.approx(b.project(points), abs=1e-8, nan_ok=True)


def test_scipy_agrees_on_a_path_alone():
    """One path before cameras that are held: SciPy, with its own differences, goes to the same place."""
    made = world(paper_rig(5), animals=1, frames=10, noise=0.5)
    start, bend = with_paths(made.setup(made.rig), made.pieces)
    prior = prior_for(made.setup(made.rig), Freedom(False, False, False, leans=False, poses=False), np.zeros(3), 1.0)
    bundle = Bundle(start, prior, made.pieces.sights, bend)
    bundle.noise[:] = 10.0
    from trackfish3d.maths.descent import descend
    from trackfish3d.refinement.kernels import miss

    found, _ = descend(bundle, start, 50, 1e-14)
    shape = start.paths.control.shape

    def residuals(flat):
        paths = start.paths._replace(control=flat.reshape(shape))
        c = paths.control
        bent = np.sqrt(bend) * (c[:-2] - 2 * c[1:-1] + c[2:])
        return np.concatenate([miss(bundle.lenses(start), paths, made.pieces.sights).ravel() / 10, bent.ravel()])

    expected = least_squares(residuals, start.paths.control.ravel(), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    assert found.paths.control.ravel() == pytest.approx(expected, abs=1e-4)


def test_of_a_long_recording_stretches_are_taken_evenly():
    frame = np.repeat(np.arange(-50, 5000), 6)
    seen = Detections.build(("a", "b"), frame, np.tile([0, 0, 0, 1, 1, 1], 5050), *np.ones((6, len(frame))))
    for most in (300, 900, 4000):
        some = spread(seen, 2, most)
        frames = np.unique(some.frame)
        assert len(some) == pytest.approx(2.5 * most, rel=0.6)
        assert (frames[0], frames[-1]) == (-50, 4999)
        assert (np.diff(frames) > 1).sum() >= 1
    assert spread(seen, 2, 10**6) is seen


def test_second_derivatives_by_clocks_and_leans_are_those_of_the_gradient():
    bundle, start = small(paper_rig(5))
    errors, _ = bundle.errors(start)
    H, _, _, B, _ = bundle.normal(start, errors)
    plain = H.copy(), B.copy()
    sigma = bundle.noise[bundle.sights.camera]
    curve(bundle.lenses(start), start.paths, bundle.sights, errors[1] / sigma**2, errors[0], bundle.places, H, B)
    paths = len(start.paths.control)
    timed = np.unique(bundle.places[:, CLOCK:][bundle.places[:, CLOCK:] >= 0])
    for k in timed:
        x = np.zeros(bundle.size)
        h = x[k] = 1e-4 / np.sqrt(plain[0][k, k])
        sides = [bundle.moved(start, (s * x, np.zeros((paths, 3)))) for s in (1, -1)]
        normals = [bundle.normal(r, bundle.errors(r)[0]) for r in sides]
        up, down = normals
        by_clock, by_path = ((down[j] - up[j]) / (2 * h) for j in (1, 4))
        scale = np.sqrt(plain[0][k, k] * np.diag(plain[0])[timed])
        assert (np.abs(by_clock[timed] - H[k, timed]) < 0.01 * scale).all()  # how the picture turns is left out
        left, gauss_newton = (np.linalg.norm(by_path - now[:, k]) for now in (B, plain[1]))
        assert left < 0.2 * gauss_newton


def test_standard_deviations_know_of_errors_that_last():
    """A detector whose errors last for ten frames tells less than one whose errors are new in every frame."""
    sigma = []
    for lasting in (1, 10):
        made = world(paper_rig(5), animals=8, frames=120, noise=0.0)
        rng = np.random.default_rng(3)
        sights = made.pieces.sights
        number = np.unique(
            np.column_stack([sights.path, sights.camera, sights.frame // lasting]), axis=0, return_inverse=True
        )[1].ravel()
        error = 0.5 * rng.standard_normal((number.max() + 1, 2))
        pieces = replace(made.pieces, sights=sights._replace(pixel=sights.pixel + error[number]))
        _, done = adjust_pieces(made.setup(made.rig), Freedom(leans=False), pieces)
        sigma.append(np.sqrt(np.diag(done.covariance))[done.places[1, 12:15]])
    assert (sigma[1] > 1.5 * sigma[0]).all()
