"""How hard the scenes are: overlap of boxes, and how many geometric pseudo-labels are right."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..files import atomic_path
from ..recordings import Recording
from ..synfish.difficulty import difficulty
from ..synfish.scenes import benchmark_scenes, paper_audit
from .jobs import in_parallel
from .scenes import SceneSpec
from .suites import GATE_SYNFISH, TITLES, Done, Suite, prepare_scenes, write_json

LEFT_OUT = ("hundred", "sick")


def measure(folder: Path) -> dict[str, Any]:
    """Difficulty of the recording in a folder; None for what its truth does not tell."""
    found = asdict(difficulty(Recording.open(folder)))
    return {k: (None if v != v else v) for k, v in found.items()}


def run_audit(
    out: Path, names: Sequence[str] | None, source: Path | None, workers: int, done: Done
) -> list[dict[str, Any]]:
    """Measure scenes, the paper's and the 30-fish one by default; writes ``results.json``."""
    scenes = benchmark_scenes(names)
    scenes = scenes if names else [s for s in scenes if s.name not in LEFT_OUT]
    specs = tuple(SceneSpec(s.name) for s in scenes)
    folders = prepare_scenes(Suite("audit", TITLES["audit"], specs, (), GATE_SYNFISH, source), out, workers, done)
    count = 0

    def heard(_: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        done("audit", count, len(scenes))

    found = in_parallel([(measure, (folders[s.name],)) for s in scenes], workers, heard)
    rows = [
        {"scene": s.name, "paper_overlap": s.paper_overlap, "paper_audit": paper_audit().get(s.fish)} | row
        for s, row in zip(scenes, found, strict=True)
    ]
    write_json(out / "results.json", {"suite": "audit", "scenes": {r["scene"]: r for r in rows}})
    return rows


def audit_report(out: Path, rows: Sequence[dict[str, Any]], command: str) -> str:
    """Write ``report.md``, the paper's numbers in brackets, and return its table."""
    lines = ["| scene | fish | OccScore | overlap % | audit precision % | audit recall % | detected % |"]
    lines += ["|---|" + "---:|" * 6]
    for r in rows:
        audit = r["paper_audit"] or (None, None)
        cells = [
            r["scene"],
            str(r["fish"]),
            _cell(r["occ_score"], None, 3),
            _cell(r["overlap"], r["paper_overlap"]),
            _cell(r["audit_precision"], audit[0]),
            _cell(r["audit_recall"], audit[1]),
            _cell(r["detected"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    table = "\n".join(lines) + "\n"
    words = "The paper's numbers are in brackets; it audits one scene each of 4, 16 and 30 fish and does not say which."
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text(f"# {TITLES['audit']}\n\nMade by `{command}`. {words}\n\n{table}", encoding="utf-8")
    return table


def _cell(value: float | None, beside: float | None = None, digits: int = 1) -> str:
    text = "-" if value is None else f"{value:.{digits}f}"
    return text if beside is None else f"{text} ({beside:.1f})"
