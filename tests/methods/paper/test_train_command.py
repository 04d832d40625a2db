"""``trackfish3d train``, as people type it."""

import csv

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.methods.paper.test_training import SMALL, school  # noqa: E402
from trackfish3d.cli.app import main  # noqa: E402
from trackfish3d.cli.tracking.train import make_settings  # noqa: E402
from trackfish3d.methods.paper.checkpoint import load_model  # noqa: E402

TINY = " ".join(f"--set model.{name}={value}" for name, value in SMALL["model"].items())
SHORT = f"--set epochs=2 --set warmup_epochs=1 --set device=cpu {TINY}"


def run(line):
    with pytest.raises(SystemExit) as leaving:
        main(line.split())
    return int(leaving.value.code or 0)


def test_a_model_with_log_picture_and_features(tmp_path, capsys):
    recordings = [school(tmp_path / name, seed=seed) for seed, name in enumerate("ab")]
    for recording in recordings:
        values = np.random.default_rng(0).normal(size=(len(recording.detections), 3))
        np.savez(tmp_path / f"{recording.folder.name}.npz", values)
    line = f"train {tmp_path}/a --held-out {tmp_path}/b --features {tmp_path}/a.npz --features {tmp_path}/b.npz"
    assert run(f"{line} --out {tmp_path}/m.safetensors --without temporal {SHORT}") == 0
    net, cameras = load_model(tmp_path / "m.safetensors")
    assert (net.settings.raw_features, net.settings.width, cameras) == (12, 32, 3)
    rows = list(csv.DictReader((tmp_path / "m.training" / "log.csv").open()))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert all(float(row["temporal"]) == 0 and float(row["held_out"]) > 0 for row in rows)
    assert (tmp_path / "m.training" / "loss.png").stat().st_size > 1000
    said = capsys.readouterr()
    assert "held out" in said.err
    assert "peak memory" in said.err
    again = f"train {tmp_path}/a --start {tmp_path}/m.safetensors --features {tmp_path}/a.npz"
    assert run(f"{again} --out {tmp_path}/n.safetensors {SHORT}") == 0
    assert run(f"train {tmp_path}/a --start {tmp_path}/m.safetensors --out {tmp_path}/o.safetensors {SHORT}") == 2
    assert "takes 12 features of a detection, the recordings have 9" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--out m.pt", "FILE.safetensors"),
        ("--out m.safetensors --recipe slow", "choose fast or paper"),
        ("--out m.safetensors --without camera", "contrastive, temporal, transformer"),
        ("--out m.safetensors --set epochs=0", "--set epochs"),
        ("--out m.safetensors --set losses.tempral=1", "--set losses.tempral"),
        ("--out m.safetensors --features a.npz --features b.npz", "2 files for 1 recordings"),
        ("--out m.safetensors --start gone.safetensors", "no such model"),
        ("--out m.safetensors --calibration-noise -1", "calibration_noise"),
    ],
)
def test_mistakes_are_one_line(tmp_path, monkeypatch, capsys, options, words):
    monkeypatch.chdir(tmp_path)
    school(tmp_path / "rec", frames=3)
    assert run(f"train rec {options}") == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_switches_change_what_they_name():
    base = make_settings("paper", {}, [])
    assert make_settings("paper", {}, ["contrastive", "temporal"]).losses == base.losses.model_copy(
        update={"contrastive": 0.0, "temporal": 0.0}
    )
    assert make_settings("paper", {"model.width": "64"}, ["transformer"]).model == base.model.model_copy(
        update={"width": 64, "attention": False}
    )
