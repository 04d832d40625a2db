"""Bodies as matrices: outlines, what is usual, and whether two views show one body."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from trackfish3d.methods.joint.arguments import Columns, Lines, Rig
from trackfish3d.methods.joint.bodies.fitting import fit_shape
from trackfish3d.methods.joint.bodies.shape import (
    ENTRIES,
    SIZES,
    BodyShape,
    absorb_entry,
    any_direction,
    outline_row,
    outlines,
)
from trackfish3d.methods.joint.bodies.silhouettes import COVERED, all_pairs
from trackfish3d.methods.joint.kernels import look_one
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import random_rig

RIG = random_rig(2, 3, np.zeros(3))
PACKED = Rig(RIG.packed, np.array([c.size for c in RIG], float), 1e-4)


def six(S):
    return np.array([S[i, j] for i, j in ENTRIES])


def body(rng, long=1.5, thick=0.3):
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    return thick**2 * np.eye(3) + (long**2 - thick**2) * np.outer(axis, axis)


def jacobians(x):
    J = np.empty((len(RIG), 2, 3))
    for c in range(len(RIG)):
        assert look_one(RIG.packed[c], x, 1e-4, np.empty(2), J[c])
    return J


def test_the_box_of_an_ellipsoid_is_what_its_matrix_says():
    rng = np.random.default_rng(0)
    S, J, row = body(rng), rng.standard_normal((2, 3)), np.empty(6)
    ball = rng.standard_normal((400_000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    pixels = ball @ np.linalg.cholesky(S).T @ J.T
    for entry in range(2):
        outline_row(J, entry, row)
        assert np.sqrt(row @ six(S)) == pytest.approx(pixels[:, entry].max(), rel=1e-3)
    outline_row(J, 2, row)
    assert row @ six(S) == pytest.approx((J @ S @ J.T)[0, 1], rel=1e-9)


def test_the_moments_of_a_mask_give_the_matrix_of_its_ellipse():
    M = np.array([[400.0, 90.0], [90.0, 100.0]])
    value, vector = np.linalg.eigh(M)
    angle = np.arctan2(vector[1, 1], vector[0, 1])
    angle = (angle + np.pi / 2) % np.pi - np.pi / 2
    found = outlines(
        Detections.build(
            ["a"], [0], [0], [50.0], [50.0], [30.0], [40.0], [70.0], [60.0], area=[1.0], angle=[angle],
            major=[np.sqrt(value[1]) / 2], minor=[np.sqrt(value[0]) / 2],
        )
    )  # fmt: skip
    assert found[0] == pytest.approx([M[0, 0], M[1, 1], M[0, 1]])
    plain = outlines(Detections.build(["a"], [0], [0], [50.0], [50.0], [30.0], [40.0], [70.0], [60.0]))
    assert plain[0, :2] == pytest.approx([400.0, 100.0])
    assert np.isnan(plain[0, 2])


def test_bodies_of_any_direction_have_the_moments_of_random_directions():
    rng = np.random.default_rng(1)
    axis = rng.standard_normal((200_000, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    found = any_direction(2.0)
    thick = 0.25**2
    drawn = np.stack([thick * float(i == j) + (1.0 - thick) * axis[:, i] * axis[:, j] for i, j in ENTRIES], axis=1)
    assert found.mean == pytest.approx(drawn.mean(0), abs=0.005)
    bent = found.cov - SIZES**2 * np.outer(found.mean, found.mean)
    assert bent == pytest.approx(np.cov(drawn.T) + 0.03**2 * np.eye(6), abs=0.003)


def test_an_entry_is_absorbed_as_a_kalman_filter_does():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((6, 6))
    mean, cov, row = rng.standard_normal(6), A @ A.T + np.eye(6), rng.standard_normal(6)
    gain = cov @ row / (row @ cov @ row + 0.5)
    want_mean, want_cov = mean + gain * (2.0 - row @ mean), cov - np.outer(gain, row @ cov)
    want = multivariate_normal.logpdf(2.0, row @ mean, row @ cov @ row + 0.5)
    assert absorb_entry(mean, cov, row, 2.0, 0.5) == pytest.approx(want)
    assert mean == pytest.approx(want_mean)
    assert cov == pytest.approx(want_cov)


def seen_pair(S, other, x):
    """Detections of two views at one point, boxes of one body or of two, and what the kernel takes."""
    half = np.array([np.sqrt(np.diag(J @ M @ J.T)) for J, M in zip(jacobians(x), (S, other), strict=True)])
    pixel = np.array([c.project(x[None])[0] for c in RIG])
    rays = [c.rays(p[None]) for c, p in zip(RIG, pixel, strict=True)]
    camera, nothing = np.arange(2), np.full(2, np.nan)
    columns = Columns(camera, pixel[:, 0].copy(), pixel[:, 1].copy(), np.ones(2), nothing, nothing)
    lines = Lines(np.concatenate([r.origin for r in rays]), np.concatenate([r.direction for r in rays]), camera)
    return columns, lines, np.column_stack([half**2, nothing])


def test_odds_of_a_pair_are_the_ratio_of_gaussian_densities():
    x, shape = np.array([1.0, -2.0, 0.5]), any_direction(3.0)
    columns, lines, outline = seen_pair(body(np.random.default_rng(3)), body(np.random.default_rng(4)), x)
    first, second, odds = all_pairs(PACKED, np.array([0, 2]), columns, lines, outline, shape)
    assert (first.tolist(), second.tolist()) == ([0], [1])
    rows = np.empty((4, 6))
    for c, J in enumerate(jacobians(x)):
        for entry in range(2):
            outline_row(J, entry, rows[2 * c + entry])
    y = outline[:, :2].reshape(-1)
    size = shape.noise * np.sqrt(np.repeat(outline[:, :2].mean(1), 2) * y)
    mean, cov = rows @ shape.mean, rows @ shape.cov @ rows.T + np.diag(size**2)
    ratio = multivariate_normal.logpdf(y, mean, cov)
    for part in (slice(0, 2), slice(2, 4)):
        ratio -= multivariate_normal.logpdf(y[part], mean[part], cov[part, part])
    assert odds[0] == pytest.approx(np.log((1 - COVERED) * np.exp(ratio) + COVERED), abs=1e-4)


def test_one_body_is_likelier_than_two():
    rng, shape = np.random.default_rng(5), any_direction(3.0)
    one, two = [], []
    for _ in range(100):
        x, S, other = rng.uniform(-3, 3, 3), body(rng), body(rng)
        for kept, partner in ((one, S), (two, other)):
            columns, lines, outline = seen_pair(S, partner, x)
            kept.append(all_pairs(PACKED, np.array([0, 2]), columns, lines, outline, shape)[2][0])
    assert np.mean(one) > 0.1
    assert np.mean(two) < 0.0
    assert np.mean(np.array(one)[:, None] > np.array(two)) > 0.6


def test_the_usual_body_is_found_although_some_rows_are_of_two_animals():
    rng = np.random.default_rng(6)
    upright = np.diag([0.2, 0.25, 0.9]) ** 2
    count = 600
    members, use = np.arange(2 * count).reshape(count, 2), np.ones((count, 2), bool)
    J, outline = np.empty((count, 2, 2, 3)), np.full((2 * count, 3), np.nan)
    for i in range(count):
        J[i] = jacobians(rng.uniform(-3, 3, 3))
        S = upright * rng.uniform(0.9, 1.1)
        for c in range(2):
            false = c == 1 and i % 5 == 0
            M = J[i, c] @ (4.0 * S if false else S) @ J[i, c].T
            outline[members[i, c], :2] = np.diag(M) * (1 + 0.03 * rng.standard_normal(2))
    found = fit_shape(members, J, use, outline, any_direction(1.8))
    assert isinstance(found, BodyShape)
    assert found.mean[5] == pytest.approx(0.81, rel=0.15)
    assert found.mean[0] < 0.2
    assert found.mean[3] < 0.2
    assert fit_shape(members[:50], J[:50], use[:50], outline, any_direction(1.8)).noise == any_direction(1.8).noise
