import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackfish3d.cameras import triangulate_dlt
from trackfish3d.core.errors import InputError
from trackfish3d.detection.masks.moments import (
    ALONE,
    BOTTOM,
    COLUMNS,
    COUNT,
    LEFT,
    RIGHT,
    SUM_X,
    SUM_XX,
    SUM_Y,
    SUM_YY,
    TOP,
)
from trackfish3d.synfish.detector import (
    DetectorRates,
    FittedDetector,
    IdealDetector,
    box_iou,
    make_detector,
    wrap_axis,
)
from trackfish3d.synfish.ghosts import moved
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.presets import PRESETS
from trackfish3d.synfish.rigs import common_point, paper_rig
from trackfish3d.synfish.school import Water, simulate_school


def square(x, y, side, alone=None):
    """Sums of a square mask with its lower corner at pixel (x, y)."""
    sums = np.zeros(COLUMNS)
    axis = np.arange(side)
    sums[COUNT] = side * side
    sums[SUM_X], sums[SUM_Y] = side * (x + axis).sum(), side * (y + axis).sum()
    sums[SUM_XX], sums[SUM_YY] = side * ((x + axis) ** 2).sum(), side * ((y + axis) ** 2).sum()
    sums[3 + 1] = (x + axis).sum() * (y + axis).sum()
    sums[[LEFT, TOP, RIGHT, BOTTOM]] = x - 0.5, y - 0.5, x + side - 0.5, y + side - 0.5
    sums[ALONE] = side * side if alone is None else alone
    return sums


def model(fish=1, seed=0, **changes):
    return FittedDetector(DetectorRates.fitted().model_copy(update=changes), fish, 1, seed)


def no_halves(*_):
    raise AssertionError("nothing was to be split")


NOTHING = np.zeros((0, 3), np.int64)


@pytest.fixture(scope="module")
def ideal(small_school):
    school, rig = small_school
    return school, rig, *observe(school, rig, IdealDetector())


def test_ideal_detections_triangulate_to_the_true_positions(ideal):
    _, rig, detections, truth = ideal
    clear = np.all(truth.visible > 0.99, axis=1)
    rows = truth.detection[clear]
    assert clear.mean() > 0.5
    members = rows.ravel()
    offsets = np.arange(len(rows) + 1) * len(rig)
    points = triangulate_dlt(rig, detections.centroids[members], detections.camera[members], offsets)
    error = np.linalg.norm(points - truth.position[clear], axis=1)
    assert np.median(error) < 0.05
    assert error.max() < 0.25


def test_truth_says_where_every_fish_is_in_every_view(ideal):
    school, rig, detections, truth = ideal
    assert len(truth) == school.position.shape[0] * school.position.shape[1]
    seen = truth.detection >= 0
    assert np.all(seen == (truth.visible * 1e4 > 0) & ~np.isnan(truth.x1))
    row, camera = np.nonzero(seen)
    which = truth.detection[row, camera]
    assert np.array_equal(detections.frame[which], truth.frame[row])
    assert np.array_equal(detections.camera[which], camera)
    assert np.array_equal(detections.x1[which], truth.x1[row, camera])
    assert len(np.unique(which)) == len(which)
    for c, view in enumerate(rig):
        assert np.allclose(np.stack([truth.u[:, c], truth.v[:, c]], 1), view.project(truth.position))


def test_truth_holds_the_head_in_front_of_the_body(ideal):
    school, _, _, truth = ideal
    length = np.tile(school.length, len(school.position))
    ahead = np.einsum("nk,nk->n", truth.head - truth.position, truth.heading) / length
    aside = np.linalg.norm(truth.head - truth.position - (ahead * length)[:, None] * truth.heading, axis=1) / length
    assert np.ptp(ahead) < 1e-6
    assert 0.2 < ahead.mean() < 0.4  # the middle of the head, not the nose
    assert 0 < aside.max() < 0.03  # the spine bends


