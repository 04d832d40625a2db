"""``report.md``: our numbers with the paper's beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..core.files import atomic_path
from ..evaluation.tables import FULL, SUMMARY, ScoreTable
from .jobs import by_scene
from .paper import COLUMNS, SYNFISH_TEST, ZEF_TEST, paper_results, published_average, published_mota, published_others
from .suites import Suite

DETAILS = {
    "crowd": " `oracle-true` is also told where in its detections the middle of each animal is. Draws of even number "
    "are for tuning, those of odd number for reports; what is drawn stands in `benchmark/crowded/crowd.py`.",
    "cmc": " Detections of score 0.3 and more; tracks are cut to the floor that truth covers. CMC1 is for tuning, CMC2 "
    "for reports.",
}
Results = Sequence[Mapping[str, Any]]
PAPER_COLUMNS = (*COLUMNS, *((c.label, c.key, c.kind == "share") for c in SUMMARY if c.key in ("idf1", "hota")))
"""Heading, score and whether it is a share: the columns of the paper's tables, then IDF1 and HOTA."""


def write_report(path: Path, suite: Suite, results: Results, command: str, plots: Sequence[Path]) -> None:
    """Write the Markdown report of a suite."""
    good = [r for r in results if "error" not in r]
    parts = [f"# {suite.title}\n", f"Made by `{command}` with trackfish3d {__version__}. {_words(suite, good)}\n"]
    if suite.name == "robustness":
        parts += noise_section(good)
    elif suite.name == "speed":
        parts += [speed_table(good)]
    elif good:
        parts += ["## Average over scenes\n", average_table(suite, good), "## MOTA of each scene, %\n"]
        parts += [scene_table(suite, good)]
    parts += [f"![{p.stem.replace('_', ' ')}]({p.name})\n" for p in plots]
    if good and suite.name not in ("robustness", "speed"):
        parts += ["## Every scene\n"]
        for scene, rows in by_scene(dict(r) for r in good).items():
            table = ScoreTable({label: _numbers(r["scores"]) for label, r in rows.items()}, FULL)
            parts += [f"### {scene}\n", table.markdown()]
        parts += ["## Time\n", speed_table(good)]
    failed = [f"- {r['scene']}, {r['label']}: {r['error']}" for r in results if "error" in r]
    if failed:
        parts += ["## Not run\n", "\n".join(failed) + "\n"]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(parts), encoding="utf-8")


def _words(suite: Suite, results: Results) -> str:
    unit = {"zef": "cm", "cmc": "m"}.get(suite.name, "world units")
    seeds = len({r["seed"] for r in results})
    spread = (
        f" Each scene was simulated {seeds} times with other schools of the same kind: numbers are the mean over them, "
        "± the standard deviation of one school."
    )
    few = {label: len({r["seed"] for r in results if r["label"] == label}) for label in _labels(results)}
    less = ", ".join(f"{count} of `{label}`" for label, count in few.items() if count < seeds)
    spread += f" Fewer schools were run of some methods: {less}." if less else ""
    return (
        f"A point counts when it is within {suite.gate:.1f} {unit} of the truth. The paper's numbers are in brackets; "
        "its MTBF is matched frames / runs, ours MTBFs. `oracle` is told which detections belong together and links "
        "them by Kalman filter: the ceiling of association."
        + DETAILS.get(suite.name, "")
        + (spread if seeds > 1 else "")
    )


def _numbers(scores: Mapping[str, Any]) -> dict[str, float]:
    return {k: float("nan") if v is None else float(v) for k, v in scores.items()}


def _labels(results: Results) -> list[str]:
    return list(dict.fromkeys(r["label"] for r in results))


def mean_score(results: Results, label: str, key: str) -> float:
    """Mean of a score of one method over its scenes; NaN where it has none."""
    means = seed_means(results, label, key)
    return float(np.mean(means)) if means else float("nan")


def seed_means(results: Results, label: str, key: str) -> list[float]:
    """Mean of a score of one method over its scenes, for each seed on its own; NaN where a scene has none."""
    by_seed: dict[int, list[float]] = {}
    for r in results:
        if r["label"] == label:
            value = r["scores"][key]
            by_seed.setdefault(r["seed"], []).append(float("nan") if value is None else float(value))
    return [float(np.mean(values)) for values in by_seed.values()]


def score_text(results: Results, label: str, key: str, share: bool) -> str:
    """Mean over scenes and, with several seeds, ± the standard deviation over these; percent for a share."""
    means = np.array(seed_means(results, label, key)) * (100 if share else 1)
    if not len(means):
        return "-"
    return f"{means.mean():.1f}" + (f" ± {means.std(ddof=1):.1f}" if len(means) > 1 else "")


