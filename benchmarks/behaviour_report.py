"""The report of bench_behaviour.py, the paper's numbers beside ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trackfish3d import __version__
from trackfish3d.behaviour.published import METHODS
from trackfish3d.benchmark.paper import paper_results
from trackfish3d.files import atomic_path

WORDS = {"iforest": "Isolation Forest", "lof": "LOF", "zscore": "z-score", "consensus": "consensus"}


def write_report(path: Path, results: dict[str, Any], command: str) -> None:
    parts = ["# Behaviour\n", f"Made by `{command}` with trackfish3d {__version__}, tracks by `{results['method']}`.\n"]
    if "published" in results:
        parts += published_section(results["published"])
    for part, title in (
        ("sick", "Default detection: the scene `sick`"),
        ("further", "Default detection: ten further schools with a sick fish"),
        ("held", "Default detection: schools passed over, in which a healthy fish is held fast beside the sick one"),
        ("healthy", "Default detection: ten schools without a sick fish"),
        ("others", "Default detection: schools of other kinds"),
    ):
        if results.get(part):
            parts += [f"## {title}\n", default_table(results[part])]
    if "sick" in results:
        parts += ["![sick](sick.png)\n"]
    if "zef" in results:
        parts += zef_section(results["zef"])
    if "speed" in results:
        parts += speed_section(results["speed"])
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(parts), encoding="utf-8")


def published_section(table: dict[str, Any]) -> list[str]:
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
        f"{'; '.join(verdicts)}.\n"
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
    text = (
        "\nScores are means over windows of 10 s (one every quarter second); false alarms are the share of windows of "
        "healthy fish that were flagged, at a rate of 1 % asked for.\n"
    )
    return "\n".join(lines) + "\n" + text


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
    lines = ["| fish | frames | seconds | CPU-seconds | peak memory, MB |", "|---:|---:|---:|---:|---:|"]
    for r in rows:
        numbers = f"{r['seconds']:.1f} | {r['cpu_seconds']:.1f} | {r['megabytes']:.0f}"
        lines.append(f"| {r['fish']} | {r['frames']} | {numbers} |")
    text = "`trackfish3d analyse`, two threads, from start to end: reading, smoothing, measuring, judging, writing.\n"
    return ["## Time and memory\n", text, "\n".join(lines) + "\n"]
