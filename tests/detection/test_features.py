"""Visual features: the right crop of the right frame in the right row, whatever the network."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.cameras import CameraRig
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.detection.features.backbones import Backbone, load_backbone
from trackfish3d.detection.features.extract import crop, extract
from trackfish3d.detection.features.projection import Projection
from trackfish3d.methods.paper.features import read_features
from trackfish3d.recordings import Detections, Recording
from trackfish3d.synfish.rigs import random_rig

from .worlds import encode

torch = pytest.importorskip("torch")
SIZE = (192, 96)  # of the pictures
FRAMES, FIRST, OFFSET = 7, 10, 2


def level(camera: int, frame: int, place: int) -> int:
    """Grey level of a square in a picture: tells camera, frame and place."""
    return 30 + 90 * camera + 12 * frame + 4 * place


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Two cameras; squares of 32 px at four places whose brightness says whose they are; the second starts later."""
    rig = random_rig(2, 1)
    rig = CameraRig(tuple(replace(camera, size=SIZE) for camera in rig))
    rows: dict[str, list[float]] = {k: [] for k in ("frame", "camera", "x1", "y1", "x2", "y2")}
    for c in range(2):
        pictures = []
        for frame in range(FRAMES):
            picture = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
            for place in range(4):
                x = 8 + 48 * place
                picture[32:64, x : x + 32] = level(c, frame, place)
                if (frame + place + c) % 2:
                    for name, value in zip(rows, (frame + FIRST, c, x - 0.5, 31.5, x + 31.5, 63.5), strict=True):
                        rows[name].append(value)
            pictures.append(picture)
        encode(
            tmp_path / "rec" / "videos" / f"{rig[c].name}.mp4", pictures, options={"crf": "0", "preset": "ultrafast"}
        )
    boxes = {k: np.array(v) for k, v in rows.items() if k not in ("frame", "camera")}
    detections = Detections.build(
        rig.names, np.array(rows["frame"]), np.array(rows["camera"]),
        (boxes["x1"] + boxes["x2"]) / 2, (boxes["y1"] + boxes["y2"]) / 2, **boxes,
    )  # fmt: skip
    return Recording.create(
        tmp_path / "rec", rig, detections=detections, frames=(FIRST, FRAMES + OFFSET),
        time_offset_frames={rig[1].name: OFFSET},
    )  # fmt: skip


def mean_network(width: int = 3) -> Backbone:
    """A network whose features are the mean colours."""
    return Backbone(lambda x: x.mean((2, 3))[:, :width], width, (16, 16), [0.0] * 3, [1.0] * 3, "cpu")


def expected_levels(recording: Recording) -> np.ndarray:
    d = recording.detections
    camera = d.camera.astype(int)
    frame = d.frame - FIRST - OFFSET * camera
    place = np.rint((d.u - 23.5) / 48).astype(int)
    return np.array([level(c, f, p) for c, f, p in zip(camera, frame, place, strict=True)])


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_every_row_is_of_its_own_crop(suffix: str, recording: Recording, tmp_path: Path) -> None:
    out = tmp_path / f"features{suffix}"
    report = extract(recording, mean_network(), out, network={}, margin=0.0)
    values = read_features(out, recording.detections)
    assert values.shape == (len(recording.detections), 3) == (report.rows, report.columns)
    projection = Projection.read(tmp_path / "features.projection.npz")
    grey = (values[:, 0] * projection.scale[0] + projection.mean[0]) * 255
    assert np.abs(values).max() < 1
    assert grey == pytest.approx(expected_levels(recording), abs=2)
    assert report.missing == 0
    assert not list(tmp_path.glob(".features*"))


