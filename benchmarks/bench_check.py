"""How often `check` is right: good recordings and faulty ones, 150 each for tuning, to report, and fresh.

The second set was looked at once, before the last changes, the third after them and never before. Writes the tables of
docs/check.md (between its marks) and, with --out, every verdict as JSON.

    python benchmarks/bench_check.py --docs docs/check.md
    python benchmarks/bench_check.py --sets tuning --show --out tuning.json   # what was said where it was wrong
    python benchmarks/bench_check.py --read tuning.json report.json --docs docs/check.md
    python benchmarks/bench_check.py --memory                  # peak memory of `check` on 500,000 frames
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from typer.testing import CliRunner

from bench_recording import peak_kib
from bench_recording import write as write_long
from check_faults import faulty_case
from check_recordings import Case, good_case
from trackfish3d.cli.app import app
from trackfish3d.health import Health, examine
from trackfish3d.recordings import Recording

SETS = {"tuning": range(0, 150), "report": range(150, 300), "fresh": range(300, 450)}
KIND = {
    "clock": "clock",
    "missing water": "water missing",
    "wrong water": "water wrong",
    "swapped": "swapped",
    "camera twice": "twice",
    "frozen": "frozen",
    "dead": "dead",
    "no parallax": "no parallax",
    "focal of two": "calibration",
    "focal of many": "calibration",
    "pose": "calibration",
    "no common moment": "no common time",
    "noise": "disagree",
    "detections twice": "duplicates",
}
# Only these tell the user to change something; "disagree" says that something is wrong and not what.
VAGUE = {"disagree"}
START, END = "<!-- bench_check begin -->", "<!-- bench_check end -->"


@dataclass(frozen=True)
class Outcome:
    """What was said of one recording; ``result`` is right, wrong, vague, missed or alarm."""

    number: int
    group: str
    fault: str
    small: bool
    plan: str
    truth: str
    result: str
    said: tuple[str, ...]
    kinds: tuple[str, ...]
    probability: float | None
    seconds: float


def judge(case: Case, health: Health) -> str:
    """Whether the first thing that `check` found is the fault that was made."""
    found = [f for f in health.findings if f.wrong]
    if case.fault == "none":
        return "alarm" if found else "right"
    if not found:
        return "missed"
    first = found[0]
    if first.kind != KIND[case.fault]:
        return "vague" if first.kind in VAGUE else "wrong"
    if case.fault == "clock":
        return "right" if _same_clock(case, first.cameras, first.late_frames) and len(found) == 1 else "wrong"
    if case.fault in ("swapped", "camera twice"):
        return "right" if set(first.cameras) == set(case.guilty) else "wrong"
    if case.fault in ("frozen", "dead"):
        return "right" if first.cameras == case.guilty and len(found) == 1 else "wrong"
    if KIND[case.fault] == "calibration":
        named = {n for f in found for n in f.cameras}
        enough = 2 if len(case.rig) == 2 else 1
        return "right" if set(case.guilty) <= named and len(named) <= enough else "wrong"
    return "right"


def _same_clock(case: Case, cameras: tuple[str, ...], late: int) -> bool:
    """Within a twentieth, or what a lean of 0.1 body lengths could feign; of two cameras, one late is one early."""
    slack = max(abs(case.late) // 20, case.slack)
    if len(case.rig) == 2 and cameras != case.guilty:
        late = -late
    elif cameras != case.guilty:
        return False
    return abs(late - case.late) <= slack


def run(kind: str, numbers: Iterable[int], workers: int) -> list[Outcome]:
    """Make recordings, good or faulty, and let `check` judge them."""
    if workers == 1:
        return [outcome for number in numbers for outcome in _run([(kind, number)])]
    with ProcessPoolExecutor(workers) as pool:
        return [o for outcomes in pool.map(_run, [[(kind, n)] for n in numbers], chunksize=5) for o in outcomes]


def _run(jobs: list[tuple[str, int]]) -> list[Outcome]:
    outcomes = []
    for kind, number in jobs:
        case = good_case(number) if kind == "good" else faulty_case(number)
        with tempfile.TemporaryDirectory() as folder:
            recording = Recording.create(Path(folder) / "rec", case.rig, detections=case.detections)
            started = time.process_time()
            health = examine(recording)
            seconds = time.process_time() - started
        wrong = [f for f in health.findings if f.wrong]
        outcomes.append(
            Outcome(
                number,
                set_of(number),
                case.fault,
                case.small,
                case.plan,
                f"{', '.join(case.guilty)} {case.late or ''}".strip(),
                judge(case, health),
                tuple(f.text for f in health.findings),
                tuple(f.kind for f in wrong),
                wrong[0].probability if wrong else None,
                seconds,
            )
        )
    return outcomes


def set_of(number: int) -> str:
    """Which set a recording is of."""
    return next(name for name, numbers in SETS.items() if number in numbers)


def tables(good: list[Outcome], faulty: list[Outcome]) -> str:
    """All tables as Markdown, the three sets in every cell."""
    lines = [
        "Good recordings: false alarms, in the sets tuning / report / fresh.",
        "",
        "| kind of recording | recordings | false alarms |",
        "|---|---|---|",
    ]
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for o in good:
        words = o.plan.split()
        rig = f"simulator, {words[1]}" if words[0] == "simulator" else words[0].split(":")[0]
        groups[rig].append(o)
        if words[0] != "simulator":
            groups[words[6]].append(o)
            groups[f"{words[4]}"].append(o)
            if int(words[3]) <= 37:
                groups["37 frames or fewer"].append(o)
            if words[-1] == "10":
                groups["frame numbers in steps of 10"].append(o)
    for name, members in sorted(groups.items()):
        lines.append(f"| {name} | {_each(members)} | {_each([o for o in members if o.result == 'alarm'])} |")
    lines.append(f"| **all** | {_each(good)} | **{_each([o for o in good if o.result == 'alarm'])}** |")
    lines += [
        "",
        "Faulty recordings, again tuning / report / fresh. *Not named*: something is said to be wrong, but not what.",
        "",
        "| fault | recordings | named right | wrong advice | not named | missed |",
        "|---|---|---|---|---|---|",
    ]
    large = [o for o in faulty if not o.small]
    rows = {name: [o for o in large if o.fault == name] for name in KIND}
    rows["**all**"] = large
    rows["clock, too little to tell from a lean"] = [o for o in faulty if o.small]
    for name, members in rows.items():
        cells = [_each([o for o in members if o.result == r]) for r in ("right", "wrong", "vague", "missed")]
        lines.append(f"| {name} | {_each(members)} | {' | '.join(cells)} |")
    return "\n".join(lines + ["", *_reliability(faulty)])


def _each(outcomes: list[Outcome]) -> str:
    return " / ".join(str(sum(o.group == name for o in outcomes)) for name in SETS)


def _reliability(faulty: list[Outcome]) -> list[str]:
    """How often advice was right that was given with a probability."""
    lines = ["| probability said | times | right |", "|---|---|---|"]
    given = [o for o in faulty if o.probability is not None]
    for low, high in ((0.0, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01)):
        members = [o for o in given if o.probability is not None and low <= o.probability < high]
        right = [o for o in members if o.result == "right"]
        lines.append(f"| {low:.2f} to {min(high, 1):.2f} | {_each(members)} | {_each(right)} |")
    return lines


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--read", nargs="+", type=Path, help="verdicts that --out wrote, instead of new ones")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print what was said where it was not right")
    parser.add_argument("--docs", type=Path, help="write the tables between the marks of this file")
    parser.add_argument("--out", type=Path, help="every verdict as JSON")
    parser.add_argument("--memory", action="store_true", help="only measure a recording of 500,000 frames")
    parser.add_argument("--check", type=Path, help="only run `check` on this recording and say what it took")
    arguments = parser.parse_args()
    if arguments.memory or arguments.check:
        print(check_alone(arguments.check) if arguments.check else memory(500_000))
        return
    if arguments.read:
        every = [Outcome(**o) for path in arguments.read for o in json.loads(path.read_text(encoding="utf-8"))]
    else:
        numbers = [n for name in arguments.sets for n in SETS[name]]
        every = [o for kind in ("good", "faulty") for o in run(kind, numbers, arguments.workers)]
    good, faulty = ([o for o in every if (o.fault == "none") == fine] for fine in (True, False))
    text = tables(good, faulty)
    print(text)
    times = sorted(o.seconds for o in good)
    print(f"\nCPU time of a good recording: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s")
    if arguments.show:
        for o in (*good, *faulty):
            if o.result != "right":
                print(f"\n{o.result}: {o.fault} {o.number} [{o.plan}] truth: {o.truth}\n    " + "\n    ".join(o.said))
    if arguments.out:
        arguments.out.write_text(json.dumps([asdict(o) for o in (*good, *faulty)], indent=1), encoding="utf-8")
    if arguments.docs:
        page = arguments.docs.read_text(encoding="utf-8")
        before, rest = page.split(START)
        after = rest.split(END)[1]
        arguments.docs.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
