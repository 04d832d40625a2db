"""A second look: what tracks expect, and whose the pixels are."""

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.detection.again import share_kernels
from trackfish3d.detection.again.changes import compare
from trackfish3d.detection.again.expected import Expected, expect
from trackfish3d.detection.again.explain import explain
from trackfish3d.detection.again.learned import judge_boxes, judge_masks
from trackfish3d.detection.background.appearance import Appearance
from trackfish3d.detection.base import FrameDetections
from trackfish3d.detection.masks.blobs import split_labels
from trackfish3d.detection.masks.outlines import blob_from_mask
from trackfish3d.recordings import Detections, Tracks

from .worlds import ellipse

SIZE = (160, 120)
LOOK = Appearance(
    smallest=20, typical=300, largest=450, longest=14, major=10, minor=3, fill=0.85, level=160, side=0, gap=1, close=1
)


def cov(a: float, b: float, angle: float) -> list[float]:
    """Covariance xx, xy, yy of the full ellipse with these half axes."""
    c, s = np.cos(angle), np.sin(angle)
    return [(a * a * c * c + b * b * s * s) / 4, (a * a - b * b) * c * s / 4, (a * a * s * s + b * b * c * c) / 4]


def expected(rows: list[tuple[float, float, float, float, float, float]], off: float = 0.0) -> Expected:
    """Animals u, v, a, b, angle, depth, whose places are known with an error of ``off`` px."""
    table = np.array(rows).reshape(-1, 6)
    n = len(table)
    shapes = np.array([cov(*row[2:5]) for row in table]).reshape(-1, 3)
    return Expected(np.zeros(n, int), np.arange(n), table[:, :2] + off, shapes, table[:, 5], np.full(n, 2.0))


def picture(rows: list[tuple[float, ...]], height: int = 160) -> tuple[np.ndarray, list[np.ndarray]]:
    """Level (H, W) of animals, and what is visible of each, the nearest in front."""
    owner = np.full((SIZE[1], SIZE[0]), -1)
    for k in np.argsort([-row[5] for row in rows]):
        owner[ellipse(SIZE, *rows[k][:5])] = k
    return np.where(owner >= 0, height, 0).astype(np.uint8), [owner == k for k in range(len(rows))]


def blobs_of(level: np.ndarray) -> list:
    return split_labels((level > 0).astype(np.int32), 1, 0, 0, level, 1)


def iou(blob, mask: np.ndarray) -> float:
    mine = np.zeros(mask.shape, bool)
    h, w = blob.mask.shape
    mine[blob.top : blob.top + h, blob.left : blob.left + w] = blob.mask > 0
    return float((mine & mask).sum() / (mine | mask).sum())


CROSSED = [(80.0, 60.0, 26.0, 6.0, 0.4, 9.0), (84.0, 62.0, 24.0, 6.0, -0.9, 10.0)]


@pytest.mark.parametrize("off", [0.0, 2.0])
def test_crossed_animals_share_a_blob_by_depth(off: float) -> None:
    level, visible = picture(CROSSED)
    found = explain(blobs_of(level), level, expected(CROSSED, off), LOOK, 40)
    assert sorted(found.track) == [0, 1]
    for blob, k, share in zip(found.masks, found.track, found.visible, strict=True):
        assert iou(blob, visible[k]) > 0.85
        whole = ellipse(SIZE, *CROSSED[k][:5]).sum()
        assert share == pytest.approx(visible[k].sum() / whole, abs=0.12)


def test_no_animal_is_invented_that_no_pixel_shows() -> None:
    rows = [CROSSED[0], (30.0, 90.0, 20.0, 5.0, 0.0, 8.0)]  # the second is expected where only water is
    level, _ = picture(rows[:1])
    found = explain(blobs_of(level), level, expected(rows), LOOK, 40)
    assert found.track.tolist() == [0]
    behind = [CROSSED[0], (80.0, 60.0, 20.0, 5.0, 0.4, 12.0)]  # and here it is wholly behind the first
    found = explain(blobs_of(level), level, expected(behind), LOOK, 40)
    assert found.track.tolist() == [0]


