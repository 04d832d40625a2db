"""Training: learns, resumes exactly, never sees truth."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors import safe_open  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

from trackfish3d.cameras import Camera, CameraRig  # noqa: E402
from trackfish3d.core.errors import InputError  # noqa: E402
from trackfish3d.methods.paper.checkpoint import load_model, model_notes, save_model  # noqa: E402
from trackfish3d.methods.paper.method import Paper, PaperSettings  # noqa: E402
from trackfish3d.methods.paper.network import TrackFishNet  # noqa: E402
from trackfish3d.methods.paper.settings import ModelSettings  # noqa: E402
from trackfish3d.methods.paper.train.finetune import learn_on  # noqa: E402
from trackfish3d.methods.paper.train.settings import TrainingSettings, fast_recipe  # noqa: E402
from trackfish3d.methods.paper.train.step import GroupMemory, augment, window_loss  # noqa: E402
from trackfish3d.methods.paper.train.temporal import GroupTable, link_groups  # noqa: E402
from trackfish3d.methods.paper.train.trainer import Trainer  # noqa: E402
from trackfish3d.methods.paper.train.training_scenes import TrainingScene  # noqa: E402
from trackfish3d.recordings import Detections, Recording, Truth  # noqa: E402

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
    scene = TrainingScene.load(recording.folder, tmp_path / "cache")
    plain = {"learning_rate": 3e-3, "drop_detections": 0, "jitter": 0}
    plain |= {"window": 2, "windows_a_step": 1, "rise_steps": 0}
    trainer = trained(tmp_path, "run", [scene], epochs=15, warmup_epochs=15, **plain)
    trainer.train()
    assert trainer.log[-1]["association"] < 0.7 * trainer.log[0]["association"]


def test_truth_changes_nothing(tmp_path):
    with_truth = school(tmp_path / "a")
    without = school(tmp_path / "b")
    (without.folder / "truth.parquet").unlink()
    weights = []
    for i, recording in enumerate((with_truth, without)):
        trainer = trained(tmp_path, f"run{i}", [TrainingScene.load(recording.folder, tmp_path / f"cache{i}")])
        trainer.train()
        weights.append(torch.cat([p.detach().ravel() for p in trainer.net.parameters()]))
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_a_stopped_run_goes_on_exactly(tmp_path, recipe):
    scene = TrainingScene.load(school(tmp_path / "rec").folder, tmp_path / "cache")
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
    logs = [[line.rpartition(",")[0] for line in (tmp_path / n / "log.csv").open()] for n in ("whole", "parts")]
    assert logs[0] == logs[1]  # but for the last column, frames a second
    with pytest.raises(InputError, match="other settings"):
        Trainer([scene], settings.model_copy(update={"seed": 5}), tmp_path / "parts")


def test_dense_labels_leave_out_dropped_detections(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
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


def weights(trainer):
    return torch.cat([p.detach().ravel() for p in trainer.net.parameters()])


def test_threads_change_nothing(tmp_path):
    """Windows of a step run side by side, and their gradients are summed in order."""
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    alone = trained(tmp_path, "alone", [scene], epochs=2)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone.train()
        torch.set_num_threads(3)
        together = trained(tmp_path, "together", [scene], epochs=2)
        together.train()
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(weights(alone), weights(together))


def test_the_same_training_gives_the_same_file(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    files = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        trained(tmp_path, name, [scene], seed=seed).train()
        files.append((tmp_path / name / "epoch_4.safetensors").read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]


def test_a_step_is_adamw_with_the_clipped_mean_gradient_of_its_windows(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    changes = {"warmup_epochs": 0, "learning_rate": 1e-2, "weight_decay": 0.1, "rise_steps": 0, "clip_norm": 0.5}
    trainer = trained(tmp_path, "run", [scene], epochs=1, windows_a_step=99, agreed_labels=False, **changes)
    net = TrackFishNet(trainer.settings.model)
    net.load_state_dict(trainer.net.state_dict())
    (step,) = trainer._steps()
    plain = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.1)
    net.train()
    for k, (_, frames, _) in enumerate(step):
        rng = np.random.default_rng((0, 0, 0, k))
        (window_loss(net, scene, frames, trainer.settings, True, rng).total / len(step)).backward()
    assert torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5) > 0.5
    plain.step()
    trainer.train()
    for a, b in zip(net.parameters(), trainer.net.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_the_predictor_is_left_alone_without_a_link(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    trainer = trained(tmp_path, "run", [scene], epochs=1, warmup_epochs=1, weight_decay=0.1)
    before = [p.detach().clone() for p in trainer.net.parameters()]
    trainer.train()
    same = [torch.equal(a, b) for a, b in zip(before, trainer.net.parameters(), strict=True)]
    predictor = len(list(trainer.net.predictor.parameters()))
    assert not any(same[:-predictor])
    assert all(same[-predictor:])


def test_encodings_of_the_pair_before_are_taken_as_they_are_and_teach_nothing(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    settings = TrainingSettings(**SMALL)
    net = TrackFishNet(settings.model).eval()
    first, second = scene.windows(1)[:2]
    memory = GroupMemory()
    rng = np.random.default_rng(0)
    window_loss(net, scene, first, settings, False, rng, memory)
    assert not memory.encoded.requires_grad
    kept = memory.encoded.clone()
    with torch.no_grad():
        np.testing.assert_allclose(kept, net.encoder(torch.from_numpy(scene.tokens(first)[0]))[-1], atol=1e-6)
    plain = window_loss(net, scene, second, settings, False, rng)
    again = window_loss(net, scene, second, settings, False, rng, memory)
    assert again.parts["association"] == pytest.approx(plain.parts["association"], rel=1e-4)
    (all_of_it,) = torch.autograd.grad(plain.total, [net.encoder.first.weight])
    (part,) = torch.autograd.grad(again.total, [net.encoder.first.weight])
    assert not torch.allclose(all_of_it, part)  # frame t gives no gradient any more
    memory.encoded, memory.frame = torch.zeros_like(kept), int(second[0])
    assert window_loss(net, scene, second, settings, False, rng, memory).total.item() != plain.total.item()


def test_windows_hold_every_pair_once(tmp_path):
    recording = school(tmp_path / "rec", frames=20)
    det = recording.detections
    scene = TrainingScene.of("gap", recording.rig, det.select(det.frame != 7))
    number = scene.detections.frames
    for pairs, stride, shift in ((1, 1, 0), (4, 1, 0), (4, 1, 3), (3, 2, 1)):
        seen = [(number[a], number[b]) for w in scene.windows(pairs, stride, shift) for a, b in itertools.pairwise(w)]
        parts = (range(7), range(8, 20))
        assert sorted(seen) == [(t, t + stride) for part in parts for t in part if t + stride in part]


def test_jitter_stays_on_the_ray_of_the_new_pixel(tmp_path):
    recording = school(tmp_path / "rec")
    scene = TrainingScene.of("s", recording.rig, recording.detections)
    frames = np.array([3, 4])
    before, keep = scene.tokens(frames)
    after = before.copy()
    scene.jitter(frames, after, np.random.default_rng(0).normal(scale=0.2, size=(*keep.shape, 2)))
    assert (np.abs(after[..., :2] - before[..., :2]) > 0).all()
    for c, camera in enumerate(recording.rig):
        mine = np.isclose(after[..., 4], c / 2)
        pixels = after[mine][:, :2].astype(float) * camera.size
        np.testing.assert_allclose(after[mine][:, 6:9], camera.rays(pixels).direction, atol=1e-5)


def test_augmentation_keeps_what_it_must(tmp_path):
    recording = school(tmp_path / "rec")
    scene = TrainingScene.of("s", recording.rig, recording.detections)
    frames = np.array([3, 4])
    before, _ = scene.tokens(frames)
    tokens, keep = scene.tokens(frames)
    settings = TrainingSettings(drop_detections=0.3, shuffle_cameras=True)
    augment(scene, frames, tokens, keep, settings, np.random.default_rng(1))
    assert 0 < keep.sum() < keep.size
    np.testing.assert_array_equal(np.delete(tokens, 4, 2), np.delete(before, 4, 2))
    old, new = np.rint(2 * before[..., 4]).ravel(), np.rint(2 * tokens[..., 4]).ravel()
    assert len(set(zip(old, new, strict=True))) == 3  # one new number for each old one
    assert sorted(set(new)) == [0, 1, 2]
    assert (old != new).any()


def test_held_out_recordings_choose_the_epoch_and_stop_the_run(tmp_path):
    scene, other = (TrainingScene.load(school(tmp_path / f"r{i}", seed=i).folder) for i in (0, 1))
    settings = fast_recipe(epochs=30, warmup_epochs=0, patience=3, learning_rate=0.05, window=6, **SMALL)
    trainer = Trainer([scene], settings, tmp_path / "run", [other])
    trainer.train()
    held_out = [row["held_out"] for row in trainer.log]
    assert trainer.best_epoch == 1 + int(np.argmin(held_out))
    assert len(held_out) == min(30, trainer.best_epoch + 3)
    assert model_notes(tmp_path / "run" / "best.safetensors")["epoch"] == trainer.best_epoch
    assert Trainer([scene], settings, tmp_path / "run", [other]).finished


def test_features_beside_geometry_are_learnt_from(tmp_path):
    """With the animal's number as a feature, matching is easy where geometry alone has only begun to learn."""
    recording = school(tmp_path / "rec", fish=6)
    det = recording.detections
    number = np.zeros(len(det))
    for k in range(len(det.frames)):
        rows = det.at(k)
        number[rows] = np.tile(np.arange(6), 3)
    one_hot = np.eye(6, dtype=np.float32)[number.astype(int)]
    np.savez(tmp_path / "f.npz", one_hot)
    losses = []
    for features in (None, tmp_path / "f.npz"):
        scene = TrainingScene.load(recording.folder, features=features)
        model = {**SMALL["model"], "raw_features": scene.raw.shape[1]}
        trainer = trained(
            tmp_path,
            f"run{features is None}",
            [scene],
            epochs=15,
            warmup_epochs=15,
            learning_rate=5e-3,
            model=model,
            windows_a_step=1,
            window=2,
            rise_steps=0,
            drop_detections=0,
            jitter=0,
        )
        trainer.train()
        losses.append(trainer.log[-1]["association"])
    assert losses[1] < 0.8 * losses[0]
    with pytest.raises(InputError, match="takes 9 features of a detection, the recordings have 15"):
        trained(tmp_path, "wrong", [scene])


