"""``trackfish3d difficulty``: how hard recordings are, beside the published numbers."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ...recordings import Recording
from ...synfish.recording_difficulty import difficulty
from ...synfish.scenes import benchmark_scenes, paper_audit


def command(
    recordings: Annotated[list[Path], typer.Argument(metavar="RECORDING...", help="Recordings with truth.")],
) -> None:
    """Print OccScore, %Overlap and the audit of pseudo-labels of recordings, beside the paper's where it has them."""
    paper = {scene.name: scene.paper_overlap for scene in benchmark_scenes()}
    audits = paper_audit()
    table = Table(box=None)
    names = ("recording", "fish", "frames", "OccScore", "%Overlap", "(paper)", "audit P", "(paper)", "audit R")
    for name in (*names, "detected %", "visible %"):
        table.add_column(name, justify="left" if name == "recording" else "right", no_wrap=True)
    for folder in recordings:
        d = difficulty(Recording.open(folder))
        published = paper.get(folder.name)
        audit = audits.get(d.fish) if folder.name in paper else None
        table.add_row(
            folder.name,
            str(d.fish),
            str(d.frames),
            _number(d.occ_score, 3),
            _number(d.overlap),
            _number(published),
            _number(d.audit_precision),
            _number(audit and audit[0]),
            _number(d.audit_recall),
            _number(d.detected),
            _number(d.visible),
        )
    console = Console(markup=False, emoji=False)
    Console(width=max(console.width, 120), markup=False, emoji=False).print(table)


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.{digits}f}"
