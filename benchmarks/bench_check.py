"""How often `check` is right: recordings drawn for tuning, and others, drawn from other seeds, to report.

The set `report` was looked at once before the last change, `fresh` after it.

Each set has 300 good recordings, 300 faulty ones, and 30 whose clock is off by too little to matter. What is said of
each is a row of a file (JSON lines), which is kept while it runs and gone on with after a stop, as long as the code
is the same. Writes the tables of docs/check.md between its marks.

    python benchmarks/bench_check.py --docs docs/check.md                # both sets, and the page
    python benchmarks/bench_check.py --sets tuning --show                # what was said where it was wrong
    python benchmarks/bench_check.py --sets tuning --only faulty:17 --show
    python benchmarks/bench_check.py --sets report --minutes 10          # a part; the next call goes on
    python benchmarks/bench_check.py --memory                            # peak memory of `check` on 500,000 frames
"""

import argparse
import hashlib
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from typer.testing import CliRunner

import trackfish3d.health
from bench_recording import peak_kib
from bench_recording import write as write_long
from check_faults import faulty_case, small_case
from check_recordings import good_case
from check_score import Outcome, result_of, tables
from trackfish3d.cli.app import app
from trackfish3d.health import examine
from trackfish3d.recordings import Recording

FIRST = {"tuning": 0, "report": 1000, "fresh": 9000}  # number of a set's first draw; its seeds come from the number
COUNT = {"good": 300, "faulty": 300, "small": 30}
DRAW = {"good": good_case, "faulty": faulty_case, "small": small_case}
ROWS = Path(tempfile.gettempdir()) / "trackfish3d-bench-check.jsonl"
START, END = "<!-- bench_check begin -->", "<!-- bench_check end -->"

Job = tuple[str, str, int]


def outcome(job: Job) -> Outcome:
    """Make one recording and let `check` judge it."""
    group, kind, number = job
    case = DRAW[kind](number)
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording.create(Path(folder) / "rec", case.rig, detections=case.detections)
        started = time.process_time()
        health = examine(recording)
        seconds = time.process_time() - started
    wrong = [f for f in health.findings if f.wrong]
    return Outcome(
        group=group,
        kind=kind,
        number=number,
        fault=case.fault,
        plan=case.plan,
        truth=f"{', '.join(case.guilty)} {case.late or ''}".strip(),
        result=result_of(case, health),
        said=[f.text for f in health.findings],
        kinds=[f.kind for f in wrong],
        probability=wrong[0].probability if wrong else None,
        seconds=seconds,
    )


def code() -> str:
    """Digest of what the verdicts depend on: another one makes rows obsolete."""
    here, package = Path(__file__).parent, Path(trackfish3d.health.__file__).parents[1]
    files = [
        *sorted((package / "health").glob("*.py")),
        *sorted((package / "cameras").glob("*.py")),
        *(here / name for name in ("check_recordings.py", "check_faults.py", "check_score.py")),
    ]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]


def known_rows(path: Path) -> dict[Job, Outcome]:
    """Return what the file has of this code, by draw; a last line that was cut off is left out."""
    rows: dict[Job, Outcome] = {}
    digest = code()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row.pop("code") == digest:
            found = Outcome(**row)
            rows[found.group, found.kind, found.number] = found
    return rows


def run(jobs: list[Job], path: Path, workers: int, minutes: float) -> None:
    """Judge what the file lacks, a row at once, until the time is over."""
    digest, stop = code(), time.monotonic() + 60 * minutes
    with path.open("a", encoding="utf-8") as file:
        for done in _outcomes(jobs, workers):
            file.write(json.dumps(asdict(done) | {"code": digest}) + "\n")
            file.flush()
            if time.monotonic() > stop:
                break


def _outcomes(jobs: list[Job], workers: int) -> Iterator[Outcome]:
    if workers == 1:
        yield from map(outcome, jobs)
        return
    rest = iter(jobs)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        while part := list(islice(rest, 4 * workers)):  # little is lost when it is stopped
            yield from pool.map(outcome, part)


def memory(frames: int) -> str:
    """Peak memory and time of `check` on a long recording, in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        write_long(Path(place) / "rec", frames)
        command = [sys.executable, __file__, "--check", str(Path(place) / "rec")]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    return f"check on {frames} frames x 3 cameras x 10 detections: {told}"


def check_alone(folder: Path) -> str:
    """Run the command `check` in this process, and say what it took."""
    started = time.process_time()
    CliRunner().invoke(app, ["check", str(folder)])
    return f"peak memory {peak_kib() / 2**10:.0f} MiB, {time.process_time() - started:.0f} s of CPU time"


def show(outcomes: list[Outcome]) -> None:
    """Print what was said where it was not right."""
    for o in outcomes:
        if o.result != "right":
            said = "\n    ".join(o.said)
            print(f"\n{o.result}: {o.kind}:{o.number} {o.fault} [{o.plan}] truth: {o.truth}\n    {said}")


def write_page(page: Path, text: str) -> None:
    """Put the tables between the marks of a page."""
    before, rest = page.read_text(encoding="utf-8").split(START)
    page.write_text(f"{before}{START}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def chosen(sets: list[str], only: list[str] | None) -> list[Job]:
    """Return the draws that are asked for; `only`: kind, or kind:number counted from 0 in every set."""
    jobs = [(s, kind, FIRST[s] + n) for s in sets for kind in COUNT for n in range(COUNT[kind])]
    if only is None:
        return jobs
    return [(s, k, n) for s, k, n in jobs if k in only or f"{k}:{n - FIRST[s]}" in only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(FIRST), default=list(FIRST))
    parser.add_argument("--only", nargs="+", help="good, faulty or small, or one recording: faulty:17")
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of what was said, gone on with")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so long; the next call goes on")
    parser.add_argument("--show", action="store_true", help="print what was said where it was not right")
    parser.add_argument("--docs", type=Path, help="write the tables between the marks of this file")
    parser.add_argument("--memory", action="store_true", help="only measure a recording of 500,000 frames")
    parser.add_argument("--check", type=Path, help="only run `check` on this recording and say what it took")
    arguments = parser.parse_args()
    if arguments.memory or arguments.check:
        print(check_alone(arguments.check) if arguments.check else memory(500_000))
        return
    jobs = chosen(arguments.sets, arguments.only)
    rows = known_rows(arguments.rows)
    run([j for j in jobs if j not in rows], arguments.rows, arguments.workers, arguments.minutes)
    rows = known_rows(arguments.rows)
    done = [rows[j] for j in jobs if j in rows]
    if arguments.show:
        show(done)
    text = tables(done, arguments.sets)
    print(text)
    times = sorted(o.seconds for o in done)
    print(f"\nCPU time of a recording: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s")
    if len(done) < len(jobs):
        print(f"{len(done)} of {len(jobs)} recordings so far; the same command goes on")
    elif arguments.docs:
        write_page(arguments.docs, text)


if __name__ == "__main__":
    main()
