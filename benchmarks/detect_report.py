"""The report of bench_detect.py."""

from pathlib import Path
from typing import Any

import numpy as np

from trackfish3d import __version__
from trackfish3d.core.files import atomic_path

GOALS = {8: (0.95, 0.98), 16: (0.85, 0.95)}


def write_report(path: Path, results: dict[str, Any], command: str) -> None:
    parts = ["# From video to detections and tracks\n", f"Made by `{command}` with trackfish3d {__version__}.\n"]
    sections = {
        "synfish": synfish_section, "learn": learn_section, "idtracker": idtracker_section, "bristol": bristol_section,
        "speed": speed_section, "memory": memory_section,
    }  # fmt: skip
    for name, section in sections.items():
        if name in results:
            parts += section(results[name])
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(parts), encoding="utf-8")


def met(good: bool) -> str:
    return "met" if good else "**missed**"


def pooled(entries: list[dict[str, Any]]) -> dict[str, float]:
    """Recall and precision over all fish and detections of several schools."""
    fish = sum(e["all"]["fish"] for e in entries)
    found = sum(e["all"]["fish"] * e["all"]["recall"] for e in entries)
    made = sum(e["all"]["fish"] * e["all"]["recall"] / max(e["all"]["precision"], 1e-9) for e in entries)
    return {"recall": found / fish, "precision": found / made}


