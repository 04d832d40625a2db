"""Training: learns, resumes exactly, never sees truth."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trackfish3d.association.checkpoint import load_model, save_model  # noqa: E402
from trackfish3d.association.model import TrackFishNet  # noqa: E402
from trackfish3d.cameras import Camera, CameraRig  # noqa: E402
from trackfish3d.errors import InputError  # noqa: E402
from trackfish3d.recordings import Detections, Recording, Truth  # noqa: E402
from trackfish3d.tracking.paper import Paper, PaperSettings  # noqa: E402
from trackfish3d.training.scenes import Scene  # noqa: E402
from trackfish3d.training.settings import TrainingSettings, fast_recipe  # noqa: E402
from trackfish3d.training.temporal import GroupTable, link_groups  # noqa: E402
from trackfish3d.training.trainer import Trainer  # noqa: E402

K = [[1500.0, 0, 960], [0, 1500, 540], [0, 0, 1]]
SMALL = {"model": {"width": 32, "hidden": 16, "layers": 1, "heads": 2, "feed_forward": 32}, "device": "cpu"}


def school(folder, n_cameras=3, frames=24, fish=4, seed=0):
    rng = np.random.default_rng(seed)
    cameras = []
    for i in range(n_cameras):
        angle = 2 * np.pi * i / n_cameras
        centre = np.array([20 * np.cos(angle), 20 * np.sin(angle), -20])
        z = -centre / np.linalg.norm(centre)
        x = np.cross([0, 0, 1.0], z)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        cameras.append(Camera(f"c{i}", (1920, 1080), K, [], R, -R @ centre))
    rig = CameraRig(tuple(cameras))
    path = rng.uniform(-4, 4, (1, fish, 3)) + np.cumsum(rng.normal(scale=0.05, size=(frames, fish, 3)), 0)
    points = path.reshape(-1, 3)
    pixels = np.stack([c.project(points) for c in rig])  # (C, F * fish, 2)
    frame = np.tile(np.repeat(np.arange(frames), fish), n_cameras)
    camera = np.repeat(np.arange(n_cameras), frames * fish)
    flat = pixels.reshape(-1, 2)
    detections = Detections.build(rig.names, frame, camera, *flat.T, *(flat - 15).T, *(flat + 15).T)
    truth = Truth.build(np.repeat(np.arange(frames), fish), np.tile(np.arange(fish), frames), points)
    return Recording.create(folder, rig, detections=detections, truth=truth)


def trained(tmp_path, name, scenes, **changes):
    settings = fast_recipe(**{"epochs": 4, "warmup_epochs": 1, "window": 6, "windows_a_step": 2, **SMALL, **changes})
    trainer = Trainer(scenes, settings, tmp_path / name)
    return trainer


def test_the_loss_falls_and_truth_is_not_needed(tmp_path):
    recording = school(tmp_path / "rec")
    (recording.folder / "truth.parquet").unlink()
    scene = Scene.load(recording.folder, tmp_path / "cache")
    plain = {"learning_rate": 3e-3, "drop_detections": 0, "jitter": 0}
    trainer = trained(tmp_path, "run", [scene], epochs=80, warmup_epochs=80, **plain)
    trainer.train()
    assert trainer.log[-1]["association"] < 0.7 * trainer.log[0]["association"]


def test_truth_changes_nothing(tmp_path):
    with_truth = school(tmp_path / "a")
    without = school(tmp_path / "b")
    (without.folder / "truth.parquet").unlink()
    weights = []
    for i, recording in enumerate((with_truth, without)):
        trainer = trained(tmp_path, f"run{i}", [Scene.load(recording.folder, tmp_path / f"cache{i}")])
        trainer.train()
        weights.append(torch.cat([p.detach().ravel() for p in trainer.net.parameters()]))
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_a_stopped_run_goes_on_exactly(tmp_path, recipe):
    scene = Scene.load(school(tmp_path / "rec").folder, tmp_path / "cache")
    if recipe == "fast":
        settings = fast_recipe(epochs=4, warmup_epochs=1, window=6, windows_a_step=2, **SMALL)
    else:
        settings = TrainingSettings(epochs=4, warmup_epochs=1, **SMALL)
    whole = Trainer([scene], settings, tmp_path / "whole")
    whole.train()

    class Killed(Exception):
        pass

    def kill(row):
        if row["epoch"] == 2:
            raise Killed

    with pytest.raises(Killed):
        Trainer([scene], settings, tmp_path / "parts").train(kill)
    again = Trainer([scene], settings, tmp_path / "parts")
    assert again.epoch == 2
    again.train()
    for a, b in zip(whole.net.parameters(), again.net.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(InputError, match="other settings"):
        Trainer([scene], settings.model_copy(update={"seed": 5}), tmp_path / "parts")


def test_dense_labels_leave_out_dropped_detections(tmp_path):
    scene = Scene.load(school(tmp_path / "rec").folder)
    frames = np.array([0, 1])
    _, keep = scene.tokens(frames)
    keep = np.pad(keep, ((0, 0), (0, 2)))
    keep[0, 0] = False
    label, confidence = scene.dense_labels(frames, keep)
    assert (label[0, 0] == -1).all()
    assert (label[:, 12:] == -1).all()
    assert (label[1, :12, :12] == 1).sum() >= 4 * 6  # every true ordered pair is a pseudo-positive
    assert ((confidence > 0) == (label == 1)).all()


def table(*frames):
    """Groups of frames: each a number and a list of (x, embedding axis, confidence)."""
    every = [g for _, groups in frames for g in groups]
    return GroupTable(
        np.array([number for number, _ in frames]),
        np.append(0, np.cumsum([len(groups) for _, groups in frames])),
        np.array([[x, 0.0, 0.0] for x, _, _ in every]),
        np.array([np.eye(4)[axis] for _, axis, _ in every], np.float32),
        np.array([c for _, _, c in every]),
    )


def linked(groups, begin=1, **changes):
    early, late, weight = link_groups(groups, begin, TrainingSettings().link.model_copy(update=changes))
    return {(int(a), int(b)): pytest.approx(float(w)) for a, b, w in zip(early, late, weight, strict=True)}


def test_links_follow_and_bridge():
    groups = table((0, [(0.0, 0, 0.8), (3.0, 1, 0.45)]), (1, [(0.1, 0, 0.8)]), (2, [(0.2, 0, 0.8), (3.2, 1, 0.8)]))
    assert linked(groups) == {(0, 2): 0.8, (1, 4): 0.45, (2, 3): 0.8}
    assert linked(groups, begin=2) == {(1, 4): 0.45, (2, 3): 0.8}
    assert linked(groups, memory=1) == {(0, 2): 0.8, (2, 3): 0.8}


def test_gates_of_links_relax_with_the_gap():
    """0.5 world units at the next frame, 0.5 (1 + 0.15 g) after g missed ones; 10 frames at most."""
    near, far = [(0.0, 0, 0.8)], [(0.55, 0, 0.8)]
    assert linked(table((0, near), (1, far))) == {}
    assert linked(table((0, near), (2, far))) == {(0, 1): 0.8}
    assert linked(table((0, near), (10, far))) == {(0, 1): 0.8}
    assert linked(table((0, near), (11, far))) == {}
    assert linked(table((0, near), (1, [(0.1, 1, 0.8)]))) == {}  # near, but not alike


def test_memory_gives_the_links_of_the_whole():
    """Pair by pair with a memory, links end in the same groups as when all frames are seen at once."""
    rng = np.random.default_rng(1)
    frames = [(t, [(x + 0.05 * t, x % 4, 0.8) for x in range(4) if rng.random() < 0.7]) for t in range(14)]
    whole = linked(table(*frames))
    found = {}
    past = GroupTable.empty(4)
    for pair in itertools.pairwise(frames):
        both = past.join(table(*pair))
        first = sum(len(g) for t, g in frames if t < both.frame[0])
        found |= {(a + first, b + first): w for (a, b), w in linked(both, len(past.frame) + 1).items()}
        past = both.cut(max(len(both.frame) - 10, 0), len(both.frame) - 1)
    assert found == whole


def test_a_model_tracks_and_refuses_other_rigs_and_damage(tmp_path):
    three, two = school(tmp_path / "three"), school(tmp_path / "two", n_cameras=2)
    torch.manual_seed(0)
    path = tmp_path / "net.safetensors"
    save_model(TrackFishNet(), path, 3)
    method = Paper(PaperSettings(model=path, device="cpu"))
    method.track(three.rig, three.detections)
    with pytest.raises(InputError, match="trained for 3 cameras, the recording has 2"):
        method.track(two.rig, two.detections)
    dark = three.detections.select(three.detections.camera == 0)
    assert len(method.track(three.rig, dark)) == 0
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match="not a complete"):
        load_model(path)
    with pytest.raises(InputError, match="needs a trained network"):
        Paper().track(three.rig, three.detections)