def average_table(suite: Suite, results: Results) -> str:
    """Averages over scenes, as the paper's main table, with its number in brackets."""
    everything = _complete(suite, results)
    lines = [f"| | {_heads(PAPER_COLUMNS)} |", "|---|" + "---:|" * len(PAPER_COLUMNS)]
    for label in _labels(results):
        beside = published_average(suite.name, label) if everything else {}
        lines.append(f"| {label} | " + " | ".join(_cells(results, label, beside)) + " |")
    for name, row in published_others(suite.name).items() if everything else ():
        cells = [f"({row[c[0]]:.1f})" if c[0] in row else "" for c in PAPER_COLUMNS]
        lines.append(f"| paper: {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _heads(columns: Sequence[tuple[str, str, bool]]) -> str:
    return " | ".join(f"{name}{' %' if share else ''}" for name, _, share in columns)


def _cells(results: Results, label: str, beside: Mapping[str, float]) -> list[str]:
    """Return our scores of one method under the paper's columns, its own in brackets."""
    return [
        score_text(results, label, key, share) + (f" ({beside[name]:.1f})" if name in beside else "")
        for name, key, share in PAPER_COLUMNS
    ]


def _complete(suite: Suite, results: Results) -> bool:
    """Whether these are the scenes that the paper averages over."""
    if suite.name not in ("synfish", "zef", "peers", "ablation", "weights"):
        return False
    scenes = {r["base"] for r in results}
    return scenes == set(ZEF_TEST if suite.name == "zef" else SYNFISH_TEST)


def scene_table(suite: Suite, results: Results) -> str:
    """MOTA by method and scene, with the paper's in brackets."""
    scenes = list(dict.fromkeys(r["base"] for r in results))
    lines = ["| | " + " | ".join(scenes) + " |", "|---|" + "---:|" * len(scenes)]
    for label in _labels(results):
        cells = []
        for scene in scenes:
            beside = published_mota(suite.name, label, scene)
            text = score_text([r for r in results if r["base"] == scene], label, "mota", True)
            cells.append(text if beside is None else f"{text} ({beside:.1f})")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def noise_section(results: Results) -> list[str]:
    """Scores averaged over scenes at each noise level, for both kinds of noise: MOTA side by side, then all."""
    parts = []
    for kind, table in (("calibration", "calibration_noise_inference"), ("detection", "detection_noise")):
        levels = noise_levels(results, kind)
        published = {float(k): v["MOTA"] for k, v in paper_results()[table].items()}
        lines = ["| | " + " | ".join(f"{s:g}" for s in levels) + " |", "|---|" + "---:|" * len(levels)]
        for label in _labels(results):
            cells = [score_text(at_level(results, kind, s), label, "mota", True) for s in levels]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        cells = [f"({published[s]:.1f})" if s in published else "" for s in levels]
        lines.append("| paper: TrackFish3D | " + " | ".join(cells) + " |")
        parts += [f"## MOTA over {kind} noise, %, average over scenes\n", "\n".join(lines) + "\n"]
        for label in _labels(results):
            parts += [f"### {label}, {kind} noise\n", noise_table(results, label, kind, levels)]
    return parts


def noise_table(results: Results, label: str, kind: str, levels: Sequence[float]) -> str:
    """All scores of one method at each noise level; for ``paper`` on its scenes, the published ones in brackets."""
    name = "calibration_noise_inference" if kind == "calibration" else "detection_noise"
    beside = label == "paper" and {r["base"] for r in results} == set(SYNFISH_TEST)
    published = {float(k): row for k, row in paper_results()[name].items()} if beside else {}
    lines = [f"| noise | {_heads(PAPER_COLUMNS)} |", "|---:|" + "---:|" * len(PAPER_COLUMNS)]
    for level in levels:
        cells = _cells(at_level(results, kind, level), label, published.get(level, {}))
        lines.append(f"| {level:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def noise_levels(results: Results, kind: str) -> list[float]:
    """Noise levels of one kind that were run, with 0 for the clean scenes."""
    found = {float(r["scene"].rsplit("-", 1)[1]) for r in results if f"-{kind}-" in r["scene"]}
    return sorted(found | {0.0})


def at_level(results: Results, kind: str, sigma: float) -> list[Mapping[str, Any]]:
    """Results on scenes with this noise; of the clean scenes at 0."""
    if sigma == 0:
        return [r for r in results if "-calibration-" not in r["scene"] and "-detection-" not in r["scene"]]
    return [r for r in results if r["scene"].endswith(f"-{kind}-{sigma:g}")]


def speed_table(results: Results) -> str:
    """Milliseconds a frame by method and scene, without compilation, one thread."""
    scenes = list(dict.fromkeys(r["scene"] for r in results))
    lines = ["CPU milliseconds a frame, one thread, compiled code loaded before.\n"]
    lines += ["| | " + " | ".join(scenes) + " |", "|---|" + "---:|" * len(scenes)]
    for label in _labels(results):
        rows = {r["scene"]: r for r in results if r["label"] == label and r["seconds"] is not None}
        if rows:
            cells = [f"{1000 * rows[s]['seconds'] / rows[s]['frames']:.2f}" if s in rows else "-" for s in scenes]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
