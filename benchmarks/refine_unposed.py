"""Two parts of `bench_refine.py`: cameras placed by nothing but a thing that moves before them."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import trackfish3d as tf
from trackfish3d.refinement import RefusedError
from trackfish3d.refinement.rigs import similarity
from trackfish3d.refinement.unposed import calibrate_from_tracks, read_selfcal, read_sightings


def drones():
    """One drone before phones and cameras of unknown pose and clock, against its trajectory by RTK."""
    root = Path(os.environ["TRACKFISH3D_DATA"]) / "drones"
    for number in (1, 2, 4):
        folder = root / f"dataset{number}"
        lenses, fps, seen = {}, {}, {}
        for line in (folder / "cameras.txt").read_text().splitlines():
            name, dash, device = (part.strip() for part in line.partition(" - "))
            if not dash:
                continue
            files = [root / "calibration" / f"{device}.json", *sorted((root / "calibration").glob(f"{device}*.json"))]
            lens = json.loads(next(f for f in files if f.exists()).read_text())
            K, bends = np.array(lens["K-matrix"]), np.array(lens["distCoeff"])
            lenses[name] = tf.Camera(name, lens["resolution"], K, bends, np.eye(3), np.zeros(3))
            fps[name] = lens["fps"]
            (seen[name],) = read_sightings(folder / "detections" / f"{name}.txt")
        begun = time.process_time()
        found = calibrate_from_tracks(lenses, seen, fps=fps)
        cpu = time.process_time() - begun
        rtk = np.loadtxt(folder / "trajectory" / "rtk.txt")
        index = rtk[:, 0] if rtk.shape[1] == 4 else np.arange(len(rtk))
        rms, shown = against(found.time / fps[found.reference], found.path, index, rtk[:, -3:])
        yield (
            {"number": number, "placed": len(found.rig), "lost": found.lost, "error_px": found.error_px,
             "published": published_clocks(found.reference) if number == 4 else None,
             "reference": found.reference, "clock": found.clock, "rmse_m": rms, "shown": shown, "cpu": cpu}
        )  # fmt: skip


STEADY = ("cam0", "cam4", "cam5", "cam6")  # of set 4; the others are phones, two of them of a rate that varies


def published_clocks(reference):
    """Set 4's README: by camera, scale and shift that turn its frames into those of the reference."""
    rows = []
    for line in (Path(os.environ["TRACKFISH3D_DATA"]) / "drones" / "dataset4" / "README.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 8 and cells[0].isdigit():
            rows.append([float(c) for c in cells[1:]])
    scale, shift = np.array(rows[:7]), np.array(rows[7:14])
    at = int(reference.removeprefix("cam"))
    return {f"cam{k}": (float(scale[k, at]), float(shift[k, at])) for k in range(7)}


def clock_table(row):
    """Clocks of a set of drones beside the published ones."""
    lines = [
        "Clocks of set 4: frame of the reference = scale x own frame + shift, beside the published ones "
        "(goal, of cameras of a constant rate: 0.5 frame and 0.1 %):", "",
        "| camera | scale | published | off by, % | shift | published | off by, frames |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    true = row.get("published") or {}
    for name, (scale, shift) in row["clock"].items():
        if name == row["reference"] or name not in true:
            continue
        a, b = true[name]
        steady = "" if name in STEADY else ", a phone"
        lines.append(
            f"| {name}{steady} | {scale:.6f} | {a:.4f} | {100 * abs(scale / a - 1):.3f} | {shift:+.2f} | {b:+.2f} "
            f"| {abs(shift - b):.2f} |"
        )
    return [*lines, ""]


def against(seconds, path, index, rtk):
    """Root mean square distance of a path from a trajectory whose clock is not known, after the best similarity.

    Rates of the trajectory from 1 to 60 a second and all shifts are tried, coarse to fine; that which explains most of
    its variance is kept. ``index`` counts its points, some of which are missing: nothing is compared there.
    Returns also which share of the path lies in the trajectory's time.
    """

    def aligned(rate, shift):
        time = rate * seconds + shift
        after = np.clip(np.searchsorted(index, time), 1, len(index) - 1)
        inside = (time >= index[0]) & (time <= index[-1]) & (index[after] - index[after - 1] <= 1)
        if inside.mean() < 0.3:
            return 0.0, np.inf, 0.0
        at = np.column_stack([np.interp(time[inside], index, rtk[:, k]) for k in range(3)])
        size, turn, move = similarity(path[inside], at)
        off = size * path[inside] @ turn.T + move - at
        square = float((off**2).sum(1).mean())
        return 1 - square / float(((at - at.mean(0)) ** 2).sum(1).mean()), np.sqrt(square), float(inside.mean())

    every = slice(None, None, max(len(seconds) // 400, 1))
    whole = seconds, path
    seconds, path = seconds[every], path[every]
    best = (-np.inf, 0.0, 0.0)  # by the share of the trajectory's variance that is explained: hovering fits anything
    span = seconds[-1] - seconds[0]
    for rate in np.geomspace(1, 60, 120):
        for shift in np.linspace(-rate * seconds[-1], index[-1] - rate * seconds[0], 120):
            best = max(best, (aligned(rate, shift)[0], rate, shift))
    by_rate, by_shift = 0.03 * best[1], 0.02 * best[1] * span
    while by_shift > 1e-3:
        turns = [(a * by_rate, b * by_shift) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        tries = [(best[1] + a, best[2] + b - a * seconds.mean()) for a, b in turns]
        found = max((aligned(r, s)[0], r, s) for r, s in tries)
        if found[0] > best[0]:
            best = found
        else:
            by_rate, by_shift = by_rate / 2, by_shift / 2
    seconds, path = whole
    return aligned(best[1], best[2])[1:]


def light():
    """A waved light before cameras of known (2013) and of guessed lenses; 2013 once more as if nothing were known."""
    for folder in sorted((Path(os.environ["TRACKFISH3D_DATA"]) / "selfcal_led").iterdir()):
        seen, lenses, guessed = read_selfcal(folder)
        yield _placed(folder.name, seen, lenses, guessed)
        if not guessed:
            yield _placed(
                f"{folder.name}, lenses forgotten", seen, {n: _blank(c) for n, c in lenses.items()}, True, lenses
            )


def _blank(camera):
    """A lens guessed from the size of the picture: as long as it is wide, nothing bent."""
    wide, high = camera.size
    K = np.array([[max(wide, high), 0, wide / 2], [0, max(wide, high), high / 2], [0, 0, 1.0]])
    return replace(camera, K=K, distortion=np.zeros(5))


def _placed(name, seen, lenses, guessed, true=None):
    try:
        found = calibrate_from_tracks(lenses, seen, synchronous=True, guessed=guessed)
    except RefusedError as refused:
        return {"name": name, "guessed": guessed, "refused": str(refused)}
    mean = float(np.mean(list(found.mean_px.values())))
    row = {"name": name, "guessed": guessed, "placed": len(found.rig), "of": len(seen), "mean_px": mean}
    row["focal"] = [float(c.K[0, 0]) for c in found.rig]
    if true is not None:
        row["focal_off"] = max(abs(float(c.K[0, 0] / true[c.name].K[0, 0]) - 1) for c in found.rig)
    return row


def drones_table(rows):
    """Lines of the page about drones."""
    lines = []
    lines += ["## Drones: poses and clocks unknown", ""]
    lines += ["| set | cameras placed | median px | RMSE, m | CPU s |", "|---|---|---|---:|---:|"]
    for r in rows:
        errors = ", ".join(f"{v:.2f}" for v in r["error_px"].values())
        lost = "".join(f"; not {n}: {why}" for n, why in r["lost"].items())
        lines.append(f"| {r['number']} | {r['placed']}{lost} | {errors} | {r['rmse_m']:.2f} | {r['cpu']:.0f} |")
    lines += ["", "Goal: below 0.5 m in each set.", "", *clock_table(rows[-1])]
    return lines


def light_table(rows):
    """Lines of the page about the waved light."""
    lines = []
    lines += ["## A waved light (goal: 0.5 px)", "", "| set | lenses | placed | mean px |", "|---|---|---|---:|"]
    for r in rows:
        done = f"{r['placed']} of {r['of']} | {r['mean_px']:.2f}" if "placed" in r else f"{r['refused']} | -"
        off = f", focal lengths off by at most {100 * r['focal_off']:.1f} %" if "focal_off" in r else ""
        lines.append(f"| {r['name']} | {'guessed' if r['guessed'] else 'known'}{off} | {done} |")
    lines += ["", "Mean reprojection error of sights within Huber's limit, mean of the cameras.", ""]
    return lines