def test_a_faint_animal_is_found_where_it_is_expected_and_nowhere_else() -> None:
    level, visible = picture(CROSSED[:1], 20)  # five standard deviations: too faint for a blob
    assert explain([], level, expected([]), LOOK, 40).masks == []
    found = explain([], level, expected(CROSSED[:1]), LOOK, 40)
    assert found.track.tolist() == [0]
    assert iou(found.masks[0], visible[0]) > 0.85


def test_what_no_track_explains_stays_with_a_lower_score() -> None:
    level, _ = picture(CROSSED[:1])
    known = explain(blobs_of(level), level, expected(CROSSED[:1]), LOOK, 40)
    unknown = explain(blobs_of(level), level, expected([]), LOOK, 40)
    assert unknown.track.tolist() == [-1]
    assert unknown.score[0] < 0.7 * known.score[0]


def test_pixels_are_shared_once() -> None:
    level, _ = picture(CROSSED)
    here, owner = expected(CROSSED), np.zeros(level.shape, np.int32)
    count, shown, full = share_kernels.share(
        (level > 0).astype(np.uint8), 0, 0, here.mean.copy(), here.cov.copy(), here.slack, np.ones(2, bool), 0, owner
    )
    assert count.sum() == (level > 0).sum() == (owner > 0).sum()
    assert shown[0] == full[0]  # the nearer one hides nothing of itself
    assert shown[1] == pytest.approx(
        full[1] - (ellipse(SIZE, *CROSSED[0][:5]) & ellipse(SIZE, *CROSSED[1][:5])).sum(), abs=9
    )


def test_a_mask_of_a_network_that_holds_two_is_divided_and_one_of_its_own_is_kept() -> None:
    rows = [*CROSSED, (30.0, 100.0, 20.0, 5.0, 0.0, 8.0)]
    level, visible = picture(rows)
    both, third = blob_from_mask(visible[0] | visible[1]), blob_from_mask(visible[2])
    assert both is not None
    assert third is not None
    seen = FrameDetections.from_masks([both, third], np.array([0.8, 0.9]))
    out = judge_masks(seen, expected(rows), level.shape)
    assert len(out) == 3
    assert sorted(out.columns["score"]) == [0.8, 0.8, 0.9]
    whole = [ellipse(SIZE, *row[:5]).sum() for row in rows]
    shares = sorted(v.sum() / w for v, w in zip(visible, whole, strict=True))
    assert sorted(out.columns["visible"]) == pytest.approx(shares, abs=0.12)
    assert np.isnan(judge_masks(seen, expected([]), level.shape).columns["visible"]).all()
    assert len(judge_masks(seen, expected([]), level.shape)) == 2


def test_a_box_that_holds_two_is_divided() -> None:
    rows = [(60.0, 60.0, 20.0, 5.0, 0.0, 8.0), (90.0, 70.0, 20.0, 5.0, 0.0, 9.0)]
    seen = FrameDetections.from_boxes(np.array([[40.0, 55, 110, 75]]), np.array([0.7]))
    out = judge_boxes(seen, expected(rows))
    assert np.allclose(sorted(out.columns["u"]), [60, 90], atol=1)
    single = judge_boxes(seen, expected([(75.0, 65.0, 35.0, 10.0, 0.0, 8.0)]))
    assert single.columns["x1"].tolist() == [40.0]
    assert single.columns["score"].tolist() == [0.7]
    assert single.columns["visible"].tolist() == [1.0]
    assert np.isnan(judge_boxes(seen, expected([])).columns["visible"]).all()


def test_the_visible_share_is_kept_in_the_file() -> None:
    ones, share = np.ones(3), np.array([0.25, np.nan, 1.0])
    seen = Detections.build(("a",), [0, 0, 1], [0, 0, 0], 5 * ones, 6 * ones, visible=share)
    again = Detections.from_table(seen.to_table(), ("a",))
    assert again.visible is not None
    np.testing.assert_array_equal(again.visible, share)
    with pytest.raises(InputError, match="row 1: visible is outside"):
        Detections.build(("a",), [0, 0], [0, 0], [1, 2], [1, 2], visible=[0.5, 1.5])


