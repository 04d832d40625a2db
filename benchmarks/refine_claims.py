"""Part of `bench_refine.py`: are the standard deviations right? Many cheap draws of train scenes.

Nothing is tracked here: detections are put together as the truth says, so that a draw costs a second and only the
adjustment is looked at. Clocks begin half a frame off at most, poses where tracking leaves them.
"""

import tempfile

import numpy as np

import trackfish3d as tf
from refine_synfish import clocks_of, late, relative_turns
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.recordings import Tracks
from trackfish3d.refinement.adjustment import Freedom, Setup, adjust_pieces
from trackfish3d.refinement.kernels import CLOCK
from trackfish3d.refinement.loop import pose_covariance
from trackfish3d.refinement.rigs import rig_of, state_of
from trackfish3d.refinement.sights import Retimed, collect

TRAIN = ("train1", "train3", "train5")
POSES = 0.02  # degrees and units


def claims(scenes=TRAIN, draws=4):
    """Errors in standard deviations: clocks against the first camera's, and turns from it."""
    for name in scenes:
        with tempfile.TemporaryDirectory() as folder:
            recording = tf.simulate_synfish(folder, [name])[name]
            recording.detections, recording.truth  # noqa: B018
        for kind in ("points", "masks"):
            rows = [_draw(recording, kind, seed) for seed in range(draws)]
            yield {"scene": name, "kind": kind, "pieces": rows[0]["pieces"]} | {
                key: [float(x) for r in rows for x in r[key]] for key in ("clock_off", "clock_z", "turn_z")
            }


def _draw(recording, kind, seed):
    rig, count = recording.rig, len(recording.rig)
    rng = np.random.default_rng([5, seed])
    offset, rate = (np.append(0.0, rng.uniform(-s, s, count - 1)) for s in (0.45, 1e-4))
    seen = late(recording, offset, rate, kind, seed)
    frame = seen.frame.astype(np.float64)
    pieces = collect(rig, true_tracks(recording), Retimed(seen, np.arange(len(seen)), frame))
    middle = np.full(count, float(np.round((frame.min() + frame.max()) / 2)))
    true = offset + rate * (middle - float(np.median(recording.truth.frame)))
    start = Setup(state_of(perturb_rig(rig, POSES, seed)), clocks_of(middle, 0 * offset, 0 * rate), middle)
    used = pieces.part(~pieces.held)
    setup, done = adjust_pieces(start, Freedom(water=rig.refractive), used, 1.0)
    sigma = np.sqrt(np.diag(done.covariance))[done.places[1:, CLOCK]]
    off = setup.clock[1:, 0] - middle[1:] - true[1:]
    turns = relative_turns(rig_of(setup.state, rig), rig, pose_covariance(done))
    return {"pieces": len(used.held), "clock_off": off, "clock_z": off / sigma, "turn_z": turns}


def true_tracks(recording):
    """Tracks as the truth has them, of moments that two cameras saw."""
    t = recording.truth
    good = (t.detection >= 0).sum(1) >= 2
    columns = (t.frame[good], t.identity[good], t.position[good])
    return Tracks.build(*columns, detection=t.detection[good], cameras=recording.rig.names)


def draws_table(rows):
    """Lines of the page about these draws."""
    lines = [
        "### Twelve draws of train scenes, detections put together as the truth says", "",
        "| detections | what | errors | within 1 (68 %) | within 2 (95 %) | root mean square (1) | error, frames |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for kind in ("points", "masks"):
        mine = [r for r in rows if r["kind"] == kind]
        if not mine:
            continue
        size = np.sqrt(np.mean(np.concatenate([r["clock_off"] for r in mine]) ** 2))
        for key, words, told in (("clock_z", "clocks", f"{size:.3f}"), ("turn_z", "turns", "")):
            z = np.abs(np.concatenate([r[key] for r in mine]))
            inside = f"{100 * np.mean(z < 1):.0f} % | {100 * np.mean(z < 2):.0f} %"
            lines.append(f"| {kind} | {words} | {len(z)} | {inside} | {np.sqrt(np.mean(z**2)):.2f} | {told} |")
    return [*lines, ""]
