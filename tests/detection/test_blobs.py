"""Blobs, their outlines and their moments, against SciPy and OpenCV."""

import numpy as np
import pytest
from scipy import ndimage
from scipy.sparse.csgraph import connected_components

from trackfish3d.core.errors import InputError
from trackfish3d.detection.background.region import inside_polygon
from trackfish3d.detection.masks import kernels as _blobs
from trackfish3d.detection.masks.blobs import Blob, Thresholds, find_blobs, shapes, split_labels

from .worlds import ellipse

SIZE = (90, 70)
WHOLE = np.array([[0, 0, 57]], np.int64)  # the span of a map of 41 x 57


def specks(seed: int, share: float = 0.35) -> np.ndarray:
    cloud = ndimage.gaussian_filter(np.random.default_rng(seed).random((41, 57)), 1.2)
    return (cloud > np.quantile(cloud, 1 - share)).astype(np.uint8)


def blob_of(mask: np.ndarray, level: int = 200) -> Blob:
    """The one blob of a mask (H, W)."""
    return split_labels(mask.astype(np.int32), 1, 0, 0, np.where(mask, level, 0).astype(np.uint8), 1)[0]


@pytest.mark.parametrize("seed", range(4))
def test_components_are_those_of_scipy(seed: int) -> None:
    mask = specks(seed)
    label, number = _blobs.label_mask(mask)
    want, count = ndimage.label(mask, structure=np.ones((3, 3)))
    assert number == count
    assert len({(a, b) for a, b in zip(label.ravel(), want.ravel(), strict=True)}) == count + 1


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_pieces_belong_together_across_a_gap(gap: int) -> None:
    mask = specks(7, 0.15)
    label, number = _blobs.connect_runs(_blobs.find_runs(mask, 1, WHOLE, 41), gap)
    points = np.argwhere(mask)
    apart = np.abs(points[:, None] - points[None]).max(axis=2) <= gap + 1
    assert number == connected_components(apart)[0]
    assert len(label) == len(_blobs.find_runs(mask, 1, WHOLE, 41))


@pytest.mark.parametrize("radius", [1, 2, 4])
def test_closing_and_holes_are_those_of_scipy(radius: int) -> None:
    mask = np.pad(specks(3), 2 * radius + 1)
    square = np.ones((2 * radius + 1, 2 * radius + 1))
    assert np.array_equal(_blobs.close_mask(mask, radius), ndimage.binary_closing(mask, square))
    assert np.array_equal(_blobs.grow_mask(mask, radius), ndimage.binary_dilation(mask, square))
    filled = mask.copy()
    _blobs.fill_holes(filled, mask.size)
    assert np.array_equal(filled, ndimage.binary_fill_holes(mask))


def test_moments_are_opencvs() -> None:
    cv2 = pytest.importorskip("cv2")
    mask = ellipse(SIZE, 41.3, 33.8, 20, 7, 0.6)
    facts = {k: v[0] for k, v in shapes([blob_of(mask)]).items()}
    m = cv2.moments(mask.astype(np.uint8), binaryImage=True)
    assert facts["area"] == m["m00"]
    assert (facts["u"], facts["v"]) == pytest.approx((m["m10"] / m["m00"], m["m01"] / m["m00"]))
    cov = np.array([[m["mu20"], m["mu11"]], [m["mu11"], m["mu02"]]]) / m["m00"]
    small, large = np.linalg.eigvalsh(cov + np.eye(2) / 12)  # pixels are squares, not points
    assert (facts["major"], facts["minor"]) == pytest.approx((np.sqrt(large), np.sqrt(small)))
    assert facts["angle"] == pytest.approx(0.6, abs=0.02)
    assert facts["fill"] == pytest.approx(1.0, abs=0.03)


def test_a_blob_is_cut_at_the_edge_of_the_picture_and_specks_are_none() -> None:
    level = np.where(ellipse(SIZE, 2, 30, 15, 6, 0.0) | ellipse(SIZE, 60, 50, 14, 5, 1.0), 160, 0).astype(np.uint8)
    level[5, 80] = 250
    found = find_blobs(level, Thresholds(low=12, high=24, reach=6, outline=0.35, gap=1, close=2, smallest=20, hole=50))
    assert len(found) == 2
    assert found[0].left == 0
    assert sum(b.area for b in found) == pytest.approx((level == 160).sum(), rel=0.03)
    assert found[0].mask.sum() == found[0].area


def test_a_soft_rim_is_left_out_of_the_outline() -> None:
    body = ellipse(SIZE, 45, 35, 20, 7, 0.3)
    soft = 200 * ndimage.gaussian_filter(body.astype(float), 1.5)
    (blob,) = find_blobs(soft.astype(np.uint8), Thresholds(12, 24, 8, 0.35, 1, 1, 20, 50))
    assert blob.area == pytest.approx(body.sum(), rel=0.2)
    (fat,) = find_blobs(soft.astype(np.uint8), Thresholds(12, 24, 8, 0.0, 1, 1, 20, 50))
    assert fat.area > 1.3 * body.sum()


def test_holes_of_an_animal_are_filled_and_water_between_animals_is_not() -> None:
    ring = ellipse(SIZE, 45, 35, 24, 18, 0.0) & ~ellipse(SIZE, 45, 35, 14, 9, 0.0)
    ring &= ~ellipse(SIZE, 65, 35, 2, 2, 0.0)
    (blob,) = find_blobs(np.where(ring, 160, 0).astype(np.uint8), Thresholds(12, 24, 6, 0.0, 1, 0, 20, hole=40))
    assert blob.area == ring.sum() + (ellipse(SIZE, 65, 35, 2, 2, 0.0)).sum()


def test_a_region_is_a_polygon() -> None:
    inside = inside_polygon("10,10 30,10 30,20 10,20", (50, 40))
    assert inside.sum() == pytest.approx(200, rel=0.15)
    assert inside[15, 20]
    assert not inside[25, 20]
    for text in ("1,2 3,4", "a,b c,d e,f", "", "900,900 910,900 905,910"):
        with pytest.raises(InputError, match="region"):
            inside_polygon(text, (50, 40))
