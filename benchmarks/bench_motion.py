"""Motion as it was: fast starts, sigmas, speeds and cruising, each against what is known.

    OMP_NUM_THREADS=1 python benchmarks/bench_motion.py --out docs/results/motion [--only darts,speeds] [--tuning]

Five sections (`motion_darts.py`, `motion_sigma.py`, `motion_speeds.py`, `motion_suspects.py`, `motion_cruising.py`).
What is measured is kept in OUT/results.json, section by section, and report.md is written anew from it. ``--tuning``
looks at the schools and sequences that constants were chosen on; without it, only at those that nothing was chosen on.
3D-ZeF and bats need TRACKFISH3D_DATA; the comparison with an earlier commit needs this repository's history.
"""

import argparse
import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import motion_cruising
import motion_darts
import motion_sigma
import motion_speeds
import motion_suspects
from trackfish3d import __version__
from trackfish3d.benchmark.zef import GATE_CM, write_sequence, zef_folder
from trackfish3d.core.files import atomic_path
from trackfish3d.recordings import Recording

SECTIONS = ("darts", "sigma", "speeds", "suspects", "cruising")


def measure(section: str, which: str, work: Path) -> list[dict[str, Any]]:
    """Rows of a section."""
    if section == "darts":
        return [motion_darts.darts(seed) for seed in motion_darts.SEEDS[which]]
    if section == "speeds":
        seeds = motion_speeds.SEEDS[which]
        return [motion_speeds.recall(s, n, seeds) for n in motion_speeds.ANIMALS for s in motion_speeds.SPEEDS]
    if section == "suspects":
        return motion_suspects.suspects(which, work)
    if section == "cruising":
        return motion_cruising.cruising(which, work)
    rows = []
    for kind in motion_sigma.KINDS:
        seeds = (motion_sigma.MANY if kind == "per camera" else motion_sigma.SEEDS)[which]
        rows += [motion_sigma.simulated(kind, cameras, seeds) for cameras in motion_sigma.CAMERAS]
    for sequence in motion_cruising.ZEF[which]:
        folder = work / "recordings" / f"zef{sequence}"
        if not folder.exists():
            write_sequence(sequence, zef_folder(None), folder)
        rows += motion_sigma.filmed(Recording.open(folder), GATE_CM)
    return rows


def report(found: dict[str, list[dict[str, Any]]], which: str) -> str:
    """Return all that was measured as a page."""
    lines = [
        "# Motion as it was\n",
        f"Made by `python benchmarks/bench_motion.py --out docs/results/motion` with trackfish3d {__version__}"
        + (", `--tuning`." if which == "tune" else ". Nothing was chosen on what is looked at here."),
    ]
    if "darts" in found:
        lines += ["\n## Fast starts\n", _text(motion_darts), *motion_darts.table(found["darts"])]
    if "sigma" in found:
        lines += ["\n## Sigmas of tracked positions\n", _text(motion_sigma), *motion_sigma.table(found["sigma"])]
        lines += ["\nWanted 68 +- 6 and 95 +- 3 %, (!) where it is not."]
    if "speeds" in found:
        lines += ["\n## Speeds\n", "Three cameras, circles, points with boxes; (!) below 95 % recall.\n"]
        lines += motion_speeds.table(found["speeds"])
    if "suspects" in found:
        lines += ["\n## Where to look first\n", _text(motion_suspects), *motion_suspects.table(found["suspects"])]
    if "cruising" in found:
        lines += ["\n## Cruising, against commit " + motion_cruising.BEFORE + "\n", _text(motion_cruising)]
        lines += motion_cruising.table(found["cruising"])
    return "\n".join(lines) + "\n"


def _text(module: Any) -> str:
    """Return what a module says about itself, below its first line."""
    return " ".join(module.__doc__.split("\n", 1)[1].split()) + "\n"


def main() -> None:
    """Measure, keep, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of results.json and report.md; without it, tables are printed")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections to measure; the others stay as they are")
    parser.add_argument("--tuning", action="store_true", help="look at what constants may be chosen on")
    parser.add_argument("--work", type=Path, help="folder that keeps recordings and tracks of the comparison")
    given = parser.parse_args()
    which = "tune" if given.tuning else "report"
    kept = given.out / "results.json" if given.out else None
    found = json.loads(kept.read_text(encoding="utf-8")) if kept and kept.is_file() else {}
    with contextlib.ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for section in given.only.split(","):
            found[section] = measure(section, which, work)
            if kept is None:
                continue
            kept.parent.mkdir(parents=True, exist_ok=True)
            for path, text in ((kept, json.dumps(found, indent=1)), (kept.parent / "report.md", report(found, which))):
                with atomic_path(path) as temporary:
                    temporary.write_text(text, encoding="utf-8")
    if kept is None:
        print(report(found, which))


if __name__ == "__main__":
    main()
