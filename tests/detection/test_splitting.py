"""Animals that touch are divided, pieces of one are joined, and bent ones are left whole."""

from pathlib import Path

import numpy as np
import pytest

from trackfish3d.detection.background import body_kernels
from trackfish3d.detection.background import ellipse_kernels as _ellipses
from trackfish3d.detection.background.appearance import Appearance
from trackfish3d.detection.background.ellipse_tracker import EllipseTracker
from trackfish3d.detection.background.split import divide_by_shape, join_pieces, looks_single, merge
from trackfish3d.detection.masks.blobs import Blob, shapes, split_labels
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video

from .worlds import ellipse, encode, swimming

SIZE = (200, 150)
A, B = 20.0, 6.0  # half axes of an animal
AREA = np.pi * A * B
LOOK = Appearance(
    smallest=0.12 * AREA, typical=AREA, largest=1.5 * AREA, longest=1.3 * A / 2, major=A / 2, minor=B / 2, fill=0.88,
    level=150, side=0, gap=1, close=1,
)  # fmt: skip


def blobs(*masks: np.ndarray) -> tuple[list[Blob], np.ndarray]:
    """A blob of each mask (H, W), and the map of deviations under them."""
    level = np.where(np.any(masks, axis=0), 150, 0).astype(np.uint8)
    return [split_labels(m.astype(np.int32), 1, 0, 0, level, 1)[0] for m in masks], level


def iou(blob: Blob, mask: np.ndarray) -> float:
    whole = np.zeros(mask.shape, bool)
    h, w = blob.mask.shape
    whole[blob.top : blob.top + h, blob.left : blob.left + w] = blob.mask > 0
    return float((whole & mask).sum() / (whole | mask).sum())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((70, 70, 0.0), (112, 70, 0.0)),  # end to end
        ((90, 60, 0.1), (100, 74, 0.7)),  # side by side, at an angle
        ((90, 70, 0.0), (95, 72, 1.4)),  # crossed
    ],
)
def test_two_that_touch_are_divided_by_their_shape(first: tuple, second: tuple) -> None:
    one, two = (ellipse(SIZE, u, v, A, B, t) for u, v, t in (first, second))
    (both,), level = blobs(one | two)
    pieces = divide_by_shape(both, level, LOOK)
    assert len(pieces) == 2
    assert sum(p.area for p in pieces) == both.area
    fit = np.array([[iou(p, m) for m in (one, two)] for p in pieces])
    assert max(fit[0, 0] + fit[1, 1], fit[0, 1] + fit[1, 0]) > 1.3


def test_one_stays_one() -> None:
    (one,), level = blobs(ellipse(SIZE, 90, 70, A, B, 0.4))
    assert looks_single(one, LOOK)
    assert divide_by_shape(one, level, LOOK) == [one]


def test_memory_keeps_two_that_cross_apart() -> None:
    memory = EllipseTracker()
    smallest = np.inf
    for frame in range(40):
        at = 40 + 3.0 * frame
        masks = ellipse(SIZE, at, 55 + frame, A, B, 0.3), ellipse(SIZE, 200 - at, 55 + frame, A, B, np.pi - 0.3)
        touching = (masks[0] & masks[1]).any()
        given, level = blobs(masks[0] | masks[1]) if touching else blobs(*masks)
        found = memory.step(given, level, LOOK)
        if frame > 3:
            assert len(found) == 2
            smallest = min(smallest, *(max(iou(b, m) for b in found) for m in masks))
    assert smallest > 0.5


def test_two_halves_of_one_are_joined_again_however_long_they_were_apart() -> None:
    memory = EllipseTracker()
    x = np.arange(SIZE[0])[None, :]
    for frame in range(30):
        body = ellipse(SIZE, 60 + 2 * frame, 70, A, B, 0.0)
        left, right = body & (x < 58 + 2 * frame), body & (x > 62 + 2 * frame)
        memory.step(*blobs(left, right), LOOK)
    assert (memory.alone > 12).sum() == 2  # taken for two animals: they were two for long enough
    given, level = blobs(ellipse(SIZE, 122, 70, A, B, 0.0))
    assert len(memory.step(given, level, LOOK)) == 1


def test_an_animal_that_bends_is_not_two() -> None:
    memory = EllipseTracker()
    for _ in range(6):
        given, level = blobs(ellipse(SIZE, 90, 70, A, B, 0.0))
        memory.step(given, level, LOOK)
    bent, level = blobs(ellipse(SIZE, 80, 66, 14, 6, 0.75) | ellipse(SIZE, 98, 66, 14, 6, np.pi - 0.75))
    assert len(divide_by_shape(bent[0], level, LOOK)) == 2  # by its shape alone it would be
    assert len(memory.step(bent, level, LOOK)) == 1


def test_a_hidden_animal_is_remembered_and_then_forgotten() -> None:
    memory = EllipseTracker(forget_frames=5)
    for frame in range(6):
        memory.step(*blobs(ellipse(SIZE, 60 + 2 * frame, 70, A, B, 0.0)), LOOK)
    assert memory.velocity[0] == pytest.approx([2, 0], abs=0.3)
    nothing = np.zeros((SIZE[1], SIZE[0]), np.uint8)
    for frame in range(8):
        assert memory.step([], nothing, LOOK) == []
        assert len(memory.mean) == (1 if frame < 5 else 0)


def test_pieces_of_one_are_joined_and_neighbours_are_not() -> None:
    x = np.arange(SIZE[0])[None, :]
    body = ellipse(SIZE, 90, 70, A, B, 0.0)
    given, level = blobs(body & (x < 88), body & (x > 94), ellipse(SIZE, 90, 100, A, B, 0.0))
    joined = join_pieces(given, level, LOOK)
    assert sorted(round(b.area) for b in joined) == sorted([round(given[0].area + given[1].area), round(given[2].area)])
    assert merge(given, level).area == sum(b.area for b in given)


