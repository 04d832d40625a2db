"""Several processes train one network as one process would."""

import os
import socket
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from tests.methods.paper.test_training import SMALL, school, trained  # noqa: E402
from trackfish3d.core.errors import InputError  # noqa: E402
from trackfish3d.methods.paper.checkpoint import load_model  # noqa: E402
from trackfish3d.methods.paper.train.settings import TrainingSettings  # noqa: E402
from trackfish3d.methods.paper.train.trainer import Trainer  # noqa: E402
from trackfish3d.methods.paper.train.training_scenes import TrainingScene  # noqa: E402

SAME = {"window": 3, "rise_steps": 0, "learning_rate": 0.01}


def test_two_processes_take_the_steps_of_one(tmp_path):
    folder = school(tmp_path / "rec", frames=13).folder
    alone = trained(tmp_path, "alone", [TrainingScene.load(folder)], epochs=2, **SAME)
    alone.train()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "trackfish3d", "train", folder, "--out", tmp_path / "team.safetensors"]
    small = {f"model.{name}": value for name, value in SMALL["model"].items()}
    changes = {"epochs": 2, "warmup_epochs": 1, "windows_a_step": 2, "device": "cpu", **SAME}
    command += [x for name, value in (changes | small).items() for x in ("--set", f"{name}={value}")]
    team = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen([str(c) for c in command], env=os.environ | team | {"RANK": rank}) for rank in ("0", "1")
    ]
    assert [p.wait(timeout=300) for p in processes] == [0, 0]
    together, _ = load_model(tmp_path / "team.training" / "epoch_2.safetensors")
    fresh = trained(tmp_path, "fresh", alone.scenes).net.eval()
    raw, mask = torch.rand(2, 8, 9), torch.ones(2, 8, dtype=torch.bool)
    expected = alone.net.eval()(raw, mask)
    # What the networks do, not their weights: a gradient of zero (the bias of keys) becomes a step of any sign in Adam.
    torch.testing.assert_close(together(raw, mask), expected, atol=2e-3, rtol=0)
    assert (fresh(raw, mask) - expected).abs().max() > 0.05


def test_a_step_of_one_pair_cannot_be_shared(tmp_path, monkeypatch):
    scene = TrainingScene.load(school(tmp_path / "rec").folder)
    monkeypatch.setattr("trackfish3d.methods.paper.train.team.distributed.is_initialized", lambda: True)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="2 processes cannot share 1 window"):
        Trainer([scene], TrainingSettings(**SMALL), tmp_path / "run")
