"""Fit the rates of the simulator's detector model to a real detector, YOLOX on the 3D-ZeF training sequences.

    TRACKFISH3D_DATA=... python benchmarks/fit_detector.py            # compares real and simulated
    TRACKFISH3D_DATA=... python benchmarks/fit_detector.py --fit      # fits too, prints the rates beside those in use
    TRACKFISH3D_DATA=... python benchmarks/fit_detector.py --write    # fits, and puts the fitted rates into use

The rates in use stay as they are unless --write: every recording of the benchmark hangs on them.

Real and simulated detections go through the same functions: fish and detections are matched by `match`, counted by
`measure`. The real detector finds heads, the simulated one bodies, so lengths are in units of the body's box: the
gate of the match, the error, the distance of false detections. Which fish overlap is told by boxes of bodies in both
(the annotation has them), which are occluded by the annotation, and in the simulation by masks that touch.

Measured directly: scores, false positives, duplicates, how steeply the second of two heads is lost as they close in,
how often one box covers both. By indirect inference (two simulated fish through the same cameras, in water so narrow
that their boxes overlap as often as the real ones): the misses, how long they last, and the error.
Not in the data, so set and not fitted: the area at which small fish are lost, and the IoU at which a second box goes.
Only sequences 01 and 03 are read; 02 and 04 are test sequences.
"""

import argparse
import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import expit

from trackfish3d.detection.masks.moments import ALONE, BOTTOM, COUNT, LEFT, moments
from trackfish3d.synfish.detector import DetectorRates, FittedDetector, IdealDetector, box_iou
from trackfish3d.synfish.observe import mesh_for, observe, pose_frame
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rendering.raster import View
from trackfish3d.synfish.rigs import tank_rig, tank_water
from trackfish3d.synfish.school import School, Water, simulate_school

SEQUENCES = ("01", "03")
SCORE_MIN = 0.3
# The simulated fish have boxes as large as the real ones, in the middle of the tank and fond of company: so their
# boxes overlap about as often.
NARROW = 0.25  # half size of the water, in sizes of the tank
FOND = {"length": 5.5, "attraction": 1.0, "repulsion_radius": 0.1, "layering": 0.0}
FITTED, COMPARED, FRAMES = range(1, 7), range(11, 21), 2500  # seeds of the schools of the fit, and of the comparison
KEYS = ("miss", "overlap_miss", "visible_half", "persistence", "jitter", "false_frames")
OUT = Path(__file__).parents[1] / "src/trackfish3d/synfish/data/detector.json"
# name, unit, and whether a larger value is an easier detector.
ROWS = (
    ("recall, boxes apart", 100, True), ("recall, boxes overlap", 100, True), ("recall, not occluded", 100, True),
    ("recall, occluded", 100, True), ("recall", 100, True), ("precision", 100, True),
    ("run of misses, frames", 1, False), ("error, px", 1, False), ("error, 0.01 diagonals", 100, False),
    ("false a 1000 fish and frames", 1000, False), ("false that last, %", 100, False),
    ("false to fish, diagonals", 1, True), ("boxes overlap, %", 100, None),
)  # fmt: skip


@dataclass
class Seen:
    """One view: T frames of F fish, their detections, and how far off (px) a detection still shows a fish."""

    point: np.ndarray  # (T, F, 2)
    box: np.ndarray  # (T, F, 4) body
    occluded: np.ndarray  # (T, F)
    found: list[np.ndarray]  # T of (K, 3): u, v, score
    gate: float


def read(folder: Path) -> list[Seen]:
    """Views of a real sequence."""
    truth = np.genfromtxt(folder / "ground_truth_head.csv", delimiter=",", names=True)
    seen: dict[tuple[int, str], list[list[float]]] = {}
    with open(folder / "detections_yolox.csv") as file:
        for r in csv.DictReader(file):
            if float(r["score"]) >= SCORE_MIN:
                values = [float(r[k]) for k in ("u", "v", "score", "x1", "x2")]
                seen.setdefault((int(r["frame"]), r["camera"]), []).append(values)
    frames, count = np.unique(truth["frame"], return_counts=True)
    truth = truth[np.lexsort((truth["id"], truth["frame"]))]
    fish = int(count.max())
    assert np.all(count == fish)
    views = []
    for c, name in ((1, "top"), (2, "front")):
        head = float(np.median([v[4] - v[3] for (_, n), values in seen.items() if n == name for v in values]))
        get = {k: truth[f"{k}{c}"].reshape(-1, fish) for k in ("u", "v", "l", "t", "w", "h", "occ")}
        box = np.stack([get["l"], get["t"], get["l"] + get["w"], get["t"] + get["h"]], axis=-1)
        found = [np.array(seen.get((int(f), name), [])).reshape(-1, 5)[:, :3] for f in frames]
        views.append(Seen(np.stack([get["u"], get["v"]], -1), box, get["occ"] == 1, found, head))
    return views


