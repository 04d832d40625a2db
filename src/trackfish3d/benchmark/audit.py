"""How hard the scenes are: overlap of boxes, and how many geometric pseudo-labels are right."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..core.files import atomic_path, write_json
from ..core.progress import TaskProgress
from ..methods.paper.labels import PseudoLabels
from ..recordings import Recording
from ..synfish.recording_difficulty import difficulty
from ..synfish.scenes import EDITION, benchmark_scenes, paper_audit
from .jobs import in_parallel
from .scenes import SceneSpec
from .suites import GATE_SYNFISH, TITLES, Suite, prepare_scenes

LEFT_OUT = ("hundred", "sick")


def measure(folder: Path) -> dict[str, Any]:
    """Difficulty of the recording in a folder; None for what its truth does not tell."""
    recording = Recording.open(folder)
    found = asdict(difficulty(recording)) | agreed_audit(recording)
    return {k: (None if v != v else v) for k, v in found.items()}


def agreed_audit(recording: Recording) -> dict[str, float]:
    """Percent of the pairs that all views agree on that are right, and of the right plausible pairs that they keep."""
    det, truth = recording.detections, recording.truth
    if truth is None or truth.detection is None:
        return {"agreed_precision": np.nan, "agreed_recall": np.nan}
    whom = truth.identities_of_detections(len(det))
    plausible = PseudoLabels.compute(recording.rig, det)
    true, kept, right = 0, 0, 0
    for labels, agreed in ((plausible, False), (plausible.agreed(det), True)):
        chosen = labels.confidence > 0
        rows = det.offsets[np.repeat(np.arange(len(labels.offsets) - 1), np.diff(labels.offsets))[chosen]]
        one, other = whom[rows + labels.first[chosen]], whom[rows + labels.second[chosen]]
        same = ((one[:, :, None] == other[:, None]) & (one >= 0)[:, :, None]).any((1, 2))
        if agreed:
            kept, right = len(same), int(same.sum())
        else:
            true = int(same.sum())
    return {"agreed_precision": 100 * right / max(kept, 1), "agreed_recall": 100 * right / max(true, 1)}


def run_audit(
    out: Path,
    names: Sequence[str] | None,
    source: Path | None,
    workers: int,
    done: TaskProgress,
    edition: int = EDITION,
) -> list[dict[str, Any]]:
    """Measure scenes, the paper's and the 30-fish one by default; writes ``results.json``."""
    scenes = benchmark_scenes(names, edition)
    scenes = scenes if names else [s for s in scenes if s.name not in LEFT_OUT]
    specs = tuple(SceneSpec(s.name, edition=edition) for s in scenes)
    folders = prepare_scenes(Suite("audit", TITLES["audit"], specs, (), GATE_SYNFISH, source), out, workers, done)
    count = 0

    def heard(_: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        done("audit", count, len(scenes))

    found = in_parallel([(measure, (folders[spec.name],)) for spec in specs], workers, heard)
    rows = [
        {"scene": s.name, "paper_overlap": s.paper_overlap, "paper_audit": paper_audit().get(s.fish)} | row
        for s, row in zip(scenes, found, strict=True)
    ]
    write_json(out / "results.json", {"suite": "audit", "scenes": {r["scene"]: r for r in rows}})
    return rows


def audit_report(out: Path, rows: Sequence[dict[str, Any]], command: str) -> str:
    """Write ``report.md``, the paper's numbers in brackets, and return its table."""
    lines = ["| scene | fish | OccScore | overlap % | audit precision % | audit recall % | agreed precision % | "]
    lines[0] += "agreed recall % | detected % |"
    lines += ["|---|" + "---:|" * 8]
    for r in rows:
        audit = r["paper_audit"] or (None, None)
        cells = [
            r["scene"],
            str(r["fish"]),
            _cell(r["occ_score"], None, 3),
            _cell(r["overlap"], r["paper_overlap"]),
            _cell(r["audit_precision"], audit[0]),
            _cell(r["audit_recall"], audit[1]),
            _cell(r["agreed_precision"]),
            _cell(r["agreed_recall"]),
            _cell(r["detected"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    table = "\n".join(lines) + "\n"
    words = (
        "The paper's numbers are in brackets; it audits one scene each of 4, 16 and 30 fish and does not say which. "
    )
    words += "Agreed pairs are those of the plausible ones that recipe `fast` learns from (docs/training.md)."
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text(f"# {TITLES['audit']}\n\nMade by `{command}`. {words}\n\n{table}", encoding="utf-8")
    return table


def _cell(value: float | None, beside: float | None = None, digits: int = 1) -> str:
    text = "-" if value is None else f"{value:.{digits}f}"
    return text if beside is None else f"{text} ({beside:.1f})"