def test_pixels_are_shared_by_their_ellipses() -> None:
    one, two = ellipse(SIZE, 70, 70, A, B, 0.0), ellipse(SIZE, 116, 74, A, B, 0.2)
    y, x = np.nonzero(one | two)
    pixels = np.column_stack([x, y]).astype(float)
    mean = np.array([[75.0, 68.0], [110.0, 78.0]])
    cov = np.tile([A**2 / 4, 0.0, B**2 / 4], (2, 1))
    owner, distance = _ellipses.share_pixels(pixels, mean, cov, np.ones(2), 0.9, 8, np.zeros(0), np.zeros((0, 2)), 0.0)
    assert (owner == np.where(one[y, x], 0, 1)).mean() > 0.97
    assert mean == pytest.approx(np.array([[70, 70], [116, 74]]), abs=1.0)
    assert np.quantile(distance, 0.95) < 6  # the edge of a filled ellipse is at 4


def test_tones_tell_apart_what_places_do_not() -> None:
    near, far = ellipse(SIZE, 90, 70, A, B, 0.0), ellipse(SIZE, 96, 71, A, B, 0.35)
    y, x = np.nonzero(near | far)
    tone = np.where(near[y, x], 160.0, 60.0)
    right = {}
    for trust in (0.0, 0.5):
        mean, cov = np.array([[90.0, 70.0], [96.0, 71.0]]), np.tile([A**2 / 4, 0.0, B**2 / 4], (2, 1))
        tones = np.array([[160.0, 400.0], [60.0, 400.0]])
        pixels = np.column_stack([x, y]).astype(float)
        owner, _ = _ellipses.share_pixels(pixels, mean, cov, np.ones(2), 0.9, 8, tone, tones, trust)
        right[trust] = (owner == np.where(near[y, x], 0, 1)).mean()
    assert right[0.5] > 0.99
    assert right[0.0] < 0.9


def test_memory_knows_the_tone_of_an_animal_seen_alone() -> None:
    memory = EllipseTracker()
    mask = ellipse(SIZE, 90, 70, A, B, 0.0)
    for _ in range(4):
        given, level = blobs(mask)
        level[mask] = np.random.default_rng(0).integers(100, 140, mask.sum())
        memory.step(given, level, LOOK)
    assert memory.tone[0] == pytest.approx([level[mask].mean(), level[mask].var() + 25])


def test_sizes_and_side_are_learnt_from_the_film(tmp_path: Path) -> None:
    pictures, masks = swimming(80)
    detector = make_detector("background")
    detector.prepare(Video.open(encode(tmp_path / "v.mp4", pictures)))
    appearance = detector.appearance
    area = float(masks[0, 0].sum())
    assert appearance.typical == pytest.approx(area, rel=0.25)
    assert appearance.smallest < 0.3 * area
    assert 1.2 * area < appearance.largest < 2.7 * area  # some of the blobs it learns from are two that touch
    assert appearance.major == pytest.approx(13 / 2, rel=0.2)
    assert appearance.minor == pytest.approx(5 / 2, rel=0.25)
    assert appearance.side <= 0  # they are dark
    chosen = make_detector("background", {"min_area": "7", "side": "both"})
    chosen.prepare(Video.open(tmp_path / "v.mp4"))
    assert (chosen.appearance.smallest, chosen.appearance.side) == (7, 0)


def test_two_bent_animals_that_cross_are_never_three() -> None:
    rng, most = np.random.default_rng(1), []
    for _ in range(30):
        both = np.zeros(SIZE[::-1], np.uint8)
        for _ in range(2):
            place = (100, 75) + rng.uniform(-8, 8, 2)
            body_kernels.take(np.array([*place, rng.uniform(-3, 3), rng.uniform(-2, 2), A, B]), both, 1.0)
        level = 150 * both
        (blob,) = split_labels(both.astype(np.int32), 1, 0, 0, level, 1)
        most.append(len(divide_by_shape(blob, level, LOOK)))
    assert max(most) == 2


def test_an_empty_film_says_so(tmp_path: Path) -> None:
    pictures, _ = swimming(30, fish=0)
    video = Video.open(encode(tmp_path / "v.mp4", pictures))
    detector = make_detector("background")
    assert any("nothing moves" in note for note in detector.prepare(video))
    assert sum(len(detector.see(p)) for p in video.read()) == 0


def test_every_animal_is_found_in_a_film(tmp_path: Path) -> None:
    pictures, masks = swimming(80)
    video = Video.open(encode(tmp_path / "v.mp4", pictures))
    detector = make_detector("background")
    detector.prepare(video)
    hits = found = 0
    for picture in video.read():
        seen = detector.see(picture)
        found += len(seen)
        hits += sum(max((iou(b, m) for b in seen.masks or ()), default=0) > 0.5 for m in masks[picture.number])
        assert (seen.columns["score"] > 0).all()
        assert (seen.columns["score"] < 1).all()
    assert hits >= 0.94 * masks.shape[0] * masks.shape[1]  # the rest is hidden by another
    assert found <= 1.03 * masks.shape[0] * masks.shape[1]


def test_fill_tells_one_from_two() -> None:
    crossed = ellipse(SIZE, 90, 70, A, B, 0.0) | ellipse(SIZE, 90, 70, A, B, 1.5)
    given, _ = blobs(ellipse(SIZE, 90, 70, A, B, 0.4), crossed)
    one, two = shapes(given)["fill"]
    assert one == pytest.approx(1.0, abs=0.03)
    assert two < 0.8
