"""Headings of tracked animals against the truth: python benchmarks/bench_headings.py --out docs/results/headings.md

Constants were chosen on train1, train3 and train6; test scenes are looked at to report.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import trackfish3d as tf
from trackfish3d.bodies import with_bodies

SCENES = ("train1", "train3", "train6", "test1", "test2", "test3", "test4", "test5", "test6")
INSIDE = (1.5152, 2.4477)  # standard deviations that hold 68.27 and 95 % of a vector in a plane


def true_headings(truth, tracks, gate):
    """(N, 3) heading of the true animal nearest to each point, NaN where none is near."""
    out = np.full((len(tracks), 3), np.nan)
    for frame in np.unique(tracks.frame):
        mine, theirs = np.flatnonzero(tracks.frame == frame), np.flatnonzero(truth.frame == frame)
        far = np.linalg.norm(tracks.position[mine, None] - truth.position[theirs], axis=2)
        near = far.min(1) < gate
        out[mine[near]] = truth.heading[theirs[far.argmin(1)[near]]]
    return out


def swimming(tracks):
    """(N, 3) directions of plain differences of positions: what there was before."""
    out = np.full((len(tracks), 3), np.nan)
    for k in tracks.identities:
        mine = np.flatnonzero(tracks.track == k)
        if len(mine) > 2:
            way = np.gradient(tracks.position[mine], axis=0)
            with np.errstate(invalid="ignore"):
                out[mine] = way / np.linalg.norm(way, axis=1, keepdims=True)
    return out


def measure(name):
    """A row of the table for each kind of detections of a scene."""
    with tempfile.TemporaryDirectory() as folder:
        recording = tf.simulate_synfish(folder, [name])[name]
        detections, truth = recording.detections, recording.truth
        tracks = tf.track(recording).tracks
    true = true_headings(truth, tracks, 1.0)
    rows = []
    plain = replace(detections, area=None, angle=None, major=None, minor=None)
    for kind, seen in (("masks", detections), ("boxes", plain)):
        bare = replace(tracks, heading=None, length=None, thickness=None, visible=None)
        found = with_bodies(recording.rig, seen, bare)
        off = [np.arccos(np.clip((h * true).sum(1), -1, 1)) for h in (swimming(tracks), found.heading)]
        good = np.isfinite(off[1])
        inside = [(off[1][good] / found.heading_sigma[good] < limit).mean() for limit in INSIDE]
        median = [np.degrees(np.nanmedian(o)) for o in off]
        row = [name, kind, *median, np.degrees(np.nanpercentile(off[1], 95)), 100 * (off[1][good] > np.pi / 2).mean()]
        rows.append([*row, *(100 * s for s in inside)])
        print(rows[-1], flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/headings.md"))
    parser.add_argument("--scenes", nargs="*", default=SCENES)
    options = parser.parse_args()
    rows = [row for name in options.scenes for row in measure(name)]
    lines = [
        "# Headings", "",
        "`python benchmarks/bench_headings.py`. SynFish, second edition; angle between heading and truth, degrees. "
        "Constants were chosen on train1, train3 and train6.", "",
        "| scene | detections | velocity, median | heading, median | 95 % | turned about, % | 1 sigma, % | 2 sigma |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
        *("| " + " | ".join([*r[:2], *(f"{x:.1f}" for x in r[2:])]) + " |" for r in rows),
    ]  # fmt: skip
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
