"""Two parts of `bench_refine.py`: cameras knocked during a recording, and what `check` advises."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import trackfish3d as tf
from check_recordings import good_case
from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.pipeline.refining import advise_refinement
from trackfish3d.recordings import Recording
from trackfish3d.refinement import Wish, find_parts

FRAMES = 4000
WINDOW = 1000


def knocked(rig, c, by, seed):
    """Return the rig with one camera elsewhere."""
    new = perturb_rig(rig, by, seed)
    return CameraRig(tuple(new[k] if k == c else camera for k, camera in enumerate(rig)), rig.units)


def shifted(seen, by):
    """Return detections moved by (N, 2) px, boxes and all."""
    u, v = by.T
    return replace(
        seen, u=seen.u + u, v=seen.v + v, x1=seen.x1 + u, x2=seen.x2 + u, y1=seen.y1 + v, y2=seen.y2 + v
    )  # fmt: skip


def moves(draws=6):
    """Schools of the simulator, in every second of which a camera is knocked at a random frame."""
    for seed in range(draws):
        rng = np.random.default_rng([7, seed])
        with tempfile.TemporaryDirectory() as folder:
            recording = tf.simulate(Path(folder) / "r", int(rng.integers(4, 9)), "5", FRAMES, seed)
            rig, truth, seen = recording.rig, recording.truth, recording.detections
        moved, c, by = int(rng.integers(1200, 3200)), int(rng.integers(len(rig))), float(rng.choice([0.05, 0.2, 0.5]))
        if seed % 2 == 0:
            new = knocked(rig, c, by, seed)
            shift = np.zeros((len(seen), 2))
            rows_, views = np.nonzero(truth.detection >= 0)
            late = (truth.frame[rows_] >= moved) & (views == c)
            points = truth.position[rows_[late]]
            shift[truth.detection[rows_[late], views[late]]] = new[c].project(points) - rig[c].project(points)
            shift[~np.isfinite(shift)] = 0.0
            seen = shifted(seen, shift)
        begun = time.process_time()
        parts = find_parts(rig, seen, recording.fps, Wish(), WINDOW)
        found = [{"first": p.first, "sigma": p.first_sigma, "moved": list(p.moved)} for p in parts[1:]]
        true = {"first": moved, "camera": rig.names[c], "by": by} if seed % 2 == 0 else None
        yield {"seed": seed, "true": true, "found": found, "cpu": time.process_time() - begun}


def advice(draws=40, begin=9000):
    """How often `check` advises a refinement: good cameras, and the same recordings with cameras off by 0.2 degrees."""
    for number in range(begin, begin + draws):
        case = good_case(number)
        said = []
        for k, rig in enumerate((case.rig, perturb_rig(case.rig, 0.2, number))):
            with tempfile.TemporaryDirectory() as folder:
                recording = Recording.create(Path(folder) / f"r{k}", rig, detections=case.detections)
                said.append(advise_refinement(recording))
        yield {"number": number, "plan": case.plan, "good": said[0], "off": said[1]}


def moves_table(rows):
    """Lines of the page about moved cameras."""
    lines = [
        "## Cameras knocked during a recording", "",
        f"Simulated schools, {FRAMES} frames, probed every {WINDOW}; in every second one nothing moves.", "",
        "| seed | truly | found | CPU s |", "|---|---|---|---:|",
    ]  # fmt: skip
    for r in rows:
        t = r["true"]
        truly = f"{t['camera']} by {t['by']:g} at {t['first']}" if t else "nothing"
        found = "; ".join(f"{', '.join(f['moved'])} at {f['first']} +- {f['sigma']:.0f}" for f in r["found"])
        lines.append(f"| {r['seed']} | {truly} | {found or 'nothing'} | {r['cpu']:.0f} |")
    return [*lines, ""]


def advice_table(rows):
    """Lines of the page about advice."""
    good, off = (sum(r[k] is not None for r in rows) for k in ("good", "off"))
    return [
        "## What `check` advises", "",
        f"Of {len(rows)} good recordings drawn at random (`check_recordings.py`), a refinement is advised for {good}; "
        f"with the same cameras off by 0.2 degrees and units, for {off}.", "",
    ]  # fmt: skip