def test_same_seed_same_detections_and_another_seed_others(small_school):
    school, rig = small_school
    tables = [observe(school, rig, make_detector("detector", 6, 3, seed))[0].to_table() for seed in (1, 1, 2)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_unknown_detector_is_refused():
    with pytest.raises(InputError, match="ideal or detector"):
        make_detector("perfect", 1, 1, 0)


def test_hidden_and_tiny_fish_are_found_less_often():
    found = model().found_chance(np.array([1.0, 0.7, 0.4, 0.1, 1.0]), np.array([500, 350, 200, 50, 6]))
    assert found[0] > 0.99 > found[1] > found[2] > found[3]
    assert found[4] < 0.2


def test_misses_have_the_rate_asked_for_and_come_in_bursts():
    steady, bursty = model(seed=1, persistence=0.0, miss=0.2), model(seed=1, persistence=0.95, miss=0.2)
    for detector, shortest, longest in ((steady, 1.0, 1.5), (bursty, 3.0, 20.0)):
        lost = []
        for _ in range(2500):
            sums = square(50, 50, 20)[None]
            seen = detector.see(0, (200, 200), sums, NOTHING, lambda *_: np.zeros((2, COLUMNS)))
            lost.append(seen.row[0] < 0)
        lost = np.array(lost)
        runs = lost.sum() / max(np.sum(np.diff(lost.astype(int)) == 1), 1)
        assert lost.mean() == pytest.approx(0.2, abs=0.08)
        assert shortest <= runs <= longest


def test_a_hidden_fish_that_touches_joins_the_one_in_front():
    detector = model(fish=2, merge=1.0, jitter=0.0, split=0.0, false_positives=0.0, visible_half=0.9, visible_slope=200)
    sums = np.stack([square(50, 50, 20), square(70, 50, 10, alone=400)])
    seen = detector.see(0, (200, 200), sums, np.array([[0, 1, 10]]), no_halves)
    assert seen.row.tolist() == [0, 0]
    assert seen.columns["area"][0] == 500
    assert seen.columns["x2"][0] == 79.5
    assert seen.columns["u"][0] == pytest.approx((400 * 59.5 + 100 * 74.5) / 500)


def test_split_fish_give_two_detections_and_the_larger_half_is_the_fish():
    detector = model(split=1.0, jitter=0.0, false_positives=0.0)
    halves = np.stack([square(50, 50, 12), square(62, 50, 14)])
    seen = detector.see(0, (200, 200), square(50, 50, 20)[None], NOTHING, lambda *_: halves)
    assert len(seen.columns["u"]) == 2
    assert seen.columns["area"][seen.row[0]] == 196


def test_jitter_grows_with_size_and_drifts():
    detector = model(split=0.0, false_positives=0.0, miss=0.0)
    errors = {}
    for side in (10, 80):
        sums = square(50, 50, side)[None]
        u = [detector.see(0, (400, 400), sums, NOTHING, no_halves).columns["u"][0] for _ in range(2000)]
        errors[side] = np.array(u) - (50 + (side - 1) / 2)
    fitted = DetectorRates.fitted()
    for side, error in errors.items():
        assert error.std() == pytest.approx(fitted.jitter * side * np.sqrt(2), rel=0.15)
    e = errors[80]
    assert np.corrcoef(e[1:], e[:-1])[0, 1] == pytest.approx(fitted.jitter_slow * fitted.jitter_memory, abs=0.1)


def test_false_positives_come_at_their_rate_a_fish_inside_the_image_with_lower_scores():
    shown = {}
    for fish in (1, 3):
        detector = model(fish=fish, split=0.0, false_positives=0.3, false_frames=4.0, miss=0.0)
        sums = np.stack([square(50 + 60 * k, 50, 20) for k in range(fish)])
        extra, scores, true = 0, [], []
        for _ in range(1000):
            c = detector.see(0, (300, 200), sums, NOTHING, no_halves).columns
            extra += len(c["u"]) - fish
            scores += list(c["score"][fish:])
            true += list(c["score"][:fish])
            for low, high, extent in (("x1", "x2", 300), ("y1", "y2", 200)):
                assert np.all(c[low][fish:] >= -0.5 - 3)  # they jitter as fish do
                assert np.all(c[high][fish:] <= extent - 0.5 + 3)
        shown[fish] = extra / 1000
        assert np.mean(scores) < np.mean(true) - 0.2
    assert shown[1] == pytest.approx(0.3, abs=0.1)
    assert shown[3] == pytest.approx(0.9, abs=0.2)


def test_false_positives_stay_for_some_frames_where_they_appeared_beside_a_fish():
    detector = model(
        split=0.0, jitter=0.0, false_positives=0.1, false_frames=5.0, false_distance=1.0, false_spread=0.2, miss=0.0
    )
    lives, reach, before = [], [], {}
    for _ in range(2500):
        c = detector.see(0, (1000, 1000), square(500, 500, 20)[None], NOTHING, no_halves).columns
        now = {(u, v) for u, v in zip(c["u"][1:], c["v"][1:], strict=True)}
        lives += [n for place, n in before.items() if place not in now]
        reach += [np.hypot(u - 509.5, v - 509.5) for u, v in now - set(before)]
        before = {place: before.get(place, 0) + 1 for place in now}
    assert np.mean(lives) == pytest.approx(5.0, rel=0.4)
    assert np.median(reach) == pytest.approx(20 * np.sqrt(2), rel=0.25)


def test_ghosts_are_moved_masks():
    there = moved(square(50, 50, 20)[None], np.array([[30.0, -10.0]]), (300, 200))
    assert np.allclose(there, square(80, 40, 20))
    held = moved(square(50, 50, 20)[None], np.array([[1e4, -1e4]]), (300, 200))
    assert np.allclose(held, square(280, 0, 20))


def test_the_less_clear_of_two_fish_is_lost_more_often_the_more_their_boxes_overlap():
    def share_found(gap):
        detector = model(fish=2, persistence=0.0, miss=0.0, overlap_miss=0.2, overlap_half=0.6, overlap_slope=30.0)
        sums = np.stack([square(50, 50, 30), square(50 + gap, 50, 28)])
        rows = [detector.see(0, (300, 200), sums, NOTHING, lambda *_: np.zeros((2, COLUMNS))).row for _ in range(800)]
        return np.mean(np.array(rows) >= 0, axis=0)

    apart, touching, close = share_found(60), share_found(20), share_found(2)
    assert apart[1] > 0.995
    assert touching[1] == pytest.approx(0.8, abs=0.05)
    assert close[1] < 0.1
    assert min(apart[0], touching[0], close[0]) > 0.995


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 2, *[st.integers(1, 30)] * 2), min_size=2, max_size=2))
def test_box_overlap_is_that_of_counted_pixels(pair):
    drawn = np.zeros((2, 70, 70), bool)
    for k, (x, y, w, h) in enumerate(pair):
        drawn[k, y : y + h, x : x + w] = True
    boxes = np.array([[x, y, x + w, y + h] for x, y, w, h in pair], float)
    assert box_iou(boxes[0], boxes[1]) == pytest.approx((drawn[0] & drawn[1]).sum() / (drawn[0] | drawn[1]).sum())


def test_detections_of_a_crowd_are_worse_where_fish_are_hidden():
    rig = paper_rig(6)
    water = Water.around(common_point(rig), np.array([5.0, 5.0, 4.0]))
    school = simulate_school(PRESETS["milling"], water, 16, 60, seed=2)
    detections, truth = observe(school, rig, make_detector("detector", 16, 3, 2))
    hidden = (truth.visible > 0) & (truth.visible < 0.5)
    clear = truth.visible > 0.95
    found = truth.detection >= 0
    assert found[clear].mean() > 0.9
    assert found[hidden].mean() < 0.7
    assert detections.has_moments


def test_axes_wrap_into_half_a_turn():
    wrapped = wrap_axis(np.array([0.0, np.pi / 2, -np.pi / 2, 2.0, -2.0, 10.0]))
    assert np.all((wrapped > -np.pi / 2) & (wrapped <= np.pi / 2))
    assert np.allclose(np.tan(wrapped[3:]), np.tan([2.0, -2.0, 10.0]))
    assert wrapped[1] == wrapped[2] == np.pi / 2
