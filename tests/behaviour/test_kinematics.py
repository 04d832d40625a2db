import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from trackfish3d.behaviour.measures import kinematics as k
from trackfish3d.behaviour.measures.events import burst_and_coast

from .schools import circling

RADIUS, PERIOD = 5.0, 90


def circle_derivatives(frames=200):
    w = 2 * np.pi / PERIOD
    angle = w * np.arange(frames)
    flat = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    across = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    return RADIUS * w * across, -RADIUS * w**2 * flat


def test_a_circle_has_its_speed_turning_and_curvature():
    velocity, acceleration = circle_derivatives()
    w = 2 * np.pi / PERIOD
    assert k.speed(velocity) == pytest.approx(np.full(200, RADIUS * w))
    assert k.turning_rad(velocity, acceleration) == pytest.approx(np.full(200, w))
    assert k.curvature_per_world(velocity, acceleration) == pytest.approx(np.full(200, 1 / RADIUS))
    assert k.acceleration_along(velocity, acceleration) == pytest.approx(np.zeros(200), abs=1e-12)
    assert np.linalg.norm(acceleration, axis=1) == pytest.approx(np.full(200, RADIUS * w**2))


def test_a_half_circle_is_pi_over_two_times_as_long_as_its_ends_are_apart():
    path = circling(radius=RADIUS, period=1000, frames=1600)
    found = k.tortuosity(path, 500)
    assert found[250:-250] == pytest.approx(np.full((1100, 1), np.pi / 2), rel=1e-4)
    assert np.isnan(found[:250]).all()
    assert np.isnan(found[-250:]).all()
    straight = np.arange(50)[:, None] * np.array([0.1, 0.2, -0.3])
    assert k.straightness(straight, 10)[5:-5] == pytest.approx(np.ones(40))


def test_depth_and_pitch_follow_what_is_up():
    assert k.depth_world([1.0, 2.0, 3.0], [0, 0, -1], surface_world=0.0) == pytest.approx(3.0)
    assert k.depth_world([1.0, 2.0, 3.0], [0, 0, 1], surface_world=10.0) == pytest.approx(7.0)
    assert k.pitch_rad([1.0, 0.0, 1.0], [0, 0, 1]) == pytest.approx(np.pi / 4)
    assert k.pitch_rad([1.0, 0.0, 1.0], [0, 0, -1]) == pytest.approx(-np.pi / 4)


def test_missing_points_stay_missing_and_harm_no_others():
    path = circling(frames=60, phase=(0.0, 1.0))
    whole = k.straightness(path, 10)
    path[30, 0] = np.nan
    found = k.straightness(path, 10)
    assert np.isnan(found[25:36, 0]).all()
    untouched = np.ones((60, 2), bool)
    untouched[25:36, 0] = False
    assert found[untouched] == pytest.approx(whole[untouched], nan_ok=True)
    assert k.path_length_world(path)[0] == pytest.approx(57 / 59 * k.path_length_world(path)[1])


def test_standing_still_has_no_heading_and_divides_by_nothing():
    still = np.zeros((4, 3))
    assert np.isnan(k.heading(still)).all()
    assert np.isnan(k.turning_rad(still, still)).all()
    assert np.isnan(k.straightness(np.zeros((20, 3)), 4)).all()
    assert k.speed(still).tolist() == [0] * 4


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(float, (6, 2, 3), elements=st.floats(-1e3, 1e3)), st.integers(0, 1000))
def test_turning_the_world_changes_nothing(values, seed):
    turn = Rotation.random(random_state=seed).as_matrix()
    velocity, acceleration = values[:, 0], values[:, 1]
    velocity = velocity + np.where(velocity < 0, -0.1, 0.1)  # an animal at rest has no direction
    for f in (k.turning_rad, k.acceleration_along, k.curvature_per_world):
        assert f(velocity @ turn.T, acceleration @ turn.T) == pytest.approx(
            f(velocity, acceleration), rel=1e-6, abs=1e-6
        )


def test_bursts_are_found_where_they_are():
    speed = np.concatenate([np.full(10, 1.0), np.linspace(1, 3, 6), np.linspace(3, 1, 21)[1:], np.full(10, 1.0)])
    speed = np.tile(speed, 3)
    found = burst_and_coast(speed, 0.5)
    period = len(speed) // 3
    assert found.peak.tolist() == [15, 15 + period, 15 + 2 * period]
    assert found.speed_peak == pytest.approx([3, 3, 3])
    assert found.speed_start == pytest.approx([1, 1, 1])
    assert found.speed_end == pytest.approx([1, 1, 1])
    assert (found.start < found.peak).all()
    assert (found.peak < found.end).all()


def test_wavering_below_the_threshold_is_no_burst():
    speed = 2 + 0.2 * np.sin(np.arange(300) / 3)
    assert len(burst_and_coast(speed, 0.5)) == 0
    assert len(burst_and_coast(speed, 0.3)) == pytest.approx(300 / (2 * np.pi * 3), abs=1)


def test_a_missing_speed_ends_an_event():
    speed = np.array([1.0, 2, 3, np.nan, 3, 2, 1, 2, 3])
    found = burst_and_coast(speed, 0.5)
    assert found.peak.tolist() == [2, 8]
    assert found.end.tolist() == [2, 8]
    assert len(burst_and_coast(np.full(5, np.nan), 0.5)) == 0
    assert len(burst_and_coast(np.zeros(0), 0.5)) == 0


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(float, st.integers(0, 60), elements=st.floats(0, 10) | st.just(np.nan)), st.floats(0.1, 5))
def test_every_burst_rises_by_the_threshold_and_none_overlap(speed, rise):
    found = burst_and_coast(speed, rise)
    assert (found.speed_peak - found.speed_start >= rise - 1e-9).all()
    assert (found.start < found.peak).all()
    assert (found.peak <= found.end).all()
    assert (found.end[:-1] <= found.start[1:]).all()
