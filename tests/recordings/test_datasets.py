"""Recordings as datasets of other trackers, and back."""

import configparser
import json

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings.exporters.datasets import export_dataset
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

cv2 = pytest.importorskip("cv2")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    scene = benchmark_scenes(["train1"])[0].model_copy(update={"frames": 12})
    folder = tmp_path_factory.mktemp("rec") / "school"
    made, _ = write_scene(scene, folder)
    (folder / "videos").mkdir()
    (folder / "videos" / "cam0.mp4").write_bytes(b"a film")
    return made


def test_the_truth_of_motchallenge_comes_back_as_tracks(recording, tmp_path):
    notes = export_dataset(recording, tmp_path / "mot", "motchallenge")
    assert [n for n in notes if "cam0" in n] == []
    assert len([n for n in notes if "no film" in n]) == 2
    assert (tmp_path / "mot" / "cam0" / "film.mp4").read_bytes() == b"a film"
    facts = configparser.ConfigParser()
    facts.read(tmp_path / "mot" / "cam1" / "seqinfo.ini")
    assert (facts["Sequence"]["seqLength"], facts["Sequence"]["imWidth"]) == ("12", "1920")
    back = tmp_path / "back"
    back.mkdir()
    for name in recording.rig.names:
        (back / f"{name}.txt").write_text((tmp_path / "mot" / name / "gt" / "gt.txt").read_text())
    tracks = make_method("external", {"folder": back, "frame_offset": -1}).track(recording.rig, recording.detections)
    truth, found = recording.truth, tracks.tracks
    scores = evaluate(truth.frame, truth.identity, truth.position, found.frame, found.track, found.position, 1.0)
    assert scores.clear.mota > 0.95
    lines = (tmp_path / "mot" / "cam2" / "det" / "det.txt").read_text().splitlines()
    assert len(lines) == (recording.detections.camera == 2).sum()


def test_opencv_reads_the_calibration_of_wildtrack(recording, tmp_path):
    export_dataset(recording, tmp_path / "wild", "wildtrack")
    for c, camera in enumerate(recording.rig):
        where = tmp_path / "wild" / "calibrations"
        intrinsic = cv2.FileStorage(str(where / "intrinsic_zero" / f"intr_CVLab{c + 1}.xml"), cv2.FILE_STORAGE_READ)
        extrinsic = cv2.FileStorage(str(where / "extrinsic" / f"extr_CVLab{c + 1}.xml"), cv2.FILE_STORAGE_READ)
        K, rotation = intrinsic.getNode("camera_matrix").mat(), cv2.Rodrigues(extrinsic.getNode("rvec").mat())[0]
        point = recording.truth.position[:1]
        seen = K @ (rotation @ point[0] + extrinsic.getNode("tvec").mat().ravel())
        assert seen[:2] / seen[2] == pytest.approx(camera.project(point)[0], abs=1e-6)
    people = json.loads((tmp_path / "wild" / "annotations_positions" / "00000003.json").read_text())
    assert sorted(p["personID"] for p in people) == [0, 1, 2, 3]
    first = recording.truth.frame == 3
    box = next(p for p in people if p["personID"] == 2)["views"][1]
    row = np.flatnonzero(first & (recording.truth.identity == 2))[0]
    assert box["xmin"] == round(float(recording.truth.x1[row, 1]))


def test_a_folder_that_is_there_is_not_written_to(recording, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(InputError, match="new folder"):
        export_dataset(recording, tmp_path / "mine", "wildtrack")
    with pytest.raises(InputError, match="unknown dataset"):
        export_dataset(recording, tmp_path / "other", "coco")
