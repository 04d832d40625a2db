"""The goals of the joint tracker, row by row, from the results of all reports."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Row = tuple[str, str, str, bool, str]
"""What, goal, reached, whether the goal is, and the command."""
SYNFISH = {"mota": 98.5, "switches": 0.5}
NOISE = {"detection": {0.05: 97, 0.1: 95, 0.2: 90, 0.4: 75}, "calibration": {0.05: 97, 0.1: 95, 0.2: 88}}
DENSITY = {"thirty": ("30 fish", 92), "hundred": ("100 fish", 80)}
ZEF = {"mota": 93.0, "idf1": 90.0}
OF_RIGS = 2.0
POINTS = 0.9
SPEED_MS = {16: 5.0, 100: 60.0}


def means(results: Mapping[str, Any], label: str, key: str, chosen: Callable[[str], bool]) -> tuple[float, int]:
    """Mean of a score over the scenes whose name is chosen, and the number of schools of each."""
    rows = [rows[label] for name, rows in results["scenes"].items() if chosen(name) and label in rows]
    return float(np.mean([r["scores"][key] for r in rows])), len({r["seed"] for r in rows})


def _ends(end: str, scene: str) -> bool:
    """Whether a scene's name, without its seed, ends so."""
    return re.sub(r"-seed\d+", "", scene).endswith(end)


def goal_rows(folder: Path, own: Mapping[str, Any]) -> Iterator[Row]:
    """All goals, from the results.json of the reports in ``folder`` and the parts measured here."""
    found = {path.parent.name: json.loads(path.read_text("utf-8")) for path in folder.glob("*/results.json")}
    if "synfish" in found:
        yield from _synfish(found["synfish"])
    if "density" in found:
        for scene, (words, goal) in DENSITY.items():
            value, seeds = means(found["density"], "joint", "mota", partial(_ends, scene))
            hota, _ = means(found["density"], "joint", "hota", partial(_ends, scene))
            reached = f"{100 * value:.1f} (HOTA {100 * hota:.1f}; {seeds} schools)"
            yield f"{words}: MOTA", f"{goal}", reached, 100 * value >= goal, "benchmark density"
    if "robustness" in found:
        for kind, goals in NOISE.items():
            for sigma, goal in goals.items():
                noisy = f"-{kind}-{sigma:g}"
                value, seeds = means(found["robustness"], "joint", "mota", partial(_ends, noisy))
                reached = f"{100 * value:.1f} ({seeds} school{'s' if seeds > 1 else ''} of each scene)"
                yield f"{kind} noise {sigma:g}: MOTA", f"{goal}", reached, 100 * value >= goal, "benchmark robustness"
    if "zef" in found:
        for key, goal in ZEF.items():
            each = [100 * found["zef"]["scenes"][s]["joint"]["scores"][key] for s in ("02", "04")]
            reached = f"{np.mean(each):.1f} ({each[0]:.1f}, {each[1]:.1f})"
            yield f"3D-ZeF 02 and 04: {key.upper()}", f"{goal:g}", reached, np.mean(each) >= goal, "benchmark zef"
    yield from _own(own)


def _synfish(results: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the goals on the six test scenes."""
    command = "benchmark synfish --seeds 3"
    value, seeds = means(results, "joint", "mota", lambda s: True)
    oracle, _ = means(results, "oracle", "mota", lambda s: True)
    switches, _ = means(results, "joint", "switches", lambda s: True)
    good = 100 * value >= SYNFISH["mota"]
    yield (
        "SynFish test: MOTA",
        f"{SYNFISH['mota']}",
        f"{100 * value:.2f} ({seeds} schools of each scene)",
        good,
        command,
    )
    yield "SynFish test: not below oracle", f"{100 * oracle:.2f}", f"{100 * value:.2f}", value >= oracle, command
    good = switches <= SYNFISH["switches"]
    yield "SynFish test: switches a scene", f"at most {SYNFISH['switches']}", f"{switches:.2f}", good, command


def _own(own: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the goals of the parts that bench_joint.py measures."""
    if "rigs" in own:
        every = [r for r in own["rigs"]["rows"] if r["label"] == "joint"]
        for fish in dict.fromkeys(r["fish"] for r in every):
            rows = [r for r in every if r["fish"] == fish]
            seen = {k: np.mean([r[k] for r in rows if r["rig"] == "seen"]) for k in ("mota", "idf1")}
            worst = {
                kind: min(100 * (np.mean([r[k] for r in rows if r["rig"] == kind]) - seen[k]) for k in seen)
                for kind in dict.fromkeys(r["rig"] for r in rows if r["rig"] != "seen")
            }
            kind = min(worst, key=lambda k: worst[k])
            reached = f"{worst[kind]:+.1f} at worst ({kind}; seen {100 * seen['mota']:.1f})"
            yield (
                f"random rigs of 2 to 6 cameras, {fish} fish: MOTA and IDF1 against seen rigs",
                f"-{OF_RIGS:g} or more", reached, worst[kind] >= -OF_RIGS, "bench_joint.py --only rigs",
            )  # fmt: skip
    if "points" in own:
        rows = [r for r in own["points"]["rows"] if r["label"] == "joint"]
        peers = [r for r in own["points"]["rows"] if r["label"].startswith("optv, ")]
        for cameras, points in dict.fromkeys((r["cameras"], r["points"]) for r in rows):
            mine = [r["f1_0.5"] for r in rows if (r["cameras"], r["points"]) == (cameras, points)]
            bands: dict[str, list[float]] = {}
            for r in peers:
                if (r["cameras"], r["points"]) == (cameras, points):
                    bands.setdefault(r["label"], []).append(r["f1_0.5"])
            best = max(float(np.mean(v)) for v in bands.values())
            reached = f"{np.mean(mine):.3f} (optv {best:.3f})"
            good = float(np.mean(mine)) >= POINTS
            yield f"{cameras} cameras, {points} points: F1", f"{POINTS}", reached, good, "bench_joint.py --only points"
    if "growth" in own:
        for r in own["growth"]["rows"]:
            if (goal := SPEED_MS.get(r["fish"])) is not None:
                short = r["frames"] + r["mending"] + r["fit"] * r["length"] / 150
                reached = f"{r['whole']:.1f} ({short:.1f} with the fit over 150 frames)"
                yield (
                    f"{r['fish']} fish x 3 cameras, fit included: CPU ms a frame", f"below {goal:g}", reached,
                    short < goal, "bench_joint.py --only growth",
                )  # fmt: skip


def goals_section(folder: Path, own: Mapping[str, Any]) -> list[str]:
    """Markdown."""
    lines = ["| | goal | reached | | command |", "|---|---:|---:|---|---|"]
    for what, goal, reached, good, command in goal_rows(folder, own):
        lines.append(f"| {what} | {goal} | {reached} | {'yes' if good else '**no**'} | `{command}` |")
    return ["## Goals\n", "From the results of this report and of those beside it.\n", "\n".join(lines) + "\n"]
