"""Small recordings with everything a report shows: misses, false detections, gaps, single views, one swap."""

from pathlib import Path

import numpy as np

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.recordings import Detections, Recording, Tracks, Truth


def looking_at(name, centre, target, up=(0.0, 0.0, 1.0), focal=1500.0, size=(1920, 1080), interfaces=()):
    forward = np.subtract(target, centre) / np.linalg.norm(np.subtract(target, centre))
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    R = np.stack([right, np.cross(forward, right), forward])
    K = np.array([[focal, 0, size[0] / 2], [0, focal, size[1] / 2], [0, 0, 1.0]])
    return Camera(name, size, K, np.zeros(5), R, -R @ np.asarray(centre, float), interfaces=interfaces)


def air_rig(names=("left", "middle", "right")):
    centres = [(-30.0, -28.0, 14.0), (0.0, -42.0, 10.0), (30.0, -26.0, 16.0)]
    return CameraRig(tuple(looking_at(n, c, (0, 0, 0)) for n, c in zip(names, centres, strict=True)), "unit")


def water_rig():
    """One camera above the surface z = 0 of a tank of 20 x 20 x 12, one before its glass y = -10; z is up."""
    surface = Interface(np.zeros(3), np.array([0, 0, 1.0]))
    glass = Interface(np.array([0, -10.0, 0]), np.array([0, -1.0, 0]))
    top = looking_at("top", (0, 0, 30), (0, 0, 0), up=(0, 1, 0), focal=1200, interfaces=(surface,))
    front = looking_at("front", (0, -42, -6), (0, 0, -6), focal=1500, interfaces=(glass,))
    return CameraRig((top, front), "cm")


def swimming(fish, frames, middle, half, rng):
    """(T, N, 3) smooth paths inside a box: sums of slow waves."""
    t = np.arange(frames)[:, None, None]
    waves = rng.uniform(0.004, 0.02, (3, 1, fish, 3))
    phase = rng.uniform(0, 2 * np.pi, (3, 1, fish, 3))
    paths = np.sin(2 * np.pi * waves[:, :] * t[None] + phase).sum(0) / 2.2
    return np.asarray(middle) + np.asarray(half) * np.clip(paths, -1, 1)


def make_recording(
    folder: Path, rig=None, fish=16, frames=400, seed=0, middle=(0, 0, 0), half=(9, 9, 6), truth=True, noise=1.2
):
    rng = np.random.default_rng(seed)
    rig = rig or air_rig()
    paths = swimming(fish, frames, middle, half, rng)
    frame, who = (a.ravel() for a in np.meshgrid(np.arange(frames), np.arange(fish), indexing="ij"))
    points = paths[frame, who]
    columns: dict[str, list] = {k: [] for k in ("frame", "camera", "u", "v", "size", "source")}
    for c, camera in enumerate(rig):
        pixels = camera.project(points)
        seen = np.isfinite(pixels).all(1) & camera.in_image(pixels) & (rng.random(len(points)) > 0.08)
        rows = np.flatnonzero(seen)
        false = rng.integers(0, frames, frames // 3)
        spots = rng.uniform(0, camera.size, (len(false), 2))
        shown = np.concatenate([pixels[rows] + rng.normal(0, noise, (len(rows), 2)), spots])
        columns["frame"] += [*frame[rows], *false]
        columns["camera"] += [c] * len(shown)
        columns["u"] += [*shown[:, 0]]
        columns["v"] += [*shown[:, 1]]
        columns["size"] += [*rng.uniform(12, 40, len(shown))]
        columns["source"] += [*rows, *[-1] * len(false)]
    u, v, size = (np.array(columns[k]) for k in ("u", "v", "size"))
    order = np.lexsort((columns["camera"], columns["frame"]))
    boxes = (u - size, v - size / 2, u + size, v + size / 2)
    score = rng.uniform(0.5, 1, len(u))
    detections = Detections.build(rig.names, columns["frame"], columns["camera"], u, v, *boxes, score)
    source = np.array(columns["source"])[order]
    link = np.full((len(points), len(rig)), -1)
    known = np.flatnonzero(source >= 0)
    link[source[known], detections.camera[known]] = known
    true = Truth.build(frame, who, points) if truth else None
    recording = Recording.create(folder, rig, fps=30.0, detections=detections, truth=true)
    recording.write_tracks(make_tracks(rig, frame, who, points, link, frames, rng))
    return recording


def make_tracks(rig, frame, who, points, link, frames, rng):
    """Tracks that follow the fish, but end early or begin late, are swapped half-way, and guessed where unseen."""
    views = (link >= 0).sum(1)
    observed = views > 0
    dropped = rng.random(len(frame) // 25 + 1)
    for start in np.flatnonzero(dropped < 0.25) * 25:
        fish = who[start]
        gap = (who == fish) & (frame >= frame[start]) & (frame < frame[start] + 8)
        link[gap], observed[gap] = -1, False
    views = (link >= 0).sum(1)
    observed &= views > 0
    track = who + 1
    if who.max() >= 1:
        late = (frame > frames // 2) & (who < 2)
        track = np.where(late, 2 - who, track)
    keep = ~((who % 5 == 3) & (frame < frames // 6)) & ~((who % 7 == 4) & (frame > 0.8 * frames))
    spread = np.where(views == 1, 0.35, np.where(observed, 0.06, 0.6))
    return Tracks.build(
        frame[keep],
        track[keep],
        (points + rng.normal(0, 1, points.shape) * np.minimum(spread, 0.15)[:, None])[keep],
        covariance=(np.eye(3) * spread[:, None, None] ** 2)[keep],
        views=views[keep],
        error_px=np.where(observed, rng.gamma(4, 0.4, len(frame)), np.nan)[keep],
        observed=observed[keep],
        confidence=rng.uniform(0.6, 1, len(frame))[keep],
        detection=link[keep],
        cameras=rig.names,
    )
