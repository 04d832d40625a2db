"""Cameras with clocks of their own, and truth of other tools."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cameras.formats import read_calibration
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections
from trackfish3d.recordings.importers import align_by_time, import_truth, read_detections, read_timestamps

from .worlds import NAMES, make_rig

RIG = make_rig()
DATA = os.environ.get("TRACKFISH3D_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="TRACKFISH3D_DATA does not point at the real recordings")


def seen(frames: dict[str, list[int]]) -> Detections:
    """One detection a frame, whose u is the camera's own frame number."""
    frame = np.concatenate(list(frames.values()))
    camera = np.repeat([NAMES.index(n) for n in frames], [len(f) for f in frames.values()])
    return Detections.build(NAMES, frame, camera, frame.astype(float), np.zeros(len(frame)))


def numbers(found: Detections, camera: str) -> dict[int, int]:
    """Own frame number -> common frame number."""
    rows = found.camera == NAMES.index(camera)
    return dict(zip(found.u[rows].astype(int).tolist(), found.frame[rows].tolist(), strict=True))


def test_frames_go_to_the_nearest_frame_of_the_first_camera() -> None:
    top = np.arange(100, 110), 5.0 + np.arange(10) / 10
    front = np.arange(40), 4.81 + np.arange(40) / 10  # two frames earlier, 10 ms late
    dropped: Counter = Counter()
    back = align_by_time(
        seen({"top": list(range(100, 110)), "front": list(range(40))}), {"top": top, "front": front}, 10, dropped
    )
    assert numbers(back, "top") == {f: f for f in range(100, 110)}
    assert numbers(back, "front") == {f: f + 98 for f in range(2, 12)}
    assert dropped == {("front", "detections in frames outside the reference camera's time"): 30}


def test_a_faster_camera_keeps_the_frames_nearest_to_the_reference() -> None:
    top = np.arange(10), np.arange(10) / 10
    front = np.arange(30), np.arange(30) / 30 + 0.004
    dropped: Counter = Counter()
    back = align_by_time(
        seen({"top": list(range(10)), "front": list(range(30))}), {"top": top, "front": front}, 10, dropped
    )
    assert numbers(back, "front") == {3 * k: k for k in range(10)}
    assert sum(dropped.values()) == 20


def test_dropped_frames_of_the_reference_do_not_shift_the_others() -> None:
    kept = np.array([0, 1, 2, 6, 7, 8])
    clocks = {"top": (kept, kept / 50), "front": (np.arange(9) + 1000, np.arange(9) / 50)}
    back = align_by_time(seen({"top": kept.tolist(), "front": list(range(1000, 1009))}), clocks, 50, Counter())
    assert numbers(back, "front") == {1000 + k: k for k in range(9)}


def test_a_camera_without_a_clock_counts_frames_at_the_frame_rate() -> None:
    front = np.arange(5), np.array([0.0, 0.1, 0.2, 0.5, 0.6])
    back = align_by_time(seen({"top": [0, 5], "front": [0, 1, 2, 3, 4]}), {"front": front}, 10, Counter())
    assert numbers(back, "top") == {0: 0, 5: 5}
    assert numbers(back, "front") == {0: 0, 1: 1, 2: 2, 3: 5, 4: 6}


def test_a_frame_without_a_time_is_dropped_and_counted() -> None:
    dropped: Counter = Counter()
    back = align_by_time(seen({"front": [1, 2, 3]}), {"front": (np.array([1, 3]), np.array([0.1, 0.3]))}, 10, dropped)
    assert numbers(back, "front") == {1: 1, 3: 3}
    assert dropped == {("front", "detections in frames without a timestamp"): 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("frame,t\n1,2\n", "needs columns frame, time"),
        ("frame,time\n", "is empty"),
        ("frame,time\n1,0.1\n2,0.1\n", "row 1: time does not ascend"),
        ("frame,time\n2,0.1\n1,0.2\n", "row 1: frame does not ascend"),
        ("frame,time\n1,nan\n2,0.2\n", "row 0: time does not ascend"),
        ("frame,time\n1,12:30\n", "not numbers"),
    ],
)
def test_bad_timestamps_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "ts.csv").write_text(text)
    with pytest.raises(InputError, match=says):
        read_timestamps(tmp_path / "ts.csv")


