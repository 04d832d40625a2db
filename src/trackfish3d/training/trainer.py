"""The training loop: epochs, log, checkpoints, and exact resume."""

import csv
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..association.checkpoint import pick_device, save_model
from ..association.model import TrackFishNet
from ..errors import InputError
from ..files import atomic_path
from .scenes import Scene
from .settings import TrainingSettings
from .step import Memory, WindowLoss, window_loss

LOG_COLUMNS = ("epoch", "loss", "association", "contrastive", "temporal", "groups", "links", "frames_per_second")
EpochReport = Callable[[dict[str, float]], None]


class Trainer:
    """Trains one network on scenes into a folder; stop it at any moment and construct it again to go on.

    The folder holds ``settings.json``, ``log.csv``, ``state.pt`` (weights, optimiser, random states, written after
    every epoch), ``epoch_<n>.safetensors`` and ``best.safetensors`` (lowest training loss once all losses are on).
    """

    def __init__(self, scenes: list[Scene], settings: TrainingSettings, folder: Path) -> None:
        cameras = {len(s.rig) for s in scenes}
        if len(cameras) != 1:
            raise InputError("training needs recordings with one number of cameras; these have " + _list(cameras))
        self.scenes, self.settings, self.folder = scenes, settings, folder
        self.n_cameras = cameras.pop()
        torch.manual_seed(settings.seed)
        self.rng = np.random.default_rng(settings.seed)
        self.device = pick_device(settings.device)
        self.net = TrackFishNet(settings.model).to(self.device)
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.epoch = 0
        self.best = math.inf
        self.log: list[dict[str, float]] = []
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "state.pt").exists():
            self._resume()
        with atomic_path(folder / "settings.json") as temporary:
            temporary.write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")

    def train(self, report: EpochReport | None = None) -> None:
        """Run the epochs that are left."""
        while self.epoch < self.settings.epochs:
            row = self._one_epoch()
            self.log.append(row)
            self._save(row)
            if report is not None:
                report(row)

    def _one_epoch(self) -> dict[str, float]:
        s = self.settings
        self.net.train()
        full = self.epoch >= s.warmup_epochs
        rate = s.learning_rate
        if s.cosine_schedule:
            rate *= 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * self.epoch / s.epochs))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        sums = dict.fromkeys(LOG_COLUMNS[1:-1], 0.0)
        n_windows = n_frames = 0
        started = time.perf_counter()
        for step in self._steps():
            self.optimiser.zero_grad(set_to_none=True)
            for scene, frames, memory in step:
                result = window_loss(self.net, scene, frames, s, full, self.rng, memory)
                (result.total / len(step)).backward()  # type: ignore[no-untyped-call]
                _add(sums, result)
                n_windows += 1
                n_frames += len(frames)
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), s.clip_norm)
            self.optimiser.step()
        self.epoch += 1
        mean = {k: v / max(n_windows, 1) for k, v in sums.items()}
        return {"epoch": self.epoch, **mean, "frames_per_second": n_frames / (time.perf_counter() - started)}

    def _steps(self) -> Iterator[list[tuple[Scene, NDArray[np.int64], Memory | None]]]:
        """Windows of each optimiser step: in the order of time with a memory, or shuffled without."""
        s = self.settings
        if not s.shuffle:
            for scene in self.scenes:
                memory = Memory()
                for frames in scene.windows(s.window):
                    yield [(scene, frames, memory)]
            return
        every = [(scene, frames) for scene in self.scenes for frames in scene.windows(s.window)]
        order = self.rng.permutation(len(every))
        for i in range(0, len(order), s.windows_a_step):
            yield [(*every[k], None) for k in order[i : i + s.windows_a_step]]

    def _save(self, row: dict[str, float]) -> None:
        s = self.settings
        full = self.epoch > s.warmup_epochs
        if full and row["loss"] < self.best:
            self.best = row["loss"]
            save_model(self.net, self.folder / "best.safetensors", self.n_cameras, epoch=self.epoch, loss=self.best)
        if self.epoch % s.checkpoint_epochs == 0 or self.epoch == s.epochs:
            save_model(self.net, self.folder / f"epoch_{self.epoch}.safetensors", self.n_cameras, epoch=self.epoch)
        state: dict[str, Any] = {
            "settings": s.model_dump_json(),
            "epoch": self.epoch,
            "best": self.best,
            "log": self.log,
            "net": self.net.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "torch": torch.get_rng_state(),
            "numpy": self.rng.bit_generator.state,
        }
        with atomic_path(self.folder / "state.pt") as temporary:
            torch.save(state, temporary)
        with atomic_path(self.folder / "log.csv") as temporary, temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, LOG_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.log)

    def _resume(self) -> None:
        path = self.folder / "state.pt"
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            same = TrainingSettings.model_validate_json(state["settings"])
        except Exception as error:  # torch.load raises many kinds for a damaged file
            raise InputError(
                f"{path}: cannot be resumed from ({type(error).__name__}); remove it to start anew"
            ) from None
        if same.model_copy(update={"epochs": self.settings.epochs, "device": self.settings.device}) != self.settings:
            raise InputError(f"{self.folder}: was begun with other settings; choose another folder")
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.epoch, self.best, self.log = state["epoch"], state["best"], state["log"]
        torch.set_rng_state(state["torch"].cpu())
        self.rng.bit_generator.state = state["numpy"]


def _add(sums: dict[str, float], result: WindowLoss) -> None:
    sums["loss"] += float(result.total.detach())
    for name in ("association", "contrastive", "temporal", "groups", "links"):
        sums[name] += getattr(result, name)


def _list(values: set[int]) -> str:
    return ", ".join(str(v) for v in sorted(values))
