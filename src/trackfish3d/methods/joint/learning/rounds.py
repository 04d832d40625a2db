"""Rounds of learning from tracks: track, learn, track with what was learned, learn again."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import InputError
from ....core.progress import Say
from ....recordings import Recording
from ...registry import make_method
from .checkpoint import load_pairs, save_pairs
from .lessons import LearnSettings, Lesson, lessons, teach
from .network import PairNet


@dataclass(frozen=True)
class Labels:
    """What one recording taught in one round: its tracks, and pairs that are one animal, two, or unknown."""

    round: int
    recording: str
    tracks: int
    same: int
    different: int
    unknown: int


def learn_rounds(
    recordings: Sequence[Recording],
    out: Path,
    settings: LearnSettings,
    rounds: int = 2,
    minutes: float = math.inf,
    start: Path | None = None,
    say: Say = print,
) -> PairNet:
    """Teach a pair network by recordings alone and write it to ``out`` after every round.

    minutes : longest time a round may teach; tracking comes on top. start : network to go on
    from, and to track with first. say : told one line about each recording and every few hundred steps.
    """
    net = None if start is None else load_pairs(start)
    model = start
    history: list[dict[str, Any]] = []
    for number in range(1, rounds + 1):
        taught: list[Lesson] = []
        for recording in recordings:
            made, labels = track_and_label(recording, model, settings, number)
            taught += made
            history.append(asdict(labels))
            say(
                f"round {number}  {labels.recording}: {labels.tracks} tracks, {labels.same} pairs of one animal, "
                f"{labels.different} of two, {labels.unknown} unknown"
            )
        if not taught:
            raise InputError(
                f"no track of {settings.shortest} frames in {len(recordings)} recordings: nothing to learn from; "
                "give longer recordings or a smaller --set shortest="
            )
        net = teach(taught, settings, net, minutes, partial(_report, number, say))
        say(f"round {number}  calibrated: scale {float(net.scale):.3f}, shift {float(net.shift):.3f}")
        save_pairs(net, out, rounds=number, settings=settings.model_dump(), labels=history)
        model = out
    assert net is not None
    return net


def track_and_label(
    recording: Recording, model: Path | None, settings: LearnSettings, number: int = 1
) -> tuple[list[Lesson], Labels]:
    """Track a recording, with a network if there is one, and turn its long tracks into lessons."""
    from ..observations import Observations

    method: Any = make_method("joint", {} if model is None else {"model": model})
    rig, detections = recording.rig, recording.detections
    result = method.track(rig, detections, recording.fps)
    tracks = result.tracks
    made: list[Lesson] = []
    if len(tracks):
        noise = Observations.of(rig, detections, result.model).noise
        made = lessons(rig, detections, tracks, noise, result.model.body_length, settings)
    count = [int((made[0].label == k).sum()) if made else 0 for k in (1, 0, -1)]
    return made, Labels(number, recording.folder.name, len(np.unique(tracks.track)), *count)


def _report(number: int, say: Say, row: dict[str, float]) -> None:
    if int(row["step"]) % 500 == 0:
        say(
            f"round {number}  step {row['step']:.0f}  loss of geometry {row['geometry']:.4f}, "
            f"with shape and surroundings {row['loss']:.4f}"
        )
