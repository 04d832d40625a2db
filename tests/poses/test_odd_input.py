"""Poses of odd input: instances given twice, no skeleton, parts that do not exist, parts of other names in a camera."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.methods.registry import make_method
from trackfish3d.pipeline.tracking import track
from trackfish3d.poses import reconstruct_poses
from trackfish3d.recordings import Detections, Poses, Recording, Skeleton

from .schools import LENGTH, Made, school


def solved(made: Made, found: Detections) -> Poses:
    return reconstruct_poses(made.rig, found, make_method("joint").track(made.rig, found, 30.0).tracks)


def near(poses: Poses, truth: Poses) -> float:
    """Share of true parts with that part of a pose within 5 % of a body."""
    hits = []
    for n, frame in enumerate(truth.frame):
        here = poses.position[poses.frame == frame]
        far = (
            np.linalg.norm(here - truth.position[n], axis=-1) if len(here) else np.full((1, truth.position.shape[1]), 9)
        )
        hits.append((far < 0.05 * LENGTH).any(0))
    return float(np.mean(hits))


def test_instances_given_twice_are_one_animal() -> None:
    made = school(fish=3, frames=40)
    every = np.sort(np.concatenate([np.arange(len(made.detections)), np.arange(0, len(made.detections), 5)]))
    doubled = made.detections.select(every)
    poses = solved(made, doubled)
    assert len(np.unique(poses.track)) == 3
    assert near(poses, made.truth) > 0.95


def test_parts_without_a_skeleton_hang_together_by_themselves() -> None:
    made = school(fish=3, frames=40)
    skeleton = made.detections.skeleton
    assert skeleton is not None
    bare = replace(made.detections, skeleton=Skeleton(skeleton.parts, (), ()))
    assert near(solved(made, bare), made.truth) > 0.95


def test_a_single_part_and_parts_that_nobody_saw() -> None:
    made = school(fish=2, frames=30)
    found = made.detections
    assert found.parts is not None
    one = replace(found, parts=found.parts[:, 3:4], skeleton=Skeleton(("centre",)))
    assert near(solved(made, one), replace(made.truth, position=made.truth.position[:, 3:4])) > 0.9
    parts = found.parts.copy()
    parts[:, 5] = np.nan
    poses = solved(made, replace(found, parts=parts))
    assert not poses.observed[:, 5].any()
    assert (
        near(replace(poses, position=poses.position[:, :5]), replace(made.truth, position=made.truth.position[:, :5]))
        > 0.95
    )


def kept(made: Made, folder: Path) -> Recording:
    recording = Recording.create(folder, made.rig, frames=(0, 30), fps=30.0)
    recording.write_detections(iter([made.detections]))
    return Recording.open(folder)


def test_wrong_names_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = kept(school(fish=2, frames=30), tmp_path / "rec")
    with pytest.raises(InputError, match="no body part is called 'fin'; there are snout, left_eye"):
        track(recording, point="fin")
    track(recording).save(recording)
    with pytest.raises(SystemExit) as end:
        main(["analyse", str(tmp_path / "rec"), "--set", "midline=snout,fin"])
    assert end.value.code == 2
    assert "no body part is called 'fin'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["analyse", str(tmp_path / "rec"), "--set", "angles=snout-centre-tail_tip"])
    assert end.value.code == 0
    made = {p.name for p in (tmp_path / "rec" / "behaviour").iterdir()}
    assert {"postures.parquet", "tail_beats.parquet", "postures.png"} <= made
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "rec")])
    assert end.value.code == 0
    assert '"edges":[[0,1],[0,2],[0,3],[3,4],[4,5]]' in (tmp_path / "rec" / "report.html").read_text()
