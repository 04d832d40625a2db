"""Masks cut out of a network's maps, as blobs and as outlines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.detection.masks.blobs import shapes
from trackfish3d.detection.masks.outlines import Placing, blob_from_mask, cut_mask, keep_distinct, outline, overlap


def ellipse(size: tuple[int, int], u: float, v: float, a: float, b: float, angle: float) -> np.ndarray:
    """(H, W) how far inside an ellipse each pixel is: 1 in the middle, 0 on the edge."""
    y, x = np.mgrid[: size[1], : size[0]]
    along = (x - u) * np.cos(angle) + (y - v) * np.sin(angle)
    across = -(x - u) * np.sin(angle) + (y - v) * np.cos(angle)
    return 1 - np.sqrt((along / a) ** 2 + (across / b) ** 2)


def test_moments_of_a_mask_are_those_of_the_ellipse() -> None:
    blob = blob_from_mask(ellipse((200, 120), 90.3, 61.8, 40, 12, 0.4) > 0)
    assert blob is not None
    facts = {name: float(value[0]) for name, value in shapes([blob]).items()}
    assert facts["u"] == pytest.approx(90.3, abs=0.1)
    assert facts["v"] == pytest.approx(61.8, abs=0.1)
    assert facts["area"] == pytest.approx(np.pi * 40 * 12, rel=0.01)
    assert facts["angle"] == pytest.approx(0.4, abs=0.01)
    assert facts["major"] == pytest.approx(20, rel=0.01)
    assert facts["minor"] == pytest.approx(6, rel=0.02)


@pytest.mark.parametrize(("shape", "size"), [((64, 64), (640, 360)), ((54, 96), (640, 360)), ((90, 160), (640, 361))])
def test_a_map_stretched_over_the_picture_is_cut_where_it_lies(shape: tuple[int, int], size: tuple[int, int]) -> None:
    u, v = 401.0, 170.5
    placing = Placing.stretched(shape, size)
    y, x = np.mgrid[: shape[0], : shape[1]]
    px, py = (x - placing.bx) / placing.ax, (y - placing.by) / placing.ay
    level = (1 - np.hypot((px - u) / 70, (py - v) / 50)).astype(np.float32)
    blob = cut_mask(level, placing, size)
    assert blob is not None
    facts = shapes([blob])
    assert facts["u"][0] == pytest.approx(u, abs=0.3)
    assert facts["v"][0] == pytest.approx(v, abs=0.3)
    assert facts["area"][0] == pytest.approx(np.pi * 70 * 50, rel=0.03)


def test_cutting_agrees_with_interpolating_the_whole_map() -> None:
    torch = pytest.importorskip("torch")
    level = np.random.default_rng(3).normal(size=(12, 20)).astype(np.float32)
    level[4:8, 5:12] += 3
    size = (137, 91)
    whole = torch.nn.functional.interpolate(torch.from_numpy(level)[None, None], (91, 137), mode="bilinear")[
        0, 0
    ].numpy()
    blob = cut_mask(level, Placing.stretched(level.shape, size), size)
    expected = blob_from_mask(whole > 0)
    assert blob is not None
    assert expected is not None
    assert (blob.left, blob.top) == (expected.left, expected.top)
    assert (blob.mask == expected.mask).all()


def test_within_a_box_only() -> None:
    level = np.ones((10, 10), np.float32)
    blob = cut_mask(
        level, Placing.stretched((10, 10), (100, 100)), (100, 100), within=np.array([19.5, 29.5, 39.5, 34.5])
    )
    assert blob is not None
    assert (blob.left, blob.top, blob.mask.shape) == (20, 30, (5, 20))


def test_nothing_is_no_blob() -> None:
    assert blob_from_mask(np.zeros((4, 5), bool)) is None
    assert cut_mask(-np.ones((4, 4), np.float32), Placing.stretched((4, 4), (9, 9)), (9, 9)) is None


def test_dust_goes_and_halves_stay() -> None:
    mask = np.zeros((40, 60), bool)
    mask[10:20, 5:25] = mask[10:20, 35:50] = True
    mask[35, 55] = True
    blob = blob_from_mask(mask)
    assert blob is not None
    assert blob.area == 10 * 20 + 10 * 15


@settings(deadline=None)
@given(
    st.floats(20, 80), st.floats(20, 60), st.floats(3, 18), st.floats(2, 15), st.floats(-1.5, 1.5), st.booleans()
)  # fmt: skip
def test_an_outline_encloses_the_masks_area(u: float, v: float, a: float, b: float, angle: float, cut: bool) -> None:
    mask = ellipse((100, 80), u, v, a, b, angle) > 0
    if cut:
        mask[:, int(u) : int(u) + 2] = False
    blob = blob_from_mask(mask, 7, 3)
    if blob is None or blob.area < 8:
        return
    ring = outline(blob)
    x, y = ring.T
    area = 0.5 * abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))
    assert area == pytest.approx(blob.area, abs=0.5 * len(ring) + 1)
    assert x.min() == pytest.approx(blob.left - 0.5)
    assert y.max() == pytest.approx(blob.top + blob.mask.shape[0] - 0.5)


def test_overlap_is_intersection_over_union() -> None:
    a, b = np.zeros((30, 30), bool), np.zeros((30, 30), bool)
    a[2:12, 3:13] = True
    b[7:17, 8:18] = True
    first, second, far = blob_from_mask(a), blob_from_mask(b), blob_from_mask(a, 100, 0)
    assert first is not None
    assert second is not None
    assert far is not None
    assert overlap(first, second) == pytest.approx(25 / 175)
    assert overlap(first, far) == 0
    assert keep_distinct([first, second, far], np.array([0.5, 0.9, 0.7]), 0.1) == [1, 2]
