import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from trackfish3d.core.errors import InputError
from trackfish3d.synfish.presets import PRESETS, preset
from trackfish3d.synfish.rendering.capsules import segment_distance
from trackfish3d.synfish.school import Water, school_statistics, simulate_school

POND = Water.around(np.array([2.0, -6.0, 20.0]), np.array([8.0, 8.0, 5.0]))


@pytest.mark.parametrize(("name", "fish"), [("tank", 8), ("open", 16), ("milling", 1), ("milling", 16), ("open", 40)])
def test_no_fish_jumps_meets_another_or_leaves_the_water(name, fish):
    school = simulate_school(PRESETS[name], POND, fish, 200, seed=3)
    facts = school_statistics(school)
    step = np.linalg.norm(np.diff(school.position, axis=0), axis=2)
    assert np.all(step <= 2 * school.cruise)
    assert facts["clearance"] >= 0
    assert facts["margin"] >= 0
    assert np.all((school.position > POND.low) & (school.position < POND.high))
    assert facts["standstill"] < 0.1
    assert 0.02 < facts["speed_body_lengths"] < 0.08


def test_turning_is_limited_and_headings_are_unit_vectors():
    school = simulate_school(PRESETS["open"], POND, 12, 200, seed=1)
    assert np.allclose(np.linalg.norm(school.heading, axis=2), 1)
    turn = np.arccos(np.clip(np.einsum("tnk,tnk->tn", school.heading[1:], school.heading[:-1]), -1, 1))
    assert turn.max() <= PRESETS["open"].turn_max + 1e-6
    assert turn.mean() > 0.002


def test_fish_swim_where_they_look():
    school = simulate_school(PRESETS["milling"], POND, 10, 150, seed=2)
    step = np.diff(school.position, axis=0)
    ahead = np.einsum("tnk,tnk->tn", step, school.heading[1:]) / np.maximum(np.linalg.norm(step, axis=2), 1e-9)
    assert np.mean(ahead > 0.999) > 0.97


def test_speed_has_bursts_and_coasts():
    school = simulate_school(PRESETS["milling"], POND, 8, 300, seed=4)
    relative = school.speed / school.cruise
    assert np.percentile(relative, 95) > 1.3
    assert np.percentile(relative, 5) < 0.9


def test_milling_fish_circle_one_way():
    school = simulate_school(PRESETS["milling"], POND, 12, 200, seed=6)
    arm = school.position - POND.centre
    spin = np.cross(arm[..., :2], school.heading[..., :2])
    assert np.mean(spin > 0) > 0.8


def test_same_seed_same_school_and_another_seed_another():
    first = simulate_school(PRESETS["open"], POND, 9, 50, seed=7)
    again = simulate_school(PRESETS["open"], POND, 9, 50, seed=7)
    other = simulate_school(PRESETS["open"], POND, 9, 50, seed=8)
    assert np.array_equal(first.position, again.position)
    assert np.array_equal(first.length, again.length)
    assert not np.allclose(first.position, other.position, atol=0.5)


def test_sick_fish_are_slow_erratic_and_far_from_the_others():
    slow, far, turns = [], [], []
    for seed in range(6):
        school = simulate_school(PRESETS["milling"], POND, 8, 360, seed=seed, abnormal=1)
        assert list(school.abnormal) == [False] * 7 + [True]
        speed = school.speed.mean(axis=0)
        slow.append(speed[-1] / speed[:-1].mean())
        centre = school.position.mean(axis=1, keepdims=True)
        distance = np.linalg.norm(school.position - centre, axis=2).mean(axis=0)
        far.append(distance[-1] / distance[:-1].mean())
        cosine = np.einsum("tnk,tnk->tn", school.heading[1:], school.heading[:-1])
        turn = np.arccos(np.clip(cosine, -1, 1)).mean(axis=0)
        turns.append(turn[-1] / turn[:-1].mean())
    assert 0.35 < np.mean(slow) < 0.65
    assert np.mean(far) > 1.2
    assert np.mean(turns) > 1.2


@pytest.mark.parametrize(
    ("fish", "half", "what"),
    [(0, 8.0, "at least one fish"), (16, 1.0, "too small"), (300, 6.0, "too small for the school")],
)
def test_impossible_schools_are_refused_in_one_line(fish, half, what):
    pond = Water.around(np.zeros(3), np.array([half, half, half]))
    with pytest.raises(InputError, match=what) as caught:
        simulate_school(PRESETS["milling"], pond, fish, 10, seed=0)
    assert "\n" not in str(caught.value)


def test_unknown_preset_names_the_known_ones():
    with pytest.raises(InputError, match="tank, open, milling"):
        preset("herring")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=12, max_size=12), st.floats(0.1, 2), st.floats(0.1, 2))
def test_segment_distance_is_the_least_over_both_segments(numbers, a, b):
    p, q, u, v = np.array(numbers).reshape(4, 3)
    if min(np.linalg.norm(u), np.linalg.norm(v)) < 0.05:
        return
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    got, *vector = segment_distance(*p, *u, a, *q, *v, b)

    def gap(x):
        return np.sum((p + x[0] * u - q - x[1] * v) ** 2)

    best = minimize(gap, [0.0, 0.0], bounds=[(-a, a), (-b, b)], method="L-BFGS-B", tol=1e-14).fun
    assert got == pytest.approx(np.sqrt(best), abs=2e-4)
    assert np.linalg.norm(vector) == pytest.approx(got)


def startled(seed=5, **changes):
    return simulate_school(PRESETS["startle"].model_copy(update={"length": 2.0, **changes}), POND, 8, 400, seed)


def test_a_fast_start_turns_by_120_degrees_in_four_frames_and_is_eight_times_as_fast():
    school = startled()
    begins = np.argwhere(school.starting[1:-12] & ~school.starting[:-13]) + [1, 0]
    assert len(begins) > 8
    turns, pace = [], []
    for t, k in begins:
        turns.append(np.degrees(np.arccos(school.heading[t - 1, k] @ school.heading[t + 3, k])))
        pace.append((school.speed[t : t + 12, k] / school.cruise[k]).max())
    assert np.median(turns) == pytest.approx(np.degrees(2.1), abs=5)  # pitch and others in the way take some
    assert np.median(pace) == pytest.approx(8.0, rel=0.05)


def test_startled_fish_rest_and_keep_the_rules():
    school = startled()
    facts = school_statistics(school)
    assert facts["clearance"] >= 0
    assert facts["margin"] >= 0
    assert school.resting.any()
    still = school.resting[10:] & school.resting[:-10]
    assert np.median((school.speed / school.cruise)[10:][still]) < 0.1


def test_fish_that_are_not_startled_neither_start_nor_rest():
    school = simulate_school(PRESETS["milling"], POND, 8, 100, seed=1)
    assert not school.starting.any()
    assert not school.resting.any()
