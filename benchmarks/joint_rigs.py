"""Rigs nobody tuned on: the same school before the paper's rigs and before random ones of 2 to 6 cameras."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.suites import GATE_SYNFISH
from trackfish3d.cameras import CameraRig
from trackfish3d.evaluation.oracle import track_oracle
from trackfish3d.methods.baselines.geometric import KalmanSettings
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording, Tracks
from trackfish3d.synfish.rigs import common_point, paper_rig, random_rig
from trackfish3d.synfish.scenes import FPS, benchmark_scenes, write_school

SCHOOLS = (("train7", 16, 21), ("train8", 30, 22))
"""Scene whose kind of school it is, number of fish, offset of its seed: schools that nothing was tuned on."""
SEEN = (0, 3, 6)
CAMERAS = (2, 3, 4, 5, 6)
RIG_SEEDS = (1, 2)
FRAMES = 150
GOAL = 2.0  # points of MOTA or IDF1 below the seen rigs
METHODS = ("joint", "sort3d, contain=true", "oracle")


def moved(rig: CameraRig, target: np.ndarray) -> CameraRig:
    """Return the rig shifted so that it looks at ``target`` (3,)."""
    shift = target - common_point(rig)
    return CameraRig(tuple(replace(c, t=c.t - c.R @ shift) for c in rig), rig.units)


def rigs(target: np.ndarray) -> Iterator[tuple[str, int, CameraRig]]:
    """Kind, number and rig, all of them aimed at ``target``."""
    for number in SEEN:
        yield "seen", number, moved(paper_rig(number), target)
    for cameras in CAMERAS:
        for seed in RIG_SEEDS:
            yield f"random:{cameras}", seed, random_rig(cameras, seed, target)


def run(label: str, recording: Recording) -> Tracks:
    """Track by one of `METHODS`."""
    if label == "oracle":
        assert recording.truth is not None
        return track_oracle(recording.rig, recording.detections, recording.truth, KalmanSettings())
    name, _, contain = label.partition(", ")
    settings = {"contain": True} if contain else {}
    return make_method(name, settings).track(recording.rig, recording.detections, recording.fps).tracks


def bench_rigs(work: Path) -> list[dict[str, Any]]:
    """All schools, rigs and methods; recordings are kept in ``work``."""
    rows = []
    for name, fish, offset in SCHOOLS:
        scene = benchmark_scenes([name])[0].model_copy(update={"frames": FRAMES, "fish": fish})
        school, own = scene.build(offset)
        for kind, number, rig in rigs(common_point(own)):
            folder = work / "rigs" / f"{name}x{fish}+{offset}-{kind.replace(':', '')}-{number}"
            if not (folder / "recording.toml").exists():
                write_school(
                    school, rig, folder, "detector", 100 * offset + number, FPS, f"{name}, rig {kind} {number}"
                )
            recording = Recording.open(folder)
            for label in METHODS:
                assert recording.truth is not None
                found = score(recording.truth, run(label, recording), GATE_SYNFISH)
                kept = {k: found[k] for k in ("mota", "idf1", "switches", "hota")}
                rows.append({"school": name, "fish": fish, "rig": kind, "number": number, "label": label} | kept)
            print(name, kind, number, [f"{100 * r['mota']:.1f}" for r in rows[-len(METHODS) :]], flush=True)
    return rows


def rigs_section(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Markdown."""
    schools = dict.fromkeys(f"{r['fish']} fish as {r['school']}" for r in rows)
    text = (
        f"The same schools ({', '.join(schools)}; other seeds, {FRAMES} frames) "
        "before the paper's "
        f"rigs {', '.join(map(str, SEEN))} (3 cameras, seen), and before {len(RIG_SEEDS)} random rigs of each "
        "number of "
        "cameras with curved lenses (`simulate --rig random:N`). Mean ± deviation over rigs; gate "
        f"{GATE_SYNFISH:g}. `oracle` is told which detections belong together: what a rig leaves to be reached.\n"
    )
    lines = [
        "| fish | rig | method | MOTA % | IDF1 % | HOTA % | IDSw | worst MOTA % | against seen |",
        "|---:|---|---|" + "---:|" * 6,
    ]
    base: dict[tuple[int, str], tuple[float, float]] = {}
    for fish, kind in dict.fromkeys((r["fish"], r["rig"]) for r in rows):
        for label in METHODS:
            mine = [r for r in rows if (r["fish"], r["rig"], r["label"]) == (fish, kind, label)]
            value = {k: 100 * np.array([r[k] for r in mine]) for k in ("mota", "idf1", "hota")}
            mean = float(value["mota"].mean()), float(value["idf1"].mean())
            first = base.setdefault((fish, label), mean)
            apart = mean[0] - first[0], mean[1] - first[1]
            cells = [f"{v.mean():.1f} ± {v.std():.1f}" for v in value.values()]
            cells += [f"{np.mean([r['switches'] for r in mine]):.1f}", f"{value['mota'].min():.1f}"]
            words = "" if kind == "seen" else f"{apart[0]:+.1f} / {apart[1]:+.1f}"
            if label == "joint" and kind != "seen":
                words += ", reached" if min(apart) >= -GOAL else ", missed"
            lines.append(f"| {fish} | {kind} | {label} | {' | '.join(cells)} | {words} |")
    return [
        "## Unseen rigs\n", text, "\n".join(lines) + "\n",
        "The last column is the difference of MOTA / IDF1 to the same method on seen rigs; the goal is "
        f"{-GOAL:g} or more.\n",
    ]  # fmt: skip
