"""``benchmark stages``: the run over scenes, and its tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.files import atomic_path, write_json
from ..core.progress import TaskProgress
from .ambiguity import bin_names
from .fates import FATES
from .jobs import in_parallel
from .report import PAPER_COLUMNS, score_text
from .scenes import SceneSpec
from .stages import ORDER, analyse
from .suites import Suite, prepare_scenes
from .variants import Variant

Results = Sequence[Mapping[str, Any]]
COLUMNS = (
    *PAPER_COLUMNS,
    ("pair precision", "association_precision", True),
    ("pair recall", "association_recall", True),
    ("exact groups", "exact_group_accuracy", True),
)
WORDS = """\
Every row replaces a stage of the method by the truth and keeps the others. *True pairs*: the pair scores are 1 for \
detections of one animal and 0 else. *True grouping*: of the pairs that the network accepts, the right ones are taken. \
*True groups*: every animal seen by two cameras is one group. *True identities*: each point belongs to the animal that \
more than half of its detections show; points of nobody, and those farther than the gate, are dropped. Averages over \
scenes."""
PAIR_WORDS = """\
Pairs of detections of different cameras by their number of candidates: how many detections of the other camera \
triangulate into both boxes with one of the two, the more the denser the school. Found and wrong are pairs in the \
method's groups."""
SCORE_WORDS = """\
The network's affinity on pairs that triangulate into both boxes, so that geometry alone cannot part them: the share \
of true and of false ones it accepts, and the chance that a true one scores above a false one (AUC); beside it that \
of the reprojection error, which needs no network."""

FATE_WORDS = """\
What the published grouping makes of each animal that two cameras or more see in a frame, % of these. *Merged*: \
matched pairs were joined transitively into a component of several animals, of which one detection a camera stays."""


def run_stages(suite: Suite, out: Path, workers: int, done: TaskProgress) -> list[dict[str, Any]]:
    """Analyse every method on every scene, and write ``results.json``."""
    folders = prepare_scenes(suite, out, workers, done)
    work: list[tuple[SceneSpec, Variant]] = [(s, v) for s in suite.scenes for v in suite.variants]
    count = 0

    def heard(result: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        done(result["label"], count, len(work))

    found = in_parallel([(analyse, (v, folders[s.name], suite.gate)) for s, v in work], workers, heard)
    results = [{"scene": s.name, "base": s.base, "seed": s.seed} | r for (s, _), r in zip(work, found, strict=True)]
    write_json(out / "results.json", {"suite": "stages", "gate": suite.gate, "results": results})
    return results


def stage_report(out: Path, suite: Suite, results: Results, command: str) -> str:
    """Write ``report.md``; returns its text."""
    parts = [f"# {suite.title}\n", f"Made by `{command}`. {WORDS}\n"]
    good = [r for r in results if "error" not in r]
    for label in dict.fromkeys(r["label"] for r in good):
        mine = [r for r in good if r["label"] == label]
        rows = [flat(r, stage) for r in mine for stage in r["stages"]]
        parts += [f"## {label}\n", stage_table(rows), "MOTA of each scene, %:\n", scene_table(rows)]
        parts += [f"{PAIR_WORDS}\n", pair_table(mine)]
        if any("scored_pairs" in r for r in mine):
            parts += [f"{SCORE_WORDS}\n", scored_table(mine), f"{FATE_WORDS}\n", fate_table(mine)]
    failed = [f"- {r['scene']}, {r['label']}: {r['error']}" for r in results if "error" in r]
    if failed:
        parts += ["## Not run\n", "\n".join(failed) + "\n"]
    text = "\n".join(parts)
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text(text, encoding="utf-8")
    return text


def flat(result: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """One stage as a result of its own, whose label is the stage."""
    place = {k: result[k] for k in ("scene", "base", "seed")}
    return place | {"label": stage, "scores": result["stages"][stage]}


def stage_table(rows: Results) -> str:
    """Average of every score, one line a stage."""
    lines = ["| | " + " | ".join(f"{name}{' %' if share else ''}" for name, _, share in COLUMNS) + " |"]
    lines += ["|---|" + "---:|" * len(COLUMNS)]
    for stage in ORDER:
        mine = [r for r in rows if r["label"] == stage]
        if mine:
            cells = [score_text(with_key(mine, key), stage, key, share) for _, key, share in COLUMNS]
            lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_key(rows: Results, key: str) -> Results:
    """Results with a score, None where they lack it: tracks of nothing have no groups to score."""
    return [dict(r) | {"scores": {key: r["scores"].get(key)}} for r in rows]


def scene_table(rows: Results) -> str:
    """MOTA by stage and scene."""
    scenes = list(dict.fromkeys(r["base"] for r in rows))
    lines = ["| | " + " | ".join(scenes) + " |", "|---|" + "---:|" * len(scenes)]
    for stage in ORDER:
        cells = [score_text([r for r in rows if r["base"] == scene], stage, "mota", True) for scene in scenes]
        if any(r["label"] == stage for r in rows):
            lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def pair_table(results: Results) -> str:
    """Claimed pairs by candidates, counts summed over scenes."""
    lines = ["| candidates | true pairs | found % | wrong | precision % |", "|---:|" + "---:|" * 4]
    for k, name in enumerate(bin_names()):
        true, found, wrong = (sum(r["pairs"][k][key] for r in results) for key in ("true", "found", "wrong"))
        claimed = found + wrong
        cells = [str(true), _percent(found, true), str(wrong), _percent(found, claimed)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def scored_table(results: Results) -> str:
    """Scores of plausible pairs by candidates; shares and AUC are means over scenes, weighted by their true pairs."""
    heads = ("candidates", "true", "false", "true accepted %", "false accepted %", "AUC", "AUC of the error")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for k, name in enumerate(bin_names()):
        bins = [r["scored_pairs"][k] for r in results if "scored_pairs" in r]
        cells = [str(sum(b["true"] for b in bins)), str(sum(b["false"] for b in bins))]
        for key, times, digits in (
            ("true_accepted", 100, 1),
            ("false_accepted", 100, 1),
            ("auc", 1, 3),
            ("auc_error", 1, 3),
        ):
            value = times * _weighted(bins, key)
            cells.append("-" if np.isnan(value) else f"{value:.{digits}f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def fate_table(results: Results) -> str:
    """Fates of animals in the published grouping, by scene."""
    scenes = list(dict.fromkeys(r["base"] for r in results))
    lines = ["| | " + " | ".join(scenes) + " |", "|---|" + "---:|" * len(scenes)]
    for fate in FATES:
        cells = []
        for scene in scenes:
            mine = [r["fates"] for r in results if r["base"] == scene and "fates" in r]
            cells.append(_percent(sum(f[fate] for f in mine), sum(sum(f.values()) for f in mine)))
        lines.append(f"| {fate} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _weighted(bins: Results, key: str) -> float:
    known = [b for b in bins if b[key] is not None and b["true"]]
    weight = np.array([b["true"] for b in known], np.float64)
    return float(np.average([b[key] for b in known], weights=weight)) if known else float("nan")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"
