"""Detectors with weights through the whole command: every camera in a process of its own, boxes and masks on disk."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cameras import CameraRig
from trackfish3d.cli.app import main
from trackfish3d.detection.pipeline import detect
from trackfish3d.detection.registry import make_detector
from trackfish3d.recordings import Recording
from trackfish3d.synfish.rigs import random_rig

from .test_onnx import ANIMALS, SCORES, answer, prototype_of, save_graph
from .tiny_networks import ellipse_pictures, quiet_ultralytics, yolo_weights
from .worlds import encode


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    rig = CameraRig(tuple(replace(camera, size=(160, 96)) for camera in random_rig(2, 1)))
    for camera in rig:
        encode(tmp_path / "rec" / "videos" / f"{camera.name}.mp4", ellipse_pictures(5))
    return Recording.create(tmp_path / "rec", rig, frames=(0, 5))


def test_boxes_of_a_network_reach_the_recording(recording: Recording, tmp_path: Path) -> None:
    weights = save_graph(tmp_path / "net.onnx", answer("end2end"))
    with pytest.raises(SystemExit) as end:
        main(["detect", str(recording.folder), "-d", "onnx", "--set", f"weights={weights}", "--workers", "1"])
    assert end.value.code == 0
    found = Recording.open(recording.folder).detections
    assert len(found) == 2 * 5 * 2
    assert not found.has_moments
    assert found.boxes[:2] == pytest.approx(ANIMALS - 0.5, abs=1e-3)
    assert found.score[:2] == pytest.approx(SCORES, abs=1e-6)
    said = json.loads((recording.folder / "detections.settings.json").read_text())
    assert said["detector"] == "onnx"
    assert said["learnt"][recording.rig.names[0]]["layout"] == "end2end"
    assert (recording.folder / "preview" / f"{recording.rig.names[0]}.png").is_file()


def test_masks_of_a_network_reach_the_recording(recording: Recording, tmp_path: Path) -> None:
    name, table = next(iter(answer("end2end").items()))
    weights = np.zeros((1, table.shape[1], 2), np.float32)
    weights[0, 0, 0] = weights[0, 1, 1] = 10
    prototypes = np.stack([prototype_of(24.5, 24.5, 14, 4), prototype_of(109.5, 69.5, 9, 19)])[None]
    path = save_graph(tmp_path / "net.onnx", {name: np.concatenate([table, weights], axis=2), "output1": prototypes})
    report = detect(recording, make_detector("onnx", {"weights": str(path)}), workers=1, previews=False)
    assert report.detections == 2 * 5 * 2
    found = Recording.open(recording.folder).detections
    assert found.has_moments
    assert found.angle is not None
    assert np.abs(found.angle[:2]) == pytest.approx([0, np.pi / 2], abs=0.05)


def test_a_mistake_keeps_the_old_tracks(recording: Recording, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("detections.parquet", "tracks.csv"):
        (recording.folder / name).write_text("kept")
    arguments = ["detect", str(recording.folder), "-d", "onnx", "--overwrite"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--set", "weights=none.onnx"])
    assert end.value.code == 2
    assert "none.onnx: no such file" in capsys.readouterr().err
    assert (recording.folder / "tracks.csv").read_text() == "kept"


@pytest.mark.slow
def test_processes_of_their_own_load_yolo(recording: Recording, tmp_path: Path) -> None:
    """A started process has to make torchvision importable by itself."""
    pytest.importorskip("torch")
    quiet_ultralytics(tmp_path)
    pytest.importorskip("ultralytics")
    weights = yolo_weights(tmp_path, "yolo26n-seg")
    report = detect(
        recording, make_detector("yolo", {"weights": str(weights), "size": "160", "min_score": "0.05"}), workers=2
    )
    assert report.detections > 10
    assert {c.name for c in report.cameras} == set(recording.rig.names)
    assert Recording.open(recording.folder).detections.has_moments
