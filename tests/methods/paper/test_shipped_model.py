"""The model that comes with the package tracks a dense school it has never seen."""

import pytest

pytest.importorskip("torch")

from trackfish3d.evaluation import evaluate
from trackfish3d.methods.baselines.geometric import GeometricSettings, Hungarian
from trackfish3d.methods.paper.checkpoint import load_model, model_notes, shipped_model
from trackfish3d.methods.paper.method import Paper
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene


def test_the_shipped_model_is_the_published_network():
    net, cameras = load_model(shipped_model())
    assert cameras == 3
    assert sum(net.parameter_counts().values()) == 655_105
    assert shipped_model().stat().st_size < 3_000_000
    assert model_notes(shipped_model())["recipe"] == "fast"


def test_it_tracks_a_new_school_out_of_the_box(tmp_path):
    (scene,) = benchmark_scenes(["train8"])
    scene = scene.model_copy(update={"frames": 60})
    write_scene(scene, tmp_path / "school", seed_offset=77)
    recording = Recording.open(tmp_path / "school")
    tracks = Paper().track(recording.rig, recording.detections).tracks
    truth = recording.truth
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, 1.0)
    plain = Hungarian(GeometricSettings(contain=True)).track(recording.rig, recording.detections).tracks
    beside = evaluate(truth.frame, truth.identity, truth.position, plain.frame, plain.track, plain.position, 1.0)
    assert scores.clear.mota > 0.8
    assert scores.clear.mota > beside.clear.mota
