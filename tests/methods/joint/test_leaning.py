"""Centroids that lean along the body: the lean is told from other errors, and sigmas hold along and across it."""

import numpy as np
import pytest

from trackfish3d.methods.joint.refinement.leaning import Lean, lean_of, mean_lean, moved


def disagreeing(cameras, base, along, rng, rows=4000, mean=0.0):
    """Residuals of rows whose errors have these standard deviations, and what the fit is told; noise 1, length 1."""
    J = 40.0 * rng.standard_normal((rows, cameras, 2, 3))
    ahead = rng.standard_normal((rows, 3)) * [1.0, 1.0, 0.2]
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    information = np.einsum("ncki,nckj->nij", J, J)
    body, point = moved(J, information, ahead)
    lean = along * rng.standard_normal((rows, cameras)) + mean * np.resize([1.0, -1.0], cameras)
    error = base * rng.standard_normal((rows, cameras, 2)) + lean[..., None] * body
    best = np.linalg.solve(information, np.einsum("ncki,nck->ni", J, error)[..., None])[..., 0]
    return error - np.einsum("ncki,ni->nck", J, best), J, body, point, information, best


@pytest.mark.parametrize("cameras", [2, 3, 6])
@pytest.mark.parametrize(("base", "along"), [(1.0, 0.0), (0.5, 0.04), (2.0, 0.1)])
def test_both_variances_are_found(cameras, base, along):
    *told, _ = disagreeing(cameras, base, along, np.random.default_rng(cameras))
    found = lean_of(*told)
    assert np.sqrt(found.base) == pytest.approx(base, rel=0.1)
    assert np.sqrt(found.along) == pytest.approx(along, rel=0.1, abs=0.008)


def test_the_error_of_a_point_follows_from_them():
    left, J, body, point, information, error = disagreeing(3, 0.5, 0.05, np.random.default_rng(1))
    found = lean_of(left, J, body, point, information)
    said = found.base * np.linalg.inv(information) + found.along * np.einsum("nci,ncj->nij", point, point)
    sigmas = error / np.sqrt(np.einsum("nii->ni", said))
    assert np.mean(np.abs(sigmas) < 1) == pytest.approx(0.68, abs=0.04)
    assert np.mean(np.abs(sigmas) < 2) == pytest.approx(0.95, abs=0.02)


def test_a_view_that_always_leans_is_told_from_one_that_wanders():
    left, J, body, point, information, _ = disagreeing(3, 0.5, 0.0, np.random.default_rng(2), mean=0.05)
    found = lean_of(left, J, body, point, information)
    rest = left - mean_lean(left, J, body, point, found)
    assert np.mean(rest**2) < 0.5 * np.mean(left**2)
    assert np.mean(rest**2) == pytest.approx(0.5**2 * (6 - 3) / 6, rel=0.1)
    assert not mean_lean(left, J, body, point, Lean(1.0, 0.0)).any()


def test_a_lean_that_all_views_share_is_supposed_where_few_views_could_show_it():
    none = Lean(1.0, 0.0)
    assert none.supposed(2) > none.supposed(6) > 0
    assert Lean(1.0, 0.1).supposed(50) == pytest.approx(0.1, rel=0.03)
