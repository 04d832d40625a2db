"""Bodies in time: the equations against dense algebra, and simulated schools against their truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from trackfish3d.cameras import CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.poses import reconstruct_poses, with_middle
from trackfish3d.poses.blocks import Chain
from trackfish3d.poses.first_noise import variance_shares
from trackfish3d.poses.kernels import (
    Body,
    Equations,
    Sight,
    derivatives,
    lengths,
    measured,
    motion,
    placed_by_views,
    spreads,
)
from trackfish3d.recordings import Poses, Tracks

from .schools import LENGTH, PARTS, matched, perfect_tracks, school


def chain(blocks: int, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A positive block-tridiagonal matrix in blocks and whole."""
    rng = np.random.default_rng(seed)
    low = np.zeros((blocks * size, blocks * size))
    for m in range(blocks):
        here = slice(m * size, (m + 1) * size)
        low[here, here] = np.tril(rng.normal(size=(size, size))) + 3 * np.eye(size)
        if m:
            low[here, slice((m - 1) * size, m * size)] = rng.normal(size=(size, size))
    whole = low @ low.T
    cut = whole.reshape(blocks, size, blocks, size).transpose(0, 2, 1, 3)
    return cut[np.arange(blocks), np.arange(blocks)], cut[np.arange(blocks - 1), np.arange(1, blocks)], whole


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_blocks_are_what_dense_algebra_gives(blocks: int) -> None:
    diagonal, upper, whole = chain(blocks, 4)
    right = np.random.default_rng(1).normal(size=(blocks, 4))
    found = Chain.of(diagonal, upper).solve(right[..., None])
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(whole, right.ravel()), rtol=1e-8)
    inverse = np.linalg.inv(whole).reshape(blocks, 4, blocks, 4).transpose(0, 2, 1, 3)
    found, side = Chain.of(diagonal, upper).inverted()
    np.testing.assert_allclose(found, inverse[np.arange(blocks), np.arange(blocks)], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(side, inverse[np.arange(blocks - 1), np.arange(1, blocks)], rtol=1e-7, atol=1e-12)


def test_normal_equations_are_the_gradient_and_the_curvature_of_what_is_minimised() -> None:
    made = school(fish=1, frames=5)
    rng = np.random.default_rng(3)
    frames, parts = 5, 3
    truth = made.truth.position.reshape(frames, -1, 3)[:, [0, 3, 5]]
    packed = made.rig.packed
    pixel = np.stack([c.project(truth.reshape(-1, 3)).reshape(frames, parts, 2) for c in made.rig], axis=1)
    views = len(made.rig)
    shape = (frames, views, parts)
    sight = Sight(pixel, np.ones(shape), np.zeros((*shape, 3)), np.zeros((*shape, 3)), np.ones(shape, bool))
    body = Body(
        np.array([-1, 0, 1]), np.array([0.02, 0.03, 0.05]), np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1.4]),
        np.array([0.1, 0.2]), np.full(3, 30.0),
    )  # fmt: skip
    weight = rng.uniform(0.5, 2, shape)
    error, slope = np.zeros((*shape, 2)), np.zeros((*shape, 2, 3))

    def equations(points: np.ndarray) -> Equations:
        out = Equations(np.zeros((3, 18, 18)), np.zeros((2, 18, 18)), np.zeros((3, 18)))
        derivatives(packed, sight, points, 1e-6, error, slope)
        measured(out, error, slope, weight)
        motion(out, points, body, np.ones((frames, parts)))
        lengths(out, points, body, np.ones((frames, 2)), np.full((frames, parts), 1 / 900))
        return out

    def cost(points: np.ndarray) -> float:
        derivatives(packed, sight, points, 1e-6, error, slope)
        jump = np.diff(points, 2, axis=0)
        jump = np.concatenate([jump[:, :1], jump[:, 1:] - jump[:, :-1]], axis=1)
        far = np.linalg.norm(points[:, :-1] - points[:, 1:], axis=-1)
        pull = ((points[:, 1:] - points[:, :-1]) ** 2).sum() / 900
        total = (weight[..., None] * error**2).sum() + ((jump**2).sum(-1) / body.jolt).sum() + pull
        return 0.5 * float(total + ((far - body.length) ** 2 / body.variance).sum())

    points = truth + rng.normal(0, 0.02, truth.shape)
    found = equations(points).right.reshape(-1, parts, 3)[:frames]
    for f, k, a in [(0, 0, 0), (1, 1, 2), (2, 2, 1), (4, 0, 2)]:
        step = np.zeros_like(points)
        step[f, k, a] = 1e-5
        slope_there = (cost(points + step) - cost(points - step)) / 2e-5
        assert found[f, k, a] == pytest.approx(-slope_there, rel=2e-3, abs=1e-2)
    made_of = equations(points)
    made_of.diagonal[-1][np.arange(9, 18), np.arange(9, 18)] += 1.0
    made_of.diagonal[0][:3, :3] += 1e-3 * np.eye(3)
    whole = np.zeros((54, 54))
    for m in range(3):
        whole[18 * m : 18 * m + 18, 18 * m : 18 * m + 18] = made_of.diagonal[m]
        if m:
            whole[18 * m - 18 : 18 * m, 18 * m : 18 * m + 18] = made_of.upper[m - 1]
            whole[18 * m : 18 * m + 18, 18 * m - 18 : 18 * m] = made_of.upper[m - 1].T
    inverse = np.linalg.inv(whole)[:45, :45]
    covariance, jolt, stretch = spreads(*Chain.of(made_of.diagonal, made_of.upper).inverted(), points, body)
    np.testing.assert_allclose(covariance[3, 1], inverse[30:33, 30:33], rtol=1e-6, atol=1e-12)
    pick = np.zeros((3, 45))
    for i, w in enumerate((1.0, -2.0, 1.0)):
        pick[:, 9 * (1 + i) + 3 : 9 * (1 + i) + 6] = w * np.eye(3)
        pick[:, 9 * (1 + i) : 9 * (1 + i) + 3] = -w * np.eye(3)
    assert jolt[2, 1] == pytest.approx(np.trace(pick @ inverse @ pick.T), rel=1e-6)
    ray = (points[1, 0] - points[1, 1]) / np.linalg.norm(points[1, 0] - points[1, 1])
    pick = np.zeros(45)
    pick[9:12], pick[12:15] = ray, -ray
    assert stretch[1, 0] == pytest.approx(pick @ inverse @ pick, rel=1e-6)


