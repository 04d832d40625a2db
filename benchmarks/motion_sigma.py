"""Share of the truth inside one and two sigma of tracked positions: part of `bench_motion.py`.

Animals of a simulated school are seen as points with boxes, with errors of a known kind: white, lasting for ten frames,
or white and a constant offset of each camera (a calibration that is a little wrong). Recordings of several seeds are
taken together. Seeds of ``tune`` were looked at while the tracker was written, those of ``report`` only to report.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackfish3d.cameras import CameraRig
from trackfish3d.methods.joint.method import Joint
from trackfish3d.recordings import Detections, Recording, Tracks
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rigs import common_point, random_rig
from trackfish3d.synfish.school import Water, simulate_school

Array = NDArray[np.float64]
KINDS = ("white", "lasting", "per camera")
CAMERAS = (2, 3, 4, 6, 10, 16)
SEEDS = {"tune": range(1, 7), "report": range(101, 109)}
ANIMALS, FRAMES = 4, 200
NOISE = 1.5  # px
MEMORY = np.exp(-0.1)  # of lasting errors, from frame to frame
GOALS = {1: (62.0, 74.0), 2: (92.0, 98.0)}  # %
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


def filmed(recording: Recording, gate: float) -> dict[str, Any]:
    """Shares of a recording with truth."""
    truth = recording.truth
    assert truth is not None
    first, names = int(truth.frame.min()), np.unique(truth.identity)
    true = np.full((int(truth.frame.max()) - first + 1, len(names), 3), np.nan)
    true[truth.frame - first, np.searchsorted(names, truth.identity)] = truth.position
    tracks = Joint().track(recording.rig, recording.detections, recording.fps).tracks
    return {"kind": Path(recording.folder).name, "cameras": len(recording.rig)} | shares(
        [in_sigmas(tracks, true, first, gate)]
    )


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
    return lines
