"""Schools whose behaviour is known in closed form, and small recordings of simulated ones."""

import numpy as np

from trackfish3d.recordings import Detections, Recording, Tracks, Truth
from trackfish3d.synfish.rigs import common_point, paper_rig


def circling(radius=5.0, period=90, frames=180, centre=(1.0, 2.0, 3.0), phase=(0.0,)):
    """(T, N, 3) animals on a level circle, each at its phase."""
    angle = 2 * np.pi * np.arange(frames)[:, None] / period + np.asarray(phase)
    flat = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=2)
    return np.asarray(centre) + radius * flat


def wandering(fish=8, frames=400, seed=0, cruise=None, turn=0.05, box=8.0):
    """(T, N, 3) animals that swim at their own speed and turn at random inside a ball.

    ``cruise`` (N,) units a frame, ``turn`` (N,) or a number: how much the heading is shaken each frame.
    """
    rng = np.random.default_rng(seed)
    speed = np.broadcast_to(0.1 if cruise is None else cruise, fish).astype(float)
    shake = np.broadcast_to(turn, fish).astype(float)
    position = rng.uniform(-0.5 * box, 0.5 * box, (fish, 3))
    heading = rng.normal(size=(fish, 3))
    out = np.empty((frames, fish, 3))
    slow = np.zeros((fish, 3))
    for t in range(frames):
        slow = 0.9 * slow + 0.45 * shake[:, None] * rng.normal(size=(fish, 3))
        inward = -position / box * np.maximum(np.linalg.norm(position, axis=1, keepdims=True) / box - 0.6, 0)
        heading = heading + slow + 0.5 * inward
        heading /= np.linalg.norm(heading, axis=1, keepdims=True)
        position = position + speed[:, None] * heading
        out[t] = position
    return out


def tracks_of(position, noise=0.0, seed=0, missing=0.0, interpolated=0.0, first=0, covariance=True):
    """Tracks of (T, N, 3), NaN where an animal is not; with noise, gaps and points marked as interpolated."""
    rng = np.random.default_rng(seed)
    there = np.isfinite(position).all(2) & (rng.random(position.shape[:2]) >= missing)
    frame, track = np.nonzero(there)
    points = position[frame, track] + rng.normal(0, 1, (len(frame), 3)) * noise
    known = np.broadcast_to(max(noise, 1e-3) ** 2 * np.eye(3), (len(frame), 3, 3)) if covariance else None
    observed = rng.random(len(frame)) >= interpolated
    return Tracks.build(frame + first, track, points, covariance=known, observed=observed)


def truth_of(position):
    """Truth of (T, N, 3)."""
    frame, who = np.nonzero(np.isfinite(position).all(2))
    return Truth.build(frame, who, position[frame, who])


def recording_of(folder, position, tracks=None, fps=30.0):
    """A recording of (T, N, 3) seen by three cameras without fault, with tracks if they are given."""
    rig = paper_rig(0)
    moved = position + common_point(rig)
    frame, who = np.nonzero(np.isfinite(position).all(2))
    points = moved[frame, who]
    pixels = np.concatenate([c.project(points) for c in rig])
    camera = np.repeat(np.arange(len(rig)), len(points))
    u, v = pixels.T
    ones = np.ones(len(u))
    detections = Detections.build(rig.names, np.tile(frame, 3), camera, u, v, u - 30, v - 15, u + 30, v + 15, ones)
    recording = Recording.create(folder, rig, fps=fps, detections=detections, truth=Truth.build(frame, who, points))
    if tracks is not None:
        recording.write_tracks(
            Tracks.build(
                tracks.frame, tracks.track, tracks.position + common_point(rig), covariance=tracks.covariance,
                observed=tracks.observed,
            )
        )  # fmt: skip
    return recording


def darting(fish=6, frames=400, seed=0, burst=8):
    """(T, N, 3) animals that wander at 0.1 a frame, each with one fast start, and its (N,) frame.

    Each bolts at 6 to 12 times its cruising speed for ``burst`` frames, after turning by up to 120 degrees within three
    frames, and coasts down over ten.
    """
    rng = np.random.default_rng((seed, 77))
    x = wandering(fish=fish, frames=frames, seed=seed)
    onset = rng.integers(30, frames - 40, fish)
    step = np.diff(x, axis=0, prepend=x[:1])
    for n, frame in enumerate(onset):
        ahead = step[frame, n] / np.linalg.norm(step[frame, n])
        side = np.cross(ahead, rng.normal(size=3))
        side /= np.linalg.norm(side)
        angle = rng.uniform(0.3, 2 * np.pi / 3)
        pace = 0.1 * rng.uniform(6, 12) * np.concatenate([[0.4, 0.8], np.ones(burst), 0.8 ** np.arange(1, 11)])
        turned = np.minimum(np.arange(1, len(pace) + 1) / 3, 1) * angle
        way = np.cos(turned)[:, None] * ahead + np.sin(turned)[:, None] * side
        step[frame + 1 : frame + 1 + len(pace), n] = pace[:, None] * way
    return x[:1] + np.cumsum(np.concatenate([np.zeros_like(step[:1]), step[1:]]), axis=0), onset
