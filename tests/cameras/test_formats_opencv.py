"""OpenCV's files: what cv2.FileStorage writes is read, and what is written cv2.FileStorage reads."""

import cv2
import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.cameras.formats import CalibrationWarning, opencv, read_calibration, write_calibration
from trackfish3d.core.errors import InputError

from . import formats_samples as samples

RIG = samples.rig()
DRY = samples.rig(water=False)
PAIR = samples.camera_one_as_world(DRY)


def store(path, values, old_header=True):
    """Write by OpenCV itself; before version 5 the first line was ``%YAML:1.0``."""
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    _put(storage, values)
    storage.release()
    if path.suffix != ".json" and old_header:
        first, rest = path.read_text().split("\n", 1)
        assert first.startswith("%YAML")
        path.write_text("%YAML:1.0\n" + rest)


def _put(storage, values):
    for key, value in values.items():
        if isinstance(value, dict):
            storage.startWriteStruct(key, cv2.FileNode_MAP)
            _put(storage, value)
            storage.endWriteStruct()
        elif isinstance(value, list):
            storage.startWriteStruct(key, cv2.FileNode_SEQ)
            for item in value:
                storage.startWriteStruct("", cv2.FileNode_MAP)
                _put(storage, item)
                storage.endWriteStruct()
            storage.endWriteStruct()
        else:
            storage.write(key, value)


@pytest.mark.parametrize("suffix", [".yml", ".yaml", ".json"])
@pytest.mark.parametrize("old_header", [True, False])
def test_stereo_calibration_in_one_file(tmp_path, suffix, old_header):
    first, second = PAIR
    rectified = {"R1": np.eye(3), "R2": second.R.T, "P1": np.eye(3, 4), "P2": np.eye(3, 4), "Q": np.eye(4)}
    lenses = {"M1": first.K, "D1": first.distortion[None], "M2": second.K, "D2": second.distortion[None]}
    size = {"image_width": samples.SIZE[0], "image_height": samples.SIZE[1], "calibration_time": "Mon 01: 1"}
    store(tmp_path / f"s{suffix}", {**size, **lenses, "R": second.R, "T": second.t[:, None], **rectified}, old_header)
    rig = read_calibration(tmp_path / f"s{suffix}")
    assert rig.names == ("cam1", "cam2")
    assert rig[0].size == samples.SIZE
    for one, two in zip(rig, PAIR, strict=True):
        for a, b in ((one.K, two.K), (one.R, two.R), (one.t, two.t), (one.distortion, two.distortion)):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_intrinsics_and_extrinsics_in_two_files(tmp_path):
    first, second = PAIR
    store(tmp_path / "intrinsics.yml", {"M1": first.K, "D1": first.distortion, "M2": second.K, "D2": second.distortion})
    store(tmp_path / "extrinsics.yml", {"R": second.R, "T": second.t, "R1": np.eye(3), "Q": np.eye(4)})
    for path in (tmp_path, tmp_path / "intrinsics.yml"):
        with pytest.warns(CalibrationWarning, match="1280 x 960"):
            rig = read_calibration(path)
        np.testing.assert_allclose(rig["cam2"].t, second.t)
        np.testing.assert_allclose(rig["cam2"].R, second.R, atol=1e-12)
    (tmp_path / "extrinsics.yml").unlink()
    with pytest.raises(InputError, match="holds the lens but not where it stands"):
        read_calibration(tmp_path / "intrinsics.yml")


def test_poses_by_number_or_name(tmp_path):
    rig = samples.rig(12, water=False)
    lenses, poses = {}, {}
    for i, c in enumerate(rig):
        lenses |= {f"K_{i:02d}": c.K, f"dist_{i:02d}": c.distortion}
        poses |= {f"R_{i:02d}": cv2.Rodrigues(c.R)[0], f"Rot_{i:02d}": c.R, f"T_{i:02d}": c.t}
    store(tmp_path / "intri.yml", {"K_side": DRY[0].K, **lenses})
    store(tmp_path / "extri.yml", {"R_side": cv2.Rodrigues(DRY[0].R)[0], "T_side": DRY[0].t, **poses})
    back = read_calibration(tmp_path, size=samples.SIZE)
    assert back.names == (*(f"cam{i:02d}" for i in range(12)), "side")
    samples.same_view(rig, back.select(back.names[:12]))


