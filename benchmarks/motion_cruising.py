"""Animals that only cruise, before and after the tracker learnt of darts: part of `bench_motion.py`.

SynFish, 3D-ZeF, bats and people (CMC1, which was tuned on) are tracked by commit `BEFORE` and by this one, in turns on
the same machine.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from trackfish3d.benchmark.crowded.cmc import GATE_M, cmc_folder, write_people
from trackfish3d.benchmark.zef import GATE_CM, write_sequence, zef_folder
from trackfish3d.evaluation import evaluate
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

BEFORE = "e2cd5f3"
ROOT = Path(__file__).resolve().parents[1]
GATE_SYNFISH, GATE_BATS = 1.0, 0.5  # world units, metres
ZEF = {"tune": ("01", "03"), "report": ("02", "04")}
PEOPLE = ("CMC1-whole", "CMC1-visible")
SPLIT = {"tune": "train", "report": "test"}
SCORES = ("mota", "idf1", "rmse")
WORSE_CPU = 1.1


def recordings(which: str, work: Path) -> dict[Path, float]:
    """Write all recordings to ``work``; their folders, and the gate of each."""
    out = {}
    for scene in benchmark_scenes():
        if scene.split == SPLIT[which]:
            folder = work / scene.name
            if not folder.exists():
                write_scene(scene, folder)
            out[folder] = GATE_SYNFISH
    source = zef_folder(None)
    for sequence in ZEF[which]:
        folder = work / f"zef{sequence}"
        if not folder.exists():
            write_sequence(sequence, source, folder)
        out[folder] = GATE_CM
    folder = work / "bats"
    if not folder.exists():
        bats(source.parent / "bats", folder)
    out[folder] = GATE_BATS
    for name in PEOPLE:
        folder = work / name
        if not folder.exists():
            write_people(name, cmc_folder(None), folder)
        out[folder] = GATE_M
    return out


def bats(source: Path, folder: Path) -> None:
    """Import the recording of bats: points marked by hand in three cameras, and where they are in space."""
    (points,), (space,) = source.glob("*xypts.csv"), source.glob("*xyzpts.csv")
    command = [sys.executable, "-m", "trackfish3d", "import", "--cameras", source / "dlt_coefficients.csv"]
    command += ["--detections", points, "--truth", space, "--size", "640x512", "--units", "m", "--fps", "100"]
    subprocess.run([str(c) for c in [*command, "--out", folder]], check=True, capture_output=True)


def checkout(work: Path) -> Path:
    """Folder of the sources of `BEFORE`, written from this repository."""
    folder = work / BEFORE
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", BEFORE, "src"], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def cruising(which: str, work: Path) -> list[dict[str, Any]]:
    """Scores of both versions on every recording; what is in ``work`` already is not made again."""
    folders = recordings(which, work / "recordings")
    sources = {"before": checkout(work), "now": ROOT / "src"}
    for folder in folders:
        for name, source in sources.items():
            command = [sys.executable, str(ROOT / "benchmarks" / "motion_track.py"), str(work / name), str(folder)]
            subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(source)})
    return [
        {"scene": folder.name} | {name: scored(Recording.open(folder), work / name, gate) for name in sources}
        for folder, gate in folders.items()
    ]


def scored(recording: Recording, tracked: Path, gate: float) -> dict[str, float]:
    """MOTA, IDF1 (%), RMSE (world units), and CPU seconds of tracks that `motion_track` wrote."""
    truth = recording.truth
    assert truth is not None
    with np.load(tracked / f"{recording.folder.name}.npz") as found:
        scores = evaluate(
            truth.frame, truth.identity, truth.position, found["frame"], found["track"], found["position"], gate
        )
        numbers = {k: float(scores.to_dict()[k]) for k in SCORES}
        return {"mota": 100 * numbers["mota"], "idf1": 100 * numbers["idf1"], "rmse": numbers["rmse"]} | {
            "cpu_s": float(found["seconds"])
        }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return a row a recording: before and now."""
    lines = [
        "| recording | MOTA before | now | IDF1 before | now | RMSE before | now | CPU now / before |",
        "|---|" + "---:|" * 7,
    ]
    for r in rows:
        a, b = r["before"], r["now"]
        lines.append(
            f"| {r['scene']} | {a['mota']:.1f} | {b['mota']:.1f} | {a['idf1']:.1f} | {b['idf1']:.1f} | "
            f"{a['rmse']:.4f} | {b['rmse']:.4f} | {b['cpu_s'] / a['cpu_s']:.2f} |"
        )
    total = sum(r["now"]["cpu_s"] for r in rows) / sum(r["before"]["cpu_s"] for r in rows)
    ratio = np.exp(np.mean([np.log(r["now"]["rmse"] / r["before"]["rmse"]) for r in rows]))
    lines.append(
        f"\nCPU time of all together {total:.2f} times that of before (at most {WORSE_CPU} wanted); RMSE {ratio:.3f} "
        "times (geometric mean)."
    )
    return lines