def test_a_stopped_run_goes_on(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trackfish3d.detection.features.extract as module

    monkeypatch.setattr(module, "_SAVE_EVERY", 3)
    extract(recording, mean_network(), tmp_path / "whole.npz", network={}, batch=5)
    runs: list[int] = []

    def stops(camera: str, done: int, total: int) -> None:
        runs.append(done)
        if camera == recording.rig.names[1] and done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(recording, mean_network(), tmp_path / "part.npz", network={}, batch=5, progress=stops)
    assert not (tmp_path / "part.npz").exists()
    seen: list[tuple[str, int]] = []
    extract(
        recording, mean_network(), tmp_path / "part.npz", network={}, batch=5,
        progress=lambda camera, done, total: seen.append((camera, done)),
    )  # fmt: skip
    assert {c for c, _ in seen} == {recording.rig.names[1]}
    assert min(done for _, done in seen) == 4  # three frames were kept
    assert (tmp_path / "part.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_broken_frames_give_zeros_in_their_rows_only(recording: Recording, tmp_path: Path) -> None:
    (next(iter(recording.videos.values()))).unlink()
    report = extract(recording, mean_network(), tmp_path / "f.npz", network={}, margin=0.0)
    values = read_features(tmp_path / "f.npz", recording.detections)
    gone = recording.detections.camera == 0
    assert report.missing == gone.sum() > 0
    assert (values[gone] == 0).all()
    assert (values[~gone] != 0).any(1).all()
    assert any("have no picture" in note for note in report.notes)


def test_a_crop_is_the_square_around_the_box() -> None:
    rgb = np.zeros((60, 80, 3), np.uint8)
    rgb[20:30, 40:60] = 255
    cut = crop(rgb, np.array([39.5, 19.5, 59.5, 29.5]), 0.0, (20, 20))
    assert cut.shape == (3, 20, 20)
    assert (cut[:, 5:15] == 1).all()
    assert (cut[:, :5] == 0).all()
    assert (cut[:, 15:] == 0).all()
    wide = crop(rgb, np.array([39.5, 19.5, 59.5, 29.5]), 1.0, (40, 40))
    assert wide.sum() == pytest.approx(cut.sum())


@settings(deadline=None)
@given(st.floats(-300, 300), st.floats(-300, 300), st.floats(0, 300), st.floats(0, 300))
def test_any_box_has_a_crop(x: float, y: float, w: float, h: float) -> None:
    cut = crop(np.full((30, 40, 3), 51, np.uint8), np.array([x, y, x + w, y + h]), 0.1, (8, 8))
    assert cut == pytest.approx(0.2, abs=1e-5)


def test_components_are_those_of_sklearn(tmp_path: Path) -> None:
    from sklearn.decomposition import PCA

    x = (np.random.default_rng(0).normal(size=(500, 6)) * [5, 3, 2, 1, 0.5, 0.1] + 4).astype(np.float32)
    made = Projection.fit(iter([x[:200], x[200:]]), 6, 3)
    expected = PCA(3).fit_transform(x.astype(np.float64))
    ours = (x - made.mean) @ made.basis
    assert np.abs(ours) == pytest.approx(np.abs(expected), abs=1e-3)
    assert made.apply(x).std(0) == pytest.approx(1 / 3, rel=0.05)
    made.write(tmp_path / "p.npz")
    assert (Projection.read(tmp_path / "p.npz").apply(x) == made.apply(x)).all()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_damaged_projections_are_refused(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.npz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"p\.npz"):
            Projection.read(path)


def small_timm(folder: Path) -> tuple[Path, Any]:
    from safetensors.torch import save_file

    from trackfish3d.detection.learned.torch_glue import repair_torchvision

    repair_torchvision()  # before timm, as in the command
    timm = pytest.importorskip("timm")
    torch.manual_seed(3)
    model = timm.create_model("test_resnet", pretrained=False, num_classes=7).eval()
    path = folder / "model.safetensors"
    save_file(model.state_dict(), path)
    return path, model


def test_a_timm_network_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    path, model = small_timm(tmp_path)
    pictures = torch.rand(2, 3, 160, 160)
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(pictures), pre_logits=True)
        by_file = load_backbone(path, "test_resnet", "cpu")
        assert by_file.notes == []
        assert torch.allclose(by_file.run(pictures), expected, atol=1e-5)
        config = {"architecture": "test_resnet", "pretrained_cfg": {"mean": [0.1, 0.2, 0.3], "input_size": [3, 96, 96]}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        by_folder = load_backbone(tmp_path, None, "cpu")
        assert torch.allclose(by_folder.run(pictures), expected, atol=1e-5)
    assert by_folder.mean == [0.1, 0.2, 0.3]
    assert by_folder.size == (96, 96)
    assert by_file.width == expected.shape[1]


def test_weights_with_other_names_are_taken_in_order(tmp_path: Path) -> None:
    _, model = small_timm(tmp_path)
    renamed = {f"layer{k}": v for k, (n, v) in enumerate(model.state_dict().items()) if "num_batches" not in n}
    torch.save({"state_dict": renamed}, tmp_path / "other.pth")
    loaded = load_backbone(tmp_path / "other.pth", "test_resnet", "cpu")
    assert "in their order" in loaded.notes[0]
    pictures = torch.rand(1, 3, 160, 160)
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(pictures), pre_logits=True)
        assert torch.allclose(loaded.run(pictures), expected, atol=1e-5)
    backwards = dict(reversed(renamed.items()))
    torch.save(backwards, tmp_path / "wrong.pth")
    with pytest.raises(InputError, match="is not of this architecture"):
        load_backbone(tmp_path / "wrong.pth", "test_resnet", "cpu")


@pytest.mark.parametrize("kind", ["DINOv3ViT", "Dinov2"])
def test_a_transformers_network(kind: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from trackfish3d.detection.learned.transformers_glue import require_transformers

    require_transformers("features", "test")
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=64, patch_size=16
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps({"image_mean": [0.4] * 3, "image_std": [0.2] * 3, "size": {"height": 48, "width": 48}})
    )
    loaded = load_backbone(tmp_path, None, "cpu")
    assert (loaded.width, loaded.size, loaded.mean) == (32, (48, 48), [0.4] * 3)
    pictures = torch.rand(2, 3, 48, 48)
    with torch.inference_mode():
        assert torch.allclose(loaded.run(pictures), model(pictures).pooler_output, atol=1e-5)


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    path, _ = small_timm(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        load_backbone(tmp_path / "none")
    with pytest.raises(InputError, match="--architecture"):
        load_backbone(path)
    with pytest.raises(InputError, match="timm does not know it"):
        load_backbone(path, "no_such_net")
    with pytest.raises(InputError, match="is not of this architecture"):
        load_backbone(path, "test_vit")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no config\.json"):
        load_backbone(tmp_path / "empty")
    for name in ("a.pth", "a.safetensors"):
        (tmp_path / name).write_bytes(b"nonsense")
        with pytest.raises(InputError, match="cannot be read as weights"):
            load_backbone(tmp_path / name, "test_resnet")

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "trapped"),)

    torch.save({"x": Trap()}, tmp_path / "trap.pth")
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_backbone(tmp_path / "trap.pth", "test_resnet")
    assert not (tmp_path / "trapped").exists()


def test_the_command_line(recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = small_timm(tmp_path)
    arguments = ["features", str(recording.folder), "--backbone", str(path), "--architecture", "test_resnet"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--out", str(tmp_path / "a.npz"), "--components", "4"])
    assert end.value.code == 0
    assert "4 of" in capsys.readouterr().out
    first = read_features(tmp_path / "a.npz", recording.detections)
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--out", str(tmp_path / "b.parquet"), "--projection", str(tmp_path / "a.projection.npz")])
    assert end.value.code == 0
    assert read_features(tmp_path / "b.parquet", recording.detections) == pytest.approx(first, abs=1e-6)
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--out", str(tmp_path / "c.csv")])
    assert end.value.code == 2
    assert "name the features FILE.npz" in capsys.readouterr().err
