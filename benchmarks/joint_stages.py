"""What each stage of the joint tracker is worth: taken away, or replaced by the truth."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import trackfish3d.methods.joint.method as joint_method
from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.suites import GATE_SYNFISH
from trackfish3d.evaluation import evaluate
from trackfish3d.evaluation.oracle import track_oracle
from trackfish3d.methods.baselines.geometric import KalmanSettings
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Detections, Recording, Tracks, Truth

LESS: dict[str, dict[str, Any]] = {
    "joint": {},
    "without look-ahead": {"horizon": 0},
    "without mending": {"stitch_gap": 0, "swap_least": 1e9},
    "without fitting": {"fit_rounds": 0},
    "without darts": {"dart_share": 0.0},
}
SCORES = ("mota", "idf1", "hota", "switches", "false_positives", "misses")
WORDS = {
    "without cues": "size and body axis say nothing",
    "animals told": "the number of fish is given (`animals`)",
    "true detections": "false detections are removed beforehand",
    "true identities": "every point gets the name of the fish it is nearest to: all that identities can gain",
    "oracle": "true associations, linked by 3D-SORT's Kalman filter",
}


@contextmanager
def no_cues() -> Iterator[None]:
    """Let size and body axis say nothing, in place of what was fitted."""
    own = joint_method.initial_model

    def blind(*arguments: Any, **more: Any) -> Any:
        return own(*arguments, **more).with_(scales=np.zeros(3))

    joint_method.initial_model = blind  # type: ignore[attr-defined]
    try:
        yield
    finally:
        joint_method.initial_model = own  # type: ignore[attr-defined]


def shortened(recording: Recording, frames: int) -> tuple[Detections, Truth]:
    """Return the first frames of a recording."""
    truth = recording.truth
    assert truth is not None
    detections = recording.detections.select(recording.detections.frame < frames)  # the rows before stay the same
    early = truth.frame < frames
    columns = {
        name: value[early]
        for name, value in vars(truth).items()
        if isinstance(value, np.ndarray) and len(value) == len(truth)
    }
    return detections, replace(truth, **columns)


def only_true(detections: Detections, truth: Truth) -> Detections:
    """Return the detections that show somebody."""
    assert truth.detection is not None
    return detections.select(np.unique(truth.detection[truth.detection >= 0]))


def true_names(tracks: Tracks, truth: Truth) -> Tracks:
    """Name every point after the fish it was matched with; points of nobody keep names of their own."""
    found = evaluate(
        truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE_SYNFISH
    )
    pairs, partner = found.pairs, found.correspondence.pred
    name = tracks.track + 10**6
    matched = partner >= 0
    name[pairs.pred.row[partner[matched]]] = pairs.truth.ids[pairs.truth.identity[matched]]
    return Tracks.build(tracks.frame, name, tracks.position)


def bench_stages(scenes: dict[str, Recording], frames: int) -> list[dict[str, Any]]:
    """All variants on all scenes."""
    rows = []
    for name, recording in scenes.items():
        detections, truth = shortened(recording, frames)
        rig, fps = recording.rig, recording.fps
        fish = len(np.unique(truth.identity))

        def joint(settings: dict[str, Any], seen: Detections = detections, rig: Any = rig, fps: float = fps) -> Tracks:
            return make_method("joint", settings).track(rig, seen, fps).tracks

        def cueless(joint: Callable[..., Tracks] = joint) -> Tracks:
            with no_cues():
                return joint({})

        plain = joint({})
        found = {label: plain if not settings else joint(settings) for label, settings in LESS.items()}
        found["without cues"] = cueless()
        found["animals told"] = joint({"animals": fish})
        found["true detections"] = joint({}, only_true(detections, truth))
        found["true identities"] = true_names(plain, truth)
        found["oracle"] = track_oracle(rig, detections, truth, KalmanSettings())
        for label, tracks in found.items():
            if label == "true detections":  # its rows count other detections
                tracks = Tracks.build(tracks.frame, tracks.track, tracks.position)
            scores = score(truth, tracks, GATE_SYNFISH)
            rows.append({"scene": name, "fish": fish, "label": label} | {k: scores[k] for k in SCORES})
            print(f"{name} {label:<20} MOTA {100 * scores['mota']:.1f} IDF1 {100 * scores['idf1']:.1f}", flush=True)
    return rows


def stages_section(rows: Sequence[dict[str, Any]], frames: int) -> list[str]:
    """Markdown: one row a variant, MOTA / IDF1 / switches of each scene."""
    scenes = list(dict.fromkeys(r["scene"] for r in rows))
    text = (
        f"Train scenes of other seeds and dense schools, at most {frames} frames. Each cell: MOTA / IDF1 / "
        "identity switches. "
        f"{'; '.join(f'*{k}*: {v}' for k, v in WORDS.items())}.\n"
    )
    lines = ["| | " + " | ".join(scenes) + " | mean MOTA | mean IDF1 |", "|---|" + "---:|" * (len(scenes) + 2)]
    base: tuple[float, float] | None = None
    for label in dict.fromkeys(r["label"] for r in rows):
        mine = {r["scene"]: r for r in rows if r["label"] == label}
        cells = [f"{100 * mine[s]['mota']:.1f} / {100 * mine[s]['idf1']:.1f} / {mine[s]['switches']:g}" for s in scenes]
        mean = tuple(100 * float(np.mean([mine[s][k] for s in scenes])) for k in ("mota", "idf1"))
        base = base or (mean[0], mean[1])
        cells += [
            f"{m:.1f}" + (f" ({m - b:+.1f})" if label != "joint" else "") for m, b in zip(mean, base, strict=True)
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return ["## Stages\n", text, "\n".join(lines) + "\n"]
