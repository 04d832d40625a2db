"""Points against OpenPTV: without boxes, with noise, misses and clutter, under a wrong calibration."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import trackfish3d.methods.joint.fit.initialise as start
from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.baselines.openptv import OpenPTV, OpenPTVSettings
from trackfish3d.methods.joint.model import TrackingModel
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Detections, Tracks, Truth
from trackfish3d.synfish.rigs import look_at

SIDE_CM = 12.0
DISTANCE_CM = 60.0
SIZE = (1280, 1024)
FOCAL_PX = 2000.0
FRAMES = 120
NOISE_PX = 2.0
MISSES = 0.2
CLUTTER = 0.2
CALIBRATION_DEG = 0.05
STEP_CM = 0.1  # root mean square way in a frame
MEMORY = 20.0  # frames over which a velocity is forgotten
GATES_CM = (0.5, 0.25)
CASES = ((3, 100), (4, 100), (2, 20))
PEERS_MD = {(3, 100): 0.53, (4, 100): 0.62, (2, 20): 0.59}
GOAL = 0.9
BANDS_PX = (5.0, 10.0, 15.0)
PLACES = ((-25.0, 20.0), (25.0, 20.0), (-25.0, -20.0), (25.0, -20.0))
"""Azimuth and elevation of cameras, degrees: all before one side, as OpenPTV's cameras are."""


def point_rig(cameras: int) -> CameraRig:
    """Cameras (2 to 4) in air that look at the origin."""
    out = []
    for k, (azimuth, elevation) in enumerate(np.radians(PLACES[:cameras])):
        flat = np.cos(elevation)
        centre = DISTANCE_CM * np.array([flat * np.sin(azimuth), -flat * np.cos(azimuth), np.sin(elevation)])
        R, t = look_at(centre, np.zeros(3))
        K = np.array([[FOCAL_PX, 0, SIZE[0] / 2], [0, FOCAL_PX, SIZE[1] / 2], [0, 0, 1]])
        out.append(Camera(name=f"cam{k}", size=SIZE, K=K, distortion=np.zeros(5), R=R, t=t))
    return CameraRig(tuple(out), "cm")


def move(points: int, frames: int, rng: np.random.Generator) -> np.ndarray:
    """(F, N, 3) smooth random motion in a cube about the origin: velocities fade and are renewed, walls reflect.

    Acceleration is smooth as well: it is itself such a process, faded over a quarter of the time.
    """
    fade = np.exp(-1.0 / MEMORY), np.exp(-4.0 / MEMORY)
    velocity = rng.standard_normal((points, 3))
    push = rng.standard_normal((points, 3))
    path = np.empty((frames, points, 3))
    place = rng.uniform(0, SIDE_CM, (points, 3))
    speeds = []
    for k in range(frames + 200):  # the first ones only until speeds are settled
        push = fade[1] * push + np.sqrt(1 - fade[1] ** 2) * rng.standard_normal((points, 3))
        velocity = fade[0] * velocity + push
        speeds.append(velocity)
        if k >= 200:
            path[k - 200] = velocity
    scale = STEP_CM / np.sqrt(np.mean(np.sum(np.array(speeds[200:]) ** 2, axis=2)))
    path = place + np.cumsum(scale * path, axis=0)
    folded = np.abs((path + SIDE_CM) % (2 * SIDE_CM) - SIDE_CM)
    return np.asarray(folded - SIDE_CM / 2)


