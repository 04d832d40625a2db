"""What made a recording is found again from its tracks."""

import numpy as np
import pytest

from trackfish3d.methods.joint.fit.estimate import (
    apart,
    camera_scales,
    climb,
    disagreement,
    fit,
    square_scale,
    usual_square,
)
from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement.filtering import linearised
from trackfish3d.recordings import Detections

from .scenes import BOX, crossed_rig, model, paths_of, seen, wander

FRAMES, ANIMALS = 120, 6


def simulated(noise, acceleration, cameras=3, missed=0.0, seed=0):
    rng = np.random.default_rng(seed)
    rig = crossed_rig(cameras)
    starts = np.column_stack([rng.uniform(-2, 2, (ANIMALS, 3)), rng.normal(0, 0.02, (ANIMALS, 3))])
    position = np.stack([wander(FRAMES, acceleration, s, seed + k) for k, s in enumerate(starts)], 1)
    lost = rng.random((FRAMES, ANIMALS, cameras)) < missed
    detections, rows = seen(rig, position, noise, seed, lost)
    truth = model(rig, noise, acceleration)
    pieces = [(a, np.arange(FRAMES), rows[:, a], position[:, a]) for a in range(ANIMALS)]
    return rig, detections, truth, pieces


@pytest.mark.parametrize("cameras", [2, 3])
@pytest.mark.parametrize(("noise", "acceleration"), [(2.0, 0.004), (1.0, 0.01)])
@pytest.mark.parametrize("wrong", [0.5, 2.5])
def test_noise_and_acceleration_are_found_again(noise, acceleration, wrong, cameras):
    rig, detections, truth, pieces = simulated(noise, acceleration, cameras)
    first = truth.with_(noise=truth.noise * wrong, acceleration=acceleration / wrong)
    paths = paths_of(rig, detections, first, pieces)
    found = fit(rig, Observations.of(rig, detections, first), paths, FRAMES, first, 0.01)
    np.testing.assert_allclose(found.noise, truth.noise, rtol=0.2)
    assert found.acceleration == pytest.approx(acceleration, rel=0.2)
    speed = np.sqrt(np.mean(np.diff(np.stack([p[3] for p in pieces]), axis=1) ** 2))
    assert found.velocity == pytest.approx(speed, rel=0.3)
    assert found.dart > found.acceleration


@pytest.mark.parametrize(("top", "found"), [(0, 0), (3, 3), (-5, -5), (40, 8), (-40, -8)])
def test_climbing_finds_the_top(top, found):
    asked = []

    def hill(k):
        asked.append(k)
        return -((k - top) ** 2)

    assert climb(hill, 8) == found
    assert len(asked) == len(set(asked)) <= abs(found) + 3


def test_misfit_is_chi_squared():
    """Views of one point disagree by their noise: mean squared misfit 2 C - 3 for C views."""
    rig, detections, truth, pieces = simulated(2.0, 0.004)
    paths = paths_of(rig, detections, truth, pieces)
    s = Observations.of(rig, detections, truth)
    lines = linearised(rig.packed, paths.members, paths.state, 1e-4)
    misfit, freedom = disagreement(paths.members, *lines, s.u, s.v, s.noise)
    assert (freedom == 3).all()
    assert np.mean(misfit) == pytest.approx(3, rel=0.1)
    assert np.var(misfit) == pytest.approx(6, rel=0.3)


def test_chances_and_false_detections_are_counted():
    rig, detections, truth, pieces = simulated(2.0, 0.004, missed=0.2)
    held = [p for p in pieces if p[0] < ANIMALS - 1]  # nobody follows the last one: its detections are unexplained
    paths = paths_of(rig, detections, truth, held)
    found = fit(rig, Observations.of(rig, detections, truth), paths, FRAMES, truth, 0.01)
    np.testing.assert_allclose(found.clear, 0.8, atol=0.06)
    assert (found.hidden <= found.clear).all()
    extra = 0.8 * FRAMES / (FRAMES * 1000 * 800)
    np.testing.assert_allclose(found.clutter, extra, rtol=0.15)


def test_scales_of_size_and_axis():
    rig, detections, truth, pieces = simulated(2.0, 0.004)
    rng = np.random.default_rng(0)
    n = len(detections)
    whose = np.empty(n, int)
    for a, _, rows, _ in pieces:
        whose[rows[rows >= 0]] = a
    own = np.linspace(-0.5, 0.5, ANIMALS)
    half = 0.5 * BOX * np.exp(own[whose] + rng.laplace(0, 0.03, n))
    columns = {k: getattr(detections, k) for k in ("frame", "camera", "u", "v")}
    boxes = {"x1": columns["u"] - half, "y1": columns["v"] - half, "x2": columns["u"] + half, "y2": columns["v"] + half}
    angle = 0.3 * own[whose] + rng.laplace(0, 0.05, n)
    shaped = type(detections).build(
        rig.names, **columns, **boxes, area=half**2, angle=angle, major=np.full(n, 9.0), minor=np.full(n, 3.0)
    )
    paths = paths_of(rig, shaped, truth, pieces)
    scales = fit(rig, Observations.of(rig, shaped, truth), paths, FRAMES, truth, 0.01).scales
    # the median of |a - b| of two Laplace variables of scale s is 1.146 s; that of one is 0.693 s
    assert scales[0] == pytest.approx(0.03 * 1.146 / 0.693, rel=0.1)
    assert scales[1] == pytest.approx(np.sqrt(2) * np.hypot(np.std(own), 0.03 * np.sqrt(2)), rel=0.1)
    assert scales[2] == pytest.approx(0.05 * 1.146 / 0.693, rel=0.1)