def test_calibration_noise_disturbs_geometry_and_labels(tmp_path):
    folder = school(tmp_path / "rec").folder
    clean, noisy = TrainingScene.load(folder), TrainingScene.load(folder, calibration_noise=0.5, seed=3)
    assert not np.allclose(clean.raw[:, 6:], noisy.raw[:, 6:])
    np.testing.assert_array_equal(clean.raw[:, :6], noisy.raw[:, :6])
    assert len(noisy.labels.first) < len(clean.labels.first)


def test_learning_on_the_recording_lowers_its_loss(tmp_path):
    recording = school(tmp_path / "rec")
    torch.manual_seed(0)
    base = TrackFishNet(ModelSettings(**SMALL["model"]))
    log = []
    net = learn_on(recording.rig, recording.detections, base, epochs=40, device="cpu", report=log.append)
    assert not net.training
    assert log[-1]["association"] < log[0]["association"]


def test_recordings_that_teach_nothing_are_refused(tmp_path):
    recording = school(tmp_path / "rec")
    rig, det = recording.rig, recording.detections
    for kept, words in (
        (det.camera == 0, "no pair of detections"),
        (det.frame % 2 == 0, "two successive frames"),
        (np.zeros(len(det), bool), "two successive frames"),
    ):
        with pytest.raises(InputError, match=words):
            TrainingScene.of("rec", rig, det.select(kept))
    two = TrainingScene.load(school(tmp_path / "two", n_cameras=2).folder)
    with pytest.raises(InputError, match="these have 2 and 3"):
        trained(tmp_path, "run", [TrainingScene.of("rec", rig, det), two])


