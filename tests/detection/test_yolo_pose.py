"""The yolo-pose detector: known parts through ultralytics, into the recording, and to the names they are called by."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cameras import CameraRig
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video
from trackfish3d.recordings import Recording
from trackfish3d.synfish.rigs import random_rig

from .tiny_networks import ellipse_pictures, ellipse_video, quiet_ultralytics, yolo_weights
from .worlds import encode

pytest.importorskip("ultralytics")
PARTS = ((0.5, -0.25, 2.0), (-1.0, 0.75, 1.0), (0.0, 0.0, -6.0))  # cells from the middle, logit of being seen


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("yolo_pose")
    quiet_ultralytics(folder)
    return yolo_weights(folder, "yolo26n-pose", distance=1.0, parts=PARTS)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    return Video.open(ellipse_video(tmp_path_factory.mktemp("film"), 1))


def test_parts_lie_where_the_network_puts_them(weights: Path, video: Video) -> None:
    detector = make_detector("yolo-pose", {"weights": str(weights), "size": "160", "max_overlap": "0.9"})
    detector.prepare(video)
    assert detector.describe()["parts"] == ["part_0", "part_1", "part_2"]
    seen = detector.see(next(iter(video.read())))
    c = seen.columns
    whole = (c["x1"] > 0) & (c["x2"] < 159) & (c["y1"] > 0) & (c["y2"] < 95)  # others are cut, so their middle is not
    assert whole.sum() > 5
    assert seen.parts is not None
    cell = (c["x2"] - c["x1"])[whole] / 2
    for k, (right, down, logit) in enumerate(PARTS[:2]):
        known = np.isfinite(seen.parts[whole, k, 0])
        assert known.mean() > 0.5
        assert (seen.parts[whole, k, 0] - c["u"][whole])[known] == pytest.approx(right * cell[known], abs=1e-2)
        assert (seen.parts[whole, k, 1] - c["v"][whole])[known] == pytest.approx(down * cell[known], abs=1e-2)
        assert seen.parts[whole, k, 2][known] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-3)
    assert not np.isfinite(seen.parts[:, 2]).any(), "a part of a score below min_part_score is unseen"


def test_parts_reach_the_recording(weights: Path, tmp_path: Path) -> None:
    rig = CameraRig(tuple(replace(camera, size=(160, 96)) for camera in random_rig(2, 1)))
    for camera in rig:
        encode(tmp_path / "rec" / "videos" / f"{camera.name}.mp4", ellipse_pictures(3))
    Recording.create(tmp_path / "rec", rig, frames=(0, 3))
    given = ["--weights", str(weights), "--set", "parts=snout,left_eye,tail", "--set", "size=160"]
    with pytest.raises(SystemExit) as end:
        main(["detect", str(tmp_path / "rec"), "-d", "yolo-pose", *given, "--workers", "1"])
    assert end.value.code == 0
    found = Recording.open(tmp_path / "rec").detections
    assert found.skeleton is not None
    assert found.skeleton.parts == ("snout", "left_eye", "tail")
    assert found.parts is not None
    assert np.isfinite(found.parts[:, 0, 0]).mean() > 0.5
    assert set(found.frame.tolist()) == {0, 1, 2}
    detector = make_detector("yolo-pose", {"weights": str(weights), "size": "160"})
    detector.prepare(Video.open(tmp_path / "rec" / "videos" / f"{rig.names[0]}.mp4"))


def test_wrong_names_and_wrong_models_are_told(weights: Path, video: Video) -> None:
    with pytest.raises(InputError, match=r"--set parts: names 2 parts, .* has 3"):
        make_detector("yolo-pose", {"weights": str(weights), "parts": "a,b"}).prepare(video)
    with pytest.raises(InputError, match="'a' is there twice"):
        make_detector("yolo-pose", {"weights": str(weights), "parts": "a,b,a"}).prepare(video)
    with pytest.raises(InputError, match=r"to pose, not to detect or segment; --detector yolo-pose takes it"):
        make_detector("yolo", {"weights": str(weights)}).prepare(video)
    plain = yolo_weights(weights.parent, "yolo26n", distance=1.0)
    with pytest.raises(InputError, match=r"to detect, not to pose"):
        make_detector("yolo-pose", {"weights": str(plain)}).prepare(video)