def test_poses_of_a_school_are_where_the_fish_were_and_as_sure_as_they_say() -> None:
    made = school(fish=5, frames=60)
    poses = reconstruct_poses(made.rig, made.detections, perfect_tracks(made))
    error, far = matched(poses, made.truth)
    assert np.isfinite(error).mean() > 0.97
    assert (error < 0.02 * LENGTH).mean() > 0.93
    inside = far[np.isfinite(error)]
    assert 0.55 < (inside < chi2.ppf(0.6827, 3)).mean() < 0.85
    assert (inside < chi2.ppf(0.9545, 3)).mean() > 0.87


def test_left_and_right_of_one_view_and_parts_of_neighbours_are_put_right() -> None:
    made = school(fish=3, frames=40, swapped=0.15, foreign=0.05, gross=0.0)
    poses = reconstruct_poses(made.rig, made.detections, perfect_tracks(made))
    error, _ = matched(poses, made.truth)
    eyes = error[:, [PARTS.index("left_eye"), PARTS.index("right_eye")]]
    assert (eyes < 0.025 * LENGTH).mean() > 0.93


def test_a_part_that_one_camera_sees_is_left_out_or_as_unsure_as_it_is() -> None:
    made = school(fish=3, frames=60)
    tail, seen = PARTS.index("tail_tip"), made.detections
    parts = seen.parts.copy()
    parts[seen.camera > 0, tail] = np.nan
    poses = reconstruct_poses(made.rig, replace(seen, parts=parts), perfect_tracks(made))
    error, far = matched(poses, made.truth)
    said = np.isfinite(error[:, tail])
    assert not poses.observed[:, tail].any()
    assert (far[said, tail] < chi2.ppf(0.9545, 3)).sum() >= 0.7 * said.sum()
    others = np.delete(error, tail, axis=1)
    assert (others < 0.02 * LENGTH).mean() > 0.9


