"""The report of bench_behaviour.py, the paper's numbers beside ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trackfish3d import __version__
from trackfish3d.behaviour.abnormal.paper import METHODS
from trackfish3d.benchmark.paper import paper_results
from trackfish3d.core.files import atomic_path

WORDS = {"iforest": "Isolation Forest", "lof": "LOF", "zscore": "z-score", "consensus": "consensus"}


def write_report(path: Path, results: dict[str, Any], command: str) -> None:
    parts = ["# Behaviour\n", f"Made by `{command}` with trackfish3d {__version__}, tracks by `{results['method']}`.\n"]
    if "published" in results:
        parts += published_section(results["published"], results["symptoms"])
    if results.get("further"):
        parts += default_section(results)
    for part, title in (
        ("sick", "The scene `sick`"),
        ("further", "Ten further schools with a sick fish"),
        ("held", "Passed over: a healthy fish is held fast beside the sick one"),
        ("healthy", "Ten schools without a sick fish"),
        ("others", "Schools of other kinds"),
    ):
        if results.get(part):
            parts += [f"### {title}\n", default_table(results[part])]
    if "sick" in results:
        parts += ["![sick](sick.png)\n"]
    if "zef" in results:
        parts += zef_section(results["zef"])
    if "speed" in results:
        parts += speed_section(results["speed"])
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(parts), encoding="utf-8")


def published_section(table: dict[str, Any], symptoms: dict[str, float]) -> list[str]:
    """Our numbers with the paper's F1 in brackets."""
    paper = paper_results()["anomaly_F1"]
    lines = ["| input | method | exact % | precision % | recall % | F1 % (paper) |", "|---|---|---:|---:|---:|---:|"]
    for name, scores in table.items():
        beside = paper.get(name.replace("2D ", "2D_"), {})
        for method in METHODS:
            s = scores[method]
            cells = [f"{100 * s[k]:.1f}" for k in ("exact", "precision", "recall")]
            f1 = f"{100 * s['f1']:.1f}" + (f" ({beside[method]:.1f})" if method in beside else "")
            lines.append(f"| {name} | {WORDS[method]} | {' | '.join(cells)} | {f1} |")
    verdicts = []
    for method in ("consensus", "zscore"):
        views = {n: s[method]["f1"] for n, s in table.items() if n.startswith("2D")}
        best = max(views, key=lambda n: views[n])
        word = "above" if table["3D"][method]["f1"] > views[best] else "NOT above"
        verdicts.append(f"{WORDS[method]} in 3D is {word} every single view (best: {best}, {100 * views[best]:.1f})")
    text = (
        "Windows of 3 frames, stride 1; one abnormal fish of eight; 2D tracks are box centres linked to the nearest. "
        "`3D` takes the tracks as they are, as the paper does, `3D smoothed` after the smoother of `analyse`. "
        f"{'; '.join(verdicts)}.\n\n"
        f"Our sick fish swims at {symptoms['speed']:.2f} of the others' mean speed (the paper's at about half) and "
        f"keeps {symptoms['centroid_distance']:.2f} times their distance from the centroid. By its true positions it "
        f"is the slowest in {100 * symptoms['slowest']:.0f} % and the furthest in "
        f"{100 * symptoms['furthest']:.0f} % of the "
        "windows. Where Isolation Forest flags another fish there, that fish is in a burst in "
        f"{100 * symptoms['wrong_bursting']:.0f} % of the cases; healthy fish burst {100 * symptoms['bursting']:.0f} % "
        "of the time. Why the paper's Isolation Forest and LOF do better cannot be told from what it publishes.\n"
    )
    return ["## As published\n", text, "\n".join(lines) + "\n"]


