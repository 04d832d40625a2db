"""Whether doubt means what it says: confidence of links and probability of suspects against what happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import beta

from trackfish3d.core.files import atomic_path
from trackfish3d.methods.registry import make_method
from trackfish3d.methods.suspects import Suspect
from trackfish3d.recordings import Recording, Tracks, Truth

EDGES = np.array([0.0, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 0.5, 0.7, 1.0 + 1e-9])
CROWD = "crowd"
LASTS = 10  # frames of known identity that a track must spend with an animal for it to count
REACH = 10  # frames between an event and the link or suspect that speaks for it: where two cross is not defined closer


@dataclass(frozen=True)
class Run:
    """Frames ``first`` to ``last`` in which a track is one animal."""

    first: int
    last: int
    animal: int


@dataclass(frozen=True)
class Event:
    """A track that leaves one animal for another, between two frames."""

    track: int
    before: int
    after: int
    old: int
    new: int


def true_identity(members: np.ndarray, truth: Truth, detections: int) -> np.ndarray:
    """(N,) animal that members (N, C), rows of so many detections, show; -1 where no two views agree on one."""
    whom = truth.identities_of_detections(detections)
    single = np.where((whom >= 0).sum(1) == 1, whom.max(1), -1)  # merged blobs tell nothing
    votes = np.where(members >= 0, single[members], -1)
    top, low = votes.max(1), np.where(votes >= 0, votes, 2**40).min(1)
    return np.where(((votes >= 0).sum(1) >= 2) & (top == low), top, -1)


def runs_of(track: np.ndarray, frame: np.ndarray, identity: np.ndarray) -> dict[int, list[Run]]:
    """Runs of each track (N,) that last, in the order of time."""
    out: dict[int, list[Run]] = {}
    for one in np.unique(track):
        rows = np.flatnonzero((track == one) & (identity >= 0))
        rows = rows[np.argsort(frame[rows])]
        whom, when = identity[rows], frame[rows]
        begin = np.append(np.flatnonzero(np.diff(whom, prepend=-2)), len(whom))
        out[int(one)] = [
            Run(int(when[a]), int(when[b - 1]), int(whom[a])) for a, b in pairwise(begin) if b - a >= LASTS
        ]
    return out


def events_of(runs: Mapping[int, Sequence[Run]]) -> list[Event]:
    """All changes of animal that last."""
    return [
        Event(track, a.last, b.first, a.animal, b.animal)
        for track, mine in runs.items()
        for a, b in pairwise(mine)
        if a.animal != b.animal
    ]


def judge_links(
    tracks: Tracks, runs: Mapping[int, Sequence[Run]], events: Sequence[Event]
) -> tuple[np.ndarray, np.ndarray]:
    """Chance to be wrong (L,) that was claimed of each link, and whether it was wrong (L,).

    An event is charged to the most doubtful link near it: which of several frames it was, nobody can tell. Links
    before a track was any animal for long, and after it was for the last time, are left out: nobody could tell.
    """
    wrong = np.zeros(len(tracks), bool)
    order = np.lexsort((tracks.frame, tracks.track))
    linked = np.zeros(len(tracks), bool)
    linked[order[1:]] = np.diff(tracks.track[order]) == 0
    for track, mine in runs.items():
        told = (tracks.frame > mine[0].first) & (tracks.frame <= mine[-1].last) if mine else False
        linked &= (tracks.track != track) | told
    for e in events:
        near = np.flatnonzero(
            linked & (tracks.track == e.track) & (tracks.frame > e.before - REACH) & (tracks.frame <= e.after + REACH)
        )
        free = near[~wrong[near]]
        if len(free):
            wrong[free[np.argmin(tracks.confidence[free])]] = True
    return 1.0 - tracks.confidence[linked], wrong[linked]


def names(s: Suspect, e: Event) -> bool:
    """Whether a suspect is about the track of an event, within `REACH` frames of it."""
    return e.track in (s.track, s.other) and e.before <= s.last + REACH and e.after >= s.first - REACH


def listed_of(suspects: Sequence[Suspect], runs: Mapping[int, Sequence[Run]], events: Sequence[Event]) -> np.ndarray:
    """(S, 2) chance that each listed moment claims, and whether it was so, where the truth knows its tracks about it.

    An event that several name is charged to the most doubtful of them, which come first.
    """
    out: list[tuple[float, bool]] = []
    taken: set[Event] = set()
    for s in suspects:
        both = {s.track, s.other}
        known = [runs.get(t, ()) for t in both]
        named = {e for e in events if names(s, e)}
        if s.kind in ("end", "begin") or not all(r and r[0].first < s.first and r[-1].last > s.last for r in known):
            continue
        out.append((s.probability, bool(named - taken)))
        taken |= named
    return np.array(out, float).reshape(-1, 2)


def judge_suspects(
    suspects: Sequence[Suspect], runs: Mapping[int, Sequence[Run]], events: Sequence[Event]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Claimed chance (S,) of each suspect, whether it was so (S,), and how many events some suspect names.

    A join was wrong if its track changed animals there. A swap was one if one of the two tracks went over to the
    animal that the other had been until then. Suspects at which the truth does not know both tracks on both sides are
    left out.
    """
    claimed, right = [], []
    named: set[Event] = set()
    for s in suspects:
        if not all(_told(runs.get(t, ()), s) for t in {s.track, s.other}):
            continue
        found = {
            e for e in events
            if names(s, e)
            and (s.kind != "swap" or e.new in _until(runs[s.other if e.track == s.track else s.track], e))
        }  # fmt: skip
        claimed.append(s.probability)
        right.append(bool(found))
        named |= found
    return np.array(claimed), np.array(right, bool), len(named)


