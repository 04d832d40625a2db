"""Kill `track` of a long recording, and `run` of films, at random moments: every resume ends in the same bytes.

    python benchmarks/scale_kills.py --kills 20 --out docs/results/scale
    python benchmarks/scale_kills.py --kills 20 --what run --out docs/results/scale
    python benchmarks/scale_kills.py --what chunks --out docs/results/scale

Sections are short here, so that a small recording has several. Each attempt is a process that is killed (SIGKILL) at a
random moment of the time that an undisturbed one takes; after it, the next goes on. At the end the files are compared.
Counts where it was killed, and the CPU that was spent more than an undisturbed run spends: work that was done twice.
``chunks`` reads the same recording in pieces of 1,000, 10,000 and all frames. Results are kept in ``kills.json``.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import scale_page
from scale_recording import make
from trackfish3d.methods.joint import method as joint_method
from trackfish3d.methods.joint.long import sections
from trackfish3d.methods.registry import make_method
from trackfish3d.pipeline import track_files
from trackfish3d.recordings import Recording

SECTION = 15_000
TRACKED = ("tracks.parquet", "tracks.csv", "tracks_table.csv", "suspects.csv", "tracks.settings.json")
RUN = ("detections.parquet", "check.json", *TRACKED, "behaviour/fish.parquet")


def track(folder: Path, rows: int = track_files.ROWS_PER_GROUP) -> None:
    sections.SECTION = joint_method.WHOLE = track_files.WHOLE = SECTION
    track_files.track_into(Recording.open(folder), make_method("joint", {}), rows=rows)


def run(folder: Path) -> None:
    from trackfish3d.cli.app import main

    films = folder.parent / "films"
    videos = sorted(str(p) for p in (films / "videos").iterdir())
    try:
        main(["run", *videos, "--cameras", str(films / "cameras.toml"), "--out", str(folder), "--workers", "1"])
    except SystemExit as end:
        os._exit(int(end.code or 0))


def attempt(work: Callable[[Path], None], folder: Path, seconds: float | None) -> tuple[bool, float, float]:
    """Do it in a process of its own, killed after so long; whether it came to its end, its CPU and wall seconds."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if seconds is not None:
            threading.Thread(target=_end_after, args=(seconds,), daemon=True).start()
        work(folder)
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    return status == 0, used.ru_utime + used.ru_stime, time.monotonic() - begin


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


def sums(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    return {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in names if (folder / n).exists()}


def phase(folder: Path) -> str:
    """How far it was: stages of a run that are finished, or sections of tracks."""
    if (folder / ".track").exists():
        return f"{len(list((folder / '.track').glob('part-*.json')))} sections done"
    if (folder / "run.json").exists():
        return f"{len(json.loads((folder / 'run.json').read_text()))} stages done"
    return "nothing done"


def in_child(work: Callable[[], object]) -> None:
    """Do something in a process of its own, so that no thread of Arrow is here when attempts are forked."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def kill_often(what: str, kills: int, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    work, names = (track, TRACKED) if what == "track" else (run, RUN)
    with tempfile.TemporaryDirectory() as home:
        new, folder, copy = Path(home) / "new", Path(home) / "rec", Path(home) / "copy"
        if what == "track":
            in_child(lambda: make(new, frames=3000))
            shutil.copytree(new, folder)
        else:
            in_child(lambda: _films(Path(home) / "films"))
        assert attempt(work, folder, None)[0]  # compiles what is not compiled yet
        expected = sums(folder, names)
        shutil.rmtree(folder)
        if what == "track":
            shutil.copytree(new, folder)
        ended, cpu, wall = attempt(work, folder, None)
        same = int(ended and sums(folder, names) == expected)
        seen: Counter[str] = Counter()
        ends, done, spent = 1, 0, 0.0
        while True:
            if not copy.exists() and what == "track":
                shutil.copytree(new, copy)
            last = done == kills
            ended, used, _ = attempt(work, copy, None if last else float(rng.uniform(0.05, 0.6) * wall))
            spent += used
            if ended:
                ends += 1
                same += sums(copy, names) == expected
                shutil.rmtree(copy)
                if last:
                    break
            else:
                done += 1
                seen[phase(copy)] += 1
    again = (spent - (ends - 1) * cpu) / kills
    return {"kills": kills, "where": dict(sorted(seen.items())), "ends": ends, "same": same, "files": len(expected),
            "cpu_undisturbed": cpu, "cpu_again_a_kill": again}  # fmt: skip


def _films(folder: Path) -> None:
    import trackfish3d as tf

    tf.simulate(folder, fish=3, frames=90, seed=4, video=True)


def chunks() -> dict:
    """Track one recording with pieces of 1,000, 10,000 and all frames."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "rec"
        in_child(lambda: make(folder, frames=12_000))
        made = {}
        for frames in (1000, 10_000, 12_000):
            rows = frames * 29
            assert attempt(lambda f, rows=rows: track(f, rows), folder, None)[0]
            made[frames] = sums(folder, TRACKED)
    return {"frames": list(made), "same": len({json.dumps(m) for m in made.values()}) == 1}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--what", choices=("track", "run", "chunks"), default="track")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    result = chunks() if given.what == "chunks" else kill_often(given.what, given.kills, given.seed)
    print(given.what, json.dumps(result))
    if given.out is not None:
        path = given.out / "kills.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(kept | {given.what: result}, indent=1) + "\n")
        scale_page.write(given.out)
