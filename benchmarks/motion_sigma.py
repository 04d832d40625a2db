"""Share of the truth inside one and two sigma of tracked positions: part of `bench_motion.py`.

Animals of a simulated school are seen as points with boxes, with errors of a known kind: white, lasting for ten frames,
or white and a constant offset of each camera (a calibration that is a little wrong). Recordings of several seeds are
taken together; a recording draws its offsets once, so that 24 are needed to know a share to 5 %. Seeds of ``tune`` were
looked at while the tracker was written, those of ``report`` only to report.

The truth of 3D-ZeF is triangulated from heads marked by hand in the same two views, with the same calibration. In rows
"agreeing" every detection is moved by as much as its marked head misses the projection of the true point: a world in
which truth and calibration are exact and the detector errs as it does. In rows "one point" the mean of what is between
boxes' middles and marks in a view is taken off too: a box's middle is not the mark, and no view can show that. How much
of the disagreement of views detections and marks have in common is told below the table.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.triangulation import triangulate_ml
from trackfish3d.methods.joint.method import Joint
from trackfish3d.recordings import Detections, Recording, Tracks
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rigs import common_point, random_rig
from trackfish3d.synfish.school import Water, simulate_school

Array = NDArray[np.float64]
KINDS = ("white", "lasting", "per camera")
CAMERAS = (2, 3, 4, 6, 10, 16)
SEEDS = {"tune": range(1, 7), "report": range(101, 109)}
MANY = {"tune": range(1, 31), "report": range(101, 125)}  # of offsets, which a recording draws once
ANIMALS, FRAMES = 4, 200
NOISE = 1.5  # px
MEMORY = np.exp(-0.1)  # of lasting errors, from frame to frame
GOALS = {1: (62.0, 74.0), 2: (92.0, 98.0)}  # %
WILD = 40.0  # px: what misses by more shows two animals
GATE = 0.5  # body lengths: what is farther off follows another animal


def errors(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Errors (T, A, C, 2) of centroids, px, of standard deviation `NOISE`."""
    fresh = rng.standard_normal(shape)
    if kind == "per camera":
        fresh = (fresh + rng.standard_normal((1, 1, *shape[2:]))) / np.sqrt(2)
    if kind == "lasting":
        for t in range(1, shape[0]):
            fresh[t] = MEMORY * fresh[t - 1] + np.sqrt(1 - MEMORY**2) * fresh[t]
    return NOISE * fresh


def rig_of(cameras: int, seed: int) -> CameraRig:
    """A random rig of any number of cameras, those of several random rigs about the same place."""
    rigs = [random_rig(max(min(cameras - first, 8), 2), seed + first) for first in range(0, cameras, 8)]
    found = [c for rig in rigs for c in rig][:cameras]
    return CameraRig(tuple(replace(c, name=f"cam{k}") for k, c in enumerate(found)), rigs[0].units)


def scene(kind: str, cameras: int, seed: int) -> tuple[CameraRig, Detections, Array, float]:
    """A rig, detections, true positions (T, A, 3), and the body length."""
    rng = np.random.default_rng([seed, cameras, KINDS.index(kind)])
    rig = rig_of(cameras, 17 * seed + cameras)
    settings = preset("tank")
    side = np.full(3, 4.0 * settings.length)
    school = simulate_school(settings, Water.around(common_point(rig), side), ANIMALS, FRAMES, seed)
    flat = school.position.reshape(-1, 3)
    pixel = np.stack([c.project(flat) for c in rig], 1).reshape(FRAMES, ANIMALS, cameras, 2)
    pixel = pixel + errors(kind, pixel.shape, rng)
    depth = np.stack([np.linalg.norm(flat - c.centre, axis=1) for c in rig], 1).reshape(FRAMES, ANIMALS, cameras)
    half = 0.4 * settings.length * np.array([c.K[0, 0] for c in rig]) / depth
    inside = np.isfinite(pixel).all(-1) & (pixel >= 0).all(-1) & (pixel < np.array([c.size for c in rig])).all(-1)
    t, a, c = np.nonzero(inside & (rng.random(inside.shape) > 0.02))
    order = np.lexsort((a, c, t))
    t, a, c = t[order], a[order], c[order]
    (u, v), h = pixel[t, a, c].T, half[t, a, c]
    return rig, Detections.build(rig.names, t, c, u, v, u - h, v - h, u + h, v + h), school.position, settings.length


def in_sigmas(tracks: Tracks, true: Array, first: int, gate: float) -> Array:
    """(K, 3) errors of tracks along each axis over their sigma; true (T, A, 3) from frame ``first`` on."""
    row = tracks.frame - first
    inside = (row >= 0) & (row < len(true)) & tracks.observed
    off = tracks.position[inside][:, None] - true[row[inside]]
    far = np.nan_to_num(np.linalg.norm(off, axis=2), nan=np.inf)
    who = far.argmin(1)
    right = far.min(1) < gate
    assert tracks.covariance is not None
    sigma = np.sqrt(np.einsum("kii->ki", tracks.covariance[inside]))
    return np.asarray((off[np.arange(len(off)), who] / sigma)[right])


