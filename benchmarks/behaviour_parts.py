"""Parts of bench_behaviour.py: pictures, zebrafish against their ground truth, time and memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from scipy import stats

from trackfish3d.behaviour.abnormal.single_camera import followed, spread_out
from trackfish3d.behaviour.analysis import Behaviour, analyse, world_of
from trackfish3d.core.files import atomic_path
from trackfish3d.recordings import Recording, Tracks

SPEED_FRAMES = (100_000, 200_000)
FISH = 16


def draw(found: Behaviour, recording: Recording, tracks: Tracks, path: Path) -> None:
    """Draw the paper's figure, its two features and those that decide here, and the verdict over time."""
    truth = recording.truth
    assert truth is not None
    main = found.plan.main
    mine = tracks.select(np.isin(tracks.track, main))
    count = recording.info.frame_count
    whom = followed(
        spread_out(mine.frame, mine.track, mine.position, count),
        spread_out(truth.frame, truth.identity, truth.position, count),
        1.0,
    )
    sick = (whom == truth.identity.max()).mean(0) > 0.5
    colours = ["#c0392b" if s else "#2e8b57" for s in sick]
    bins = found.bins
    figure = Figure(figsize=(11, 3.2))
    left, middle, right = figure.subplots(1, 3)
    for k, colour in enumerate(colours):
        size = {"s": 10, "alpha": 0.6, "color": colour, "lw": 0}
        left.scatter(bins[:, k, 7], np.exp(bins[:, k, 2]), **size)
        middle.scatter(bins[:, k, 7], np.exp(bins[:, k, 1]), **size)
        time = 0.5 * (found.windows.first_bin + found.windows.last_bin + 1) * found.plan.bin_frames / found.plan.fps
        right.plot(time, found.windows.p[:, k], color=colour, lw=1.6)
    left.set(xlabel="speed, units/s", ylabel="distance to others, units", title="quarter seconds")
    middle.set(xlabel="speed, units/s", ylabel="turning, rad/s", title="quarter seconds", yscale="log")
    right.axhline(found.plan.settings.anomaly.false_alarm_rate, color="0.5", ls="--", lw=1)
    right.set(xlabel="middle of a 10 s window, s", ylabel="p", yscale="log", title="p of each fish, sick one red")
    figure.tight_layout()
    _save(figure, path)


def compare_zef(recording: Recording, tracks: Tracks, path: Path) -> dict[str, Any]:
    """Speeds and neighbour distances of tracks and of the ground truth of 3D-ZeF: medians, and how far apart."""
    truth = recording.truth
    assert truth is not None
    known = np.isfinite(truth.position).all(1)
    true = Tracks.build(truth.frame[known], truth.identity[known], truth.position[known])
    world = world_of(recording.rig, recording.fps, recording.rig.up)
    columns = {"speed": "speed_cm_per_s", "nearest_neighbour": "nearest_neighbour_cm"}
    values: dict[str, dict[str, Any]] = {name: {} for name in columns}
    for label, source in (("truth", true), ("tracks", tracks)):
        points: list[pa.Table] = []
        analyse(source, world, sink=lambda n, t, keep=points: keep.append(t) if n == "points" else None)
        table = pa.concat_tables(points)
        for name, column in columns.items():
            column_values = table[column].to_numpy().astype(np.float64)
            values[name][label] = column_values[np.isfinite(column_values)]
    figure = Figure(figsize=(8, 3))
    out: dict[str, Any] = {}
    for axes, (name, both) in zip(figure.subplots(1, 2), values.items(), strict=True):
        a, b = both["truth"], both["tracks"]
        out[name] = {
            "truth_median": float(np.median(a)),
            "tracks_median": float(np.median(b)),
            "truth_mean": float(a.mean()),
            "tracks_mean": float(b.mean()),
            "wasserstein": float(stats.wasserstein_distance(a, b)),
            "kolmogorov": float(stats.ks_2samp(a, b).statistic),
        }
        edges = np.linspace(0, np.percentile(a, 99.5), 60)
        axes.hist(a, edges, density=True, histtype="stepfilled", color="0.75", label="ground truth")
        axes.hist(b, edges, density=True, histtype="step", color="#0b6bcb", lw=1.6, label="our tracks")
        axes.set(xlabel=columns[name].replace("_", " "), yticks=[])
        axes.legend(fontsize=8, frameon=False)
        print(f"zef 02 {name}: {out[name]}", flush=True)
    figure.tight_layout()
    _save(figure, path)
    return out


def measure_speed(frames: int, work: Path) -> dict[str, Any]:
    """Seconds and memory of the command on a recording of 16 fish, two threads, compiled code loaded before."""
    folder = work / f"long{frames}"
    if not (folder / "tracks.parquet").exists():
        long_recording(folder, frames)
    short = work / "long500"
    if not (short / "tracks.parquet").exists():
        long_recording(short, 500)
    command(short)
    load = os.getloadavg()[0]
    spent, processor, peak = command(folder)
    print(f"{FISH} fish x {frames} frames: {spent:.1f} s, {processor:.1f} CPU-s, {peak:.0f} MB", flush=True)
    return {"fish": FISH, "frames": frames, "seconds": spent, "cpu_seconds": processor, "megabytes": peak, "load": load}


def command(folder: Path) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak megabytes of ``trackfish3d analyse``, from start to end."""
    code = (
        "import sys, time, json; begin = time.perf_counter()\n"
        "from trackfish3d.cli.app import main\n"
        "try: main(['analyse', sys.argv[1]])\n"
        "except SystemExit as end: assert not end.code\n"
        # Not ru_maxrss, which begins at what the parent process had.
        "peak = next(int(l.split()[1]) / 1024 for l in open('/proc/self/status') if l.startswith('VmHWM'))\n"
        "print(json.dumps([time.perf_counter() - begin, time.process_time(), peak]))"
    )
    environment = os.environ | {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=environment, check=True
    )
    seconds, processor, megabytes = json.loads(done.stdout.strip().splitlines()[-1])
    return float(seconds), float(processor), float(megabytes)


def long_recording(folder: Path, frames: int, seed: int = 0) -> None:
    """Write a recording with tracks of fish that wander in a tank, noisy, each with gaps and interpolated points."""
    rng = np.random.default_rng(seed)
    from trackfish3d.synfish.rigs import paper_rig

    Recording.create(folder, paper_rig(0), fps=30.0, frames=(0, frames))
    t = np.arange(frames)[:, None]
    paths = []
    for _ in range(FISH):
        rate = rng.uniform(0.002, 0.02, (4, 1, 3))
        phase = rng.uniform(0, 2 * np.pi, (4, 1, 3))
        paths.append(3 * np.sin(rate * t + phase).sum(0))
    position = np.stack(paths, 1) + rng.normal(0, 0.05, (frames, FISH, 3))
    there = rng.random((frames // 50 + 1, FISH)).repeat(50, 0)[:frames] > 0.03
    frame, track = np.nonzero(there)
    observed = rng.random(len(frame)) > 0.05
    covariance = np.broadcast_to(0.05**2 * np.eye(3), (len(frame), 3, 3)) * rng.uniform(0.5, 2, (len(frame), 1, 1))
    tracks = Tracks.build(frame, track, position[frame, track], covariance=covariance, observed=observed)
    Recording.open(folder).write_tracks(tracks)


def _save(figure: Figure, path: Path) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130)