@pytest.mark.parametrize("suffix", [".yml", ".json"])
def test_nested_cameras(tmp_path, suffix):
    def entry(c, **more):
        return {
            "camera_matrix": c.K,
            "distortion_coefficients": c.distortion,
            "rvec": cv2.Rodrigues(c.R)[0],
            "tvec": c.t,
        } | more

    size = {"image_width": 1280, "image_height": 960}
    store(tmp_path / f"list{suffix}", {"cameras": [entry(c, name=c.name, **size) for c in DRY]})
    store(tmp_path / f"map{suffix}", {"left": entry(DRY[0], **size), "right": entry(DRY[1], **size)})
    samples.same_view(DRY, read_calibration(tmp_path / f"list{suffix}"))
    assert read_calibration(tmp_path / f"list{suffix}").names == DRY.names
    samples.same_view(DRY, read_calibration(tmp_path / f"map{suffix}"))
    assert read_calibration(tmp_path / f"map{suffix}").names == ("left", "right")


def test_one_file_per_camera(tmp_path):
    rig = samples.rig(11, water=False)
    for i, c in enumerate(rig):
        values = {
            "cameraMatrix": c.K,
            "distCoeffs": c.distortion,
            "R": c.R,
            "t": c.t,
            "imageSize": np.array([samples.SIZE]),
        }
        store(tmp_path / f"cam{i}.yml", values)
    back = read_calibration(tmp_path)
    assert back.names == tuple(f"cam{i}" for i in range(11))
    samples.same_view(rig, back)


def test_plain_yaml_with_equidistant_model(tmp_path):
    text = """image_width: 640
image_height: 480
camera_name: head
camera_matrix: {rows: 3, cols: 3, data: [400, 0, 320, 0, 400, 240, 0, 0, 1]}
distortion_model: equidistant
distortion_coefficients: {rows: 1, cols: 4, data: [1e-05, 0.0, 1e-3, 0.0]}
R: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
T: [0, 0, 5]
"""
    (tmp_path / "c.yaml").write_text(text)
    camera = read_calibration(tmp_path / "c.yaml")["head"]
    assert camera.fisheye
    np.testing.assert_allclose(camera.distortion, [1e-5, 0, 1e-3, 0])


@pytest.mark.parametrize("suffix", [".yml", ".json"])
def test_opencv_reads_what_is_written(tmp_path, suffix):
    c = RIG[0]
    fisheye = Camera("fish {1}, #2 - [x] 'y'", c.size, c.K, [1e-5, 1e-20, -3e-10, 0.5], c.R, c.t, True)
    rig = CameraRig((*RIG, fisheye), "cm")
    write_calibration(rig, tmp_path / f"rig{suffix}", "opencv")
    storage = cv2.FileStorage(str(tmp_path / f"rig{suffix}"), cv2.FILE_STORAGE_READ)
    assert storage.getNode("units").string() == "cm"
    cameras = storage.getNode("cameras")
    assert cameras.size() == 3
    for i, camera in enumerate(rig):
        node = cameras.at(i)
        assert node.getNode("name").string() == camera.name
        assert int(node.getNode("image_width").real()) == camera.size[0]
        assert int(node.getNode("fisheye").real()) == camera.fisheye
        for key, value in (
            ("camera_matrix", camera.K),
            ("R", camera.R),
            ("T", camera.t),
            ("distortion_coefficients", camera.distortion),
        ):
            np.testing.assert_array_equal(node.getNode(key).mat().ravel(), value.ravel())
        assert node.getNode("interfaces").size() == len(camera.interfaces)


def test_bad_layouts_say_what_is_missing(tmp_path):
    first, second = PAIR
    cases = [
        ({"image_width": 5}, "holds no camera"),
        ({"M1": first.K, "M2": second.K, "R1": np.eye(3), "P1": np.eye(3, 4)}, "not R and T from camera 1"),
        ({"M1": first.K, "R": second.R, "T": second.t}, "one R and T, but 1 cameras"),
        ({"K": first.K, "R": first.R * 2, "T": first.t}, "R is not a rotation"),
        ({"K": first.K * 0, "R": first.R, "T": first.t}, "K is singular"),
        ({"K": first.K * np.nan, "R": first.R, "T": first.t}, "not finite"),
        ({"K": first.K, "D": np.zeros(7), "R": first.R, "T": first.t}, "7 distortion coefficients"),
    ]
    for values, match in cases:
        store(tmp_path / "c.yml", values)
        with pytest.raises(InputError, match=match):
            opencv.read(tmp_path / "c.yml", size=samples.SIZE)


def test_yaml_that_unfolds_without_end_is_refused(tmp_path):
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 20)]
    (tmp_path / "bomb.yml").write_text("%YAML:1.0\n---\n" + "\n".join(lines) + "\nK: *a19\n")
    with pytest.raises(InputError, match="aliases"):
        read_calibration(tmp_path / "bomb.yml")