def _told(runs: Sequence[Run], s: Suspect) -> bool:
    """Whether a track was some animal for long before a suspect, and some animal after it."""
    return bool(runs) and runs[0].first < s.first and runs[-1].last > s.last


def _until(runs: Sequence[Run], e: Event) -> set[int]:
    """Animals that a track was until another track's event, or shortly before it."""
    return {r.animal for r in runs if r.first < e.after and r.last >= e.before - REACH}


def bench_doubt(scenes: dict[str, Recording]) -> list[dict[str, Any]]:
    """Track every scene and judge its doubts."""
    rows = []
    for name, recording in scenes.items():
        truth = recording.truth
        assert truth is not None
        result = make_method("joint").track(recording.rig, recording.detections, recording.fps)
        tracks = result.tracks
        identity = true_identity(tracks.detection, truth, len(recording.detections))
        runs = runs_of(tracks.track, tracks.frame, identity)
        events = events_of(runs)
        chance, wrong = judge_links(tracks, runs, events)
        claimed, right, named = judge_suspects(result.suspects, runs, events)
        rows.append(
            {
                "scene": name, "kind": name.split("-")[0].rstrip("123456"), "events": len(events), "named": named,
                "expected": float(chance.sum()), "links": binned(chance, wrong), "suspects": binned(claimed, right),
                "first": first_right(claimed, right),
            }
        )  # fmt: skip
        print(f"{name}: {len(events)} events, {chance.sum():.1f} expected, {named} named by suspects", flush=True)
    return rows


def binned(claimed: np.ndarray, happened: np.ndarray) -> list[list[float]]:
    """Count, sum of claimed chances, and events of each bin of `EDGES`."""
    k = np.clip(np.digitize(claimed, EDGES) - 1, 0, len(EDGES) - 2)
    n = len(EDGES) - 1
    return [
        np.bincount(k, minlength=n).tolist(), np.bincount(k, claimed, n).tolist(), np.bincount(k, happened, n).tolist()
    ]  # fmt: skip


def first_right(claimed: np.ndarray, happened: np.ndarray, count: int = 10) -> list[int]:
    """How many of the first suspects were right, and how many there were."""
    first = np.argsort(-claimed, kind="stable")[:count]
    return [int(happened[first].sum()), len(first)]


def summed(rows: Sequence[dict[str, Any]], what: str) -> np.ndarray:
    """(3, bins) counts of all scenes."""
    return np.asarray(np.sum([r[what] for r in rows], axis=0))