def observe_points(rig: CameraRig, path: np.ndarray, rng: np.random.Generator) -> tuple[Detections, Truth]:
    """Detect points with noise and misses, and clutter where points are seen: as many as `CLUTTER` of them."""
    frames, points = path.shape[:2]
    frame, camera, pixel, whom = [], [], [], []
    for c, cam in enumerate(rig):
        exact = cam.project(path.reshape(-1, 3)).reshape(frames, points, 2)
        low, high = exact.reshape(-1, 2).min(0), exact.reshape(-1, 2).max(0)
        for f in range(frames):
            kept = np.flatnonzero(rng.random(points) >= MISSES)
            false = rng.uniform(low, high, (rng.binomial(points, CLUTTER), 2))
            found = np.vstack([exact[f, kept] + NOISE_PX * rng.standard_normal((len(kept), 2)), false])
            order = rng.permutation(len(found))
            frame += [f] * len(found)
            camera += [c] * len(found)
            pixel.append(found[order])
            whom.append(np.append(kept, np.full(len(false), -1))[order])
    uv, who = np.concatenate(pixel), np.concatenate(whom)
    order = np.lexsort((np.array(camera), np.array(frame)))
    detections = Detections.build(
        rig.names, np.array(frame)[order], np.array(camera)[order], uv[order, 0], uv[order, 1]
    )
    row = np.full((frames, points, len(rig)), -1)
    real = np.flatnonzero(who[order] >= 0)
    row[detections.frame[real], who[order][real], detections.camera[real]] = real
    truth = Truth.build(
        np.repeat(np.arange(frames), points), np.tile(np.arange(points), frames), path.reshape(-1, 3),
        cameras=rig.names, detection=row.reshape(-1, len(rig)),
    )  # fmt: skip
    return detections, truth


def point_scores(truth: Truth, tracks: Tracks) -> dict[str, float]:
    """F1 of points a frame within each gate, and identities within the wider one."""
    out: dict[str, float] = {}
    for gate in GATES_CM:
        found = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)
        right = int((found.correspondence.pred >= 0).sum())
        out[f"f1_{gate:g}"] = 2 * right / (len(truth) + len(tracks))
        if gate == GATES_CM[0]:
            out |= {"precision": right / max(len(tracks), 1), "recall": right / len(truth)}
            out |= {"idf1": found.identity.idf1, "mota": found.clear.mota, "switches": float(found.clear.switches)}
    return out


class TubOpenPTV(OpenPTV):
    """OpenPTV that is told where points may be, as its users tell it: from groups of points alone it would guess."""

    def volume(self, rig: CameraRig, detections: Detections) -> np.ndarray:
        """Corners of the cube, with a margin for a wrong calibration."""
        half = SIDE_CM / 2 + 0.2
        return np.array([[-half] * 3, [half] * 3])


@contextmanager
def told_scale() -> Iterator[None]:
    """The joint tracker with a length of 1 cm and the cube's volume, in place of its own first guess of both."""
    own = start.first_model

    def told(rig: CameraRig, detections: Detections) -> TrackingModel:
        return own(rig, detections).with_(body_length=1.0, births=start.NEW_ANIMALS / SIDE_CM**3)

    start.first_model = told
    try:
        yield
    finally:
        start.first_model = own


def run_optv(rig: CameraRig, detections: Detections, band: float, linked: bool) -> Tracks:
    """OpenPTV's correspondences of each frame, nothing filled and nothing removed; or linked by trackpy."""
    more: dict[str, Any] = {"max_gap": 15, "min_obs": 5} if linked else {"max_gap": 0, "min_obs": 1}
    return TubOpenPTV(OpenPTVSettings(band_px=band, gate=0.5, body_length=1.0, **more)).track(rig, detections).tracks


def run_told(rig: CameraRig, detections: Detections) -> Tracks:
    """The joint tracker told the scale."""
    with told_scale():
        return make_method("joint").track(rig, detections).tracks


METHODS: dict[str, Callable[[CameraRig, Detections], Tracks]] = {
    **{f"optv, band {b:g} px": partial(run_optv, band=b, linked=False) for b in BANDS_PX},
    "optv + trackpy, band 10 px": partial(run_optv, band=10.0, linked=True),
    "joint": lambda rig, detections: make_method("joint").track(rig, detections).tracks,
    "joint, told the scale": run_told,
}


