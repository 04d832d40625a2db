"""CPU time of the benchmarks, and of tracking a school, in two checkouts: how many times that of the older one.

Run: git worktree add /tmp/old e2cd5f3; python benchmarks/bench_against.py /tmp/old [NEW] [--rounds 3] [--only TEXT]
NEW is this checkout unless it is named. Both run with this Python on one thread, each with the scripts of its own
checkout, which must do the same work in both. A first run of each fills its cache of compiled kernels and is not
counted; then they take turns, old new new old, so that what else the machine does meets both, and the least time of
each counts. Whole processes are measured, imports included, by the CPU time that the system gives them. Exit code 1 if
one is slower than allowed.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SCRIPTS = {
    "cameras": "benchmarks/bench_cameras.py",
    "recording": "benchmarks/bench_recording.py",
    "scores": "benchmarks/bench_scores.py",
    "synfish": "benchmarks/bench_synfish.py",
    "tracking": "benchmarks/bench_tracking.py",
}
TRACK = "track, joint"  # not a script: the command on the same recording
SCENE = "--fish 16 --rig 5 --frames 600 --seed 1"
ALLOWED = {TRACK: 1.1}  # darts
USUAL = 1.05
THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}


def spent(checkout: Path, arguments: list[str], folder: Path) -> float:
    """Run Python with a checkout's package; returns CPU seconds of the process and what it started."""
    environment = os.environ | THREADS
    environment |= {"PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": str(folder / f"cache{abs(hash(checkout))}")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], cwd=checkout, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{checkout}: {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def arguments_of(name: str, checkout: Path, folder: Path) -> list[str]:
    """Return what Python is given to run a benchmark."""
    if name != TRACK:
        return [str(checkout / SCRIPTS[name])]
    scene = folder / f"scene{abs(hash(checkout))}"
    shutil.rmtree(scene, ignore_errors=True)
    shutil.copytree(folder / "scene", scene)
    return ["-m", "trackfish3d", "track", str(scene)]


def compare(name: str, old: Path, new: Path, rounds: int, folder: Path) -> tuple[float, float]:
    """Least CPU seconds of a benchmark in the old and in the new checkout."""
    times: dict[Path, list[float]] = {old: [], new: []}
    for turn in range(rounds + 1):
        for checkout in (old, new) if turn % 2 else (new, old):
            time = spent(checkout, arguments_of(name, checkout, folder), folder)
            if turn:
                times[checkout].append(time)
    return min(times[old]), min(times[new])


def main() -> None:
    """Print a table; exit 1 if one is slower than allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="checkout to compare with")
    parser.add_argument("new", type=Path, nargs="?", default=HERE, help="checkout to judge")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each that count")
    parser.add_argument("--only", default="", metavar="TEXT", help="only benchmarks whose name contains this")
    asked = parser.parse_args()
    old, new = asked.old.resolve(), asked.new.resolve()
    slow = 0
    print("| benchmark | old, CPU s | new, CPU s | ratio | allowed |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        if asked.only in TRACK:
            spent(old, ["-m", "trackfish3d", "simulate", *SCENE.split(), "--out", str(folder / "scene")], folder)
        for name in (*SCRIPTS, TRACK):
            if asked.only in name:
                a, b = compare(name, old, new, asked.rounds, folder)
                most = ALLOWED.get(name, USUAL)
                slow += b > most * a
                print(f"| {name} | {a:.2f} | {b:.2f} | {b / a:.3f} | {most} |", flush=True)
    sys.exit(slow > 0)


if __name__ == "__main__":
    main()
