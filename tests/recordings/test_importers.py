"""The same detections arrive the same, whichever tool's file they come in."""

import json
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections
from trackfish3d.recordings.importers import DetectionsWarning, from_supervision, read_detections
from trackfish3d.recordings.importers._file import camera_in_path, last_number

from .worlds import assert_same, make_rig, random_detections
from .writers import write_coco, write_csv, write_mot, write_yolo

RIG = make_rig()


@pytest.fixture
def found() -> Detections:
    """Detections whose points are the middles of their boxes, as box detectors give them."""
    return random_detections(11, n=120, frames=20, first_frame=100)


def test_csv(found: Detections, tmp_path: Path) -> None:
    assert_same(read_detections(write_csv(found, tmp_path / "d.csv"), RIG), found)


def test_parquet_under_any_file_name(found: Detections, tmp_path: Path) -> None:
    for name in ("d.parquet", "d.dat"):
        pq.write_table(found.to_table(), tmp_path / name)
        assert_same(read_detections(tmp_path / name, RIG), found)


def test_columns_by_other_names(found: Detections, tmp_path: Path) -> None:
    table = pa.table(
        {
            "FrameNumber": found.frame,
            " Camera": [found.cameras[c] for c in found.camera],
            "left": found.x1,
            "top": found.y1,
            "w": found.x2 - found.x1,
            "h": found.y2 - found.y1,
            "p": found.score * 100,
        }
    )
    pq.write_table(table, tmp_path / "d.parquet")
    names = {"frame": "FrameNumber", "x1": "left", "y1": "top", "width": "w", "height": "h", "score": "p"}
    back = read_detections(tmp_path / "d.parquet", RIG, columns=names, scores="percent")
    assert_same(back, found, atol=1e-9)
    for wrong in ({"frame": "nothing"}, {"speed": "w"}):
        with pytest.raises(InputError, match=r"d\.parquet: no column"):
            read_detections(tmp_path / "d.parquet", RIG, columns=wrong)


def test_points_get_boxes_of_the_size_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("frame,camera,u,v,score\n1,top,100,50,0.5\n1,front,20,30,1\n")
    back = read_detections(path, RIG, box_size=30)
    np.testing.assert_array_equal(back.boxes, [[85, 35, 115, 65], [5, 15, 35, 45]])
    with pytest.warns(DetectionsWarning, match="2% of the image's width"):
        back = read_detections(path, RIG)
    np.testing.assert_allclose(back.x2 - back.x1, 0.02 * 640)


def test_mot_counts_pixels_from_one(found: Detections, tmp_path: Path) -> None:
    paths = {name: write_mot(found, name, tmp_path / f"{name}_det.txt") for name in RIG.names}
    assert_same(read_detections(paths, RIG), found, atol=1e-9)
    first = tmp_path / "one.txt"
    first.write_text("5,-1,1,1,10,20,0.9,-1,-1,-1\n")
    back = read_detections({"top": first}, RIG)
    assert back.boxes.tolist() == [[0, 0, 10, 20]]
    assert back.frame.tolist() == [5]


def test_mot_scores_that_are_no_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "det.txt"
    path.write_text("1,-1,1,1,10,20,-1\n2,-1,1,1,10,20,-1\n")
    with pytest.warns(DetectionsWarning, match="no confidence"):
        assert read_detections({"top": path}, RIG).score.tolist() == [1, 1]
    path.write_text("1,-1,1,1,10,20,0.5\n2,-1,1,1,10,20,2.0\n3,-1,1,1,10,20,-1\n")
    with pytest.raises(InputError, match=r"row 1: score 2 is outside 0..1 \(and 1 more rows\).*--scores sigmoid"):
        read_detections({"top": path}, RIG)
    np.testing.assert_allclose(
        read_detections({"top": path}, RIG, scores="sigmoid").score, 1 / (1 + np.exp([-0.5, -2.0, 1.0]))
    )


