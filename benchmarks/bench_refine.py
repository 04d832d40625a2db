"""How well `refine` finds cameras, clocks and water that are known: python benchmarks/bench_refine.py

Sections are kept in a JSON file beside the page while they run; `--only NAME` runs one again.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import trackfish3d as tf
from refine_moves import advice, advice_table, moves, moves_table
from refine_unposed import drones, drones_table, light, light_table
from trackfish3d.benchmark.zef import write_sequence, zef_folder
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.registry import make_method
from trackfish3d.refinement.adjustment import Setup, missed
from trackfish3d.refinement.loop import Wish, refine_rig
from trackfish3d.refinement.rigs import state_of
from trackfish3d.refinement.sights import collect, retime

SCENES = ("test1", "test2", "test3", "test4", "test5", "test6")
NOISE_PX = 1.0  # of points that do not lean
GATE = 1.0  # as in the paper


def to_world(new, true):
    """Motion and scale (3, 3), (3,) of the world that brings the new cameras nearest to the true ones."""

    def moved(x):
        turn = Rotation.from_rotvec(x[:3]).as_matrix()
        places = [np.exp(x[6]) * turn @ a.centre + x[3:6] - b.centre for a, b in zip(new, true, strict=True)]
        turns = [Rotation.from_matrix(a.R @ turn.T @ b.R.T).as_rotvec() for a, b in zip(new, true, strict=True)]
        return np.concatenate([30 * np.ravel(turns), np.ravel(places)])

    x = least_squares(moved, np.zeros(7)).x
    return np.exp(x[6]) * Rotation.from_rotvec(x[:3]).as_matrix(), x[3:6]


def off_by(new, true):
    """Largest turn (degrees) and distance (world units) of a camera, after the best motion and scale of the world."""
    turn, move = to_world(new, true)
    unit = turn / np.cbrt(np.linalg.det(turn))
    turns = [Rotation.from_matrix(a.R @ unit.T @ b.R.T).magnitude() for a, b in zip(new, true, strict=True)]
    places = [np.linalg.norm(turn @ a.centre + move - b.centre) for a, b in zip(new, true, strict=True)]
    return float(np.degrees(max(turns))), float(max(places))


def late(recording, offset, rate, kind, seed):
    """Detections as cameras with other clocks would have had them: their frame f shows the moment f + offset + rate f.

    ``points``: the animals' centres with `NOISE_PX` of noise, where the simulated detector saw them; ``masks``: the
    detector's centroids, moved along their own path in the picture.
    """
    rng = np.random.default_rng(seed)
    found, truth = recording.detections, recording.truth
    u, v = found.u.copy(), found.v.copy()
    middle = float(np.median(truth.frame))
    for identity in np.unique(truth.identity):
        mine = np.flatnonzero(truth.identity == identity)
        frame = truth.frame[mine].astype(float)
        curve = CubicSpline(frame, truth.position[mine])
        for c, camera in enumerate(recording.rig):
            rows = truth.detection[mine, c]
            seen = rows >= 0
            moment = np.clip(frame[seen] + offset[c] + rate[c] * (frame[seen] - middle), frame[0], frame[-1])
            then, now = camera.project(curve(moment)), camera.project(curve(frame[seen]))
            if kind == "points":
                moved = then + NOISE_PX * rng.standard_normal(then.shape)
            else:
                moved = found.centroids[rows[seen]] + then - now
            good = np.isfinite(moved).all(1)
            u[rows[seen][good]], v[rows[seen][good]] = moved[good].T
    du, dv = u - found.u, v - found.v
    boxes = {"x1": found.x1 + du, "x2": found.x2 + du, "y1": found.y1 + dv, "y2": found.y2 + dv}
    return replace(found, u=u, v=v, **boxes)


def mota(recording, rig, detections):
    """MOTA of `joint`, its tracks moved into the true world as the cameras say."""
    tracks = make_method("joint").track(rig, detections, recording.fps).tracks
    turn, move = to_world(rig, recording.rig)
    t = recording.truth
    points = tracks.position @ turn.T + move
    return 100 * evaluate(t.frame, t.identity, t.position, tracks.frame, tracks.track, points, GATE).clear.mota


def held_out(rig, clock, detections, pieces, middle):
    judge = pieces.part(pieces.held)
    return float(np.median(np.hypot(*missed(Setup(state_of(rig), clock, middle), judge, np.ones(len(rig)))[1].T)))


def synfish(sigma, kind, scenes):
    for k, name in enumerate(scenes):
        with tempfile.TemporaryDirectory() as folder:
            recording = tf.simulate_synfish(folder, [name])[name]
            recording.detections, recording.truth  # noqa: B018
        rng = np.random.default_rng([k, int(10 * sigma)])
        count = len(recording.rig)
        offset = np.append(0.0, rng.uniform(-7.3, 7.3, count - 1))
        rate = np.append(0.0, rng.uniform(-1e-4, 1e-4, count - 1))
        seen = late(recording, offset, rate, kind, k)
        clean = late(recording, 0 * offset, 0 * rate, kind, k)
        believed = perturb_rig(recording.rig, sigma, k)
        begun = time.process_time()
        found = refine_rig(believed, seen, recording.fps, Wish())
        cpu = time.process_time() - begun
        middle = np.full(count, float(np.round((seen.frame.min() + seen.frame.max()) / 2)))
        clock = np.zeros((count, 4))
        clock[:, 0], clock[:, 1] = middle, 1.0
        true = clock.copy()
        true[:, 0] += offset
        true[:, 1] += rate
        new = clock.copy()
        new[:, 0] += [c.clock_frames for c in found.cameras]
        new[:, 1] += [1e-6 * c.clock_ppm for c in found.cameras]
        tracks = make_method("joint").track(recording.rig, retime(seen, true, middle).detections, recording.fps).tracks
        pieces = collect(recording.rig, tracks, retime(seen, true, middle))
        turn, distance = off_by(found.rig, recording.rig)
        yield (
            {
                "scene": name,
                "accepted": found.accepted,
                "clock": float(np.abs(new[:, 0] - true[:, 0]).max()),
                "turn": turn,
                "distance": distance,
                "turn_before": off_by(believed, recording.rig)[0],
                "residual": held_out(found.rig, new, seen, pieces, middle),
                "residual_clean": held_out(recording.rig, true, seen, pieces, middle),
                "mota": mota(recording, found.rig, retime(seen, new, middle).detections),
                "mota_true": mota(recording, recording.rig, retime(seen, true, middle).detections),
                "mota_clean": mota(recording, recording.rig, clean),
                "mota_before": mota(recording, believed, seen),
                "cpu": cpu,
            }
        )


def sunk():
    """A tank like 3D-ZeF's whose water is 1 cm lower than the calibration says."""
    for seed in range(3):
        with tempfile.TemporaryDirectory() as folder:
            recording = tf.simulate(Path(folder) / "r", 8, "tank", 300, seed, detector="ideal")
            recording.detections, recording.truth  # noqa: B018
        rig = recording.rig
        said = type(rig)(tuple(_raised(c, 1.0) for c in rig), rig.units)
        seen = late(recording, np.zeros(2), np.zeros(2), "points", seed)
        found = refine_rig(said, seen, recording.fps, Wish(clocks=False, lenses=False, poses=False))
        heights = [h for (h, _), n in zip(found.water, state_of(said).normal, strict=True) if abs(n[2]) > 0.9]
        yield (
            {"seed": seed, "accepted": found.accepted, "found_cm": heights[0], "px": [found.before_px, found.after_px]}
        )


