"""Crowds that the suites of `trackfish3d benchmark` have not: two random cameras, and 200 fish in the water of 100.

    python benchmarks/bench_bodies.py --work FOLDER [--only two,dense] [--draws 3] [--methods joint,oracle]

Schools of 30 fish before two random cameras (rigs 1, 2, ... of `simulate --rig random:2`), and of 200 fish where scene
`hundred` has 100, each of other seeds than any scene that settings were chosen on. Prints MOTA and IDF1, and CPU ms a
frame, of each draw and their means. `oracle` knows the associations, `oracle-true` the true middles, too.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.suites import GATE_SYNFISH
from trackfish3d.benchmark.variants import ORACLE, ORACLE_TRUE, parse_variant
from trackfish3d.evaluation.oracle import at_true_pixels, track_oracle
from trackfish3d.methods.baselines.geometric import KalmanSettings
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording, Tracks
from trackfish3d.synfish.rigs import common_point, random_rig
from trackfish3d.synfish.scenes import FPS, benchmark_scenes, write_scene, write_school

FRAMES = 150
FEW, MANY = 30, 200
OFFSET = 51  # of seeds


def two_cameras(draw: int, work: Path) -> Recording:
    """Return a school of 30 fish before two random cameras."""
    folder = work / f"two-{draw}"
    if not (folder / "recording.toml").exists():
        scene = benchmark_scenes(["train8"])[0].model_copy(update={"frames": FRAMES, "fish": FEW})
        school, own = scene.build(OFFSET + draw)
        rig = random_rig(2, 1 + draw, common_point(own))
        write_school(school, rig, folder, "detector", OFFSET + draw, FPS, f"30 fish, two random cameras, draw {draw}")
    return Recording.open(folder)


def dense(draw: int, work: Path) -> Recording:
    """Return a school of 200 fish in the water of scene `hundred`."""
    folder = work / f"dense-{draw}"
    if not (folder / "recording.toml").exists():
        scene = benchmark_scenes(["hundred"])[0].model_copy(update={"frames": FRAMES, "fish": MANY})
        write_scene(scene, folder, seed_offset=OFFSET + draw)
    return Recording.open(folder)


SCENES = {"two": two_cameras, "dense": dense}


def run(method: str, recording: Recording) -> Tracks:
    """Track a recording by a method with settings (``joint:tracklets=0``), or by an oracle."""
    rig, detections, truth = recording.rig, recording.detections, recording.truth
    assert truth is not None
    if method in (ORACLE, ORACLE_TRUE):
        if method == ORACLE_TRUE:
            detections, truth = at_true_pixels(detections, truth)
        return track_oracle(rig, detections, truth, KalmanSettings())
    variant = parse_variant(method)
    return make_method(variant.method, variant.settings).track(rig, detections, recording.fps).tracks


def bench(kind: str, methods: Sequence[str], draws: int, work: Path) -> None:
    """Print the scores of all draws of a kind of scene."""
    for method in methods:
        rows = []
        for draw in range(draws):
            recording = SCENES[kind](draw, work)
            assert recording.truth is not None
            begun = time.process_time()
            tracks = run(method, recording)
            ms = 1000 * (time.process_time() - begun) / FRAMES
            found = score(recording.truth, tracks, GATE_SYNFISH)
            rows.append((100 * found["mota"], 100 * found["idf1"], ms))
            print(f"{kind} {method} draw {draw}: MOTA {rows[-1][0]:.1f} IDF1 {rows[-1][1]:.1f} {ms:.1f} ms", flush=True)
        mota, idf1, ms = np.mean(rows, axis=0)
        print(f"{kind} {method} mean of {draws}: MOTA {mota:.1f} IDF1 {idf1:.1f} {ms:.1f} ms", flush=True)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the schools")
    parser.add_argument("--only", default="two,dense")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", default=f"joint,{ORACLE},{ORACLE_TRUE}")
    given = parser.parse_args()
    for kind in given.only.split(","):
        bench(kind, given.methods.split(","), given.draws, given.work)


if __name__ == "__main__":
    main()
