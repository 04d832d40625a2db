"""Points from pixels: exactness, covariance, agreement with OpenCV."""

import cv2
import numpy as np
import pytest
from scipy.optimize import least_squares

from trackfish3d.cameras import (
    Camera,
    CameraRig,
    Interface,
    pair_residuals,
    triangulate_dlt,
    triangulate_ml,
    triangulate_rays,
)
from trackfish3d.core.errors import InputError

K = np.array([[1500.0, 0, 960], [0, 1500, 540], [0, 0, 1]])


def look_at(name, centre, target, faces=(), distortion=()):
    centre, target = np.asarray(centre, float), np.asarray(target, float)
    z = (target - centre) / np.linalg.norm(target - centre)
    x = np.cross([0.3, 1.0, 0.1], z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z])
    return Camera(name, (1920, 1080), K, distortion, R, -R @ centre, interfaces=faces)


def ring(n, water=False, distortion=()):
    """n cameras above z = 0 looking down at the origin; the water fills z > 1."""
    faces = (Interface([0, 0, 1], [0, 0, -1]),) if water else ()
    angles = 2 * np.pi * np.arange(n) / n
    return CameraRig(
        tuple(
            look_at(f"c{i}", [6 * np.cos(a), 6 * np.sin(a), -6], [0, 0, 3], faces, distortion)
            for i, a in enumerate(angles)
        )
    )


def observe(rig, points, views):
    """Members of groups in which point g is seen by the cameras views[g]."""
    camera = np.concatenate(views)
    offsets = np.append(0, np.cumsum([len(v) for v in views]))
    group = np.repeat(np.arange(len(points)), np.diff(offsets))
    pixels = np.stack([rig[int(c)].project(points[g : g + 1])[0] for c, g in zip(camera, group, strict=True)])
    return pixels, camera, offsets


@pytest.mark.parametrize("water", [False, True])
def test_exact_pixels_give_the_exact_point_for_groups_of_any_size(water):
    rig = ring(6, water, [-0.1, 0.02, 0.001, 0, 0])
    rng = np.random.default_rng(0)
    points = rng.uniform([-1, -1, 2], [1, 1, 4], (40, 3))
    views = [rng.permutation(6)[: rng.integers(2, 7)] for _ in points]
    pixels, camera, offsets = observe(rig, points, views)
    ml = triangulate_ml(rig, pixels, camera, offsets)
    assert ml.valid.all()
    np.testing.assert_allclose(ml.points, points, atol=1e-7)
    rays = [rig[int(c)].rays(p[None]) for c, p in zip(camera, pixels, strict=True)]
    nearest, gap = triangulate_rays(
        np.concatenate([r.origin for r in rays]), np.concatenate([r.direction for r in rays]), offsets
    )
    np.testing.assert_allclose(nearest, points, atol=1e-8)
    assert gap.max() < 1e-8
    if not water:
        np.testing.assert_allclose(triangulate_dlt(rig, pixels, camera, offsets), points, atol=1e-6)


def test_dlt_of_two_noisy_views_is_opencvs():
    rig = ring(2)
    rng = np.random.default_rng(1)
    points = rng.uniform([-1, -1, 2], [1, 1, 4], (50, 3))
    pixels = [c.project(points) + rng.normal(size=(50, 2)) for c in rig]
    expected = cv2.triangulatePoints(rig[0].matrix, rig[1].matrix, pixels[0].T, pixels[1].T)
    expected = (expected[:3] / expected[3]).T
    members = np.stack(pixels, axis=1).reshape(-1, 2)
    got = triangulate_dlt(rig, members, np.tile([0, 1], 50), np.arange(51) * 2)
    np.testing.assert_allclose(got, expected, atol=2e-4)  # rows are scaled by the focal length here


