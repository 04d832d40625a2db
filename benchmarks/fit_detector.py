"""Fit the rates of the simulator's detector model to a real detector, YOLOX on the 3D-ZeF training sequences.

    TRACKFISH3D_DATA=... python benchmarks/fit_detector.py        # prints, and writes synfish/data/detector.json

What is measured directly: error in px, scores, false positives, duplicates, how steeply the second of two heads
is lost as they close in, and how often one box covers both. What the annotation cannot say is the visible
fraction of a body, so the fraction at which half of the fish are lost, and the persistence of misses, are found
by indirect inference: a tank with two simulated fish is drawn through the same cameras, and both are chosen so
that the chance to find both of two fish in contact, and the length of runs of misses, come out as measured.
The pixel area at which half are lost is not in the data (all fish are large there): it is set, not fitted.
Only sequences 01 and 03 are read; 02 and 04 are test sequences.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, linear_sum_assignment, minimize

from trackfish3d.synfish.detector import DetectorSettings, FittedDetector
from trackfish3d.synfish.observe import mesh_for, pose_frame
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.raster import ALONE, COUNT, View
from trackfish3d.synfish.rigs import tank_rig, tank_water
from trackfish3d.synfish.school import Water, simulate_school

SEQUENCES = ("01", "03")
SCORE_MIN = 0.3
OUT = Path(__file__).parents[1] / "src/trackfish3d/synfish/data/detector.json"


def runs(missed: np.ndarray) -> list[int]:
    """Lengths of runs of True."""
    edge = np.flatnonzero(np.diff(np.r_[0, missed.astype(int), 0]))
    return list(edge[1::2] - edge[::2])


def read(folder: Path) -> tuple[list[dict], list[tuple[float, float]], int]:
    """Rows (one a fish, view and frame), false positives (distance to the nearest fish in heads, score), images."""
    truth = np.genfromtxt(folder / "ground_truth_head.csv", delimiter=",", names=True)
    seen: dict[tuple[int, str], list[list[float]]] = {}
    with open(folder / "detections_yolox.csv") as file:
        for r in csv.DictReader(file):
            if float(r["score"]) >= SCORE_MIN:
                values = [float(r[k]) for k in ("u", "v", "x1", "x2", "score")]
                seen.setdefault((int(r["frame"]), r["camera"]), []).append(values)
    rows, extra, images = [], [], 0
    for c, name in ((1, "top"), (2, "front")):
        heads = [v[3] - v[2] for (_, n), values in seen.items() if n == name for v in values]
        head = float(np.median(heads))
        for frame in np.unique(truth["frame"]):
            here = truth[truth["frame"] == frame]
            found = np.array(seen.get((int(frame), name), [])).reshape(-1, 5)
            point = np.stack([here[f"u{c}"], here[f"v{c}"]], 1)
            distance = np.linalg.norm(point[:, None] - found[None, :, :2], axis=2)
            i, j = linear_sum_assignment(np.where(distance < head, distance, 1e4))
            hit = np.full(len(here), -1)
            hit[i[distance[i, j] < head]] = j[distance[i, j] < head]
            images += 1
            for k in set(range(len(found))) - set(hit):
                extra.append((distance[:, k].min() / head, found[k, 4]))
            for k in range(len(here)):
                apart = np.linalg.norm(point[k] - point[1 - k]) / head if len(here) == 2 else np.inf
                other = distance[1 - k, hit[k]] / head if hit[k] >= 0 and len(here) == 2 else np.nan
                rows.append({
                    "camera": c, "frame": frame, "id": here["id"][k], "occluded": here[f"occ{c}"][k],
                    "apart": apart, "hit": hit[k] >= 0, "count": len(found), "other": other,
                    "error": (point[k] - found[hit[k], :2]) if hit[k] >= 0 else np.full(2, np.nan),
                    "diagonal": np.hypot(here[f"w{c}"][k], here[f"h{c}"][k]),
                    "score": found[hit[k], 4] if hit[k] >= 0 else np.nan,
                })  # fmt: skip
    return rows, extra, images


def echo(rows: list[dict], lag: int) -> list[float]:
    """Correlation of the error with itself ``lag`` frames later, for every fish and view, in u and in v."""
    out = []
    camera, fish = column(rows, "camera"), column(rows, "id")
    for c, k in {(int(a), int(b)) for a, b in zip(camera, fish, strict=True)}:
        mine = (camera == c) & (fish == k)
        order = np.argsort(column(rows, "frame")[mine])
        x = (column(rows, "error")[mine] / column(rows, "diagonal")[mine][:, None])[order]
        x = x - np.nanmedian(x, axis=0)
        a, b = x[:-lag], x[lag:]
        good = np.all(np.abs(a) < 0.06, axis=1) & np.all(np.abs(b) < 0.06, axis=1)
        out += [float(np.corrcoef(a[good, q], b[good, q])[0, 1]) for q in (0, 1)]
    return out


def column(rows: list[dict], name: str) -> np.ndarray:
    return np.array([r[name] for r in rows])


def measure(data: Path) -> dict:
    """Everything the fit needs, from the real detections."""
    every, extra, images, lengths = [], [], 0, []
    echoes: dict[int, list[float]] = {1: [], 5: []}
    for sequence in SEQUENCES:
        rows, more, count = read(data / "zef" / sequence)
        every, extra, images = every + rows, extra + more, images + count
        for lag, values in echoes.items():
            values += echo(rows, lag)
        key = np.stack([column(rows, "camera"), column(rows, "id")], 1)
        for k in np.unique(key, axis=0):
            mine = np.all(key == k, axis=1)
            lengths += runs(~column(rows, "hit")[mine][np.argsort(column(rows, "frame")[mine])])
    hit, apart = column(every, "hit"), column(every, "apart")
    occluded = column(every, "occluded") == 1
    # How fast the second of two heads is lost as they close in, per width of the object (slope of a logistic).
    close = apart < 2.5
    gap, both = apart[close], column(every, "count")[close] >= 2
    steep = minimize(
        lambda p: np.mean(np.logaddexp(0, np.where(both, -1, 1) * p[0] * (gap - p[1]))),
        [9.0, 1.0],
        method="Nelder-Mead",
    ).x
    # Of all pairs seen as one: the share where the one box covers both heads, so that it stands for both.
    single = hit & (column(every, "count") == 1)
    merged = np.mean(column(every, "other")[single] < 0.5)
    error = column(every, "error")[hit]
    diagonal = column(every, "diagonal")[hit]
    relative = (error - np.nanmedian(error, axis=0)) / diagonal[:, None]
    near = np.array([d for d, _ in extra])
    score = column(every, "score")
    return {
        "fish": len(every), "images": images, "recall": float(hit.mean()),
        "recall_unoccluded": float(hit[~occluded].mean()), "recall_occluded": float(hit[occluded].mean()),
        "recall_far_apart": float(hit[apart > 3].mean()),
        "both_found_in_contact": float(np.mean(column(every, "count")[occluded] >= 2)),
        "precision": float(hit.sum() / (hit.sum() + len(near))),
        "burst_mean_frames": float(np.mean(lengths)), "bursts": len(lengths),
        "error_echo_1": float(np.mean(echoes[1])),
        "error_echo_5": float(np.mean(echoes[5])),
        "error_px": float(np.nanstd(error)), "error_diagonals": float(1.4826 * np.median(np.abs(relative))),
        "error_diagonals_rms": float(np.sqrt(np.mean(np.clip(relative, -0.1, 0.1) ** 2))),
        "steepness": float(steep[0]), "half_distance_heads": float(steep[1]), "merged_share": float(merged),
        "duplicates": float((near < 2).sum() / hit.sum()), "false_positives": float((near >= 2).sum() / images),
        "score_true": float(np.nanmean(score[~occluded])), "score_occluded": float(np.nanmean(score[occluded])),
        "score_spread": float(np.nanstd(score)), "score_false": float(np.mean([s for _, s in extra])),
    }  # fmt: skip


def simulate(frames: int = 12000) -> dict:
    """Two fish in the simulated tank: visible fraction, area (T, 2, C), and whether their masks touch (T, C)."""
    water = tank_water()  # the middle of it, so that the two meet often enough to count
    water = Water.around(water.centre, (water.high - water.low) / 4, up=water.up)
    school = simulate_school(preset("tank"), water, 2, frames, seed=3)
    rig = tank_rig()
    mesh, views = mesh_for(school, rig), [View(*camera.size) for camera in rig]
    out = np.zeros((2, frames, 2, len(rig)))
    touch = np.zeros((frames, len(rig)), bool)
    for t in range(frames):
        vertices = pose_frame(school, mesh, t)
        for c, view in enumerate(views):
            sums, contacts = view.draw(rig.packed[c], vertices, mesh.triangles)
            out[0, t, :, c] = sums[:, COUNT] / np.maximum(sums[:, ALONE], 1)
            out[1, t, :, c] = sums[:, COUNT]
            touch[t, c] = len(contacts) > 0 or out[0, t, :, c].min() < 1
    return {"visible": out[0], "area": out[1], "touch": touch}


def fit(measured: dict, tank: dict) -> DetectorSettings:
    """Choose the half point by how often both of two touching fish are found, the persistence by runs of misses."""
    # White noise and an AR(1) drift: the echo after n frames is slow * memory^n.
    memory = (measured["error_echo_5"] / measured["error_echo_1"]) ** 0.25
    base = {
        "jitter_memory": memory,
        "jitter_slow": measured["error_echo_1"] / memory,
        "miss": 1 - measured["recall_far_apart"], "visible_half": 0.5, "visible_slope": measured["steepness"],
        "area_half": 15.0, "persistence": 0.8, "merge": measured["merged_share"],
        "split": measured["duplicates"], "jitter": measured["error_diagonals_rms"],
        "false_positives": measured["false_positives"], "score_visible": measured["score_true"],
        # The mean over occluded fish stands for a fish half hidden.
        "score_hidden": measured["score_true"] - 2 * (measured["score_true"] - measured["score_occluded"]),
        "score_false": measured["score_false"], "score_spread": measured["score_spread"],
    }  # fmt: skip

    def both(half: float) -> float:
        model = FittedDetector(DetectorSettings(**{**base, "visible_half": half}), 2, 2, 0)
        return float(np.prod(model.found_chance(tank["visible"], tank["area"]), axis=1)[tank["touch"]].mean())

    half = float(brentq(lambda h: both(h) - measured["both_found_in_contact"], 0.02, 0.98))
    print(f"touching in {100 * tank['touch'].mean():.1f} % of simulated views; both found {both(half):.3f}")
    best, persistence = np.inf, 0.0
    for rho in (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99):
        settings = DetectorSettings(**{**base, "visible_half": half, "persistence": rho})
        chance = FittedDetector(settings, 2, 2, 0).found_chance(tank["visible"], tank["area"])
        model = FittedDetector(settings, 2, 2, 1)
        lost = np.zeros(chance.shape, bool)
        for t in range(len(chance)):
            for c in range(2):
                lost[t, :, c] = model._advance(c)[0] >= chance[t, :, c]
        lengths = [n for i in range(2) for c in range(2) for n in runs(lost[:, i, c])]
        mean = float(np.mean(lengths)) if lengths else 0.0
        print(f"persistence {rho:.2f}: runs of misses {mean:.2f} frames (measured {measured['burst_mean_frames']:.2f})")
        if abs(mean - measured["burst_mean_frames"]) < best:
            best, persistence = abs(mean - measured["burst_mean_frames"]), rho
    return DetectorSettings(**{**base, "visible_half": half, "persistence": persistence})


def main() -> None:
    data = os.environ.get("TRACKFISH3D_DATA")
    if not data:
        raise SystemExit("set TRACKFISH3D_DATA to the folder of real recordings")
    measured = measure(Path(data))
    for name, value in measured.items():
        print(f"{name:22s} {value}")
    settings = fit(measured, simulate())
    rates = {k: round(v, 4) for k, v in settings.model_dump().items()}
    rounded = json.loads(json.dumps(measured), parse_float=lambda x: round(float(x), 4))
    note = "YOLOX on 3D-ZeF sequences 01 and 03, score >= 0.3; made by benchmarks/fit_detector.py"
    OUT.write_text(json.dumps({"note": note, "rates": rates, "measured": rounded}, indent=1) + "\n")
    print(json.dumps(rates, indent=1))


if __name__ == "__main__":
    main()