def test_a_dark_camera_and_empty_frames_train(tmp_path):
    recording = school(tmp_path / "rec")
    det = recording.detections
    scene = TrainingScene.of("rec", recording.rig, det.select((det.camera != 1) & (det.frame != 5)))
    trainer = trained(tmp_path, "run", [scene], epochs=2)
    trainer.train()
    assert np.isfinite(trainer.log[-1]["loss"])


def test_a_damaged_state_is_refused(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    trained(tmp_path, "run", [scene], epochs=1).train()
    path = tmp_path / "run" / "state.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match="cannot be resumed"):
        trained(tmp_path, "run", [scene], epochs=1)


def test_the_state_of_another_version_is_refused(tmp_path):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    trained(tmp_path, "run", [scene], epochs=1).train()
    path = tmp_path / "run" / "state.safetensors"
    with safe_open(path, "pt") as file:
        metadata, tensors = file.metadata(), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
    save_file(tensors, path, metadata | {"format": "trackfish3d-training-0"})
    with pytest.raises(InputError, match="another version"):
        trained(tmp_path, "run", [scene], epochs=1)
    save_file(tensors | {"optimiser.encoder.norm.bias.exp_avg": torch.zeros(3)}, path, metadata)
    with pytest.raises(InputError, match="does not fit"):
        trained(tmp_path, "run", [scene], epochs=1)
    save_file(tensors, path, metadata | {"log": "[]"})
    with pytest.raises(InputError, match="one row an epoch"):
        trained(tmp_path, "run", [scene], epochs=1)
    save_file(tensors, path, metadata)
    assert trained(tmp_path, "run", [scene], epochs=1).finished


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
    assert len(method.track(three.rig, dark).tracks) == 0
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match="not a complete"):
        load_model(path)
