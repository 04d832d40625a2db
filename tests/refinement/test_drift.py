"""Cameras that are moved during a recording."""

import json
from datetime import datetime

import numpy as np
import pytest

import trackfish3d as tf
from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.recordings import Detections, Recording
from trackfish3d.refinement import Part, tell_parts
from trackfish3d.synfish.rigs import paper_rig

from .moving import off_by
from .test_command import points_of, run

MOVED = 830


def knocked(rig, c, by, seed):
    """The rig with one camera elsewhere."""
    new = perturb_rig(rig, by, seed)
    return CameraRig(tuple(new[k] if k == c else camera for k, camera in enumerate(rig)), rig.units)


def filmed(before, after, frames=1450, moved=MOVED):
    a, b = points_of(before, 0, 5, frames), points_of(after, 0, 5, frames)
    return Detections.concat([a.select(np.flatnonzero(a.frame < moved)), b.select(np.flatnonzero(b.frame >= moved))])


# 40 px: the tracker drops the camera; 5 px: it does not
@pytest.mark.parametrize(("by", "within"), [(0.5, 3), (0.06, 12)])
def test_a_knocked_camera_is_named_and_the_moment_found(tmp_path, capsys, by, within):
    rig = paper_rig(5)
    new = knocked(rig, 1, by, 3)
    rec = Recording.create(tmp_path / "rec", rig, fps=30.0, detections=filmed(rig, new))
    out = tmp_path / "cameras.toml"
    assert run("refine", rec.folder, "--out", out, "--window", 500, "--started", "2026-05-01T22:00:00") == 0
    said = capsys.readouterr().out
    assert "camera cam1 moved at frame" in said
    assert "2026-05-01 22:00:2" in said
    first, second = json.loads((tmp_path / "cameras.parts.json").read_text())
    assert second["moved"] == ["cam1"]
    assert abs(second["first"] - MOVED) <= within
    assert first["last"] == second["first"] - 1
    assert off_by(tf.read_calibration(tmp_path / second["calibration"]), new)[0] < 0.03
    assert not out.exists()


def test_nothing_moved_is_said(tmp_path, capsys):
    rig = paper_rig(5)
    rec = Recording.create(tmp_path / "rec", rig, detections=points_of(rig, 2, 5, 900))
    new = tmp_path / "n"
    assert run("refine", rec.folder, "--out", tmp_path / "c.toml", "--window", 400, "--new-recording", new) == 0
    assert "nothing was moved" in capsys.readouterr().out
    assert len(Recording.open(new / "part1").detections) == len(rec.detections)


def test_the_hour_is_told_by_frames_and_rate():
    rig = paper_rig(5)
    parts = [Part(10, 5999, rig), Part(6010, 9000, rig, ("water",), 2.2, (0.1, 3.0, 0.2), 1.5, 0.5)]
    assert (
        "the water moved at frame 6010 +- 2, 0:10:00 after the beginning: animals 3.0 px" in tell_parts(parts, 10.0)[0]
    )
    assert "2026-01-02 00:05:00" in tell_parts(parts, 10.0, datetime(2026, 1, 1, 23, 55))[0]
    assert "0:10" not in tell_parts(parts, None)[0]
