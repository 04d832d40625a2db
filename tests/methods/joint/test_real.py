"""Animals that nobody simulated: those that come and go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trackfish3d.evaluation import evaluate
from trackfish3d.methods.joint.method import Joint
from trackfish3d.recordings import Recording

DATA = os.environ.get("TRACKFISH3D_DATA")


@pytest.mark.skipif(not DATA, reason="needs real recordings, TRACKFISH3D_DATA")
def test_bats_that_come_and_go_are_not_joined(tmp_path):
    source = Path(str(DATA)) / "bats"
    (points,), (space,) = source.glob("*xypts.csv"), source.glob("*xyzpts.csv")
    command = ["import", "--cameras", source / "dlt_coefficients.csv", "--detections", points, "--truth", space]
    command += ["--size", "640x512", "--units", "m", "--fps", "100", "--out", tmp_path / "bats"]
    subprocess.run([sys.executable, "-m", "trackfish3d", *map(str, command)], check=True, capture_output=True)
    recording = Recording.open(tmp_path / "bats")
    result = Joint().track(recording.rig, recording.detections)
    truth, tracks = recording.truth, result.tracks
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, 0.5)
    assert scores.to_dict()["idf1"] > 0.95
    assert any("come and go" in note for note in result.notes)
