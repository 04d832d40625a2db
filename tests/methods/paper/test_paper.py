"""Method ``paper`` on recordings a user may bring, good and bad."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.methods.worlds import pinhole_world, tank_world  # noqa: E402
from trackfish3d.cli.app import main  # noqa: E402
from trackfish3d.core.errors import InputError  # noqa: E402
from trackfish3d.evaluation import evaluate  # noqa: E402
from trackfish3d.methods.paper.checkpoint import save_model, shipped_model  # noqa: E402
from trackfish3d.methods.paper.inference import group_frames  # noqa: E402
from trackfish3d.methods.paper.method import link_groups  # noqa: E402
from trackfish3d.methods.paper.network import TrackFishNet  # noqa: E402
from trackfish3d.methods.paper.settings import GroupingSettings, ModelSettings  # noqa: E402
from trackfish3d.methods.paper.tracker import TrackerSettings  # noqa: E402
from trackfish3d.methods.postprocess import postprocess  # noqa: E402
from trackfish3d.recordings import Detections, Recording  # noqa: E402

from .networks import SeeingNet, named  # noqa: E402


def call(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    return stop.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recording of three cameras, and a network for three: untrained, so that it says little."""
    folder = tmp_path_factory.mktemp("paper")
    rig, detections, truth = pinhole_world(fish=4, frames=12)
    Recording.create(folder / "rec", rig, detections=detections, truth=truth)
    torch.manual_seed(0)
    save_model(TrackFishNet(), folder / "three.safetensors", 3)
    return folder


def track(net, rig, detections):
    groups = group_frames(net, rig, detections, GroupingSettings())
    return postprocess(link_groups(net, groups, detections, rig, TrackerSettings()))


def mota(truth, tracks):
    found = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, 1.0)
    return found.clear.mota


@pytest.mark.parametrize("world", [pinhole_world, tank_world])
def test_a_network_that_knows_gives_the_animals(world):
    rig, detections, truth = world(fish=4, frames=30)
    tracks = track(SeeingNet(), rig, named(detections, truth))
    assert mota(truth, tracks) > 0.99
    assert (tracks.detection >= 0).sum() == tracks.views.sum()
    assert np.nanmax(tracks.error_px) < 5


def test_frames_without_detections_are_bridged():
    rig, detections, truth = pinhole_world(fish=4, frames=40)
    detections = named(detections, truth)
    tracks = track(SeeingNet(), rig, detections.select((detections.frame < 15) | (detections.frame > 19)))
    assert len(tracks.identities) == 4
    assert mota(truth, tracks) > 0.99
    assert not tracks.observed[(tracks.frame >= 15) & (tracks.frame <= 19)].any()


def test_a_dark_camera_leaves_two_and_one_leaves_nothing():
    rig, detections, truth = pinhole_world(fish=4, frames=20)
    detections = named(detections, truth)
    assert mota(truth, track(SeeingNet(), rig, detections.select(detections.camera != 0))) > 0.99
    assert len(track(SeeingNet(), rig, detections.select(detections.camera == 0))) == 0


def test_the_order_of_frames_in_batches_leaves_no_trace():
    """Frames go through the network by size; groups come out by frame, with their own members and vectors."""
    rig, detections, truth = pinhole_world(fish=6, frames=30, drop=0.3)
    detections = named(detections, truth)
    groups = group_frames(SeeingNet(), rig, detections, GroupingSettings())
    assert (np.diff(groups.frame) >= 0).all()
    owner = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
    np.testing.assert_array_equal(detections.frame[groups.members], groups.frame[owner])
    whom = np.round(100 * detections.score[groups.members]).astype(int)
    np.testing.assert_array_equal(groups.embedding.argmax(1)[owner], whom)
    np.testing.assert_allclose(np.linalg.norm(groups.embedding, axis=1), 1.0, rtol=1e-6)


def test_track_takes_a_model_and_writes_what_it_used(folder, tmp_path, capsys):
    model, out = folder / "three.safetensors", tmp_path / "t.csv"
    arguments = ("--method", "paper", "--out", out, "--set", "tracker.link.max_distance=0.7")
    assert call("track", folder / "rec", *arguments, "--model", model) == 0
    assert "tracker.link.max_distance 0.7" in capsys.readouterr().out
    kept = json.loads((tmp_path / "t.settings.json").read_text())
    assert kept["method"] == "paper"
    assert kept["settings"]["tracker"]["link"]["max_distance"] == 0.7
    assert kept["settings"]["tracker"]["merge_distance"] == 2.0
    assert kept["settings"]["model"] == str(model)
    assert call("track", folder / "rec", *arguments, "--set", f"model={model}") == 0