def synfish_section(results: dict[str, Any]) -> list[str]:
    lines = ["## SynFish: masks\n"]
    for fish, (recall, precision) in GOALS.items():
        entries = [e for e in results.values() if e["fish"] == fish]
        if entries:
            p = pooled(entries)
            lines.append(
                f"- {fish} fish: recall {p['recall']:.3f} (goal {recall}: {met(p['recall'] >= recall)}), precision "
                f"{p['precision']:.3f} (goal {precision}: {met(p['precision'] >= precision)})"
            )
    lines += [
        "\nFirst 150 frames (5 s) of test scenes, which the detector was not tuned on; three views of 1920 x "
        "1080 each, H.264, every second frame compared. "
        "A detection counts where its mask and the visible mask of a fish have an IoU of 0.5 or more, one to one; any "
        "fish of which one pixel is visible counts. *Shown*: recall of fish of which a quarter or more is visible. "
        "Centroid errors are of matched masks. *Contrast*: typical deviation of an animal from the background, in "
        "standard deviations. *Lost*: merged with another / in pieces / outline too different / unseen. *Extra* "
        "detections: a piece of a fish / several fish in one / water.\n",
        "| school | view | contrast | recall | shown | precision | centroid px, median | 95 % | lost | extra |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for name, entry in results.items():
        rows = [(k, v, f"{v['contrast']:.0f}") for k, v in entry["views"].items()] + [("all", entry["all"], "")]
        for view, e, contrast in rows:
            cells = [f"{e[k]:.3f}" for k in ("recall", "recall_shown", "precision")]
            cells += [f"{e['centroid_median_px']:.1f}", f"{e['centroid_p95_px']:.1f}"]
            cells += [" / ".join(map(str, e[k].values())) for k in ("lost", "extra")]
            lines.append(f"| {name} ({entry['fish']}) | {view} | {contrast} | {' | '.join(cells)} |")
    lines += ["\nHalf-way through the first school of each, from the side and from above:\n"]
    for fish, scene in ((8, "test3"), (16, "test4")):
        lines += [f"![{fish} fish]({scene}-cam{c}.png)\n" for c in (0, 1)]
    lines += ["## SynFish: tracks from films alone\n"]
    lines += [
        "`joint` with default settings on the detections of `background`, and on those of the simulated detector (a "
        "model of a learned one that sees the true masks) of the same school; gate 1.0.\n",
        "| school | MOTA % from film | simulated | IDF1 % from film | simulated | switches from film | simulated |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, e in results.items():
        a, b = e["mota_film"], e["mota_simulated"]
        cells = [f"{100 * x[k]:.1f}" for k in ("mota", "idf1") for x in (a, b)] + [
            str(a["switches"]),
            str(b["switches"]),
        ]
        lines.append(f"| {name} ({e['fish']}) | {' | '.join(cells)} |")
    return [*lines, ""]


def learn_section(results: dict[str, Any]) -> list[str]:
    lines = [
        "## The whole way, with learning on the recording\n",
        "`run VIDEO... --cameras ...` on the films of test4 (16 fish, 150 frames of three views), from films to "
        "report.\n",
        "| | MOTA % | IDF1 % | switches | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, r in results.items():
        cells = f"{100 * r['mota']:.1f} | {100 * r['idf1']:.1f} | {r['switches']} | {r['seconds']:.0f}"
        lines.append(f"| {name} | {cells} |")
    return [*lines, ""]


def idtracker_section(r: dict[str, Any]) -> list[str]:
    shares = ", ".join(f"{n}: {100 * s:.1f} %" for n, s in r["shares"].items())
    return [
        "## One camera, 8 zebrafish (idtracker)\n",
        f"8 fish in {100 * r['eight']:.1f} % of {r['frames']} frames (goal 90 %: {met(r['eight'] >= 0.9)}). By number "
        f"found: {shares}.\n",
    ]


def bristol_section(results: dict[str, Any]) -> list[str]:
    rms = {n: r["rms_px"]["all"] for n, r in results.items()}
    lines = [
        "## Three cameras above a bowl of some 50 zebrafish (bristol)\n",
        "Boards to calibration, films of 57 frames to detections and tracks, by `run` as it is. "
        f"Calibration RMS: {', '.join(f'{n} {v:.2f} px' for n, v in rms.items())} (goal 2 px: "
        f"{met(max(rms.values()) <= 2)}). *given*: published lenses; *fitted*: board's stretch and lenses too. Nobody "
        "knows the truth here. *Agree*: detections of a view that are in a triple of all three views which one point "
        "explains within 8 px, each used once; *by chance*: with the third view 20 frames off. *Left out*: where two "
        "views say that the third sees the fish. The last columns are of `joint`'s tracks.\n",
        "| calibration | detections a frame | agree % | by chance % | left out px, median | 90 % | "
        "tracks | 29 frames or longer | all 57 frames | median frames | points in three views % | held-out px, median "
        "| 95 % |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, r in results.items():
        if "tracks" not in r:
            continue
        t = r["tracks"]
        cells = [
            " / ".join(f"{n:.1f}" for n in r["detections_a_frame"]),
            " / ".join(f"{100 * n:.0f}" for n in r["agree_in_three_views"]),
            f"{100 * r['agree_by_chance']:.0f}", f"{r['left_out_median_px']:.2f}", f"{r['left_out_p90_px']:.2f}",
            str(t["tracks"]), str(t["half_or_longer"]), str(t["full_length_tracks"]), f"{t['length_median']:.0f}",
            f"{100 * t['points_in_three_views']:.0f}", f"{t['held_out_median_px']:.2f}", f"{t['held_out_p95_px']:.2f}",
        ]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def speed_section(r: dict[str, Any]) -> list[str]:
    views = {k: v for k, v in r.items() if isinstance(v, dict)}
    slowest = min(v["two_cores_fps"] for v in views.values())
    lines = [
        "## Speed\n",
        "Films of 1920 x 1080 with 16 fish (test4), 150 frames. CPU time of decoding and of detecting, what that makes "
        "on one core, and by the clock on two, with decoding beside detecting as a camera's process does it. "
        f"At least {slowest:.0f} frames a second (goal 30: "
        f"{met(slowest >= 30)}).\n",
        "| view | decode ms | detect ms | frames/s, one core | two cores | learning, CPU s |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, v in views.items():
        cells = [f"{v[k]:.1f}" for k in ("decode_ms", "see_ms", "one_core_fps", "two_cores_fps", "learn_s")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def memory_section(r: dict[str, Any]) -> list[str]:
    later = [mb for done, mb in r["resident_mb"] if done >= r["frames"] // 10]
    return [
        "## Memory\n",
        f"{r['frames']} frames of {r['size'][0]} x {r['size'][1]} (a small picture, because 1080p would take an hour) "
        "through the code that a camera's process runs: decoding ahead, detecting, parts on disk. Resident memory from "
        f"a tenth of the way to the end: {np.min(later):.0f} to {np.max(later):.0f} MB, {r['growth_mb']:+.1f} MB over "
        f"all of it (flat: {met(abs(r['growth_mb']) < 20)}). {1000 * r['cpu_s'] / r['frames']:.1f} CPU ms a frame.\n",
    ]