def doubt_section(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Markdown."""
    text = (
        "Claimed and observed. An event is a track that leaves an animal for another for good: its detections "
        "(two views or "
        f"more, no merged blobs) showed one for {LASTS} frames and then another for {LASTS}. It is charged to the most "
        f"doubtful link within {REACH} frames, since which frame of a crossing it was cannot be told. A "
        "suspect is right if "
        f"such an event is within {REACH} frames and, for a swap, the track went over to the animal that the other was "
        "until then. Links and suspects at the ends of tracks, where the truth cannot tell, are left out. The curve "
        "that gives the chances was fitted on crowded schools of other seeds (`benchmarks/joint_fit_doubt.py`). Tracks "
        "of the test scenes hardly ever change animals, so crowded schools that neither a test nor that fit has are "
        "judged beside them.\n"
    )
    tables = []
    for words, mine in split_rows(rows).items():
        links, suspects = summed(mine, "links"), summed(mine, "suspects")
        lines = [
            f"| {words}: chance to be wrong | links | claimed, mean % | observed % | suspects "
            "| claimed, mean % | observed % |",
            "|---|" + "---:|" * 6,
        ]
        for k in range(len(EDGES) - 1):
            cells = []
            for n, claimed, happened in (links[:, k], suspects[:, k]):
                cells += [f"{n:.0f}", *(f"{100 * x / n:.3g}" if n else "" for x in (claimed, happened))]
            lines.append(f"| {EDGES[k]:g} to {EDGES[k + 1]:.3g} | {' | '.join(cells)} |")
        tables.append("\n".join(lines) + "\n")
    more = ["| scenes | number | events | expected from links | named by a suspect | first ten suspects right |"]
    more += ["|---|" + "---:|" * 5]
    for kind in [*dict.fromkeys(r["kind"] for r in rows), "all"]:
        mine = [r for r in rows if kind in (r["kind"], "all")]
        first = np.sum([r["first"] for r in mine], axis=0)
        cells = [str(len(mine)), str(sum(r["events"] for r in mine)), f"{sum(r['expected'] for r in mine):.1f}"]
        cells += [str(sum(r["named"] for r in mine)), f"{first[0]} of {first[1]}"]
        more.append(f"| {kind} | {' | '.join(cells)} |")
    return ["## Doubt\n", text, *tables, "\n".join(more) + "\n", "![reliability](reliability.png)\n"]


def split_rows(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Scenes of the tests, and crowded schools, where there is more to be wrong about."""
    crowd = [r for r in rows if r["kind"] == CROWD]
    found = {"scenes of the tests": [r for r in rows if r["kind"] != CROWD], "crowded schools": crowd}
    return {words: mine for words, mine in found.items() if mine}


def draw_doubt(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Reliability of links and of suspects, with 90 % intervals, logarithmic."""
    figure = Figure(figsize=(9, 4.2))
    panels = np.atleast_1d(figure.subplots(1, 2, sharex=True, sharey=True))
    lowest = 1e-6
    for axes, what in zip(panels, ("links", "suspects"), strict=True):
        for (words, mine), colour in zip(split_rows(rows).items(), ("C0", "C1"), strict=False):
            count, claimed, happened = summed(mine, what)
            some = count > 0
            n, k, x = count[some], happened[some], np.maximum(claimed[some] / count[some], lowest)
            low = np.where(k > 0, beta.ppf(0.05, k + 0.5, n - k + 0.5), lowest / 10)
            high = beta.ppf(0.95, k + 0.5, n - k + 0.5)
            x = x * (0.93 if colour == "C0" else 1.07)  # side by side
            axes.vlines(x, low, high, lw=1.5, color=colour, alpha=0.7)
            axes.plot(x[k > 0], (k / n)[k > 0], "o", ms=5, color=colour, label=words)
            for a, b, m, h in zip(x, high, n, k, strict=True):
                where, side = ((-1, 2), "right") if colour == "C0" else ((1, 2), "left")
                axes.annotate(
                    f"{h:.0f}/{m:.0f}", (a, b), fontsize=6, xytext=where, textcoords="offset points", color=colour,
                    ha=side,
                )  # fmt: skip
        axes.plot([lowest, 1], [lowest, 1], "--", color="0.5", lw=1)
        axes.set(xscale="log", yscale="log", xlabel="claimed chance to be wrong", title=what)
        axes.set(xlim=(lowest / 2, 1.5), ylim=(lowest / 2, 1.5))
        axes.grid(alpha=0.25)
    panels[0].set(ylabel="observed share")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130, bbox_inches="tight")
