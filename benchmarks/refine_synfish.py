"""Part of `bench_refine.py`: SynFish scenes whose cameras and clocks are off, and `refine`.

Two oracles stand beside: an adjustment that is given the true cameras, clocks and associations to begin with says what
these detections can tell at all, and the covariance of that adjustment what they tell in the mean of all draws.
"""

import tempfile
import time
from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import trackfish3d as tf
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.registry import make_method
from trackfish3d.refinement.adjustment import Freedom, Setup, adjust_pieces, missed
from trackfish3d.refinement.kernels import CLOCK
from trackfish3d.refinement.loop import Wish, refine_rig
from trackfish3d.refinement.rigs import rig_of, state_of
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
    return _mota_of(recording, make_method("joint").track(rig, detections, recording.fps).tracks, rig)


def _mota_of(recording, tracks, rig):
    turn, move = to_world(rig, recording.rig)
    t = recording.truth
    points = tracks.position @ turn.T + move
    return 100 * evaluate(t.frame, t.identity, t.position, tracks.frame, tracks.track, points, GATE).clear.mota


def held_out(rig, clock, pieces, middle):
    judge = pieces.part(pieces.held)
    return float(np.median(np.hypot(*missed(Setup(state_of(rig), clock, middle), judge, np.ones(len(rig)))[1].T)))


def clocks_of(middle, offset, rate):
    """Clocks (C, 4) as an adjustment takes them."""
    clock = np.zeros((len(middle), 4))
    clock[:, 0], clock[:, 1] = middle + offset, 1.0 + np.asarray(rate)
    return clock


def relative_turns(new, true, covariance):
    """Errors of the turn from each camera to the first, in standard deviations (3 (C - 1),): no gauge is in these."""
    out = []
    for c in range(1, len(new)):
        a, b = (r[c].R @ r[0].R.T for r in (new, true))
        error = Rotation.from_matrix(a @ b.T).as_rotvec()
        by = np.zeros((3, len(covariance)))
        by[:, 6 * c : 6 * c + 3], by[:, :3] = np.eye(3), -a
        out.append(np.linalg.solve(np.linalg.cholesky(by @ covariance @ by.T), error))
    return np.concatenate(out)


def synfish(sigma, kind, scenes=SCENES):
    """Rows of one kind of detections and one size of disturbance."""
    for name in scenes:
        k = SCENES.index(name)
        with tempfile.TemporaryDirectory() as folder:
            recording = tf.simulate_synfish(folder, [name])[name]
            recording.detections, recording.truth  # noqa: B018
        rng = np.random.default_rng([k, int(10 * sigma)])
        count = len(recording.rig)
        offset = np.append(0.0, rng.uniform(-7.3, 7.3, count - 1))
        rate = np.append(0.0, rng.uniform(-1e-4, 1e-4, count - 1))
        yield {"scene": name} | _row(recording, offset, rate, kind, k, perturb_rig(recording.rig, sigma, k))


def _row(recording, offset, rate, kind, seed, believed):
    seen = late(recording, offset, rate, kind, seed)
    clean = late(recording, 0 * offset, 0 * rate, kind, seed)
    begun = time.process_time()
    found = refine_rig(believed, seen, recording.fps, Wish())
    cpu = time.process_time() - begun
    middle = np.full(len(offset), float(np.round((seen.frame.min() + seen.frame.max()) / 2)))
    offset = offset + rate * (middle - float(np.median(recording.truth.frame)))  # rates turn about another frame there
    true = clocks_of(middle, offset, rate)
    new = clocks_of(middle, [c.clock_frames for c in found.cameras], [1e-6 * c.clock_ppm for c in found.cameras])
    retimed = retime(seen, true, middle)
    tracks = make_method("joint").track(recording.rig, retimed.detections, recording.fps).tracks
    pieces = collect(recording.rig, tracks, retimed)
    turn, distance = off_by(found.rig, recording.rig)
    late_by = new[:, 0] - true[:, 0]
    return {
        "accepted": found.accepted,
        "clock": float(np.abs(late_by).max()),
        "ppm": float(1e6 * np.abs(new[:, 1] - true[:, 1]).max()),
        "turn": turn,
        "distance": distance,
        "turn_before": off_by(believed, recording.rig)[0],
        "residual": held_out(found.rig, new, pieces, middle),
        "residual_clean": held_out(recording.rig, true, pieces, middle),
        "mota": mota(recording, found.rig, retime(seen, new, middle).detections),
        "mota_true": _mota_of(recording, tracks, recording.rig),
        "mota_clean": mota(recording, recording.rig, clean),
        "mota_before": mota(recording, believed, seen),
        "cpu": cpu,
        "clock_z": [e / c.clock_sigma_frames for e, c in zip(late_by[1:], found.cameras[1:], strict=True)],
        "turn_z": relative_turns(found.rig, recording.rig, found.covariance).tolist(),
    } | _oracle(recording.rig, true, middle, pieces)