def rig() -> CameraRig:
    cameras = []
    for name, place in (("a", [0.0, -20, 0]), ("b", [20.0, 0, 0]), ("c", [0.0, -1, 20])):
        z = -np.array(place) / np.linalg.norm(place)
        across = np.cross(z, [0, 0, 1.0])
        across /= np.linalg.norm(across)
        R = np.stack([across, np.cross(z, across), z])
        K = np.array([[600.0, 0, 320], [0, 600, 240], [0, 0, 1]])
        cameras.append(Camera(name, (640, 480), K, np.zeros(5), R, -R @ np.array(place)))
    return CameraRig(tuple(cameras), "cm")


def test_tracks_expect_the_outline_of_an_animal_that_is_merged_in_a_view() -> None:
    """The oracle is the ellipse that an ellipsoid's shadow is: J S J' of its true axes."""
    cameras, frames = rig(), 40
    t = np.arange(frames) * 0.15
    position = np.stack([3 * np.cos(t), 3 * np.sin(t), 0.5 * np.sin(2 * t)], axis=1)
    ahead = np.gradient(position, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    aside = np.cross(ahead, [0, 0, 1.0])
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    above = np.cross(aside, ahead)
    S = sum(size**2 * a[:, :, None] * a[:, None, :] for size, a in ((1.0, ahead), (0.25, above), (0.15, aside)))
    rows, truth = [], {}
    for c, camera in enumerate(cameras):
        pixel = camera.project(position)
        J = np.stack(
            [(camera.project(position + d) - camera.project(position - d)) / 2e-4 for d in 1e-4 * np.eye(3)], 2
        )
        M = J @ S @ np.swapaxes(J, 1, 2)
        truth[c] = M
        for f in range(frames):
            shape = 9 * M[f] if c == 0 and 10 <= f < 16 else M[f]  # merged with others for a while
            value, axes = np.linalg.eigh(shape)
            angle = np.arctan2(axes[1, 1], axes[0, 1])
            angle = (angle + np.pi / 2) % np.pi - np.pi / 2
            rows.append((f, c, *pixel[f], angle, np.sqrt(value[1]) / 2, np.sqrt(value[0]) / 2))
    rows.sort(key=lambda row: row[:2])
    table = np.array(rows)
    reach = 2 * table[:, 5:6]
    boxes = np.concatenate([table[:, 2:4] - reach, table[:, 2:4] + reach], axis=1)
    seen = Detections.build(
        cameras.names, table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2], table[:, 3], *boxes.T,
        angle=table[:, 4], major=table[:, 5], minor=table[:, 6], area=4 * np.pi * table[:, 5] * table[:, 6],
    )  # fmt: skip
    taken = np.arange(3 * frames).reshape(frames, 3)
    tracks = Tracks.build(np.arange(frames), np.zeros(frames, int), position, detection=taken, cameras=cameras.names)
    for c, view in enumerate(expect(cameras, seen, tracks)):
        want = np.stack([truth[c][:, 0, 0], truth[c][:, 0, 1], truth[c][:, 1, 1]], axis=1) / 4
        size = 0.5 * (want[:, 0] + want[:, 2])
        assert len(view) == frames
        assert np.abs(view.mean - cameras[c].project(position)).max() < 1e-6
        assert np.quantile(np.abs(view.cov - want).max(1) / size, 0.9) < 0.25


def test_changes_are_counted() -> None:
    def table(points: list[tuple[int, float, float]]) -> Detections:
        f, u, v = np.array(points).T
        return Detections.build(("a",), f.astype(int), np.zeros(len(f), int), u, v, u - 9, v - 4, u + 9, v + 4)

    before = table([(0, 10, 10), (0, 50, 50), (1, 10, 10)])
    after = table([(0, 10, 10.2), (0, 90, 90), (1, 13, 10), (1, 60, 60)])
    changes = compare(before, after)
    assert (changes.added, changes.removed, changes.moved, changes.kept) == (2, 1, 1, 1)
    assert not compare(before, before).any
