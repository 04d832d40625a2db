"""Where to look first: identity errors, and the rows of ``suspects.csv`` that name them; part of `bench_motion.py`.

An event is a track that leaves one animal for another for good (`joint_doubt.py`: its detections showed one for ten
frames and then another for ten). A row names it that is about this track within ten frames of it. Where several rows
name an event, it is charged to the most doubtful of them, as it happened once. 3D-ZeF 01 and 03, schools of seeds 40
to 43, tanks before two cameras (``pair``) of seeds 2 to 5 and the tuning half of `crowd` were fitted to or looked at;
02, 04, other seeds and the other half are looked at to report, and only they are in the second table.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from joint_doubt import EDGES, binned, events_of, listed_of, names, runs_of, true_identity
from joint_fit_doubt import write_named
from trackfish3d.benchmark.crowded.crowd import half_of
from trackfish3d.core.files import atomic_path
from trackfish3d.methods.joint.method import Joint
from trackfish3d.recordings import Recording

SEQUENCES = ("01", "02", "03", "04")
SCHOOLS = {
    "tune": ("thirtyx30-40", "train3x24-40", "train8x24-40", *half_of("tune")[:7]),
    "report": (
        "thirtyx24-50",
        "train3x24-50",
        "train3x24-51",
        "train8x24-50",
        *half_of("report")[:3],
        *(f"{base}x24-{seed}" for seed in range(60, 62) for base in ("train3", "thirty")),
        *(f"pair18-{seed}" for seed in range(60, 63)),
    ),
}
FITTED = ("3D-ZeF 01", "3D-ZeF 03")
ROWS = 30  # that a person looks through


def judged(recording: Recording) -> dict[str, Any]:
    """Events of a recording, the first row that names each (-1 for none), and claimed against observed."""
    truth = recording.truth
    assert truth is not None
    result = Joint().track(recording.rig, recording.detections, recording.fps)
    tracks = result.tracks
    assert tracks.detection is not None
    identity = true_identity(tracks.detection, truth, len(recording.detections))
    runs = runs_of(tracks.track, tracks.frame, identity)
    events = events_of(runs)
    rank = {e: next((row for row, s in enumerate(result.suspects) if names(s, e)), -1) for e in events}
    listed = listed_of(result.suspects, runs, events)
    return {
        "events": [[e.track, e.before, e.after, rank[e]] for e in events],
        "suspects": len(result.suspects), "bins": binned(listed[:, 0], listed[:, 1] > 0),
    }  # fmt: skip


def suspects(which: str, work: Path) -> list[dict[str, Any]]:
    """All sequences of 3D-ZeF, and crowded schools; what is in ``work`` already is not made again."""
    rows = []
    for name in (*(f"zef{sequence}" for sequence in SEQUENCES), *SCHOOLS[which]):
        folder, kept = work / "recordings" / name, work / "suspects" / f"{name}.json"
        if not folder.exists():
            write_named(name, folder)
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(kept) as temporary:
                temporary.write_text(json.dumps(judged(Recording.open(folder))), encoding="utf-8")
        words = name.replace("zef", "3D-ZeF ")
        rows.append({"scene": words} | json.loads(kept.read_text(encoding="utf-8")))
    return rows


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return events and their rows, and the reliability of all together."""
    lines = [
        f"| recording | events | named | within the first {ROWS} rows | rows |", "|---|" + "---:|" * 4,
    ]  # fmt: skip
    real = [r for r in rows if r["scene"].startswith("3D-ZeF")]
    together = {"scene": "3D-ZeF together", "events": [e for r in real for e in r["events"]], "suspects": ""}
    for r in [*rows, together]:
        ranks = np.array([e[3] for e in r["events"]], int)
        lines.append(
            f"| {r['scene']} | {len(ranks)} | {(ranks >= 0).sum()} | {((ranks >= 0) & (ranks < ROWS)).sum()} | "
            f"{r['suspects']} |"
        )
    lines += [
        "",
        "| claimed | suspects | claimed, mean % | observed % | of 3D-ZeF 02, 04 | claimed, mean % | observed % |",
    ]
    lines.append("|---|" + "---:|" * 6)
    held = [r for r in rows if r["scene"] not in FITTED]
    own_rows = [r for r in real if r["scene"] not in FITTED]
    every, own = (np.sum([r["bins"] for r in part], axis=0) for part in (held, own_rows))
    for k in range(len(EDGES) - 1):
        cells = []
        for n, claimed, happened in (every[:, k], own[:, k]):
            cells += [f"{n:.0f}", *(f"{100 * x / n:.3g}" if n else "" for x in (claimed, happened))]
        lines.append(f"| {EDGES[k]:g} to {EDGES[k + 1]:.3g} | {' | '.join(cells)} |")
    return [*lines, "", *(_in_words(every, low, high) for low, high in ((0.0, 0.5), (0.5, 1.0)))]


def _in_words(bins: np.ndarray, low: float, high: float) -> str:
    """Whether what was claimed between two chances is within the 90 % interval of what is observed; a line."""
    inside = (EDGES[:-1] >= low - 1e-6) & (EDGES[1:] <= high + 1e-6)
    n, claimed, happened = bins[:, inside].sum(1)
    if n == 0:
        return f"- Nothing was claimed between {100 * low:g} and {100 * high:g} %."
    least, most = beta.ppf((0.05, 0.95), happened + 0.5, n - happened + 0.5)
    mean = claimed / n
    verdict = "too sure" if mean > most else "not sure enough" if mean < least else "right within what can be told"
    return (
        f"- Claims of {100 * low:g} to {100 * high:g} %: {n:.0f} suspects, {100 * mean:.1f} % claimed, "
        f"{100 * happened / n:.1f} % observed (90 % interval {100 * least:.0f} to {100 * most:.0f}): {verdict}."
    )