def bench_points(seeds: int) -> list[dict[str, Any]]:
    """All cases, methods and seeds."""
    rows = []
    for cameras, points in CASES:
        for seed in range(seeds):
            rng = np.random.default_rng([seed, cameras, points])
            true_rig = point_rig(cameras)
            detections, truth = observe_points(true_rig, move(points, FRAMES, rng), rng)
            rig = turned(true_rig, seed)
            for label, run in METHODS.items():
                begun = time.process_time()
                tracks = run(rig, detections)
                spent = 1000 * (time.process_time() - begun) / FRAMES
                scores = point_scores(truth, tracks) | {"cpu_ms": spent}
                rows.append({"cameras": cameras, "points": points, "seed": seed, "label": label} | scores)
                print(
                    f"{cameras} cameras, {points} points, seed {seed}, {label:<26} F1 {scores['f1_0.5']:.3f}",
                    flush=True,
                )
    return rows


def turned(rig: CameraRig, seed: int) -> CameraRig:
    """Return the rig as it was calibrated: every camera turned about its own centre by a wrong angle."""
    wrong = perturb_rig(rig, CALIBRATION_DEG, seed)
    cameras = []
    for camera, other in zip(rig, wrong, strict=True):
        cameras.append(Camera(camera.name, camera.size, camera.K, camera.distortion, other.R, -other.R @ camera.centre))
    return CameraRig(tuple(cameras), rig.units)


def points_section(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Markdown."""
    text = (
        f"Points without boxes that move smoothly at random through a cube of {SIDE_CM:g} cm ({STEP_CM:g} cm a "
        "frame, root "
        f"mean square; velocities are forgotten over {MEMORY:g} frames; walls reflect), {FRAMES} frames, "
        "cameras before one "
        f"side of it at {DISTANCE_CM:g} cm and {FOCAL_PX:g} px focal length ({FOCAL_PX / DISTANCE_CM:.0f} px a "
        "cm), centroid "
        f"noise {NOISE_PX:g} px, {100 * MISSES:g} % misses in each view, {100 * CLUTTER:g} % clutter, every "
        "camera turned "
        f"by {CALIBRATION_DEG:g} degrees an axis against what the calibration says. F1 of points in single "
        "frames: a point "
        f"is right within {GATES_CM[0]:g} cm of a true one, one to one; a fifth of the mean spacing of 100 points. "
        f"Means over {len({r['seed'] for r in rows})} seeds. `optv` alone is each frame's correspondences with all "
        "clique sizes; its band was varied. The focal length was picked so that it comes near the numbers it had "
        "before, on a rig that is not known in every detail. The joint tracker has its defaults.\n"
    )
    lines = [
        "| cameras | points | method | F1 | precision | recall | F1 at 0.25 cm | MOTA | IDF1 | optv before | goal |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cameras, points in CASES:
        mine = [r for r in rows if (r["cameras"], r["points"]) == (cameras, points)]
        for label in dict.fromkeys(r["label"] for r in mine):
            mean = {k: np.mean([r[k] for r in mine if r["label"] == label]) for k in mine[0] if k not in ("label",)}
            spread = np.std([r["f1_0.5"] for r in mine if r["label"] == label])
            joint = label == "joint"
            cells = [
                f"{mean['f1_0.5']:.3f} ± {spread:.3f}",
                *(f"{mean[k]:.3f}" for k in ("precision", "recall", "f1_0.25")),
            ]
            cells += [f"{100 * mean[k]:.1f}" for k in ("mota", "idf1")] if joint or "trackpy" in label else ["", ""]
            cells += ["" if label.startswith("joint") else f"{PEERS_MD[cameras, points]:.2f}"]
            cells += [(f"{GOAL:g}, " + ("reached" if mean["f1_0.5"] >= GOAL else "missed")) if joint else ""]
            lines.append(f"| {cameras} | {points} | {label} | {' | '.join(cells)} |")
    return ["## Points, against OpenPTV\n", text, "\n".join(lines) + "\n"]
