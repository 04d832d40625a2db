"""What goes wrong in crowds, by kind: how much of it is merged detections, wrong pairs, exchanges, ghosts, misses.

    python benchmarks/crowd_errors.py --work FOLDER [--scenes people02,crowd22,...] [--methods joint]

Each point of truth that no track is near, each point of a track that no truth is near and each switch of identity is
counted under one kind, by the detections that truth says show the animal and those that the track holds. Draws are of
the tuning half. Numbers are shares of true points, %, and of switches how many.
"""

import argparse
import os
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from trackfish3d.benchmark.crowded.crowd import scene_number, write_crowd
from trackfish3d.benchmark.crowded.people import GATE_M, gathering_number, write_gathering
from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.suites import GATE_SYNFISH
from trackfish3d.benchmark.variants import parse_variant
from trackfish3d.evaluation.clear import SWITCHED, Correspondence, Matcher
from trackfish3d.evaluation.matching import Pairs, Points, pair_up
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording, Tracks, Truth

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
SCENES = "people00,people02,people10,people20,crowd12,crowd22,crowd52,crowd04"
NEAR_FRAMES = 5  # of a switch, in which a merged detection may have caused it
KINDS = (
    "missed: seen alone by two views",
    "missed: merged, else seen by two views",
    "missed: seen by fewer",
    "false: views of two animals",
    "false: of one animal, far off",
    "false: of nobody",
    "switches after a merged detection",
    "other switches",
)


class Shown(NamedTuple):
    """What truth says of each of its rows: (N,) views that show the animal, and of these such as show it alone."""

    any: Ints
    alone: Ints


def shown(truth: Truth) -> Shown:
    """Count views of each true point."""
    assert truth.detection is not None
    there = truth.detection >= 0
    shared = np.zeros(int(truth.detection.max()) + 1, np.int64)
    np.add.at(shared, truth.detection[there], 1)
    return Shown(there.sum(1), (there & (shared[np.maximum(truth.detection, 0)] == 1)).sum(1))


def held(truth: Truth, tracks: Tracks) -> Ints:
    """(P,) how many animals the detections of each point of tracks show."""
    assert truth.detection is not None
    order = [truth.cameras.index(name) for name in tracks.cameras]
    showing: dict[int, set[int]] = {}
    for animal, row in zip(truth.identity.tolist(), truth.detection[:, order].tolist(), strict=True):
        for d in row:
            if d >= 0:
                showing.setdefault(d, set()).add(animal)
    count = np.zeros(len(tracks), np.int64)
    for k, row in enumerate(tracks.detection.tolist()):
        sets = [showing[d] for d in row if d in showing]
        common = set.intersection(*sets) if sets else set()
        count[k] = 1 if common else len(set().union(*sets)) if sets else 0
    return count


def switched_when_merged(pairs: Pairs, found: Correspondence, merged: Flags) -> tuple[int, int]:
    """Switches of which the animal was merged with another a few frames before, and others."""
    truth, after = pairs.truth, 0
    rows = np.flatnonzero(found.state == SWITCHED)
    for k in rows:
        near = (truth.identity == truth.identity[k]) & (np.abs(truth.frame - truth.frame[k]) <= NEAR_FRAMES)
        after += bool(merged[truth.row[near]].any())
    return after, len(rows) - after


def errors(truth: Truth, tracks: Tracks, gate: float) -> list[float]:
    """Return the number of errors of each of `KINDS`; shares of true points, %, but for switches."""
    pairs = pair_up(
        Points.build(truth.frame, truth.identity, truth.position, "truth"),
        Points.build(tracks.frame, tracks.track, tracks.position, "prediction"),
        gate,
    )
    found = Matcher(len(pairs.truth.ids), len(pairs.pred.ids), gate).match(pairs)
    views = shown(truth)
    missed = pairs.truth.row[found.pred < 0]
    alone, some = views.alone[missed] >= 2, views.any[missed] >= 2
    false = np.ones(len(pairs.pred.row), bool)
    false[found.pred[found.pred >= 0]] = False
    of = held(truth, tracks)[pairs.pred.row[false]]
    counts = [alone.sum(), (some & ~alone).sum(), (~some).sum(), (of > 1).sum(), (of == 1).sum(), (of == 0).sum()]
    return [100.0 * k / len(truth) for k in counts] + list(switched_when_merged(pairs, found, views.any > views.alone))


def scene(name: str, work: Path) -> tuple[Recording, float]:
    """Return a draw and its gate."""
    folder = work / name
    people = name.startswith("people")
    number = gathering_number(name) if people else scene_number(name)
    if not folder.exists():
        (write_gathering if people else write_crowd)(number, folder)
    return Recording.open(folder), GATE_M if people else GATE_SYNFISH


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the draws")
    parser.add_argument("--scenes", default=SCENES)
    parser.add_argument("--methods", default="joint")
    given = parser.parse_args()
    variants = [parse_variant(m) for m in given.methods.split(",")]
    for variant in variants:
        rows = []
        for name in given.scenes.split(","):
            recording, gate = scene(name, given.work)
            assert recording.truth is not None
            method = make_method(variant.method, variant.settings)
            tracks = method.track(recording.rig, recording.detections, recording.fps).tracks
            scores = score(recording.truth, tracks, gate)
            rows.append([100 * scores["mota"], 100 * scores["idf1"], *errors(recording.truth, tracks, gate)])
            print(f"{variant.label} {name}: " + " ".join(f"{x:.1f}" for x in rows[-1]), flush=True)
        print(f"{variant.label}, mean of {len(rows)}:")
        for kind, value in zip(("MOTA", "IDF1", *KINDS), np.mean(rows, axis=0), strict=True):
            print(f"  {kind:42s} {value:6.2f}")


if __name__ == "__main__":
    main()
