"""``trackfish3d detect --detector taught``: teaches once, keeps what it taught, and gives it to others."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_run import FRAMES, cameras, films
from trackfish3d.cli.app import main
from trackfish3d.detection.taught import fit
from trackfish3d.pipeline.again import teaching
from trackfish3d.recordings import Recording

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
__all__ = ["films"]
FEW = ("--set", "steps=4", "--set", "pictures=24", "--workers", 1)


def recording(films: Path, folder: Path) -> Path:
    Recording.create(folder, cameras(), fps=25.0, frames=(0, FRAMES))
    (folder / "videos").mkdir()
    for name in ("left.mp4", "right.mp4"):
        shutil.copyfile(films / name, folder / "videos" / name)
    return folder


def detect(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["detect", *map(str, arguments)])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def taught(films: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that has taught its detector, stopped once on the way."""
    folder = recording(films, tmp_path_factory.mktemp("taught") / "rec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "_SAVE_EVERY", 2)

        def stop(*_: object) -> bytes:
            raise KeyboardInterrupt

        patch.setattr(teaching, "write_network", stop)
        assert detect(folder, "--detector", "taught", *FEW) != 0
    assert not (folder / "detections.parquet").exists()
    assert (folder / "taught" / "lessons.left.npz").is_file()
    assert detect(folder, "--detector", "taught", *FEW) == 0
    return folder


def test_it_is_taught_on_the_recording_and_says_how_good_it_is(taught: Path) -> None:
    said = json.loads((taught / "taught" / "taught.json").read_text())
    assert said["held_out"]["background"]["animals"] == said["held_out"]["taught"]["animals"] > 20
    assert "pictures held back" in " ".join(said["lines"])
    assert (taught / "taught" / ".trackfish3d").is_file()
    left = sorted(p.name for p in (taught / "taught").iterdir())
    assert left == [".trackfish3d", "taught.json", "weights.onnx"]
    found = Recording.open(taught).detections
    assert len(found) == pytest.approx(2 * 3 * FRAMES, rel=0.15)  # these animals hardly ever touch
    assert np.isfinite(found.major).all()
    settings = json.loads((taught / "detections.settings.json").read_text())
    assert settings["detector"] == "taught"
    assert settings["settings"]["weights"].endswith("weights.onnx")


def test_what_was_taught_is_used_again_and_elsewhere_with_the_same_result(
    taught: Path, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (taught / "detections.parquet").read_bytes()

    def never(*_: object) -> None:
        raise AssertionError("taught twice")

    with monkeypatch.context() as patch:
        patch.setattr(fit, "fit", never)
        assert detect(taught, "--detector", "taught", "--overwrite", *FEW) == 0
        assert (taught / "detections.parquet").read_bytes() == before
        other = recording(films, tmp_path / "other")
        weights = taught / "taught" / "weights.onnx"
        assert detect(other, "--detector", "taught", "--weights", weights, "--workers", 1) == 0
    assert Recording.open(other).detections.u.tobytes() == Recording.open(taught).detections.u.tobytes()
    again = recording(films, tmp_path / "again")
    assert detect(again, "--detector", "taught", *FEW) == 0
    assert (again / "taught" / "weights.onnx").read_bytes() == weights.read_bytes()


def test_mistakes_are_one_line(taught: Path, films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fresh = recording(films, tmp_path / "fresh")
    foreign = recording(films, tmp_path / "foreign")
    (foreign / "taught").mkdir()
    (foreign / "taught" / "mine.txt").write_text("mine")
    (tmp_path / "no.onnx").write_bytes(b"no network")
    cases = [
        ((films / "left.mp4",), "has no weights"),
        ((taught,), "has detections already"),
        ((fresh, "--weights", tmp_path / "none.onnx"), "no such file"),
        ((fresh, "--weights", tmp_path / "no.onnx", "--workers", 1), "cannot be loaded"),
        ((foreign, *FEW), "taught"),
        ((fresh, "--set", "steps=0"), "steps"),
    ]
    for arguments, wanted in cases:
        capsys.readouterr()
        assert detect(*arguments, "--detector", "taught") == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert len(said) == 1
        assert wanted in said[0]
    assert (foreign / "taught" / "mine.txt").read_text() == "mine"