def test_a_file_of_one_camera_must_say_which(found: Detections, tmp_path: Path) -> None:
    path = write_mot(found, "top", tmp_path / "det.txt")
    with pytest.raises(InputError, match=r"--detections top\|front="):
        read_detections(path, RIG)
    only = make_rig(("top",))
    assert len(read_detections(path, only)) == (found.camera == 0).sum()
    with pytest.raises(InputError, match="unknown camera 'side'; the rig has top, front"):
        read_detections({"side": path}, RIG)


def test_coco_boxes(found: Detections, tmp_path: Path) -> None:
    assert_same(read_detections(write_coco(found, tmp_path / "d.json"), RIG), found, atol=1e-9)


def test_coco_results_without_images(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps([{"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.25}]))
    back = read_detections({"front": path}, RIG)
    assert (back.frame.tolist(), back.camera.tolist(), back.score.tolist()) == ([7], [1], [0.25])
    assert back.boxes.tolist() == [[1, 2, 4, 6]]


def ellipse(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mask = np.zeros((480, 640), np.uint8)
    centre, axes = rng.integers(100, 380, 2).tolist(), rng.integers(5, 60, 2).tolist()
    cv2.ellipse(mask, centre, axes, float(rng.uniform(0, 180)), 0, 360, 1, -1)
    return mask


def reference(moments: dict) -> list[float]:
    """Centroid, area, angle and standard deviations, from OpenCV's moments and NumPy's eigenvectors."""
    area, u, v = moments["m00"], moments["m10"] / moments["m00"], moments["m01"] / moments["m00"]
    spread = np.array([[moments["mu20"], moments["mu11"]], [moments["mu11"], moments["mu02"]]]) / area
    values, vectors = np.linalg.eigh(spread)
    angle = np.arctan2(vectors[1, 1], vectors[0, 1])
    return [u, v, area, (angle + np.pi / 2) % np.pi - np.pi / 2, np.sqrt(values[1]), np.sqrt(values[0])]


def shape_of(found: Detections, row: int) -> list[float]:
    return [float(c[row]) for c in (found.u, found.v, found.area, found.angle, found.major, found.minor)]


@pytest.mark.parametrize("compressed", [True, False])
def test_masks_as_run_lengths_have_opencvs_moments(tmp_path: Path, compressed: bool) -> None:
    coco_mask = pytest.importorskip("pycocotools.mask") if compressed else None
    masks = [ellipse(s) for s in range(12)]
    segmentation = []
    for mask in masks:
        if coco_mask:
            run = coco_mask.encode(np.asfortranarray(mask))
            segmentation.append({"size": run["size"], "counts": run["counts"].decode()})
        else:
            flat = mask.ravel(order="F")
            edges = np.flatnonzero(np.diff(flat)) + 1
            segmentation.append({"size": [480, 640], "counts": np.diff(np.r_[0, edges, flat.size]).tolist()})
    found = random_detections(3, n=12, frames=1)
    order = np.argsort(found.camera, kind="stable")
    back = read_detections(write_coco(found, tmp_path / "d.json", segmentation), RIG)
    assert back.has_moments
    for row, source in enumerate(order):
        np.testing.assert_allclose(
            shape_of(back, row), reference(cv2.moments(masks[source], True)), rtol=1e-9, atol=1e-9
        )


def test_masks_as_polygons_have_opencvs_moments(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    polygons = []
    for _ in range(12):
        angles = np.sort(rng.uniform(0, 2 * np.pi, 9))
        ray = rng.uniform(20, 60, 9)
        polygons.append(np.column_stack([500 + ray * np.cos(angles), 300 + ray * np.sin(angles)]).astype(np.float32))
    polygons[3] = polygons[3][::-1]  # the other way around
    found = random_detections(3, n=12, frames=1)
    segmentation = [[p.astype(float).ravel().tolist()] for p in polygons]
    back = read_detections(write_coco(found, tmp_path / "d.json", segmentation), RIG)
    for row, polygon in enumerate(polygons):
        expected = reference(cv2.moments(polygon[::-1] if row == 3 else polygon))
        np.testing.assert_allclose(shape_of(back, row), expected, rtol=1e-6, atol=1e-6)


def test_a_mask_in_two_parts_has_the_moments_of_both(tmp_path: Path) -> None:
    square = np.array([[0, 0], [10, 0], [10, 10], [0, 10]], float)
    found = random_detections(3, n=1)
    parts = [[square.ravel().tolist(), (square + [20, 0]).ravel().tolist()]]
    back = read_detections(write_coco(found, tmp_path / "d.json", parts), RIG)
    np.testing.assert_allclose(shape_of(back, 0)[:4], [15, 5, 200, 0])
    assert back.major[0] == pytest.approx(np.sqrt(100 + 100 / 12))
    assert back.minor[0] == pytest.approx(np.sqrt(100 / 12))


def test_shapes_of_some_are_no_shapes_at_all(tmp_path: Path) -> None:
    found = random_detections(3, n=3)
    dropped: Counter = Counter()
    path = write_coco(found, tmp_path / "d.json", [[[0, 0, 9, 0, 9, 9]], [], [[0, 0, 9, 0]]])
    back = read_detections(path, RIG, dropped=dropped)
    assert not back.has_moments
    assert (back.u[0], back.v[0]) == (6, 3)  # the centroid is still the mask's
    assert dropped == {("all", "mask shapes, because not every detection has one"): 1}


def test_yolo_boxes(found: Detections, tmp_path: Path) -> None:
    assert_same(read_detections(write_yolo(found, tmp_path / "labels"), RIG), found, atol=1e-9)


def test_yolo_polygons_confidences_and_track_numbers(tmp_path: Path) -> None:
    square = "0.25 0.25 0.5 0.25 0.5 0.5 0.25 0.5"
    expected = [240, 180, 160 * 120, 160 / np.sqrt(12), 120 / np.sqrt(12)]
    for k, (line, score) in enumerate([(f"0 {square}", 1), (f"0 {square} 0.75", 0.75), (f"0 {square} 0.75 12", 0.75)]):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "000042.txt").write_text(line + "\n")
        back = read_detections({"top": tmp_path / str(k)}, RIG)
        assert back.frame.tolist() == [42]
        assert back.score.tolist() == [score]
        np.testing.assert_allclose([c[0] for c in (back.u, back.v, back.area, back.major, back.minor)], expected)
        assert back.boxes.tolist() == [[160, 120, 320, 240]]
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "3.txt").write_text("0 0.5 0.5 0.1 0.1 0.9 1\n0 0.5 0.5 0.1 0.1 0.8 2\n")
    assert sorted(read_detections({"top": tmp_path / "n"}, RIG).score) == [0.8, 0.9]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0 0.5 0.5 0.1", "needs class cx cy w h"),
        ("0 320 240 10 10", "shares of the image"),
        ("0 a b c d", "not numbers"),
    ],
)
def test_yolo_lines_that_are_wrong_are_named(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "0007.txt").write_text("0 0.5 0.5 0.1 0.1 0.3\n" + line)
    with pytest.raises(InputError, match=f"0007.txt line 2.*{says}"):
        read_detections({"top": tmp_path}, RIG)


def test_supervision(found: Detections) -> None:
    sv = pytest.importorskip("supervision")
    frames = np.arange(int(found.frame[0]), int(found.frame[-1]) + 1)
    sequences = {}
    for c, name in enumerate(found.cameras):
        rows = [np.flatnonzero((found.camera == c) & (found.frame == f)) for f in frames]
        sequences[name] = [
            sv.Detections(xyxy=found.boxes[r], confidence=found.score[r]) if len(r) else sv.Detections.empty()
            for r in rows
        ]
    back = from_supervision(sequences, RIG, first_frame=int(frames[0]))
    assert_same(back, found, atol=1e-4)
    masks = np.stack([ellipse(s) for s in range(3)]).astype(bool)
    boxes = np.tile([0.0, 0.0, 640.0, 480.0], (3, 1))
    back = from_supervision({"front": [sv.Detections(xyxy=boxes, mask=masks)]}, RIG)
    assert back.score.tolist() == [1, 1, 1]
    for row in range(3):
        expected = reference(cv2.moments(masks[row].astype(np.uint8), True))
        np.testing.assert_allclose(shape_of(back, row), expected, rtol=1e-9, atol=1e-9)


def test_something_else_than_supervision_is_refused() -> None:
    with pytest.raises(InputError, match="camera top, frame 5"):
        from_supervision({"top": [object()]}, RIG, first_frame=5)


def test_low_scores_are_left_out_and_counted(found: Detections, tmp_path: Path) -> None:
    dropped: Counter = Counter()
    back = read_detections(write_csv(found, tmp_path / "d.csv"), RIG, min_score=0.4, dropped=dropped)
    assert_same(back, found.select(found.score >= 0.4))
    assert sum(dropped.values()) == len(found) - len(back)
    assert {camera for camera, _ in dropped} == {"top", "front"}


def test_frame_numbers_that_go_back_need_sort(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("frame,camera,u,v\n5,top,1,1\n3,front,2,2\n6,top,3,3\n4,top,4,4\n")
    with pytest.raises(InputError, match=r"row 3: camera top goes back from frame 6 to 4.*--sort"):
        read_detections(path, RIG, box_size=2)
    assert read_detections(path, RIG, box_size=2, sort=True).frame.tolist() == [3, 4, 5, 6]


def test_files_in_parts_are_joined_and_doubles_refused(found: Detections, tmp_path: Path) -> None:
    early, late = found.select(found.frame < 110), found.select(found.frame >= 110)
    parts = [write_csv(early, tmp_path / "a.csv"), write_csv(late, tmp_path / "b.csv")]
    assert_same(read_detections(parts, RIG), found)
    with pytest.raises(InputError, match=r"of camera (top|front) is in .*a\.csv as well"):
        read_detections([parts[0], write_csv(early, tmp_path / "c.csv")], RIG)


def test_cameras_may_have_gaps_and_unequal_lengths(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("frame,camera,u,v\n1,top,1,1\n9,top,2,2\n4,front,3,3\n")
    back = read_detections(path, RIG, box_size=2)
    assert back.frame.tolist() == [1, 4, 9]
    assert back.camera.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("   \n", "is empty"),
        ("frame,camera\n1,top\n", "no column u, v"),
        ("camera,u,v\ntop,1,1\n", "no column frame"),
        ("frame,camera,u,v\n1,side,1,1\n", "unknown camera 'side'; the calibration has top, front"),
        ("frame,camera,u,v\n1,top,nan,1\n", "row 0: u is not a finite number"),
        ("frame,camera,u,v\n1,top,,1\n", "row 0: u is not a finite number"),
        ("frame,camera,u,v\n1.5,top,1,1\n", "row 0: frame is not a whole number"),
        ("frame,camera,u,v,score\n1,top,1,1,7\n", "row 0: score 7 is outside 0..1"),
        ("frame,camera,u,v,x1,y1,x2,y2\n1,top,1,1,5,0,2,9\n", "row 0: box is inside out"),
        ("frame,camera,u,v,u\n1,top,1,1,1\n", "is there twice"),
    ],
)
def test_bad_csv_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        read_detections(path, RIG, box_size=2)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments", [{"format": "xml"}, {"scores": "stars"}, {"box_size": 0}, {"box_size": float("nan")}]
)
def test_bad_options_are_refused(tmp_path: Path, arguments: dict) -> None:
    with pytest.raises(InputError):
        read_detections(tmp_path, RIG, **arguments)


def test_a_folder_of_files_called_like_the_cameras(found: Detections, tmp_path: Path) -> None:
    for name in RIG.names:
        write_mot(found, name, tmp_path / f"{name}.txt")
    assert_same(read_detections(tmp_path, RIG), found, atol=1e-9)


def test_numbers_and_cameras_in_file_names() -> None:
    assert last_number("2024-05-01_cam2_frame00017") == 17
    assert camera_in_path("a/top/img.front.png", ("top", "front")) == "top"
    assert camera_in_path("exp_top-left_0001.png", ("top-left", "top-right")) == "top-left"
    assert camera_in_path("stop/0001.png", ("top",)) is None
    assert camera_in_path("top_front_01.png", ("top", "front")) is None
