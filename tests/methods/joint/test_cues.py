"""Cues are log-likelihood ratios: weighted by chance they sum to one, and they say nothing where nothing is known."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tests.kernels import opened
from trackfish3d.methods.joint.arguments import Beliefs, Rig
from trackfish3d.methods.joint.cues import axis_ratio, chances, likeness, size_ratio

from . import plain

axis_ratio = opened(axis_ratio)
likeness = opened(likeness)
size_ratio = opened(size_ratio)


@pytest.mark.parametrize("age", [1, 3, 10])
def test_size_ratio_times_chance_is_a_density(age):
    total, _ = quad(lambda d: norm.pdf(d, 0, 0.35) * np.exp(size_ratio(d, age, 0.05, 0.35)), -1.5, 1.5, points=[0])
    assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("age", [1, 4])
def test_axis_ratio_times_chance_is_a_density(age):
    total, _ = quad(lambda d: np.exp(axis_ratio(d, age, 0.08)) / np.pi, -np.pi / 2, np.pi / 2, points=[0])
    assert total == pytest.approx(1, abs=2e-3)


def test_alike_speaks_for_and_unlike_against():
    assert size_ratio(0.0, 1, 0.05, 0.35) > 1 > 0 > size_ratio(0.5, 1, 0.05, 0.35)
    assert axis_ratio(0.0, 1, 0.08) > 1 > 0 > axis_ratio(1.0, 1, 0.08)


def test_an_axis_has_no_head():
    for d in (0.1, 0.7, 1.4):
        assert axis_ratio(d, 1, 0.1) == pytest.approx(axis_ratio(d - np.pi, 1, 0.1))
        assert axis_ratio(d, 1, 0.1) == pytest.approx(axis_ratio(-d, 1, 0.1))


def test_what_is_long_ago_says_nothing():
    assert size_ratio(0.5, 1000, 0.05, 0.35) == 0
    assert axis_ratio(1.0, 1000, 0.08) == 0
    first, later = (abs(size_ratio(0.0, age, 0.05, 0.35)) for age in (1, 20))
    assert later < first


def test_without_memory_moments_or_scale_there_is_no_cue():
    scales = np.array([0.05, 0.35, 0.08])
    assert likeness(5, 3.0, 0.2, np.nan, np.nan, 5, scales) == 0
    assert likeness(5, 3.0, 0.2, 3.0, 0.2, 4, np.zeros(3)) == 0
    size = size_ratio(0.1, 1, 0.05, 0.35)
    assert likeness(5, 3.1, np.nan, 3.0, 0.2, 4, scales) == pytest.approx(size)
    assert likeness(5, 3.1, 0.3, 3.0, 0.2, 4, scales) == pytest.approx(size + axis_ratio(0.1, 1, 0.08))


def found(pixels, shown=None, seen=None):
    n = len(pixels)
    rig = Rig(np.zeros((1, 1)), np.array([[100.0, 80.0]]), 1e-4)
    tracks = plain.predicted(
        n,
        1,
        pixel=np.array(pixels, float)[:, None],
        seen=np.ones((n, 1), bool) if seen is None else np.array(seen)[:, None],
        found=np.full((n, 1), -1.0),
        size=np.full((n, 1), np.log(20.0)),
    )
    none = np.zeros(1)
    beliefs = Beliefs(np.array([0.97]), np.array([0.6]), none, np.zeros(3), np.log([20.0]))
    chances(rig, tracks, np.ones(n, bool) if shown is None else shown, beliefs)
    return tracks.found[:, 0]


def test_chance_to_be_detected():
    np.testing.assert_allclose(found([[10, 10], [90, 70]]), 0.97, atol=1e-6)  # apart
    np.testing.assert_allclose(found([[10, 10], [10, 10]]), 0.6, atol=1e-6)  # one before the other
    assert 0.6 < found([[10, 10], [16, 10]])[0] < 0.97
    np.testing.assert_allclose(found([[10, 10], [110, 10], [-50, 5]]), [0.97, 0, 0], atol=1e-6)  # outside the image
    np.testing.assert_allclose(found([[10, 10], [10, 10]], shown=np.array([False, True])), [0.6, 0.97], atol=1e-6)
    np.testing.assert_allclose(found([[10, 10], [10, 10]], seen=[True, False]), [0.97, 0.0], atol=1e-6)
