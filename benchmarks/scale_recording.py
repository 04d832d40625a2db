"""A recording of any length, made in constant memory: smooth swimmers before cameras, seen as a detector would.

Fish are damped oscillators driven by noise, so that they swim for ever in one volume. A view misses some, shows false
ones, and shows one blob where one fish is right before another. The same seed makes the same recording.

    python benchmarks/scale_recording.py OUT --frames 1000000
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.signal import lfilter

from trackfish3d.core.files import atomic_path
from trackfish3d.recordings import Detections, Recording, Tracks, Truth
from trackfish3d.synfish.rigs import random_rig

CHUNK = 5000  # frames that are drawn at once: the draws belong to it, so that it is part of what the seed means
LENGTH = 3.0  # of a body, world units
SPREAD = 4.5  # standard deviation of positions, world units
MISSED, FALSE, NOISE_PX = 0.03, 0.1, 0.6
FPS = 60.0


def ways(fish: int, frames: int, seed: int) -> Iterator[np.ndarray]:
    """Positions (T, N, 3) of the school about its centre, chunk by chunk."""
    turn, damping = 0.012, 0.25  # radians a frame
    b, a = [1.0], [1.0, -2 * np.exp(-damping * turn) * np.cos(turn), np.exp(-2 * damping * turn)]
    state = np.zeros((2, fish, 3))
    long = lfilter(b, a, np.random.default_rng(99).normal(size=200_000))
    scale = SPREAD / long.std()
    for number, begin in enumerate(range(-CHUNK, frames, CHUNK)):  # the first chunk forgets that all began at rest
        rng = np.random.default_rng([seed, number])
        x, state = lfilter(b, a, rng.normal(0, scale, (CHUNK, fish, 3)), axis=0, zi=state)
        if begin >= 0:
            yield x[: frames - begin]


def seen(rig, x: np.ndarray, first: int, rng: np.random.Generator) -> tuple[Detections, np.ndarray]:
    """What a detector makes of positions (T, N, 3) from frame ``first`` on, and which row (T, N, C) shows whom."""
    t, n, _ = x.shape
    row = np.full((t, n, len(rig)), -1)
    count = 0
    columns: list[list[np.ndarray]] = [[] for _ in range(5)]
    for c, camera in enumerate(rig):
        pixel = camera.project(x.reshape(-1, 3)).reshape(t, n, 2)
        away = np.linalg.norm(x - camera.centre, axis=2)
        size = camera.K[0, 0] * LENGTH / away * rng.uniform(0.5, 1.0, (t, n))
        apart = np.linalg.norm(pixel[:, :, None] - pixel[:, None], axis=3)
        behind = (apart < 0.25 * size[:, None]) & (away[:, :, None] > away[:, None])
        there = (rng.random((t, n)) > MISSED) & ~behind.any(2)
        there &= ((pixel >= 0) & (pixel < camera.size)).all(2)
        pixel = pixel + rng.normal(0, NOISE_PX, pixel.shape)
        frame = np.broadcast_to(np.arange(t)[:, None], (t, n))
        false = rng.poisson(FALSE, t)
        place = rng.uniform(0, 1, (false.sum(), 2)) * camera.size
        parts = (
            np.append(frame[there], np.repeat(np.arange(t), false)),
            np.vstack([pixel[there], place]),
            np.append(size[there], rng.uniform(0.5, 1.0, false.sum()) * np.median(size)),
        )
        row[..., c][there] = count + np.arange(there.sum())
        count += len(parts[0])
        columns[0].append(parts[0] + first)
        columns[1].append(np.full(len(parts[0]), c))
        columns[2].append(parts[1])
        columns[3].append(parts[2])
    frame, camera, pixel, size = (np.concatenate(k) for k in columns[:4])
    half = 0.5 * size * np.sqrt(0.5)
    u, v = pixel.T
    place = np.argsort(np.lexsort((camera, frame)))  # where each goes when they are sorted
    found = Detections.build(rig.names, frame, camera, u, v, u - half, v - half, u + half, v + half)
    return found, np.where(row >= 0, place[row], -1)


def followed(rig, x: np.ndarray, row: np.ndarray, first: int, before: int, rng: np.random.Generator) -> Tracks:
    """Tracks that follow positions (T, N, 3) as a tracker would, with rows (T, N, C) of ``before`` more detections."""
    t, n, _ = x.shape
    count = t * n
    covariance = np.broadcast_to(0.02**2 * np.eye(3), (count, 3, 3))
    links = np.where(row >= 0, row + before, -1).reshape(count, -1)
    frame, fish = np.repeat(np.arange(first, first + t), n), np.tile(np.arange(n), t)
    noisy = x.reshape(-1, 3) + rng.normal(0, 0.02, (count, 3))
    return Tracks.build(
        frame, fish, noisy, covariance=covariance, sigma_velocity=np.full(count, 0.01), confidence=np.ones(count),
        error_px=np.full(count, NOISE_PX), detection=links, cameras=rig.names, observed=(links >= 0).any(1),
    )  # fmt: skip


def make(
    out: Path, fish: int = 10, cameras: int = 3, frames: int = 60_000, seed: int = 0, tracks: bool = False
) -> Recording:
    """Write the recording with its truth and, where they are asked for, tracks that follow it closely."""
    rig = random_rig(cameras, seed=seed + 1)
    from trackfish3d.synfish.rigs import common_point

    centre = common_point(rig)
    recording = Recording.create(out, rig, fps=FPS, frames=(0, frames))

    def pieces() -> Iterator[Detections]:
        with ExitStack() as files:
            path = files.enter_context(atomic_path(out / "truth.parquet"))
            beside = files.enter_context(atomic_path(out / "tracks.parquet")) if tracks else None
            writer = tracked = None
            before = 0
            for number, x in enumerate(ways(fish, frames, seed)):
                first = number * CHUNK
                x = x + centre
                frame = np.repeat(np.arange(first, first + len(x)), fish)
                truth = Truth.build(frame, np.tile(np.arange(fish), len(x)), x.reshape(-1, 3)).to_table()
                writer = writer or pq.ParquetWriter(path, truth.schema, compression="zstd")
                writer.write_table(truth)
                found, row = seen(rig, x, first, np.random.default_rng([seed, number, 1]))
                if beside is not None:
                    rng = np.random.default_rng([seed, number, 2])
                    table = followed(rig, x, row, first, before, rng).to_table()
                    tracked = tracked or pq.ParquetWriter(beside, table.schema, compression="zstd")
                    tracked.write_table(table)
                before += len(found)
                yield found
            for file in (writer, tracked):
                if file is not None:
                    file.close()

    recording.write_detections(pieces())
    return recording


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--fish", type=int, default=10)
    parser.add_argument("--cameras", type=int, default=3)
    parser.add_argument("--frames", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tracks", action="store_true", help="with tracks, to measure what comes after tracking")
    print(make(**vars(parser.parse_args())))
