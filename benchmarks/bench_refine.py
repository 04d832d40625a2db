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

import trackfish3d as tf
from refine_claims import TRAIN, claims, draws_table
from refine_moves import advice, advice_table, moves, moves_table
from refine_synfish import SCENES, claims_table, late, synfish, synfish_table
from refine_unposed import drones, drones_table, light, light_table
from trackfish3d.benchmark.zef import write_sequence, zef_folder
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.registry import make_method
from trackfish3d.refinement.loop import Wish, refine_rig
from trackfish3d.refinement.rigs import state_of


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
    "masks_0.2": lambda scenes=SCENES: synfish(0.2, "masks", scenes),
    "masks_0.5": lambda scenes=SCENES: synfish(0.5, "masks", scenes),
    "points_0.2": lambda scenes=SCENES: synfish(0.2, "points", scenes),
    "points_0.5": lambda scenes=SCENES: synfish(0.5, "points", scenes),
    "claims": claims,
    "sunk": sunk,
    "zef": zef,
    "drones": drones,
    "light": light,
    "cost": cost,
    "moves": moves,
    "advice": advice,
}


def page(results):
    """The page: a table a section, of what has been run."""
    lines = ["# Refine", "", "`python benchmarks/bench_refine.py` (sections one by one with `--only NAME`).", ""]
    if results.get("earlier"):
        lines += [
            "Made by earlier code, whose standard deviations were others, and not run again: "
            f"{', '.join(results['earlier'])}. Never run: {', '.join(k for k in SECTIONS if k not in results)}.", "",
        ]  # fmt: skip
    keys = [key for key in ("points_0.2", "points_0.5", "masks_0.2", "masks_0.5") if key in results]
    for key in keys:
        lines += synfish_table(key, results[key])
    lines += claims_table({key: results[key] for key in keys}) if keys else []
    lines += draws_table(results["claims"]) if "claims" in results else []
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
    parser.add_argument("--scenes", nargs="*", choices=SCENES + TRAIN, help="of sections of SynFish's scenes")
    options = parser.parse_args()
    for name in options.only or SECTIONS:
        done = []
        chosen = {"scenes": options.scenes} if options.scenes and name.startswith(("points", "masks", "claims")) else {}
        for row in SECTIONS[name](**chosen):
            print(row, flush=True)
            done.append(row)
            _keep(options.out, name, done, bool(chosen))
    _keep(options.out)


def _keep(out, name=None, done=(), some=False):
    """Write the page, with new rows of a section; where only some were asked for, its other rows stay."""
    kept = out.with_suffix(".json")
    results = json.loads(kept.read_text()) if kept.exists() else {}
    if name is not None:
        new = {row["scene"] for row in done} if some else set()
        others = [row for row in results.get(name, []) if row["scene"] not in new] if some else []
        results[name] = sorted([*others, *done], key=lambda row: row["scene"]) if some else list(done)
        results["earlier"] = [k for k in results.get("earlier", []) if k != name]
        kept.write_text(json.dumps(results, indent=1) + "\n")
    out.write_text(page(results))


if __name__ == "__main__":
    main()
