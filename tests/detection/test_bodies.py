"""Bodies: what they cover, how they fit, and animals followed by them where only a flank is seen."""

import numpy as np
import pytest

from trackfish3d.detection.background import body_kernels as _bodies
from trackfish3d.detection.background.appearance import Appearance
from trackfish3d.detection.background.body_fit import BodySearch, Start, complete
from trackfish3d.detection.background.body_tracker import BodyTracker
from trackfish3d.detection.masks.blobs import Blob, split_labels

from .worlds import ellipse

SIZE = (240, 160)
A, B = 24.0, 5.0
USUAL = np.array([A, B])
LOOK = Appearance(
    smallest=40, typical=np.pi * A * B, largest=1.5 * np.pi * A * B, longest=1.3 * A / 2, major=A / 2, minor=B / 2,
    fill=0.7, level=60, side=0, gap=1, close=1,
)  # fmt: skip


def body_of(u: float, v: float, angle: float, bend: float = 0.0) -> np.ndarray:
    return np.array([u, v, angle, bend, A, B])


def placed(body: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(H, W) place of pixels along (-1..1) and across (1: edge) a body: plainly, by the nearest of many points."""
    s = np.linspace(-1, 1, 2001)
    turn = body[_bodies.BEND] / 2 * s + body[_bodies.ANGLE]
    step = np.column_stack([np.cos(turn), np.sin(turn)]) * body[_bodies.LENGTH] * (s[1] - s[0])
    line = np.cumsum(step, axis=0)
    line += body[:2] - line[1000]
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    apart = (x[..., None] - line[::10, 0]) ** 2 + (y[..., None] - line[::10, 1]) ** 2
    k = 10 * apart.argmin(-1)
    side = np.sign((y - line[k, 1]) * np.cos(turn[k]) - (x - line[k, 0]) * np.sin(turn[k]))
    return s[k], side * np.sqrt(apart.min(-1)) / body[_bodies.WIDTH]


def drawn(body: np.ndarray) -> np.ndarray:
    """(H, W) pixels inside a body."""
    along, across = placed(body)
    return along**2 + across**2 <= 1


def blob_of(mask: np.ndarray, level: np.ndarray) -> Blob:
    return split_labels(mask.astype(np.int32), 1, 0, 0, level, 1)[0]


def whole(blob: Blob) -> np.ndarray:
    out = np.zeros(SIZE[::-1], bool)
    h, w = blob.mask.shape
    out[blob.top : blob.top + h, blob.left : blob.left + w] = blob.mask > 0
    return out


def iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / (a | b).sum())


@pytest.mark.parametrize("bend", [0.0, 0.8, -1.5])
def test_a_body_covers_the_pixels_of_its_shape(bend: float) -> None:
    body = body_of(120.3, 80.7, 0.5, bend)
    inside = drawn(body)
    taken = np.zeros(SIZE[::-1], np.uint8)
    _bodies.take(body, taken, 1.0)
    assert iou(taken > 0, inside) > 0.85  # it takes every pixel that it touches
    assert (taken > 0)[inside].all()
    distance, owner = np.full((100, 140), 9.0, np.float32), np.zeros((100, 140), np.int32)
    _bodies.lay(body, 3, 60, 30, distance, owner)
    assert iou(distance <= 1, taken[30:130, 60:200] > 0) > 0.9
    assert (owner[distance < 9] == 3).all()
    left, top, right, bottom = _bodies.box(body, SIZE[::-1])
    y, x = np.nonzero(owner)
    assert left <= x.min() + 60
    assert x.max() + 60 < right
    assert top <= y.min() + 30
    assert y.max() + 30 < bottom


def test_the_evidence_is_that_of_its_pixels() -> None:
    body = body_of(120, 80, 2.2, 0.6)
    inside = drawn(body)
    rng = np.random.default_rng(0)
    level = rng.integers(0, 256, SIZE[::-1]).astype(np.uint8)
    taken = (rng.random(SIZE[::-1]) < 0.3).astype(np.uint8)
    worth = np.stack([np.linspace(-0.3, 1, 256), np.full(256, -0.15)]).astype(np.float32)
    expected = worth[taken[inside], level[inside]].mean() * _bodies.area(body)
    assert _bodies.evidence_of(body, level, taken, worth) == pytest.approx(expected, rel=0.1)
    everywhere = np.ones((2, 256), np.float32)
    assert _bodies.evidence_of(body, level, taken, everywhere) == pytest.approx(_bodies.area(body), rel=0.02)


def test_a_stiffer_body_stays_closer_to_the_usual_one() -> None:
    level = np.where(drawn(np.array([120.0, 80, 0.3, 0.0, 1.5 * A, B])), 60, 0).astype(np.uint8)
    worth = np.stack([np.clip((np.arange(256) / 4 - 2) / 4, -0.3, 1), np.zeros(256)]).astype(np.float32)
    taken = np.zeros(level.shape, np.uint8)
    lengths = []
    for stiff in (0.1, 3.0, 100.0):
        body = body_of(118, 79, 0.25)
        value = _bodies.fit_body(
            body, body_of(118, 79, 0.25), np.array([stiff, 8.0, 0.3, 0, 0]), level, taken, worth, 1.0, 4
        )
        assert value > 0.5 * _bodies.area(body_of(0, 0, 0))
        lengths.append(body[_bodies.LENGTH])
    assert lengths[0] == pytest.approx(1.5 * A, rel=0.1)
    assert lengths[0] > lengths[1] > lengths[2]
    assert lengths[2] == pytest.approx(A, rel=0.03)


@pytest.mark.parametrize("bend", [0.0, -0.3])
def test_one_flank_head_and_tail_tell_the_whole_animal(bend: float) -> None:
    body = body_of(120, 80, 0.4, bend)
    along, across = placed(body)
    inside = along**2 + across**2 <= 1
    flank = inside & ((across > 0) | (np.abs(along) > 0.7))
    level = np.where(flank, 40, 2).astype(np.uint8)
    seen = blob_of(flank, level)
    assert iou(flank, inside) < 0.75
    found = BodyTracker().step([seen], level, LOOK)
    assert len(found) == 1
    assert iou(whole(found[0]), inside) > iou(flank, inside) + 0.1
    thin = inside & (across > 0.2)
    (wider,) = complete([blob_of(thin, level)], level, LOOK)
    assert iou(whole(wider), inside) > iou(thin, inside) + 0.1


def test_two_pieces_of_one_animal_are_one_body_and_two_animals_are_two() -> None:
    one, two = drawn(body_of(80, 60, 0.0)), drawn(body_of(150, 100, 1.0))
    x = np.arange(SIZE[0])[None, :]
    left, right = one & (x < 74), one & (x > 86)
    level = np.where(left | right | two, 40, 0).astype(np.uint8)
    found = BodyTracker().step([blob_of(m, level) for m in (left, right, two)], level, LOOK)
    assert len(found) == 2
    assert sorted(round(max(iou(whole(b), m) for b in found), 1) >= 0.6 for m in (one, two)) == [True, True]


def test_two_that_touch_end_to_end_are_two() -> None:
    masks = drawn(body_of(80, 80, 0.1)), drawn(body_of(80 + 1.9 * A, 85, 0.1))
    level = np.where(masks[0] | masks[1], 40, 0).astype(np.uint8)
    found = BodyTracker().step([blob_of(masks[0] | masks[1], level)], level, LOOK)
    assert len(found) == 2
    assert all(max(iou(whole(b), m) for b in found) > 0.5 for m in masks)


def test_a_body_found_is_not_found_twice() -> None:
    level = np.where(drawn(body_of(80, 60, 0.2)), 60, 0).astype(np.uint8)
    search = BodySearch(level)
    start = Start.known(body_of(82, 61, 0.25), USUAL)
    assert search.find([start, start]) == [(0, 0)]
    assert search.find([start]) == []
    assert search.uncovered(blob_of(level > 0, level), 40) == []


def test_pursuit_follows_keeps_and_forgets() -> None:
    pursuit = BodyTracker(forget_frames=4)
    for frame in range(8):
        level = np.where(drawn(body_of(60 + 3 * frame, 70, 0.1)), 50, 0).astype(np.uint8)
        found = pursuit.step([blob_of(level > 0, level)], level, LOOK)
        assert len(found) == 1
    assert len(pursuit.body) == 1
    assert pursuit.velocity[0] == pytest.approx([3, 0], abs=0.5)
    assert pursuit.seen[0] == 8
    nothing = np.zeros_like(level)
    for frame in range(6):
        assert pursuit.step([], nothing, LOOK) == []
        assert len(pursuit.body) == (1 if frame < 4 else 0)
    pursuit.turn_back()  # with nobody there


def test_wide_blobs_are_left_as_they_are() -> None:
    masks = ellipse(SIZE, 80, 60, A, B, 0.0), ellipse(SIZE, 150, 100, A, 1.2 * B, 1.0)
    level = np.where(masks[0] | masks[1], 60, 0).astype(np.uint8)
    given = [blob_of(m, level) for m in masks]
    assert complete(given, level, LOOK) == given
    assert complete([], level, LOOK) == []