def test_a_part_that_is_hidden_for_a_while_is_drawn_on_with_a_sigma_that_holds() -> None:
    made = school(fish=3, frames=60)
    tail, seen = PARTS.index("tail_tip"), made.detections
    parts = seen.parts.copy()
    parts[(seen.frame % 20 < 5), tail] = np.nan
    poses = reconstruct_poses(made.rig, replace(seen, parts=parts), perfect_tracks(made))
    error, far = matched(poses, made.truth)
    hidden = (made.truth.frame % 20 < 5) & np.isfinite(error[:, tail])
    assert hidden.sum() > 30
    assert (far[hidden, tail] < chi2.ppf(0.9545, 3)).mean() > 0.85
    assert (far[hidden, tail] < chi2.ppf(0.01, 3)).mean() < 0.2  # nor is it far too wide


@pytest.mark.parametrize("degrees", [0.5, 2.0])
def test_one_wrongly_calibrated_camera_of_three_does_no_harm(degrees: float) -> None:
    made = school(fish=3, frames=60, seed=3)
    bad = made.rig[1]
    turn = Rotation.from_rotvec(np.radians([0.6 * degrees, 0.8 * degrees, 0.0])).as_matrix() @ bad.R
    moved = replace(bad, R=turn, t=turn @ bad.R.T @ bad.t)
    rig = CameraRig((made.rig[0], moved, made.rig[2]), made.rig.units)
    tracks = perfect_tracks(made)
    error, far = matched(reconstruct_poses(rig, made.detections, tracks), made.truth)
    assert (error < 0.02 * LENGTH).mean() > 0.8
    assert (far[np.isfinite(error)] < chi2.ppf(0.9545, 3)).mean() > 0.85


def test_variances_of_cameras_are_found_from_those_of_their_pairs() -> None:
    own = np.array([1.0, 4.0, 0.5, 900.0])
    counts = 100.0 * (1 - np.eye(4))
    np.testing.assert_allclose(variance_shares((own[:, None] + own) * (counts > 0), counts), own, rtol=0.15)


def test_parts_are_placed_where_views_know_them_in_every_direction() -> None:
    rng = np.random.default_rng(2)
    slope, weight = rng.normal(size=(40, 3, 5, 2, 3)), rng.uniform(0.1, 2, (40, 3, 5)) * (rng.random((40, 3, 5)) < 0.5)
    told = np.einsum("fckai,fck,fckaj->fkij", slope, weight, slope)
    least = np.linalg.eigvalsh(told)[..., 0]
    for sigma in (0.5, 1.0, 2.0):
        found = placed_by_views(slope, weight, sigma)
        assert (least[found] > 1 / sigma**2).all()
        assert not found[(weight > 0).sum(1) < 2].any()
        assert found[least > 4 / sigma**2].all()


def test_points_that_are_far_from_the_parts_become_their_mean_and_no_others() -> None:
    made = school(fish=2, frames=20)
    tracks = perfect_tracks(made)
    poses = reconstruct_poses(made.rig, made.detections, tracks)
    position = tracks.position.copy()
    position[5] += [0.0, 0.6 * LENGTH, 0.0]
    mended = with_middle(replace(tracks, position=position), poses)
    row = np.flatnonzero((poses.frame == tracks.frame[5]) & (poses.track == tracks.track[5]))[0]
    np.testing.assert_allclose(mended.position[5], poses.position[row].mean(0))
    others = np.arange(len(tracks)) != 5
    np.testing.assert_array_equal(mended.position[others], tracks.position[others])


def test_same_input_same_poses() -> None:
    made = school(fish=2, frames=20)
    first, second = (reconstruct_poses(made.rig, made.detections, perfect_tracks(made)) for _ in range(2))
    np.testing.assert_array_equal(first.position, second.position)


def test_short_and_empty_tracks() -> None:
    made = school(fish=2, frames=20)
    tracks = perfect_tracks(made)
    short = tracks.select(tracks.frame < 1)
    assert len(reconstruct_poses(made.rig, made.detections, short)) == 2
    none: Poses = reconstruct_poses(made.rig, made.detections, tracks.select(tracks.frame < 0))
    assert len(none) == 0
    with pytest.raises(InputError, match="do not say which detections"):
        reconstruct_poses(made.rig, made.detections, Tracks.build([0], [0], [[0, 0, 0]]))
