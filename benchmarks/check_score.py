"""Whether what `check` said of a recording is right, and the tables of `bench_check.py`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from check_recordings import Case
from trackfish3d.health import Health

KIND = {
    "clock 1-7": "clock",
    "clock 8-29": "clock",
    "clock 30-199": "clock",
    "clock 200-500": "clock",
    "missing water": "water missing",
    "wrong water": "water wrong",
    "needless water": "water wrong",
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
    "clock, small": "clock",
}
# Only the others tell the user to change something; "disagree" says that something is wrong and not what.
VAGUE = {"disagree"}


@dataclass(frozen=True)
class Outcome:
    """What was said of one recording; ``result`` is right, wrong, vague, missed or alarm."""

    group: str
    kind: str
    number: int
    fault: str
    plan: str
    truth: str
    result: str
    said: list[str]
    kinds: list[str]
    probability: float | None
    seconds: float


def result_of(case: Case, health: Health) -> str:
    """Whether the first thing that `check` found is the fault that was made."""
    found = [f for f in health.findings if f.wrong]
    if case.fault == "none":
        return "alarm" if found else "right"
    if not found:
        return "missed"
    first = found[0]
    if first.kind != KIND[case.fault]:
        return "vague" if first.kind in VAGUE else "wrong"
    if first.kind == "clock":
        return "right" if _same_clock(case, first.cameras, first.late_frames) and len(found) == 1 else "wrong"
    if case.fault in ("swapped", "camera twice"):
        return "right" if set(first.cameras) == set(case.guilty) else "wrong"
    if case.fault in ("frozen", "dead"):
        return "right" if first.cameras == case.guilty and len(found) == 1 else "wrong"
    if first.kind == "calibration":
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


def tables(outcomes: list[Outcome], groups: list[str]) -> str:
    """All tables as Markdown, the groups of draws in every cell."""
    good, faulty, small = ([o for o in outcomes if o.kind == k] for k in ("good", "faulty", "small"))
    which = " / ".join(groups)
    lines = [
        f"Good recordings ({which}).",
        "",
        "| kind of recording | recordings | false alarms | said that something cannot be told |",
        "|---|---|---|---|",
    ]
    for name, members in [*sorted(_kinds_of_good(good).items()), ("**all**", good)]:
        cells = [members, [o for o in members if o.result == "alarm"], [o for o in members if _doubts(o)]]
        lines.append(f"| {name} | {' | '.join(_each(c, groups) for c in cells)} |")
    lines += [
        "",
        f"Faulty recordings ({which}). *Not named*: something is said to be wrong, but not what.",
        "",
        "| fault | recordings | named right | wrong advice | not named | missed |",
        "|---|---|---|---|---|---|",
    ]
    rows = {name: [o for o in faulty if o.fault == name] for name in KIND if name != "clock, small"}
    rows["**all**"] = faulty
    rows["clock, off by too little to matter"] = small
    for name, members in rows.items():
        cells = [members, *([o for o in members if o.result == r] for r in ("right", "wrong", "vague", "missed"))]
        lines.append(f"| {name} | {' | '.join(_each(c, groups) for c in cells)} |")
    return "\n".join(lines + ["", *_reliability(outcomes, groups)])


def _doubts(o: Outcome) -> bool:
    return o.result == "right" and any(text.startswith("cannot tell") for text in o.said)


def _kinds_of_good(good: list[Outcome]) -> dict[str, list[Outcome]]:
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    for o in good:
        words = o.plan.split()
        if words[0] == "simulator":
            kinds[f"simulator, {words[1]}"].append(o)
            continue
        kinds[f"rig: {words[0].split(':')[0]}"].append(o)
        kinds[f"seen as {words[6]}"].append(o)
        kinds[f"motion: {words[4]}"].append(o)
        kinds[f"animals: {_band(int(words[1]), (1, 2, 6, 16))}"].append(o)
        kinds[f"frames: {_band(int(words[3]), (5, 38, 200, 800))}"].append(o)
        if words[-1] == "10":
            kinds["frame numbers in steps of 10"].append(o)
        if float(words[words.index("wander") + 1]) > 0:
            kinds["errors that last"].append(o)
    return kinds


def _band(value: int, edges: tuple[int, ...]) -> str:
    low = max(e for e in edges if e <= value)
    later = [e for e in edges if e > value]
    return f"{low} to {later[0] - 1}" if later and later[0] - 1 > low else f"{low}" if later else f"{low} or more"


def _each(outcomes: list[Outcome], groups: list[str]) -> str:
    return " / ".join(str(sum(o.group == name for o in outcomes)) for name in groups)


def _reliability(outcomes: list[Outcome], groups: list[str]) -> list[str]:
    """How often advice was right that was given with a probability, on good recordings too."""
    lines = ["| probability said | times | right |", "|---|---|---|"]
    given = [o for o in outcomes if o.probability is not None]
    for low, high in ((0.0, 0.7), (0.7, 0.9), (0.9, 0.97), (0.97, 1.01)):
        members = [o for o in given if o.probability is not None and low <= o.probability < high]
        right = [o for o in members if o.result == "right"]
        lines.append(f"| {low:.2f} to {min(high, 1):.2f} | {_each(members, groups)} | {_each(right, groups)} |")
    return lines
