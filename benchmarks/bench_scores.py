"""Time of all scores at 100 fish x 10,000 frames, and of CLEAR + ID beside py-motmetrics.

Run: OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/bench_scores.py
py-motmetrics would take minutes on the whole, so both are timed on the same excerpt (--excerpt frames, also
in this run); it gets its distance matrices for free, ours computes its own. Needs motmetrics==1.4.0.
"""

import argparse
import json
import time
from collections.abc import Callable

import motmetrics
import numpy as np

from trackfish3d.evaluation import evaluate
from trackfish3d.evaluation.clear import ClearScores, ClearSums, Matcher
from trackfish3d.evaluation.identity import IdentityScores, IdentitySums
from trackfish3d.evaluation.matching import Points, pair_up

GATE = 1.0
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def school(fish: int, frames: int, seed: int) -> Columns:
    """A school of wandering fish in a 20-unit cube; 10 % missed, 10 % ghosts, swaps, tracks broken at times."""
    rng = np.random.default_rng(seed)
    side = 20.0
    position, velocity = rng.random((fish, 3)) * side, np.zeros((fish, 3))
    xyz = np.empty((frames, fish, 3))
    for f in range(frames):
        velocity = 0.95 * velocity + rng.normal(scale=0.04, size=velocity.shape)
        velocity = np.where((position < 0) | (position > side), -velocity, velocity)
        position = np.clip(position + velocity, 0, side)
        xyz[f] = position
    frame = np.repeat(np.arange(frames), fish)
    identity = np.tile(np.arange(fish), frames)
    track = np.tile(np.arange(fish), (frames, 1))
    for start in rng.integers(0, frames, frames // 5):
        a, b = rng.choice(fish, 2, replace=False)
        track[start:, [a, b]] = track[start:, [b, a]]
    found = rng.random(frames * fish) < 0.9
    ghost = rng.random(frames * fish) < 0.1
    noisy = xyz.reshape(-1, 3) + rng.normal(scale=0.25, size=(frames * fish, 3))
    return (
        frame,
        identity,
        xyz.reshape(-1, 3),
        np.r_[frame[found], frame[ghost]],
        np.r_[track.ravel()[found], fish * (1 + frame[ghost] // 100) + identity[ghost]],
        np.r_[noisy[found], rng.random((int(ghost.sum()), 3)) * side],
    )


def clear_and_identity(columns: Columns) -> tuple[ClearScores, IdentityScores]:
    pairs = pair_up(Points.build(*columns[:3], "truth"), Points.build(*columns[3:], "prediction"), GATE)
    size = len(pairs.truth.ids), len(pairs.pred.ids)
    clear, identity = ClearSums(*size), IdentitySums(*size, GATE)
    clear.add(pairs, Matcher(*size, GATE).match(pairs))
    identity.add(pairs)
    return clear.scores(), identity.scores()


def motmetrics_clear_and_identity(columns: Columns) -> tuple[dict[str, float], float]:
    """Scores of py-motmetrics and its seconds, distances not counted."""
    truth = Points.build(*columns[:3], "truth")
    pred = Points.build(*columns[3:], "prediction")
    frames = []
    for frame in np.union1d(truth.frame, pred.frame):
        t, p = truth.frame == frame, pred.frame == frame
        distance = np.linalg.norm(truth.xyz[t][:, None] - pred.xyz[p][None], axis=-1)
        distance[distance > GATE] = np.nan
        frames.append((truth.ids[truth.identity[t]], pred.ids[pred.identity[p]], distance))
    started = time.perf_counter()
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    for frame in frames:
        accumulator.update(*frame)
    names = ["mota", "motp", "num_switches", "num_fragmentations", "mostly_tracked", "idf1", "idp", "idr"]
    result = motmetrics.metrics.create().compute(accumulator, metrics=names, return_dataframe=False)
    return result, time.perf_counter() - started


def best_of(run: Callable[[], object], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fish", type=int, default=100)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--excerpt", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    started = time.perf_counter()
    evaluate(*school(3, 20, 0), GATE)
    compile_s = time.perf_counter() - started
    columns = school(options.fish, options.frames, options.seed)
    all_s = best_of(lambda: evaluate(*columns, GATE))

    in_truth, in_pred = columns[0] < options.excerpt, columns[3] < options.excerpt
    excerpt = (*(c[in_truth] for c in columns[:3]), *(c[in_pred] for c in columns[3:]))
    ours_s = best_of(lambda: clear_and_identity(excerpt))
    theirs, theirs_s = motmetrics_clear_and_identity(excerpt)
    clear, identity = clear_and_identity(excerpt)
    pairs_of_scores = {
        "mota": clear.mota,
        "motp": clear.motp,
        "num_switches": clear.switches,
        "num_fragmentations": clear.fragmentations,
        "mostly_tracked": clear.mostly_tracked,
        "idf1": identity.idf1,
        "idp": identity.idp,
        "idr": identity.idr,
    }
    worst = max(abs(float(theirs[name]) - value) for name, value in pairs_of_scores.items())
    print(
        json.dumps(
            {
                "all_scores": {"fish": options.fish, "frames": options.frames, "seconds": round(all_s, 3)},
                "load_or_compile_seconds": round(compile_s, 2),
                "clear_and_id": {
                    "frames": options.excerpt,
                    "trackfish3d_ms_per_frame": round(1e3 * ours_s / options.excerpt, 4),
                    "motmetrics_ms_per_frame": round(1e3 * theirs_s / options.excerpt, 4),
                    "times_faster": round(theirs_s / ours_s, 1),
                    "largest_difference": worst,
                },
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