def default_table(rows: Sequence[dict[str, Any]]) -> str:
    """One line a scene, and the mean."""
    lines = [
        "| school | sick / fish | exact % | precision % | recall % | F1 % | false alarms % | flagged on the whole |"
    ]
    lines += ["|---|---:|---:|---:|---:|---:|---:|---|"]
    keys = ("exact", "precision", "recall", "f1", "false_alarms")
    for r in rows:
        cells = [f"{100 * r[k]:.1f}" if r["abnormal"] or k == "false_alarms" else "" for k in keys]
        words = "; ".join(r["evidence"]) or "nobody"
        lines.append(f"| {r['scene']} | {r['abnormal']} / {r['fish']} | {' | '.join(cells)} | {words} |")
    if len(rows) > 1:
        some = [r for r in rows if r["abnormal"]]
        cells = [f"{100 * np.mean([r[k] for r in some]):.1f}" if some else "" for k in keys[:-1]]
        alarms = f"{100 * np.mean([r['false_alarms'] for r in rows]):.2f}"
        whole = sum(r["flagged_tracks"] for r in rows)
        judged = sum(r["judged_tracks"] for r in rows)
        lines.append(f"| **mean** | | {' | '.join(cells)} | {alarms} | {whole} of {judged} tracks flagged |")
    return "\n".join(lines) + "\n"


def default_section(results: dict[str, Any]) -> list[str]:
    """What the tables of the default detection say, and what was left out of them."""
    ten = [r["f1"] for r in results["further"]]
    text = (
        "Scores are means over windows of 10 s (one every quarter second); false alarms are the share of windows of "
        "healthy fish that were flagged, at a rate of 1 % asked for. "
        f"F1 on the ten further schools: {100 * np.mean(ten):.1f} % (least {100 * min(ten):.1f} %)."
    )
    if results.get("held"):
        both = sorted(results["further"] + results["held"], key=lambda r: int(r["scene"].split("+")[1]))[:10]
        text += (
            f" On the first ten offsets, those passed over included: {100 * np.mean([r['f1'] for r in both]):.1f} %. "
            "Schools are passed over for what the truth says (a healthy fish below 0.7 of its own cruising speed), but "
            "that rule was made after such a school had been seen to lower the score."
        )
    if "many" in results:
        m = results["many"]
        text += (
            f"\n\nWith nothing passed over, on {m['sick']} more schools with a sick fish and {m['healthy']} without, "
            f"none used for tuning, by their true positions with a noise of {m['noise']} instead of tracks: F1 "
            f"{100 * m['f1']:.1f} % (standard error {100 * m['f1_error']:.1f}), below 97 % in "
            f"{100 * m['below']:.0f} % of the schools; false alarms {100 * m['alarms_sick']:.2f} % beside a sick fish, "
            f"{100 * m['alarms_healthy']:.2f} % without one."
        )
    return ["## Default detection\n", text + "\n"]


def zef_section(found: dict[str, Any]) -> list[str]:
    lines = ["| | median, truth | median, tracks | mean, truth | mean, tracks | Wasserstein | Kolmogorov-Smirnov |"]
    lines += ["|---|---:|---:|---:|---:|---:|---:|"]
    for name, unit in (("speed", "cm/s"), ("nearest_neighbour", "cm")):
        r = found[name]
        keys = ("truth_median", "tracks_median", "truth_mean", "tracks_mean", "wasserstein", "kolmogorov")
        lines.append(f"| {name.replace('_', ' ')}, {unit} | " + " | ".join(f"{r[k]:.3f}" for k in keys) + " |")
    text = "Ground truth and our own tracks of the same zebrafish, both analysed alike.\n"
    return ["## 3D-ZeF 02: distributions\n", text, "\n".join(lines) + "\n", "![zef02](zef02.png)\n"]


def speed_section(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["| fish | frames | seconds | CPU-seconds | peak memory, MB | load |", "|---:|---:|---:|---:|---:|---:|"]
    for r in rows:
        numbers = f"{r['seconds']:.1f} | {r['cpu_seconds']:.1f} | {r['megabytes']:.0f} | {r['load']:.1f}"
        lines.append(f"| {r['fish']} | {r['frames']} | {numbers} |")
    text = (
        "`trackfish3d analyse`, two threads on two cores, from start to end: reading, smoothing, measuring, judging, "
        "writing. Load is that of the machine just before: with other work on it, the seconds grow and the CPU-seconds "
        "do not.\n"
    )
    return ["## Time and memory\n", text, "\n".join(lines) + "\n"]
