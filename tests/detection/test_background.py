"""The background is what is there without animals, and how much that varies."""

from pathlib import Path

import numpy as np
import pytest

from trackfish3d.detection.background.scene import kernels as _pixels
from trackfish3d.detection.background.scene import tile_kernels
from trackfish3d.detection.background.scene.glance import everywhere, shrink, tiles_under
from trackfish3d.detection.background.scene.model import Background, steady_variance
from trackfish3d.detection.background.scene.samples import Samples, densest, halves, settled
from trackfish3d.media.video import Video

from .worlds import encode, swimming


@pytest.mark.parametrize("count", [1, 2, 5, 12, 48])
def test_order_statistics_are_those_of_a_sort(count: int) -> None:
    rng = np.random.default_rng(count)
    stack = rng.integers(0, 256, (count, 7, 33), dtype=np.uint8)
    taken = rng.random(stack.shape) < 0.4
    out, free = np.empty(stack.shape[1:], np.uint8), np.empty(stack.shape[1:], np.uint16)
    for rank in {0, count // 2, count - 1}:
        _pixels.quantile_over_time(stack, rank, out)
        assert np.array_equal(out, np.sort(stack, axis=0)[rank])
    for share in (0.5, 0.9):
        _pixels.quantile_of_free(stack, taken, share, out, free)
        assert np.array_equal(free, (~taken).sum(0))
        for y, x in np.ndindex(out.shape):
            values = np.sort(stack[~taken[:, y, x], y, x])
            assert out[y, x] == (values[int(share * len(values))] if len(values) else 255)


def test_the_densest_values_are_the_shortest_interval() -> None:
    rng = np.random.default_rng(0)
    stack = rng.integers(0, 256, (20, 3, 40), dtype=np.uint8)
    plane = densest(stack, 0.7)
    ordered = np.sort(stack.astype(int), axis=0)
    width = ordered[5:] - ordered[:-5]  # six of twenty values
    first = width.argmin(0)
    y, x = np.mgrid[:3, :40]
    assert np.array_equal(plane.still, ordered[first, y, x] + width[first, y, x] // 2)


def test_water_is_found_where_animals_are_more_often_than_not() -> None:
    rng = np.random.default_rng(1)
    stack = np.clip(100 + rng.standard_normal((48, 60, 60)), 0, 255).astype(np.uint8)
    stack[:28, 20:30, 20:40] = rng.integers(130, 220, (28, 10, 20))  # animals in 58 % of the pictures
    assert np.median(stack, axis=0)[25, 30] > 110  # the median takes them for the background
    first = densest(stack, 0.7)
    assert np.abs(first.still[20:30, 20:40] - 100).max() <= 4
    taken = np.zeros(stack.shape, bool)
    taken[:28, 18:32, 18:42] = True
    plane = settled(stack, taken, first, 0.7)
    assert np.abs(plane.still - 100).max() <= 2
    assert plane.spread.max() < 1.5  # nor are they taken for ripples


def test_where_animals_always_are_the_first_guess_stays() -> None:
    stack = np.full((10, 8, 8), 90, np.uint8)
    taken = np.zeros(stack.shape, bool)
    taken[:, 2, 3] = True
    first = densest(stack, 0.7)
    plane = settled(stack, taken, first, 0.7)
    assert plane.still[2, 3] == first.still[2, 3] == 90
    assert np.isfinite(plane.spread).all()


def _smooth(difference: np.ndarray) -> np.ndarray:
    padded = np.pad(difference, 1, mode="edge")
    h, w = difference.shape
    return sum(padded[j : j + h, i : i + w] for j in range(3) for i in range(3)) / 9


def test_levels_count_standard_deviations_of_all_planes() -> None:
    rng = np.random.default_rng(2)
    shape, half = (37, 55), (19, 28)
    plane = rng.integers(90, 130, shape, dtype=np.uint8)
    now, variance, noise = (rng.uniform(a, b, shape).astype(np.float32) for a, b in ((100, 120), (0.5, 3), (0.5, 3)))
    colours = [rng.integers(120, 130, half, dtype=np.uint8) for _ in range(2)]
    still, scale = ([rng.uniform(a, b, half).astype(np.float32) for _ in range(2)] for a, b in ((122, 128), (0.3, 1)))
    spans, colour = everywhere((55, 37)), np.zeros(half, np.float32)
    for k in range(2):
        tile_kernels.add_colour(colours[k], still[k], scale[k], 0.5, spans, colour)
    extra = sum(((_smooth(c - s) - 0.5) * f) ** 2 for c, s, f in zip(colours, still, scale, strict=True))
    assert np.allclose(colour, extra, rtol=1e-3, atol=1e-3)
    luma, extra = _smooth(plane - now) - 1.5, extra.repeat(2, 0).repeat(2, 1)[:37, :55]
    for side, part in ((0, luma), (-1, np.minimum(luma, 0)), (1, np.maximum(luma, 0))):
        out = np.zeros(shape, np.uint8)
        tile_kernels.levels(plane, now, 1.5, variance, noise, colour, side, spans, out)
        want = np.minimum(4 * np.sqrt(part**2 / (variance + noise) + extra), 255)
        assert np.abs(out - np.floor(want)).max() <= 1
    some = tile_kernels.spans_of(tiles_under(np.array([[20, 18, 25, 20]]), (55, 37)), 55, 0)
    assert some.tolist() == [[1, 16, 32]]
    there = np.zeros(shape, np.uint8)
    tile_kernels.levels(plane, now, 1.5, variance, noise, colour, 1, some, there)
    assert np.array_equal(there[16:32, 16:32], out[16:32, 16:32])
    assert there.sum() == there[16:32, 16:32].sum()


@pytest.mark.parametrize("block", [2, 4])
def test_blocks_are_means(block: int) -> None:
    plane = np.random.default_rng(3).integers(0, 256, (13, 22), dtype=np.uint8)
    small = shrink(plane, block)
    for j, i in np.ndindex(small.shape):
        want = plane[j * block : (j + 1) * block, i * block : (i + 1) * block].mean()
        assert small[j, i] == pytest.approx(want, rel=1e-5)


def test_a_glance_misses_nothing_that_is_as_thick_as_a_block(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    ground = np.clip(120 + 2 * rng.standard_normal((40, 128, 160, 1)), 0, 255).astype(np.uint8).repeat(3, 3)
    ground[30, 61:65, 40:60] = 60
    video = Video.open(encode(tmp_path / "v.mp4", ground))
    model = Background.learn(video, 24)
    (picture,) = video.at([30])
    whole, _ = model.deviation(picture)
    level, spans = model.deviation(picture, 0, 24)
    assert whole[62, 50] > 60
    assert np.array_equal(level[whole >= 24], whole[whole >= 24])
    assert len(spans) < 8  # rows of tiles that were looked into


def test_a_followed_pixel_is_a_kalman_filter_and_a_hidden_one_falls_back() -> None:
    still, ripple, noise, keep = 100.0, 9.0, 1.0, 0.95
    one = lambda v: np.full((1, 2), v, np.float32)  # noqa: E731
    now, variance = one(still), one(ripple)
    taken, disturbed = np.array([[False, True]]), np.full((1, 1), 2, np.uint8)
    state, spread = still, ripple
    for value in (108, 109, 107, 110, 108):
        tile_kernels.follow(
            np.full((1, 2), value, np.uint8), 0.0, one(still), one(ripple), one(noise), one(0.5), keep, taken,
            disturbed, now, variance,
        )  # fmt: skip
        gain = spread / (spread + noise)
        state = still + keep * (state + gain * (value - state) - still)
        spread = keep**2 * (1 - gain) * spread + (1 - keep**2) * ripple
    assert now[0, 0] == pytest.approx(state, rel=1e-5)
    assert variance[0, 0] == pytest.approx(spread, rel=1e-5)
    assert now[0, 1] == still
    assert variance[0, 1] == pytest.approx(ripple, rel=1e-5)


def test_a_calm_tile_has_the_gain_that_the_filter_comes_to() -> None:
    still, ripple, noise, keep = 100.0, 9.0, 1.0, 0.95
    one = lambda v: np.full((1, 1), v, np.float32)  # noqa: E731
    now, variance, calm, lasting = one(still), one(ripple), one(still), steady_variance(one(noise), one(ripple), keep)
    gain = lasting / (lasting + noise)
    for k in range(80):
        value = np.full((1, 1), 100 + k % 7, np.uint8)
        for kind, background in ((2, now), (1, calm)):
            tile_kernels.follow(
                value, 0.0, one(still), one(ripple), one(noise), gain, keep, np.zeros((1, 1), bool),
                np.full((1, 1), kind, np.uint8), background, variance,
            )  # fmt: skip
    assert variance[0, 0] == pytest.approx(lasting[0, 0], rel=1e-4)
    assert calm[0, 0] == pytest.approx(now[0, 0], rel=1e-5)


def test_a_film_gives_its_floor_and_judges_animals_by_it(tmp_path: Path) -> None:
    pictures, masks = swimming(60)
    video = Video.open(encode(tmp_path / "v.mp4", pictures))
    model = Background.learn(video, 24)
    floor = 130 + 6 * np.sin(np.arange(200) / 9.0)
    assert np.abs(model.luma.still - floor[None]).mean() < 3.0  # limited range of the video: 16 to 235
    (picture,) = video.at([30])
    level, _ = model.deviation(picture)
    animal = masks[30].any(0)
    assert np.median(level[animal]) > 60
    assert np.quantile(level[~animal], 0.95) < 20
    assert (model.deviation(picture, 1)[0][animal] < 12).mean() > 0.9  # darker than the floor: the bright side is quiet


def test_samples_tell_how_pictures_went_on(tmp_path: Path) -> None:
    pictures, _ = swimming(40, fish=1)
    samples = Samples.collect(Video.open(encode(tmp_path / "v.mp4", pictures)), 10)
    assert samples.grey.shape[1:] == (150, 200)
    assert samples.followed.all()
    assert samples.changes[1].astype(int).sum() > samples.changes[0].astype(int).sum()  # more moves in five frames


def test_half_resolution_keeps_every_taken_pixel() -> None:
    taken = np.zeros((1, 5, 7), bool)
    taken[0, 4, 6] = taken[0, 1, 2] = True
    assert np.argwhere(halves(taken)[0]).tolist() == [[0, 1], [2, 3]]
