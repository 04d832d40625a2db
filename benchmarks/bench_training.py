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

import torch

from trackfish3d.core.errors import InputError
from trackfish3d.methods.paper.checkpoint import load_model, shipped_model
from trackfish3d.methods.paper.network import TrackFishNet
from trackfish3d.methods.paper.train.settings import TrainingSettings, fast_recipe
from trackfish3d.methods.paper.train.trainer import Trainer
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene


def start_of(path: Path | None) -> TrackFishNet:
    try:
        return load_model(path or shipped_model())[0]
    except InputError:
        return TrackFishNet()


def speed(
    scene: TrainingScene, net: TrackFishNet, settings: TrainingSettings, seconds: float
) -> tuple[float, float, float]:
    """Windows a second by wall and by CPU time, and groups a frame, with weights that hardly move."""
    begun: list[float] = []
    done = groups = 0.0

    class Enough(Exception):
        pass

    def report(row: dict[str, float]) -> None:
        nonlocal done, groups
        if not begun:  # the first epoch compiles
            begun.extend((time.perf_counter(), time.process_time()))
            return
        done += len(scene.windows(settings.window))
        groups = row["groups"] / (settings.window + 1)
        if time.perf_counter() - begun[0] > seconds:
            raise Enough

    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Enough):
        Trainer([scene], settings, Path(folder), start=net).train(report)
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return done / wall, done / cpu, groups


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
    net = start_of(args.model)
    still = {"epochs": 10**6, "learning_rate": 1e-9, "model": net.settings, "checkpoint_epochs": 10**6}
    threads = torch.get_num_threads()
    settings = fast_recipe(warmup_epochs=0, cosine_schedule=False, **still)
    wall, cpu, groups = speed(loaded, net, settings, args.seconds)
    frames = settings.window + 1
    rates = f"{frames * wall:.0f} frames/s ({frames * cpu:.0f} a CPU second)"
    print(f"fast, {threads} threads: {rates}, {groups:.1f} groups a frame")
    torch.set_num_threads(1)
    for warmup, name in ((10**6, "warm-up"), (0, "all losses")):
        wall, cpu, _ = speed(loaded, net, TrainingSettings(warmup_epochs=warmup, **still), args.seconds)
        print(f"paper, 1 thread, {name}: {1e3 / wall:.1f} ms a step ({1e3 / cpu:.1f} CPU)")


if __name__ == "__main__":
    main()
