"""Speed of training at 16 fish and three cameras: frames a second with all three losses, grouping included.

``python benchmarks/bench_training.py [--seconds 20] [--model FILE]``. Wall and CPU time are both given: on a machine
that does other work, CPU time is the one to compare. A trained model makes as many groups as there are fish, a fresh
one hardly any, so the shipped one is the start where there is one.
"""

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

import numpy as np
import torch

from trackfish3d.core.errors import InputError
from trackfish3d.methods.paper.checkpoint import load_model, shipped_model
from trackfish3d.methods.paper.network import TrackFishNet
from trackfish3d.methods.paper.train.optimiser import FlatAdamW
from trackfish3d.methods.paper.train.settings import TrainingSettings, fast_recipe
from trackfish3d.methods.paper.train.step import Memory, window_loss
from trackfish3d.methods.paper.train.trainer import Trainer
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene


def start_of(path: Path | None) -> TrackFishNet:
    try:
        return load_model(path or shipped_model())[0]
    except InputError:
        return TrackFishNet()


def fast(scene: TrainingScene, net: TrackFishNet, seconds: float) -> tuple[float, float, float]:
    """Frames a second by wall and by CPU time, and groups a frame."""
    settings = fast_recipe(epochs=10**6, warmup_epochs=0, cosine_schedule=False, learning_rate=1e-9, model=net.settings)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer([scene], settings, Path(folder), start=net)

        class Enough(Exception):
            pass

        begun: list[float] = []
        frames = [0.0, 0.0]

        def report(row: dict[str, float]) -> None:
            per_epoch = sum(len(w) for w in scene.windows(settings.window))
            if not begun:  # the first epoch compiles
                begun.extend((time.perf_counter(), time.process_time()))
                return
            frames[0] += per_epoch
            frames[1] = row["groups"] / (settings.window + 1)
            if time.perf_counter() - begun[0] > seconds:
                raise Enough

        with contextlib.suppress(Enough):
            trainer.train(report)
        wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return frames[0] / wall, frames[0] / cpu, frames[1]


def paper(scene: TrainingScene, net: TrackFishNet, seconds: float, full: bool) -> tuple[float, float]:
    """Milliseconds a step by wall and by CPU time."""
    settings = TrainingSettings(model=net.settings)
    net.train()
    optimiser = FlatAdamW(net, 1e-9, 1e-4)
    memory = Memory()
    windows = scene.windows(1)

    def step(k: int) -> None:
        rng = np.random.default_rng((0, k))
        loss = window_loss(net, scene, windows[k % len(windows)], settings, full, rng, memory, optimiser.compiled)
        optimiser.step(optimiser.gradient(loss.total), 1e-9, 5.0)

    for k in range(20):
        step(k)
    wall, cpu, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - wall < seconds:
        step(count)
        count += 1
    return 1e3 * (time.perf_counter() - wall) / count, 1e3 * (time.process_time() - cpu) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--model", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (scene,) = benchmark_scenes(["train7"])
        write_scene(scene, Path(folder) / "school")
        loaded = TrainingScene.load(Path(folder) / "school")
    print(f"{len(loaded.detections) / len(loaded.detections.frames):.1f} detections a frame, {loaded.name}")
    threads = torch.get_num_threads()
    wall, cpu, groups = fast(loaded, start_of(args.model), args.seconds)
    print(f"fast, {threads} threads: {wall:.0f} frames/s ({cpu:.0f} a CPU second), {groups:.1f} groups a frame")
    torch.set_num_threads(1)
    for full in (False, True):
        ms, cpu_ms = paper(loaded, start_of(args.model), args.seconds, full)
        print(f"paper, 1 thread, {'all losses' if full else 'warm-up'}: {ms:.1f} ms a step ({cpu_ms:.1f} CPU)")


if __name__ == "__main__":
    main()