@pytest.mark.parametrize("water", [False, True])
def test_maximum_likelihood_is_scipys_optimum(water):
    rig = ring(3, water)
    rng = np.random.default_rng(2)
    truth = np.array([0.4, -0.3, 2.5])
    sigma = np.array([0.5, 1.0, 3.0])
    pixels = np.stack([c.project(truth[None])[0] for c in rig]) + rng.normal(size=(3, 2)) * sigma[:, None]

    def residual(x):
        return np.concatenate([(c.project(x[None])[0] - p) / s for c, p, s in zip(rig, pixels, sigma, strict=True)])

    expected = least_squares(residual, truth, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    got = triangulate_ml(rig, pixels, [0, 1, 2], [0, 3], sigma)
    np.testing.assert_allclose(got.points[0], expected, atol=1e-7)


@pytest.mark.parametrize("water", [False, True])
def test_covariance_is_what_noise_does(water):
    rig = ring(3, water)
    rng = np.random.default_rng(3)
    point, n = np.array([0.5, 0.2, 2.5]), 20_000
    clean = np.stack([c.project(point[None])[0] for c in rig])
    pixels = np.tile(clean, (n, 1)) + 0.7 * rng.normal(size=(3 * n, 2))
    result = triangulate_ml(rig, pixels, np.tile([0, 1, 2], n), np.arange(n + 1) * 3, 0.7)
    measured = np.cov(result.points.T)
    stated = triangulate_ml(rig, clean, [0, 1, 2], [0, 3], 0.7).covariance[0]
    scale = np.sqrt(np.outer(np.diag(stated), np.diag(stated)))
    assert np.abs((measured - stated) / scale).max() < 0.05


def test_a_fish_at_the_glass_is_kept():
    # Noise puts it 0.05 in front of the surface; it must neither vanish nor be moved into the water.
    rig = ring(3, water=True)
    at_surface = np.array([[0.3, 0.1, 1.0]])
    pixels = np.stack([c.project(at_surface)[0] for c in rig]) + [[2.0, 1.0], [-2.0, 2.0], [1.0, -3.0]]
    result = triangulate_ml(rig, pixels, [0, 1, 2], [0, 3])
    assert result.valid[0]
    assert np.linalg.norm(result.points[0] - at_surface[0]) < 0.05


def test_groups_without_an_answer_are_nan():
    rig = ring(3)
    pixels = np.array([[960.0, 540.0], [960.0, 540.0], [960.0, 540.0]])
    result = triangulate_ml(rig, pixels, [0, 1, 1], [0, 1, 3, 3])  # one view; the same ray twice; no view
    assert not result.valid.any()
    assert np.isnan(result.points).all()
    assert np.isnan(triangulate_dlt(rig, pixels[:1], np.array([0]), [0, 1, 1])).all()
    with pytest.raises(InputError, match="without water"):
        triangulate_dlt(ring(2, water=True), pixels[:2], np.array([0, 1]), [0, 2])


@pytest.mark.parametrize("water", [False, True])
def test_pair_residuals_are_those_of_each_pair_alone(water):
    rig = ring(4, water)
    rng = np.random.default_rng(4)
    points = rng.uniform([-1, -1, 2], [1, 1, 4], (5, 3))
    order = rng.permutation(20)  # detections need not come sorted by camera
    camera = np.repeat(np.arange(4), 5)[order]
    pixels = np.concatenate([c.project(points) for c in rig])[order] + rng.normal(size=(20, 2))
    half = rng.uniform(1, 40, (20, 2))
    boxes = np.column_stack([pixels - half, pixels + half])
    pairs = pair_residuals(rig, camera, pixels, boxes)
    for i in range(20):
        for j in range(20):
            if camera[i] == camera[j]:
                assert np.isnan(pairs.gap[i, j])
                assert np.isnan(pairs.error_px[i, j])
                assert not pairs.inside[i, j]
                continue
            rays = [rig[int(camera[k])].rays(pixels[k : k + 1]) for k in (i, j)]
            point, rms = triangulate_rays(
                np.concatenate([r.origin for r in rays]), np.concatenate([r.direction for r in rays]), [0, 2]
            )
            seen = [rig[int(camera[k])].project(point)[0] for k in (i, j)]
            assert pairs.gap[i, j] == pytest.approx(2 * rms[0], rel=1e-5)
            error = np.linalg.norm(seen[0] - pixels[i])
            assert pairs.error_px[i, j] == pytest.approx(
                error, rel=0.002 if error < 5 else 0.02 if error < 50 else 0.3, abs=1e-3
            )
            inside = all(
                (boxes[k, :2] <= p).all() and (p <= boxes[k, 2:]).all() for k, p in zip((i, j), seen, strict=True)
            )
            assert pairs.inside[i, j] == inside