def test_too_short_tracks_change_nothing():
    rig, detections, truth, pieces = simulated(2.0, 0.004)
    short = [(a, f[:6], r[:6], p[:6]) for a, f, r, p in pieces]
    paths = paths_of(rig, detections, truth, short)
    assert fit(rig, Observations.of(rig, detections, truth), paths, 6, truth, 0.01) is truth


def noisy_cameras(noise, seed=0, frames=120, animals=4):
    """Animals that stay in view of cameras of this noise (C,), px; rig, positions (T, A, 3), detections, rows."""
    rig = crossed_rig(len(noise))
    rng = np.random.default_rng(seed)
    angle = 0.03 * np.arange(frames)[:, None] + rng.uniform(0, 2 * np.pi, animals)
    reach = rng.uniform(1.0, 2.0, animals)
    height = np.broadcast_to(np.linspace(-1.5, 1.5, animals), angle.shape)
    position = np.stack([reach * np.cos(angle), reach * np.sin(angle), height], axis=-1)
    return rig, position, *seen(rig, position, np.asarray(noise)[:, None], seed)


@pytest.mark.parametrize("noise", [(0.5, 0.5, 10.0), (4.0, 1.0, 1.0, 2.0), (1.0, 1.0, 1.0)])
def test_three_views_tell_the_noise_of_each_camera(noise):
    rig, position, detections, rows = noisy_cameras(noise)
    members, flat = rows.reshape(-1, len(noise)), position.reshape(-1, 3)
    lines = linearised(rig.packed, members, np.column_stack([flat, 0 * flat]), 1e-4)
    found = camera_scales(members, *lines, detections.u, detections.v, np.full(len(detections), 2.0))
    np.testing.assert_allclose(2.0 * found, noise, rtol=0.15)


def test_two_views_do_not():
    rig, position, detections, rows = noisy_cameras((1.0, 5.0))
    members, flat = rows.reshape(-1, 2), position.reshape(-1, 3)
    lines = linearised(rig.packed, members, np.column_stack([flat, 0 * flat]), 1e-4)
    found = camera_scales(members, *lines, detections.u, detections.v, np.full(len(detections), 2.0))
    np.testing.assert_array_equal(found, 1.0)


def test_cameras_differ_only_where_they_clearly_do():
    np.testing.assert_allclose(apart(np.array([1.0, 2.0, 2.5])), 1.0)
    np.testing.assert_allclose(apart(np.array([3.0, 3.0, 60.0])), [1, 1, 20])


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_bad_camera_does_no_harm(bad):
    noise = np.full(3, 0.5)
    noise[bad] = 10.0
    rig, position, detections, _ = noisy_cameras(noise)
    good = detections.select(detections.camera != bad)
    names = tuple(n for k, n in enumerate(rig.names) if k != bad)
    camera = np.searchsorted(np.delete(np.arange(3), bad), good.camera)
    boxes = (good.x1, good.y1, good.x2, good.y2)
    without = Detections.build(names, good.frame, camera, good.u, good.v, *boxes)
    error = []
    for views, found in ((rig, detections), (rig.select(names), without)):
        tracks = Joint().track(views, found).tracks
        assert len(np.unique(tracks.track)) == 4
        off = np.linalg.norm(position[tracks.frame] - tracks.position[:, None], axis=2).min(1)
        error.append(np.sqrt(np.mean(off**2)))
    assert error[0] < 1.05 * error[1]


@pytest.mark.parametrize("freedom", [1, 3, 13])
def test_the_scale_of_misfits_is_that_of_their_squares(freedom):
    rng = np.random.default_rng(freedom)
    square = 2.5 * rng.chisquare(freedom, 20000)
    assert square_scale(square, freedom) == pytest.approx(2.5, rel=0.03)
    square[:600] *= 100.0  # wrong detections
    assert square_scale(square, freedom) == pytest.approx(2.5, rel=0.15)


def test_where_a_fifth_is_wild_the_better_half_tells():
    """Boxes that are cut: a fifth of the misfits is twenty times as large in squares."""
    rng = np.random.default_rng(0)
    freedom = np.repeat([1, 3, 5], 4000)
    square = 2.5 * rng.chisquare(freedom)
    assert usual_square(square, freedom) == pytest.approx(2.5, rel=0.03)
    square[::5] *= 20.0
    clipped = np.mean([square_scale(square[freedom == k], k) for k in (1, 3, 5)])
    assert usual_square(square, freedom) < 0.9 * clipped


def test_errors_that_are_bounded_are_not_taken_for_half_a_gaussian():
    """A lean to and fro, sin t, has half of its squares above 1 / 2: a median makes 1.1 of a variance of 0.5."""
    lean = np.sin(np.linspace(0, 200, 20001))
    assert np.median(lean**2) / 0.4549 > 1.05
    assert 0.45 < square_scale(lean**2, 1) < 0.65