def test_mistakes_are_one_line(folder, tmp_path, capsys):
    rig, detections, _ = tank_world(fish=3, frames=5)
    Recording.create(tmp_path / "two", rig, detections=detections)
    d = Recording.open(folder / "rec").detections
    points = replace(d, x1=d.u, x2=d.u, y1=d.v, y2=d.v)
    Recording.create(tmp_path / "points", Recording.open(folder / "rec").rig, detections=points)
    model = folder / "three.safetensors"
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(model.read_bytes()[:5000])
    other = tmp_path / "text.safetensors"
    other.write_text("no network at all")
    for arguments, message in (
        ((tmp_path / "two", "--method", "paper", "--model", model), "was trained for 3 cameras, the recording has 2"),
        ((tmp_path / "points", "--method", "paper", "--model", model), "method paper needs boxes"),
        ((folder / "rec", "--method", "paper", "--model", cut), "is not a complete trackfish3d model"),
        ((folder / "rec", "--method", "paper", "--model", other), "is not a complete trackfish3d model"),
        ((folder / "rec", "--method", "paper", "--model", tmp_path / "no"), "no such model"),
        ((folder / "rec", "--method", "sort3d", "--model", model), "--model: method sort3d has no network"),
        ((folder / "rec", "--method", "sort3d", "--learn"), "--learn: method sort3d has no network"),
        ((folder / "rec", "--method", "paper", "--set", "tracker.link.far=1"), "has no setting 'tracker.link.far'"),
        ((folder / "rec", "--method", "paper", "--set", "tracker.max_age=x"), "tracker.max_age: Input should be"),
        ((folder / "rec", "--method", "paper", "--model", model, "--set", "model=x"), "give one of them"),
        ((folder / "rec", "--method", "paper", "--model", model, "--set", "device=abacus"), "device 'abacus'"),
    ):
        assert call("track", *arguments, "--out", tmp_path / "t.csv") == 2
        said = " ".join(capsys.readouterr().err.split())
        assert message in said
        assert "Traceback" not in said
        assert not (tmp_path / "t.csv").exists()


def test_an_empty_recording_and_one_view_give_empty_tracks(folder, tmp_path, capsys):
    recording = Recording.open(folder / "rec")
    d = recording.detections
    Recording.create(tmp_path / "none", recording.rig, detections=Detections.empty(recording.rig.names))
    Recording.create(tmp_path / "one", recording.rig, detections=d.select(d.camera == 2))
    for name in ("none", "one"):
        assert call("track", tmp_path / name, "--method", "paper", "--model", folder / "three.safetensors") == 1
        said = capsys.readouterr()
        assert "nothing could be tracked: " in said.out
        assert "camera cam0 has no detections" in said.err


def test_learning_on_the_recording_goes_on_from_the_model(folder, tmp_path, capsys):
    model = folder / "three.safetensors"
    arguments = ("--method", "paper", "--model", model, "--set", "learn=1")
    for name in ("a.csv", "b.csv"):
        assert call("track", folder / "rec", *arguments, "--out", tmp_path / name) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert json.loads((tmp_path / "a.settings.json").read_text())["settings"]["learn"] == 1
    rig, detections, _ = tank_world(fish=3, frames=5)
    Recording.create(tmp_path / "two", rig, detections=detections)
    untrained = call("track", tmp_path / "two", "--method", "paper", "--set", "learn=1")  # no model of two cameras
    assert untrained in (0, 1)  # one epoch may find nothing
    assert call("track", tmp_path / "two", *arguments) == 2  # but one that is named must fit
    assert "was trained for 3 cameras" in capsys.readouterr().err


def test_features_beside_the_geometric_ones(folder, tmp_path, capsys):
    recording = Recording.open(folder / "rec")
    torch.manual_seed(0)
    save_model(TrackFishNet(ModelSettings(raw_features=11)), tmp_path / "eleven.safetensors", 3)
    np.savez(tmp_path / "two.npz", np.zeros((len(recording.detections), 2), np.float32))
    arguments = ("track", folder / "rec", "--method", "paper", "--out", tmp_path / "t.csv")
    eleven = ("--model", tmp_path / "eleven.safetensors")
    more = ("--set", f"features={tmp_path / 'two.npz'}")
    assert call(*arguments, *eleven, *more) in (0, 1)  # a network that was never trained may find nothing
    assert call(*arguments, *eleven) == 2
    assert "takes 2 features beside the geometric ones, 0 are given" in " ".join(capsys.readouterr().err.split())
    assert call(*arguments, "--model", folder / "three.safetensors", *more) == 2
    assert "takes 0 features beside the geometric ones, 2 are given" in " ".join(capsys.readouterr().err.split())
    assert call(*arguments, *eleven, *more, "--set", "learn=1") in (0, 1)
    assert call(*arguments, *eleven, "--set", "learn=1") == 2


def test_without_a_model_it_is_the_shipped_one(folder, tmp_path, capsys):
    arguments = ("track", folder / "rec", "--method", "paper", "--out", tmp_path / "t.csv")
    try:
        shipped = shipped_model()
    except InputError:
        assert call(*arguments) == 2
        assert "has no trained model" in capsys.readouterr().err
        return
    assert call(*arguments) == 0
    assert call(*arguments[:-1], tmp_path / "same.csv", "--model", shipped) == 0
    assert (tmp_path / "t.csv").read_bytes() == (tmp_path / "same.csv").read_bytes()


def test_without_pytorch_one_line_says_what_to_install(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "trackfish3d.methods.paper.checkpoint", None)  # as if its import of torch failed
    for more in (("--model", folder / "three.safetensors"), ("--learn",)):
        assert call("track", folder / "rec", "--method", "paper", *more) == 2
        assert "needs PyTorch: pip install 'trackfish3d[learn]'" in capsys.readouterr().err
