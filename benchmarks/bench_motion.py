"""Fast starts, cruising and time: what the joint tracker makes of motion, against plain triangulation.

    OMP_NUM_THREADS=1 python benchmarks/bench_motion.py [--seeds tune|report] [--out FILE]

Random schools of preset ``startle`` (2 to 5 cameras in air, or the tank; 2 to 8 fish; starts at 6 to 12 times the
cruising speed for 5 to 10 frames; exact masks and masks of a detector with failures in turn). From ten frames before a
fast start to five after its end, the error of the track that had followed the fish is compared with the triangulation
of the same detections, their fish given. Seeds of ``tune`` were looked at while the tracker was written, those of
``report`` only to report.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.triangulation import triangulate_ml
from trackfish3d.core.errors import InputError
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Detections, Tracks, Truth
from trackfish3d.synfish.detector import make_detector
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rigs import common_point, random_rig, tank_rig, tank_water
from trackfish3d.synfish.school import School, Water, simulate_school

SEEDS = {"tune": range(1000, 1010), "report": range(2000, 2020)}
FRAMES = 240
BEFORE, AFTER = 10, 5  # frames
GOAL_RATIO, GOAL_WORST = 1.05, 0.3


def startled_school(seed: int) -> tuple[CameraRig, School, Detections, Truth]:
    """A random school with fast starts, and what its cameras see; the same for the same seed."""
    rng = np.random.default_rng(seed)
    cameras = int(rng.integers(1, 6))
    if cameras == 1:
        rig, water, length = tank_rig(), tank_water(), 2.5
    else:
        rig = random_rig(cameras, seed)
        water, length = Water.around(common_point(rig), np.array([7.0, 7.0, 5.0])), 2.0
    settings = preset("startle").model_copy(
        update={
            "length": length,
            "cruise": float(rng.uniform(0.02, 0.045)),
            "start_speed": float(rng.uniform(6, 12)),
            "start_frames": float(rng.integers(5, 11)),
            "start_turn": float(rng.uniform(0.5, 2.5)),
            "start_turn_frames": float(rng.integers(3, 6)),
        }
    )
    fish = int(rng.integers(2, 9))
    school = simulate_school(settings, water, fish, FRAMES, seed)
    detector = make_detector("detector" if seed % 2 else "ideal", fish, len(rig), seed)
    return rig, school, *observe(school, rig, detector)


def triangulated(rig: CameraRig, detections: Detections, truth: Truth) -> np.ndarray:
    """(T, N, 3) points of least reprojection error of each fish's own detections, NaN where fewer than two views."""
    assert truth.detection is not None
    shown = truth.detection
    enough = (shown >= 0).sum(1) >= 2
    rows = shown[enough]
    flat, camera = rows[rows >= 0], np.nonzero(rows >= 0)[1]
    offsets = np.concatenate([[0], np.cumsum((rows >= 0).sum(1))])
    found = triangulate_ml(rig, detections.centroids[flat], camera, offsets)
    points = np.full((len(shown), 3), np.nan)
    points[enough] = np.where(found.valid[:, None], found.points, np.nan)
    return points.reshape(-1, len(np.unique(truth.identity)), 3)


def errors(tracks: Tracks, school: School, plain: np.ndarray) -> dict[str, np.ndarray]:
    """Errors of all frames of all starts, body lengths: of tracks, of triangulation, and whether the track is there."""
    frames, fish = school.position.shape[:2]
    names = np.unique(tracks.track)
    path = np.full((frames, len(names), 3), np.nan)
    path[tracks.frame, np.searchsorted(names, tracks.track)] = tracks.position
    onset = school.starting & ~np.vstack([np.ones((1, fish), bool), school.starting[:-1]])
    out: dict[str, list[np.ndarray]] = {"track": [], "plain": [], "start": []}
    for start, k in np.argwhere(onset):
        end = start + int(np.argmin(np.append(school.starting[start:, k], False)))
        if start < BEFORE or not len(names):
            continue
        window = np.arange(start - BEFORE, min(end + AFTER, frames))
        true = school.position[:, k]
        apart = np.linalg.norm(path[window[0] : start] - true[window[0] : start, None], axis=2) / school.length[k]
        near = np.argmax((apart < 0.5).sum(0))
        followed = np.linalg.norm(path[window, near] - true[window], axis=1) / school.length[k]
        out["track"].append(followed if (apart[:, near] < 0.5).any() else np.full(len(window), np.nan))
        out["plain"].append(np.linalg.norm(plain[window, k] - true[window], axis=1) / school.length[k])
        out["start"].append(np.full(len(window), 1000 * k + start))
    return {k: np.concatenate(v) if v else np.zeros(0) for k, v in out.items()}


def one(seed: int, method: str) -> dict[str, Any]:
    """Errors of a school, in numbers."""
    rig, school, detections, truth = startled_school(seed)
    tracker = make_method(method)
    begin = time.process_time()
    tracks = tracker.track(rig, detections, 200.0)
    seconds = time.process_time() - begin
    found = errors(tracks, school, triangulated(rig, detections, truth))
    both = np.isfinite(found["track"]) & np.isfinite(found["plain"])
    mean = {k: float(np.sqrt(np.mean(found[k][both] ** 2))) if both.any() else np.nan for k in ("track", "plain")}
    return {
        "seed": seed, "cameras": len(rig), "fish": len(school.length), "starts": len(np.unique(found["start"])),
        "rms": mean["track"], "plain": mean["plain"], "worst": float(np.nanmax(found["track"], initial=0.0)),
        "worst_plain": float(np.nanmax(found["plain"], initial=0.0)),
        "there": float(np.isfinite(found["track"]).mean()), "tracks": len(np.unique(tracks.track)), "cpu_s": seconds,
    }  # fmt: skip


def main() -> None:
    """Print a table, a row a school."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", choices=list(SEEDS), default="tune")
    parser.add_argument("--method", default="joint")
    parser.add_argument("--out", type=Path, help="JSON file of all rows")
    arguments = parser.parse_args()
    rows = []
    print("| seed | cameras | fish | starts | tracks | RMS | triangulated | ratio | worst | triangulated | there |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for seed in SEEDS[arguments.seeds]:
        try:
            rows.append(r := one(seed, arguments.method))
        except InputError as error:
            print(f"{seed}: {error}")
            continue
        print(
            f"| {seed} | {r['cameras']} | {r['fish']} | {r['starts']} | {r['tracks']} | {r['rms']:.4f} | "
            f"{r['plain']:.4f} | {r['rms'] / r['plain']:.2f} | {r['worst']:.3f} | {r['worst_plain']:.3f} | "
            f"{100 * r['there']:.1f} % |",
            flush=True,
        )
    good = [r for r in rows if r["starts"]]
    ratio = np.array([r["rms"] / r["plain"] for r in good])
    worst = np.array([r["worst"] for r in good])
    print(
        f"\nratio at most {GOAL_RATIO}: {(ratio <= GOAL_RATIO).sum()} of {len(good)}, mean {ratio.mean():.2f}; worst "
        f"below {GOAL_WORST}: {(worst < GOAL_WORST).sum()} of {len(good)}; {sum(r['cpu_s'] for r in rows):.1f} CPU s"
    )
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
