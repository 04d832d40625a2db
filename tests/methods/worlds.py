"""Small worlds whose truth is known: points that swim on circles, seen by pinhole or refractive cameras."""

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.recordings import Detections, Truth
from trackfish3d.synfish.rigs import paper_rig, tank_rig


def swim(fish, frames, centre, radius, seed=0):
    """Positions (T, N, 3) on circles of different heights and phases, 0.05 radians a frame."""
    rng = np.random.default_rng(seed)
    phase, speed = rng.uniform(0, 2 * np.pi, fish), 0.05 * rng.choice([-1, 1], fish)
    reach, height = rng.uniform(0.3, 1.0, fish) * radius, np.linspace(-0.5, 0.5, fish) * radius
    angle = phase + speed * np.arange(frames)[:, None]
    flat = np.stack([reach * np.cos(angle), reach * np.sin(angle), np.broadcast_to(height, angle.shape)], axis=-1)
    return np.asarray(centre) + flat


def observe(rig: CameraRig, position, box=30.0, noise=0.5, drop=0.0, seed=0) -> tuple[Detections, Truth]:
    """Detections of every point in every view, with pixel noise and drops, and the truth about them."""
    rng = np.random.default_rng(seed)
    frames, fish = position.shape[:2]
    flat = position.reshape(-1, 3)
    frame, who = np.repeat(np.arange(frames), fish), np.tile(np.arange(fish), frames)
    rows = []
    for c, camera in enumerate(rig):
        pixel = camera.project(flat) + noise * rng.standard_normal((len(flat), 2))
        seen = np.flatnonzero(np.isfinite(pixel).all(1) & (rng.random(len(flat)) >= drop))
        seen = rng.permutation(seen)
        rows.append(np.column_stack([frame[seen], np.full(len(seen), c), pixel[seen], seen]))
    table = np.concatenate(rows)
    order = np.lexsort((table[:, 1], table[:, 0]))
    table = table[order]
    u, v = table[:, 2], table[:, 3]
    detections = Detections.build(
        rig.names, table[:, 0], table[:, 1], u, v, u - box / 2, v - box / 2, u + box / 2, v + box / 2,
        rng.uniform(0.5, 1.0, len(u)),
    )  # fmt: skip
    shown = np.full((len(flat), len(rig)), -1, np.int64)
    shown[table[:, 4].astype(int), table[:, 1].astype(int)] = np.arange(len(table))
    pixels = np.stack([c.project(flat) for c in rig], axis=1)
    truth = Truth.build(frame, who, flat, cameras=rig.names, u=pixels[..., 0], v=pixels[..., 1], detection=shown)
    return detections, truth


def pinhole_world(fish=6, frames=40, **options):
    rig = paper_rig(6)
    return rig, *observe(rig, swim(fish, frames, [2.0, -6.0, 20.0], 6.0), **options)


def tank_world(fish=4, frames=40, **options):
    rig = tank_rig()
    return rig, *observe(rig, swim(fish, frames, [14.0, 14.0, 7.0], 5.0), **options)
