"""What training sees of a recording: labels that views agree on, and crowds."""

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.methods.paper.test_training import school
from trackfish3d.core.errors import InputError
from trackfish3d.methods.paper.labels import pseudo_labels
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.recordings import Detections


def test_a_crowd_is_the_recording_at_several_times(tmp_path):
    recording = school(tmp_path / "rec", frames=60, fish=2)
    scene = TrainingScene.of("rec", recording.rig, recording.detections)
    crowd = scene.crowded(3, np.random.default_rng(0))
    assert len(crowd.detections.frames) >= 0.7 * 60
    np.testing.assert_array_equal(np.diff(crowd.detections.offsets), 3 * 6)
    keep = np.ones((1, 18), bool)
    label = crowd.dense_labels(np.array([5]), keep)[0][0]
    assert (label == 1).sum() >= 3 * 2 * 6  # two animals at three times, six ordered pairs each
    pixels, box = crowd.detections.centroids, crowd.detections.boxes
    np.testing.assert_allclose(0.5 * (box[:, :2] + box[:, 2:]), pixels)
    rows = crowd.detections.at(5)
    fresh = pseudo_labels(recording.rig, crowd.detections.camera[rows], pixels[rows], box[rows])[0]
    assert (fresh[label == 1] == 1).all()  # labels moved with their detections
    copies = np.array([np.flatnonzero((scene.detections.centroids == p).all(1))[0] for p in pixels[rows]])
    time = scene.detections.frame[copies]
    assert len(np.unique(time)) == 3
    assert (label[np.not_equal.outer(time, time) & (label >= 0)] == 0).all()
    np.testing.assert_array_equal(crowd.raw[rows], scene.raw[copies])


def test_undecided_pairs_have_no_label_and_no_agreement_is_refused(tmp_path):
    recording = school(tmp_path / "rec", fish=1)
    det = recording.detections
    scene = TrainingScene.of("rec", recording.rig, det).agreed()
    frames, keep = np.array([3]), np.ones((1, 3), bool)
    np.testing.assert_array_equal(scene.dense_labels(frames, keep)[0][0], 1 - 2 * np.eye(3))
    astray = np.where(det.camera == 2, 400.0, 0.0)  # the third camera points elsewhere
    columns = [x + astray for x in (det.u, det.v, det.x1, det.y1, det.x2, det.y2)]
    moved = TrainingScene.of(
        "rec", recording.rig, Detections.build(recording.rig.names, det.frame, det.camera, *columns)
    )
    assert (moved.labels.agreed(moved.detections).confidence < 0).all()
    with pytest.raises(InputError, match="no three views agree"):
        moved.agreed()