def _raised(camera, by):
    faces = tuple(replace(f, point=f.point + by * f.normal) if abs(f.normal[2]) > 0.9 else f for f in camera.interfaces)
    return replace(camera, interfaces=faces)


def zef():
    """3D-ZeF 02 and 04: the shipped calibration against the refined one, on tracks that were held out."""
    for name in ("02", "04"):
        with tempfile.TemporaryDirectory() as folder:
            recording = write_sequence(name, zef_folder(None), Path(folder) / "r")
            recording.detections, recording.truth  # noqa: B018
        found = refine_rig(recording.rig, recording.detections, recording.fps, Wish())
        scores = [_scored(recording, rig) for rig in (recording.rig, found.rig)]
        yield (
            {
                "name": name,
                "accepted": found.accepted,
                "px": [found.before_px, found.after_px],
                "certainty": found.certainty,
                "mota": [100 * s.clear.mota for s in scores],
                "idf1": [100 * s.identity.idf1 for s in scores],
                "lines": found.lines(),
            }
        )


def _scored(recording, rig):
    tracks = make_method("joint").track(rig, recording.detections, recording.fps).tracks
    t = recording.truth
    return evaluate(t.frame, t.identity, t.position, tracks.frame, tracks.track, tracks.position, 0.5)


def cost():
    """16 fish, 10,000 frames, 3 cameras."""
    with tempfile.TemporaryDirectory() as folder:
        recording = tf.simulate(Path(folder) / "r", 16, "5", 10_000, 0)
        begun, clock = time.process_time(), time.time()
        found = refine_rig(perturb_rig(recording.rig, 0.2, 0), recording.detections, recording.fps, Wish())
    row = {"cpu": time.process_time() - begun, "clock": time.time() - clock, "accepted": found.accepted}
    yield row