def test_numbered_cameras_of_truth_are_the_rigs_in_order(tmp_path: Path) -> None:
    path = tmp_path / "gt.csv"
    path.write_text("frame,id,x,y,z,u1,v1,u2,v2\n1,1,1,2,3,10,20,30,40\n")
    truth = import_truth(path, RIG)
    assert truth.cameras == ("top", "front")
    assert truth.u.tolist() == [[10, 30]]
    path.write_text("frame,id,x,y,z,u1,v1,u2,v2,u3,v3\n1,1,1,2,3,10,20,30,40,50,60\n")
    with pytest.raises(InputError, match="cameras 1, 2, 3; the calibration has top, front"):
        import_truth(path, RIG)


def test_dltdv_counts_v_from_the_bottom_and_frames_from_one(tmp_path: Path) -> None:
    (tmp_path / "xy.csv").write_text("pt1_cam1_X,pt1_cam1_Y,pt1_cam2_X,pt1_cam2_Y\n10,100,20,200\nNaN,NaN,30,480\n")
    back = read_detections(tmp_path / "xy.csv", RIG, box_size=4)
    assert back.frame.tolist() == [1, 1, 2]
    assert back.centroids.tolist() == [[10, 380], [20, 280], [30, 0]]
    (tmp_path / "xyz.csv").write_text("pt1_X,pt1_Y,pt1_Z,pt2_X,pt2_Y,pt2_Z\n1,2,3,NaN,NaN,NaN\n4,5,6,7,8,9\n")
    truth = import_truth(tmp_path / "xyz.csv", RIG)
    assert truth.frame.tolist() == [1, 2, 2]
    assert truth.identity.tolist() == [1, 1, 2]
    assert truth.position.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


@needs_data
def test_bats_reproject_as_published() -> None:
    folder = Path(str(DATA)) / "bats"
    with pytest.warns(UserWarning, match="from the bottom"):
        rig = read_calibration(folder / "dlt_coefficients.csv", size=(640, 512))
    truth = import_truth(next(folder.glob("*xyzpts.csv")), rig)
    back = read_detections(next(folder.glob("*xypts.csv")), rig, box_size=10)
    table = np.genfromtxt(next(folder.glob("*xypts.csv")), delimiter=",", skip_header=1)
    pixels = table.reshape(len(table), -1, 3, 2) * [1, -1] + [0, 512]  # frame, animal, camera, row from the top
    assert len(back) == np.isfinite(pixels).all(-1).sum()
    for camera, published in enumerate((1.3, 1.7, 2.3)):
        of_camera = pixels[:, :, camera][np.isfinite(pixels[:, :, camera]).all(-1)]
        assert sorted(map(tuple, of_camera.tolist())) == sorted(
            map(tuple, back.centroids[back.camera == camera].tolist())
        )
        marked = pixels[truth.frame - 1, truth.identity - 1, camera]
        error = np.hypot(*(rig[camera].project(truth.position) - marked).T)
        assert np.nanmedian(error) == pytest.approx(published, abs=0.1)


@needs_data
@pytest.mark.parametrize(
    ("sequence", "top", "front"), [("01", 2.9, 4.9), ("02", 3.3, 5.4), ("03", 2.3, 3.7), ("04", 2.7, 3.7)]
)
def test_zebrafish_truth_reprojects_as_published(sequence: str, top: float, front: float) -> None:
    folder = Path(str(DATA)) / "zef" / sequence
    rig = read_calibration(folder / "cameras.json")
    truth = import_truth(folder / "ground_truth_head.csv", rig)
    assert truth.cameras == rig.names == ("top", "front")
    for camera, published in enumerate((top, front)):
        error = rig[camera].project(truth.position) - np.column_stack([truth.u[:, camera], truth.v[:, camera]])
        assert np.nanmean(np.hypot(*error.T)) == pytest.approx(published, abs=0.1)