def match(view: Seen, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Detection of every fish (F,) in a frame, -1 for none; and the distances (F, K)."""
    distance = np.linalg.norm(view.point[t][:, None] - view.found[t][None, :, :2], axis=2)
    i, j = linear_sum_assignment(np.where(distance < view.gate, distance, 1e4))
    good = distance[i, j] < view.gate
    hit = np.full(len(distance), -1)
    hit[i[good]] = j[good]
    return hit, distance


def runs(missed: np.ndarray) -> list[int]:
    """Lengths of runs of True."""
    edge = np.flatnonzero(np.diff(np.r_[0, missed.astype(int), 0]))
    return list(edge[1::2] - edge[::2])


def measure(views: list[Seen]) -> dict[str, float]:
    """Count everything that is compared, and what the fit needs besides."""
    lengths: list[int] = []
    parts: dict[str, list] = {k: [] for k in ("hit", "meet", "occluded", "error", "diagonal", "score", "false")}
    lasting = 0
    for view in views:
        low = np.maximum(view.box[:, 0, :2], view.box[:, 1, :2])
        high = np.minimum(view.box[:, 0, 2:], view.box[:, 1, 2:])
        meet = np.all(high > low, axis=1)
        hits = np.zeros(view.occluded.shape, bool)
        diagonal = np.hypot(*np.moveaxis(view.box[..., 2:] - view.box[..., :2], -1, 0))
        error = np.full(view.point.shape, np.nan)
        false = []
        for t in range(len(view.point)):
            hit, distance = match(view, t)
            hits[t] = hit >= 0
            error[t, hit >= 0] = view.point[t][hit >= 0] - view.found[t][hit[hit >= 0], :2]
            parts["score"] += [(o, view.found[t][h, 2]) for o, h in zip(view.occluded[t], hit, strict=True) if h >= 0]
            for k in set(range(len(view.found[t]))) - set(hit):
                near = int(distance[:, k].argmin())
                false.append((t, *view.found[t][k], distance[near, k], diagonal[t, near], view.gate))
        rows = np.array(false).reshape(-1, 7)
        for row in rows:
            close = (np.abs(rows[:, 0] - row[0]) <= 2) & (rows[:, 0] != row[0])
            lasting += bool(np.any(close & (np.hypot(*(rows[:, 1:3] - row[1:3]).T) < 40)))
        for k in range(hits.shape[1]):
            lengths += runs(~hits[:, k])
        parts["hit"].append(hits)
        parts["meet"].append(np.repeat(meet[:, None], hits.shape[1], axis=1))
        parts["occluded"].append(view.occluded)
        # A constant offset is what the annotator calls the head, not an error of the detector.
        parts["error"].append(error - np.nanmedian(error, axis=(0, 1)))
        parts["diagonal"].append(diagonal)
        parts["false"].append(rows)
    hit, meet, occluded, diagonal = (np.concatenate(parts[k]).ravel() for k in ("hit", "meet", "occluded", "diagonal"))
    error, false = np.concatenate(parts["error"]).reshape(-1, 2), np.concatenate(parts["false"])
    flag, score = np.array(parts["score"]).T
    relative = error / np.maximum(diagonal, 1)[:, None]
    memory = [echo(e / np.maximum(d, 1)[..., None]) for e, d in zip(parts["error"], parts["diagonal"], strict=True)]
    distant = false[:, 4] >= 2 * false[:, 6]
    reach = false[distant, 4] / false[distant, 5]
    return {
        "recall, boxes apart": hit[~meet].mean(), "recall, boxes overlap": hit[meet].mean(),
        "recall, not occluded": hit[~occluded].mean(), "recall, occluded": hit[occluded].mean(),
        "recall": hit.mean(), "precision": hit.sum() / (hit.sum() + len(false)),
        "run of misses, frames": float(np.mean(lengths)) if lengths else 0.0,
        "error, px": np.sqrt(np.nanmean(error**2)),
        "error, 0.01 diagonals": np.sqrt(np.nanmean(np.clip(relative, -0.1, 0.1) ** 2)),
        "false a 1000 fish and frames": len(false) / len(hit),
        "false that last, %": lasting / max(len(false), 1),
        "false to fish, diagonals": float(np.median(false[:, 4] / false[:, 5])) if len(false) else np.nan,
        "boxes overlap, %": meet.mean(),
        "recall, boxes overlap, not occluded": hit[meet & ~occluded].mean(),
        "duplicates": (~distant).sum() / hit.sum(), "distant": distant.sum() / len(hit),
        "distance": float(np.median(reach)) if len(reach) else np.nan,
        "distance_spread": float(np.log(reach).std()) if len(reach) else np.nan,
        "echo_1": float(np.mean([m[0] for m in memory])), "echo_5": float(np.mean([m[1] for m in memory])),
        "score_clear": score[flag == 0].mean(), "score_occluded": score[flag == 1].mean(), "score_spread": score.std(),
        "score_false": float(false[:, 3].mean()) if len(false) else np.nan,
    }  # fmt: skip


def echo(x: np.ndarray) -> tuple[float, float]:
    """Correlation of the error (T, F, 2) with itself one and five frames later, mean over fish, u and v."""
    out = []
    for lag in (1, 5):
        a, b = x[:-lag], x[lag:]
        good = np.all(np.abs(a) < 0.06, axis=2) & np.all(np.abs(b) < 0.06, axis=2)
        pairs = [(a[good[:, k], k, q], b[good[:, k], k, q]) for k in range(x.shape[1]) for q in (0, 1)]
        out.append(float(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs])))
    return out[0], out[1]


def close_heads(views: list[Seen]) -> tuple[float, float]:
    """How fast the second of two heads is lost as they close in, per head, and the share of lone boxes on both."""
    gap, both, covers = [], [], []
    for view in views:
        for t in range(len(view.point)):
            apart = np.linalg.norm(view.point[t, 0] - view.point[t, 1]) / view.gate
            if apart < 2.5:
                gap.append(apart)
                both.append(len(view.found[t]) >= 2)
            hit, distance = match(view, t)
            if len(view.found[t]) == 1 and (hit >= 0).any():
                covers.append(distance.max() < 0.5 * view.gate)
    sign, gaps = np.where(both, -1, 1), np.array(gap)
    start, method = [9.0, 1.0], "Nelder-Mead"
    steep = minimize(lambda p: np.mean(np.logaddexp(0, sign * p[0] * (gaps - p[1]))), start, method=method).x
    return float(steep[0]), float(np.mean(covers))


def tank_school(frames: int, seed: int) -> School:
    """Two fish in the middle of the tank."""
    water = tank_water()
    water = Water.around(water.centre, (water.high - water.low) * NARROW, up=water.up)
    return simulate_school(preset("tank").model_copy(update=FOND), water, 2, frames, seed)


class Tank:
    """Masks of two fish in both views, several schools one after the other, drawn once, looked at by many detectors."""

    def __init__(self, seeds: Sequence[int], gate: float) -> None:
        rig = tank_rig()
        self.gate, self.sizes = gate, [camera.size for camera in rig]
        self.sums, self.contacts = np.zeros((2, FRAMES * len(seeds), 2, 11)), [[], []]
        views = [View(*camera.size) for camera in rig]
        for k, seed in enumerate(seeds):
            school = tank_school(FRAMES, seed)
            mesh = mesh_for(school, rig)
            for t in range(FRAMES):
                vertices = pose_frame(school, mesh, t)
                for c, view in enumerate(views):
                    self.sums[c, k * FRAMES + t], contacts = view.draw(rig.packed[c], vertices, mesh.triangles)
                    self.contacts[c].append(contacts)
        self.touch = np.array([[len(k) > 0 for k in mine] for mine in self.contacts])
        self.touch |= (self.sums[..., COUNT] < self.sums[..., ALONE]).any(axis=2)

    def expect(self, settings: DetectorRates) -> dict[str, float]:
        """Recall that the model has in the long run."""
        model = FittedDetector(settings, 2, 2, 0)
        sums = self.sums.reshape(-1, 2, 11)
        visible = sums[..., COUNT] / np.maximum(sums[..., ALONE], 1)
        first = np.argmax(visible * sums[..., COUNT], axis=1)
        box = sums[..., LEFT : BOTTOM + 1]
        overlap = np.array([box_iou(a, b) for a, b in box])
        lost = settings.overlap_miss + (1 - settings.overlap_miss) * expit(
            settings.overlap_slope * (overlap - settings.overlap_half)
        )
        found = model.found_chance(visible, sums[..., COUNT])
        every = np.arange(len(sums))
        found[every, 1 - first] *= 1 - found[every, first] * np.where(overlap > 0, lost, 0)
        touch = self.touch.ravel()
        return {
            "recall, boxes apart": float(found[overlap == 0].mean()),
            "recall, boxes overlap, not occluded": float(found[(overlap > 0) & ~touch].mean()),
            "recall, occluded": float(found[touch].mean()),
        }

    def look(self, settings: DetectorRates, seed: int = 0) -> list[Seen]:
        """Views as this detector sees them."""
        model = FittedDetector(settings, 2, 2, seed)
        found = [[], []]
        for t in range(self.sums.shape[1]):
            for c in range(2):
                got = model.see(c, self.sizes[c], self.sums[c, t], self.contacts[c][t], lambda *_: np.zeros((2, 11)))
                found[c].append(np.stack([got.columns[k] for k in ("u", "v", "score")], 1))
        out = []
        for c in range(2):
            sums = self.sums[c]
            shape = moments(sums.reshape(-1, 11))
            point = np.stack([shape["u"], shape["v"]], -1).reshape(-1, 2, 2)
            out.append(seen_of(point, sums[..., LEFT : BOTTOM + 1], self.touch[c], found[c], self.gate))
        return out


def seen_of(point: np.ndarray, box: np.ndarray, touch: np.ndarray, found: list[np.ndarray], gate: float) -> Seen:
    """View with a gate of so many diagonals of the median box."""
    diagonal = float(np.median(np.hypot(*np.moveaxis(box[..., 2:] - box[..., :2], -1, 0))))
    return Seen(point, box, np.repeat(touch[:, None], 2, axis=1), found, gate * diagonal)


def fit(real: list[Seen], gate: float) -> DetectorRates:
    """Adjust misses, their persistence and the error until the simulated tank measures like the real one."""
    measured = measure(real)
    steepness, covers = close_heads(real)
    memory = (measured["echo_5"] / measured["echo_1"]) ** 0.25  # white noise and an AR(1) drift: echo slow * memory^n
    rates = {
        "miss": 1 - measured["recall, boxes apart"], "overlap_miss": 0.1, "overlap_half": 0.65, "overlap_slope": 20.0,
        "visible_half": 0.6, "visible_slope": steepness, "area_half": 15.0, "persistence": 0.9, "merge": covers,
        "split": 0.0, "jitter": measured["error, 0.01 diagonals"],
        "jitter_slow": min(measured["echo_1"] / memory, 1.0), "jitter_memory": memory,
        "false_positives": measured["distant"], "false_frames": 4.0, "false_distance": measured["distance"],
        "false_spread": measured["distance_spread"], "score_visible": measured["score_clear"],
        # The mean over occluded fish stands for a fish half hidden.
        "score_hidden": 2 * measured["score_occluded"] - measured["score_clear"],
        "score_false": measured["score_false"], "score_spread": measured["score_spread"],
    }  # fmt: skip
    rates["split"] = measured["duplicates"]
    tank = Tank(FITTED, gate)
    for _ in range(40):  # the long-run recall is known from the model, without drawing luck
        got = tank.expect(DetectorRates(**rates))
        rates["miss"] *= (1 - measured["recall, boxes apart"]) / (1 - got["recall, boxes apart"])
        row = "recall, boxes overlap, not occluded"
        rates["overlap_miss"] = min(rates["overlap_miss"] * (1 - measured[row]) / (1 - got[row]), 0.9)
        rates["visible_half"] = float(
            np.clip(rates["visible_half"] + 0.5 * (got["recall, occluded"] - measured["recall, occluded"]), 0.02, 0.98)
        )
    print("expected", {k: round(v, 4) for k, v in got.items()}, {k: round(rates[k], 4) for k in KEYS})
    for _ in range(5):  # a run lasts about 1 / (1 - persistence), a false detection 1 / (1 - the chance to stay)
        got = measure(tank.look(DetectorRates(**rates)))
        ratio = measured["run of misses, frames"] / got["run of misses, frames"]
        rates["persistence"] = float(np.clip(1 - (1 - rates["persistence"]) / ratio, 0, 0.995))
        stay = (1 - 1 / rates["false_frames"]) * measured["false that last, %"] / got["false that last, %"]
        rates["false_frames"] = float(1 / (1 - np.clip(stay, 0, 0.9)))
        rates["jitter"] *= max(measured[row] / got[row] for row in ("error, px", "error, 0.01 diagonals"))
        print({k: round(rates[k], 4) for k in KEYS}, flush=True)
    return DetectorRates(**{name: round(float(value), 4) for name, value in rates.items()})


def compare(real: list[Seen], settings: DetectorRates, gate: float) -> dict[str, list[float]]:
    """Print real beside simulated (other schools than the fit's), and return it; a mark where simulated is easier."""
    whole, single = measure(real), [measure([view]) for view in real]
    tries = [measure(tank_views(settings, FRAMES, seed, gate)) for seed in COMPARED]
    for one in tries:  # how often fish meet is the school's doing, not the detector's
        apart = 1 - whole["boxes overlap, %"]
        one["recall"] = apart * one["recall, boxes apart"] + (1 - apart) * one["recall, boxes overlap"]
    print(f"{'':30s} {'real':>8s} {'views':>16s} {'simulated':>10s} {'+-':>6s}")
    table = {}
    for name, unit, easier in ROWS:
        a, low, high = unit * whole[name], *(unit * f(s[name] for s in single) for f in (min, max))
        values = unit * np.array([t[name] for t in tries])
        b, noise = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
        easy = easier is not None and (b - a if easier else a - b) > 2 * noise
        table[name] = [round(float(v), 2) for v in (a, low, high, b, noise)]
        print(f"{name:30s} {a:8.2f} {low:7.2f} -{high:7.2f} {b:10.2f} {noise:6.2f} {'EASIER' if easy else ''}")
    return table


def tank_views(settings: DetectorRates, frames: int, seed: int, gate: float) -> list[Seen]:
    """Views of a fresh school, by the way recordings are made."""
    school, rig = tank_school(frames, seed), tank_rig()
    detections, truth = observe(school, rig, FittedDetector(settings, 2, 2, seed))
    exact, ideal = observe(school, rig, IdealDetector())
    out = []
    for c in range(2):
        row = ideal.detection[:, c]
        projected = np.stack([ideal.u[:, c], ideal.v[:, c]], -1)
        point = np.where((row >= 0)[:, None], exact.centroids[row], projected).reshape(-1, 2, 2)
        box = np.stack([getattr(truth, k)[:, c] for k in ("x1", "y1", "x2", "y2")], -1)
        box = np.where(np.isnan(box), projected[:, [0, 1, 0, 1]], box).reshape(-1, 2, 4)
        gap = np.maximum(box[:, 0, :2], box[:, 1, :2]) - np.minimum(box[:, 0, 2:], box[:, 1, 2:])
        touch = np.any(ideal.visible[:, c].reshape(-1, 2) < 1, axis=1) & np.all(gap < 2, axis=1)
        mine = detections.camera == c
        values = np.stack([detections.u, detections.v, detections.score], 1)[mine]
        found = np.split(values, np.searchsorted(detections.frame[mine], np.arange(1, frames)))
        out.append(seen_of(point, box, touch, found, gate))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit, and print the rates beside those in use")
    parser.add_argument("--write", action="store_true", help="fit, and put the fitted rates into use")
    data = os.environ.get("TRACKFISH3D_DATA")
    arguments = parser.parse_args()
    if not data:
        raise SystemExit("set TRACKFISH3D_DATA to the folder of real recordings")
    real = [view for sequence in SEQUENCES for view in read(Path(data) / "zef" / sequence)]
    # The gate of the real detector is a head; the simulated one gets as many diagonals of its boxes.
    diagonals = [np.median(np.hypot(*np.moveaxis(v.box[..., 2:] - v.box[..., :2], -1, 0))) for v in real]
    gate = float(np.mean([v.gate / d for v, d in zip(real, diagonals, strict=True)]))
    settings = DetectorRates.fitted()
    if arguments.fit or arguments.write:
        new = fit(real, gate)
        for name, value in settings.model_dump().items():
            print(f"{name:16s} in use {value:8.4f}  fitted {getattr(new, name):8.4f}")
        settings = new if arguments.write else settings
    table = compare(real, settings, gate)
    note = "YOLOX on 3D-ZeF sequences 01 and 03, score >= 0.3; made by benchmarks/fit_detector.py"
    columns = "real, least and largest view, simulated, its standard error over schools"
    text = {"note": note, "rates": settings.model_dump(), "columns": columns, "measured": table}
    OUT.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main()