SECTIONS = {
    "masks_0.2": lambda: synfish(0.2, "masks", SCENES),
    "masks_0.5": lambda: synfish(0.5, "masks", SCENES),
    "points_0.2": lambda: synfish(0.2, "points", SCENES),
    "points_0.5": lambda: synfish(0.5, "points", SCENES),
    "sunk": sunk,
    "zef": zef,
    "drones": drones,
    "light": light,
    "cost": cost,
    "moves": moves,
    "advice": advice,
}


GOAL = (
    "Goals: clocks within 0.05 frame, turns within 0.02 degrees, distances within 0.02 units, held-out error within "
    "10 % of that of true cameras, MOTA within 0.3 of clean. Clocks that are apart leave moments at both ends that one "
    "camera alone or none filmed: what MOTA loses by these, it loses with true cameras and clocks as well."
)


def _refused(row):
    return "" if row["accepted"] else ", refused"


def page(results):
    """The page: a table a section, of what has been run."""
    lines = ["# Refine", "", "`python benchmarks/bench_refine.py` (sections one by one with `--only NAME`).", ""]
    for key in ("masks_0.2", "masks_0.5", "points_0.2", "points_0.5"):
        if key not in results:
            continue
        kind, sigma = key.split("_")
        what = "centroids of the simulated detector" if kind == "masks" else f"points with {NOISE_PX:g} px of noise"
        lines += [
            f"## SynFish test scenes, {what}, poses off by {sigma} degrees and units, clocks by up to 7.3 frames", "",
            "| scene | clock, frames (worst) | turn, degrees: before | after | distance, units | held-out px "
            "| true cameras | MOTA before | after | true cameras and clocks | clean | CPU s |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]  # fmt: skip
        lines += [
            f"| {r['scene']}{_refused(r)} | {r['clock']:.3f} | {r['turn_before']:.3f} | {r['turn']:.3f} "
            f"| {r['distance']:.3f} | {r['residual']:.2f} | {r['residual_clean']:.2f} | {r['mota_before']:.1f} "
            f"| {r['mota']:.1f} | {r['mota_true']:.1f} | {r['mota_clean']:.1f} | {r['cpu']:.0f} |"
            for r in results[key]
        ]
        left = [name for name in SCENES if name not in {r["scene"] for r in results[key]}]
        lines += ["", *([f"Not run: {', '.join(left)}.", ""] if left else []), GOAL, ""]
    if "sunk" in results:
        found = ", ".join(f"{r['found_cm']:+.3f}" for r in results["sunk"])
        lines += [
            "## A tank whose water is 1 cm lower than said (poses held)",
            "",
            f"Found, three schools: {found} cm (goal: to 0.05).",
            "",
        ]
    if "zef" in results:
        lines += ["## 3D-ZeF, the shipped calibration and the refined one, held-out tracks", ""]
        lines += [
            "| | accepted | px before | after | MOTA before | after | IDF1 before | after |",
            "|---|---|" + "---:|" * 6,
        ]
        for r in results["zef"]:
            numbers = " | ".join(f"{a:.2f} | {b:.2f}" for a, b in (r["px"], r["mota"], r["idf1"]))
            lines.append(f"| {r['name']} | {'yes' if r['accepted'] else 'no'} | {numbers} |")
        lines += ["", "Pixels: mean of the cameras' median errors on held-out tracks; goal: smaller than before.", ""]
    lines += drones_table(results["drones"]) if "drones" in results else []
    lines += light_table(results["light"]) if "light" in results else []
    lines += [
        "## Refusals", "",
        "Too few tracks, animals in a plane, a camera that shares nothing, animals at rest: one line, exit code 1, "
        "nothing written, each in `tests/refinement/test_command.py`.", "",
    ]  # fmt: skip
    if "cost" in results:
        r = results["cost"][0]
        lines += ["## Cost", "", f"16 fish, 10,000 frames, 3 cameras: {r['cpu']:.0f} CPU s (goal: two minutes).", ""]
    if "moves" in results:
        lines += moves_table(results["moves"])
    if "advice" in results:
        lines += advice_table(results["advice"])
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/refine.md"))
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS))
    options = parser.parse_args()
    kept = options.out.with_suffix(".json")
    for name in options.only or SECTIONS:
        done = []
        for row in SECTIONS[name]():
            print(row, flush=True)
            done.append(row)
            results = (json.loads(kept.read_text()) if kept.exists() else {}) | {name: done}
            kept.write_text(json.dumps(results, indent=1) + "\n")
            options.out.write_text(page(results))


if __name__ == "__main__":
    main()
