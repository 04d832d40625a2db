"""The training loop: epochs, log, checkpoints, and exact resume."""

import csv
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....core.device import pick_device
from ....core.errors import InputError
from ....core.files import atomic_path
from ....core.progress import Progress
from ..checkpoint import save_model
from ..network import TrackFishNet
from .settings import TrainingSettings
from .state import Standing, load_state, save_state
from .step import GroupMemory, window_loss
from .team import Team
from .training_scenes import TrainingScene

PARTS = ("loss", "association", "contrastive", "temporal", "groups", "links")
STATE = "state.safetensors"
LOG_COLUMNS = ("epoch", *PARTS, "held_out", "frames_per_second")
Window = tuple[TrainingScene, NDArray[np.int64], GroupMemory | None]
EpochReport = Callable[[dict[str, float]], None]


class Trainer:
    """Trains one network on scenes into a folder; stop it at any moment and construct it again to go on.

    The folder holds ``settings.json``, ``log.csv``, ``state.safetensors`` (weights and optimiser, after every epoch),
    ``epoch_<n>.safetensors`` and ``best.safetensors``: the lowest held-out loss, or, without recordings held out, the
    lowest training loss once all losses are on (the paper's choice).

    All random numbers come from (seed, epoch, step, window): a run is the same in one piece or several, with any number
    of threads, and but for rounding with any number of processes.

    Parameters
    ----------
    scenes : what to learn from.
    held_out : what to measure the loss on, and not learn from.
    start : a network to go on from, instead of a fresh one.
    """

    def __init__(
        self,
        scenes: Sequence[TrainingScene],
        settings: TrainingSettings,
        folder: Path,
        held_out: Sequence[TrainingScene] = (),
        start: TrackFishNet | None = None,
    ) -> None:
        cameras = {len(s.rig) for s in (*scenes, *held_out)}
        if len(cameras) != 1:
            counts = " and ".join(str(n) for n in sorted(cameras))
            raise InputError(f"training needs recordings with one number of cameras; these have {counts}")
        columns = {s.raw.shape[1] for s in (*scenes, *held_out)}
        if columns != {settings.model.raw_features}:
            raise InputError(
                f"the network takes {settings.model.raw_features} features of a detection, the recordings have "
                + " and ".join(str(n) for n in sorted(columns))
            )
        if settings.agreed_labels:
            scenes, held_out = [s.agreed() for s in scenes], [s.agreed() for s in held_out]
        self.scenes, self.held_out, self.settings, self.folder = list(scenes), list(held_out), settings, folder
        self.n_cameras = cameras.pop()
        self.device = torch.device(pick_device(settings.device))
        self.team = Team(self.device)
        if self.team.size > settings.windows_a_step:
            raise InputError(
                f"{self.team.size} processes cannot share {settings.windows_a_step} window(s) a step; "
                "start fewer, or raise the setting windows_a_step"
            )
        torch.manual_seed(settings.seed)
        self.net = TrackFishNet(settings.model)
        if start is not None:
            self.net.load_state_dict(start.state_dict())
        self.net.to(self.device)
        self.parameters = list(self.net.parameters())
        self.optimiser = torch.optim.AdamW(
            self.parameters, settings.learning_rate, weight_decay=settings.weight_decay, fused=True
        )
        self.epoch = 0
        self.best, self.best_epoch = math.inf, 0
        self.log: list[dict[str, float]] = []
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / STATE).exists():
            self._resume()
        if self.team.rank == 0:
            with atomic_path(folder / "settings.json") as temporary:
                temporary.write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or patience is at its end."""
        s = self.settings
        tired = bool(s.patience and self.held_out and self.best_epoch and self.epoch - self.best_epoch >= s.patience)
        return self.epoch >= s.epochs or tired

    def train(self, report: EpochReport | None = None, progress: Progress | None = None) -> None:
        """Run the epochs that are left; call `report` after each, `progress` after each step with done and total."""
        with _workers(self.device) as pool:
            while not self.finished:
                row = self._one_epoch(pool, progress)
                self.log.append(row)
                self._save(row)
                if report is not None and self.team.rank == 0:
                    report(row)
        self.team.close()

    def _one_epoch(self, pool: ThreadPoolExecutor | None, progress: Progress | None) -> dict[str, float]:
        s = self.settings
        self.net.train()
        full = self.epoch >= s.warmup_epochs
        sums = dict.fromkeys((*PARTS, "windows", "frames"), 0.0)
        started = time.perf_counter()
        steps = list(self._steps())
        for index, step in enumerate(steps):
            mine = list(enumerate(step))[self.team.rank :: self.team.size]

            def one(job: tuple[int, Window], index: int = index, share: float = 1 / len(step)) -> Any:
                k, (scene, frames, memory) = job
                rng = np.random.default_rng((s.seed, self.epoch, index, k))
                result = window_loss(self.net, scene, frames, s, full, rng, memory)
                gradient = torch.autograd.grad(result.total * share, self.parameters, allow_unused=True)
                return gradient, result.parts, len(frames)

            results = list(pool.map(one, mine)) if pool is not None and len(mine) > 1 else [one(job) for job in mine]
            for _, parts, n_frames in results:
                for name, value in parts.items():
                    sums[name] += value
                sums["windows"] += 1
                sums["frames"] += n_frames
            self._update([g for g, _, _ in results], self._rate(index, len(steps)))
            if progress is not None:
                progress(index + 1, len(steps))
        sums = self.team.sum_numbers(sums, self.device)
        self.epoch += 1
        mean = {name: sums[name] / max(sums["windows"], 1) for name in PARTS}
        rate = sums["frames"] / (time.perf_counter() - started)
        return {"epoch": self.epoch, **mean, "held_out": self._held_out_loss(), "frames_per_second": rate}

    def _update(self, gradients: list[tuple[Tensor | None, ...]], rate: float) -> None:
        """Take a step with gradients of windows, summed in their order and over the team, and clipped.

        A parameter that no window saw (the predictor's, in a step without a link) has none and is left alone.
        """
        for i, parameter in enumerate(self.parameters):
            seen = [g for g in (gradient[i] for gradient in gradients) if g is not None]
            parameter.grad = torch.stack(seen).sum(0) if len(seen) > 1 else seen[0] if seen else None
        self._share_gradients()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip_norm)
        self.optimiser.param_groups[0]["lr"] = rate
        self.optimiser.step()

    def _share_gradients(self) -> None:
        """Sum gradients over the team; a process without a window in this step has none of its own."""
        if self.team.size == 1:
            return
        sums = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        seen = torch.tensor([float(p.grad is not None) for p in self.parameters], device=self.device)
        self.team.sum([*sums, seen])
        for parameter, total, n in zip(self.parameters, sums, seen.tolist(), strict=True):
            parameter.grad = total if n else None

    def _rate(self, step: int, steps: int) -> float:
        """Learning rate of a step of this epoch."""
        s = self.settings
        done = self.epoch * steps + step
        rate = s.learning_rate * min(1.0, (done + 1) / max(s.rise_steps, 1))
        if s.cosine_schedule:
            rate *= 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(done / (s.epochs * steps), 1.0)))
        return rate

    def _steps(self) -> Iterator[list[Window]]:
        """Windows of each optimiser step: in the order of time with a memory, or shuffled without."""
        s = self.settings
        if not s.shuffle:
            for scene in self.scenes:
                memory = GroupMemory()
                for frames in scene.windows(s.window):
                    yield [(scene, frames, memory)]
            return
        rng = np.random.default_rng((s.seed, self.epoch))
        every: list[Window] = []
        for one in self.scenes:
            stride = int(rng.integers(1, s.frame_skip + 1))
            scene = one.crowded(s.crowd, rng) if s.crowd > 1 else one
            every += [(scene, frames, None) for frames in scene.windows(s.window, stride, int(rng.integers(s.window)))]
        order = rng.permutation(len(every))
        for i in range(0, len(order), s.windows_a_step):
            yield [every[k] for k in order[i : i + s.windows_a_step]]

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        """Association loss of the recordings held out, without dropout and augmentation; NaN without any.

        The association loss alone: the other two are measured on groups that the network makes itself, and fall when
        it makes fewer.
        """
        self.net.eval()
        plain = self.settings.model_copy(update={"reuse_features": False})
        rng = np.random.default_rng(0)
        values = [
            window_loss(self.net, scene, frames, plain, False, rng).parts["association"]
            for scene in self.held_out
            for frames in scene.windows(32)
        ]
        return float(np.mean(values)) if values else math.nan

    def _save(self, row: dict[str, float]) -> None:
        s = self.settings
        score = row["held_out"] if self.held_out else row["loss"]
        better = self.epoch > s.warmup_epochs and score < self.best
        if better:
            self.best, self.best_epoch = score, self.epoch
        if self.team.rank:
            return
        notes = {"recipe": s.recipe, "epoch": self.epoch, "loss": row["loss"], "held_out": row["held_out"]}
        if better:
            save_model(self.net, self.folder / "best.safetensors", self.n_cameras, **notes)
        if self.epoch % s.checkpoint_epochs == 0 or self.epoch == s.epochs:
            save_model(self.net, self.folder / f"epoch_{self.epoch}.safetensors", self.n_cameras, **notes)
        standing = Standing(self.epoch, self.best, self.best_epoch, self.log)
        save_state(self.folder / STATE, self.net, self.optimiser, s, standing)
        with atomic_path(self.folder / "log.csv") as temporary, temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, LOG_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.log)

    def _resume(self) -> None:
        done = load_state(self.folder / STATE, self.net, self.optimiser, self.settings)
        self.epoch, self.best, self.best_epoch, self.log = done.epoch, done.best, done.best_epoch, done.log


@contextmanager
def _workers(device: torch.device) -> Iterator[ThreadPoolExecutor | None]:
    """Threads that work on the windows of a step side by side, on the CPU.

    So small a network gains nothing from splitting its matrix products, so each thread gets one core and whole windows.
    """
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1:
        yield None
        return
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1)) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)