def _oracle(rig, true, middle, pieces):
    """What an adjustment makes of the same sights that begins at the truth, with tracks made under it."""
    freedom = Freedom(water=rig.refractive)
    setup, done = adjust_pieces(Setup(state_of(rig), true, middle), freedom, pieces.part(~pieces.held), 1.0)
    turn, distance = off_by(rig_of(setup.state, rig), rig)
    sigma = np.append(np.sqrt(np.diag(done.covariance)), 0.0)[done.places[:, CLOCK]]
    return {
        "oracle_clock": float(np.abs(setup.clock[:, 0] - true[:, 0]).max()),
        "oracle_turn": turn,
        "oracle_distance": distance,
        "clock_sigma": float(sigma.max()),
    }


TEXT = (
    "Goals: clocks within 0.05 frame, turns within 0.02 degrees, distances within 0.02 units, held-out error within "
    "10 % of that of true cameras, MOTA within 0.3 of clean. Oracle: an adjustment of the same detections that begins "
    "at the true cameras and clocks, with tracks made under them: what is left there is not the fault of the search; "
    "the bound is the standard deviation of the least certain clock by the covariance at the truth (Cramer-Rao). "
    "Clocks that are apart leave moments at both ends that one camera alone or none filmed: what MOTA loses by these, "
    "it loses with true cameras and clocks as well. "
    "Where the oracle's turn is above 0.02 degrees, these detections do not tell turns to 0.02."
)
_HEAD = (
    "| scene | clock, frames | oracle | bound | rate, ppm | turn, degrees: before | after | oracle | distance, units "
    "| oracle | held-out px | true cameras | MOTA before | after | true cameras and clocks | clean | CPU s |"
)


def _maybe(row, name, digits=3):
    """A number of a row, a dash where an earlier version did not measure it."""
    return f"{row[name]:.{digits}f}" if name in row else "-"


def synfish_table(key, rows):
    """Lines of the page about one section."""
    kind, sigma = key.split("_")
    what = "centroids of the simulated detector" if kind == "masks" else f"points with {NOISE_PX:g} px of noise"
    lines = [
        f"## SynFish test scenes, {what}, poses off by {sigma} degrees and units", "",
        "Clocks are off by up to 7.3 frames and 100 ppm.", "", _HEAD, "|---|" + "---:|" * 16,
    ]  # fmt: skip
    for r in rows:
        refused = "" if r["accepted"] else ", refused"
        lines.append(
            f"| {r['scene']}{refused} | {r['clock']:.3f} | {_maybe(r, 'oracle_clock')} | {_maybe(r, 'clock_sigma')} "
            f"| {_maybe(r, 'ppm', 0)} | {r['turn_before']:.3f} | {r['turn']:.3f} | {_maybe(r, 'oracle_turn')} "
            f"| {r['distance']:.3f} | {_maybe(r, 'oracle_distance')} | {r['residual']:.2f} | {r['residual_clean']:.2f} "
            f"| {r['mota_before']:.1f} | {r['mota']:.1f} | {r['mota_true']:.1f} | {r['mota_clean']:.1f} "
            f"| {r['cpu']:.0f} |"
        )
    left = [name for name in SCENES if name not in {r["scene"] for r in rows}]
    return [*lines, "", *([f"Not run: {', '.join(left)}.", ""] if left else []), TEXT, ""]


def claims_table(results):
    """Lines of the page: standard deviations that `refine` gives, against the truth."""
    lines = [
        "## Are the standard deviations right?", "",
        "Errors of the rows above in the standard deviations that `refine` gave with them: clocks, and the turn from "
        "each camera to the first, along the axes of its covariance (no gauge is in these). Accepted rows only.", "",
        "| detections | what | errors | within 1 (68 %) | within 2 (95 %) | root mean square (1) |",
        "|---|---|---:|---:|---:|---:|",
    ]  # fmt: skip
    for kind in ("points", "masks"):
        rows = [r for key in results if key.startswith(kind) for r in results[key] if r["accepted"]]
        for name, words in (("clock_z", "clocks"), ("turn_z", "turns")):
            z = np.abs([x for r in rows for x in r.get(name, ())])
            if len(z):
                inside = f"{100 * np.mean(z < 1):.0f} % | {100 * np.mean(z < 2):.0f} %"
                lines.append(f"| {kind} | {words} | {len(z)} | {inside} | {np.sqrt(np.mean(z**2)):.2f} |")
    return [*lines, ""]