def simulated(kind: str, cameras: int, seeds: range) -> dict[str, Any]:
    """Shares of all recordings of one kind together, and the least of any one of them."""
    found = []
    for seed in seeds:
        rig, detections, position, length = scene(kind, cameras, seed)
        tracks = Joint().track(rig, detections).tracks
        found.append(in_sigmas(tracks, position, 0, GATE * length))
    return {"kind": kind, "cameras": cameras} | shares(found)


def agreeing(recording: Recording, one_point: bool) -> Detections:
    """Detections of a recording, moved by as much as its marks miss the projections of its true points.

    one_point : and all those of a view by the same, so that in the mean their middles are the marks.
    """
    truth, detections = recording.truth, recording.detections
    assert truth is not None
    assert truth.detection is not None
    assert truth.u is not None
    assert truth.v is not None
    moved = np.zeros((len(detections), 2))
    for c, camera in enumerate(recording.rig):
        marks = np.column_stack([truth.u[:, c], truth.v[:, c]])
        shift = camera.project(truth.position) - marks
        known = (truth.detection[:, c] >= 0) & np.isfinite(shift).all(1)
        rows = truth.detection[known, c]
        moved[rows] = shift[known]
        if one_point:
            moved[detections.camera == c] -= np.median(detections.centroids[rows] - marks[known], axis=0)
    (du, dv), old = moved.T, detections
    return replace(
        old, u=old.u + du, v=old.v + dv, x1=old.x1 + du, x2=old.x2 + du, y1=old.y1 + dv, y2=old.y2 + dv
    )  # fmt: skip


def in_common(recording: Recording) -> dict[str, float]:
    """How far the rays of two views miss each other, in px of reprojection (root mean square): of detections, of the
    marks of the same animals, and of one less the other; and the correlation of the first two.
    """
    truth, detections, rig = recording.truth, recording.detections, recording.rig
    assert truth is not None
    assert truth.detection is not None
    assert truth.u is not None
    assert truth.v is not None
    both = (truth.detection >= 0).all(1)
    marks = np.stack([truth.u, truth.v], axis=-1)[both]
    n = len(marks)
    left = []
    for pixel in (detections.centroids[truth.detection[both]], marks):
        found = triangulate_ml(rig, pixel.reshape(-1, 2), np.tile([0, 1], n), 2 * np.arange(n + 1))
        seen = np.stack([c.project(found.points) for c in rig], axis=1)
        left.append((pixel - seen).reshape(n, 4))
    known = np.isfinite(np.hstack(left)).all(1) & (np.abs(left[0]).max(1) < WILD)
    way = np.linalg.svd(left[0][known], full_matrices=False)[2][0]  # in which two views can disagree
    one, two = (x[known] @ way for x in left)
    size = {k: float(np.sqrt(np.mean(x**2))) for k, x in (("detected", one), ("marked", two), ("apart", one - two))}
    return size | {"correlation": float(np.corrcoef(one, two)[0, 1])}


def filmed(recording: Recording, gate: float) -> list[dict[str, Any]]:
    """Shares of a recording with marked truth, as it is and made to agree."""
    truth = recording.truth
    assert truth is not None
    first, names = int(truth.frame.min()), np.unique(truth.identity)
    true = np.full((int(truth.frame.max()) - first + 1, len(names), 3), np.nan)
    true[truth.frame - first, np.searchsorted(names, truth.identity)] = truth.position
    rows = []
    name = Path(recording.folder).name
    kinds = {name: recording.detections, f"{name}, agreeing": agreeing(recording, False)}
    for words, detections in (kinds | {f"{name}, agreeing, one point": agreeing(recording, True)}).items():
        tracks = Joint().track(recording.rig, detections, recording.fps).tracks
        found = shares([in_sigmas(tracks, true, first, gate)])
        rows.append({"kind": words, "cameras": len(recording.rig), "common": in_common(recording)} | found)
    return rows


def shares(found: list[Array]) -> dict[str, Any]:
    """Shares (%) inside 1 and 2 sigma, axis by axis."""
    each = [100 * np.mean(np.abs(z) < 2) for z in found if len(z)]
    z = np.concatenate(found)
    inside = {f"sigma{k}": float(100 * np.mean(np.abs(z) < k)) for k in GOALS}
    return inside | {"points": len(z), "recordings": len(found), "least": float(min(each, default=0.0))}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return a row a kind and number of cameras; (!) where a goal is missed."""
    lines = ["| errors | cameras | recordings | points | 1 sigma | 2 sigma | least 2 sigma |", "|---|" + "---:|" * 6]
    for r in rows:
        cells = [
            f"{r[f'sigma{k}']:.1f}" + ("" if low <= r[f"sigma{k}"] <= high else " (!)")
            for k, (low, high) in GOALS.items()
        ]
        head = f"| {r['kind']} | {r['cameras']} | {r['recordings']} | {r['points']}"
        lines.append(f"{head} | {' | '.join(cells)} | {r['least']:.1f} |")
    for r in rows:
        if "common" in r and "agreeing" not in r["kind"]:
            c = r["common"]
            lines.append(
                f"\n{r['kind']}: views disagree by {c['detected']:.1f} px in detections, by {c['marked']:.1f} px in "
                f"marks of the same heads, correlation {c['correlation']:.2f}; one less the other {c['apart']:.1f} px."
            )
    return lines
