"""Small constructed scenes with everything known: paths, their detections, and the model that made them."""

import numpy as np

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.methods.joint.model import TrackingModel
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement.refine import smoothed
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import look_at

BOX = 40.0  # px, width and height of every detection
LENGTH = 1.0  # world units


def crossed_rig(cameras=2):
    """Cameras at the height of the origin, 20 units away, that look across each other: 60 px a unit."""
    out = []
    for k in range(cameras):
        angle = k * np.pi / 2 / max(cameras - 1, 1)
        R, t = look_at(20 * np.array([np.sin(angle), -np.cos(angle), 0.0]), np.zeros(3))
        K = np.array([[1200.0, 0, 500], [0, 1200.0, 400], [0, 0, 1]])
        out.append(Camera(name=f"cam{k}", size=(1000, 800), K=K, distortion=np.zeros(5), R=R, t=t))
    return CameraRig(tuple(out), "unit")


def seen(rig, position, noise, seed=0, missed=None):
    """Detections (rows (T, A, C) of each point, -1 for none) of positions (T, A, 3), all of one size."""
    rng = np.random.default_rng(seed)
    frames, animals = position.shape[:2]
    pixel = np.stack([c.project(position.reshape(-1, 3)) for c in rig], 1).reshape(frames, animals, len(rig), 2)
    pixel = pixel + noise * rng.standard_normal(pixel.shape)
    there = np.ones((frames, animals, len(rig)), bool) if missed is None else ~missed
    t, a, c = np.nonzero(there)
    order = np.lexsort((a, c, t))
    t, a, c = t[order], a[order], c[order]
    u, v = pixel[t, a, c].T
    half = BOX / 2
    detections = Detections.build(rig.names, t, c, u, v, u - half, v - half, u + half, v + half)
    rows = np.full(there.shape, -1)
    rows[t, a, c] = np.arange(len(t))
    return detections, rows


def model(rig, noise, acceleration, velocity=0.1, **changes):
    """What made the scene; sizes say nothing, since all are the same."""
    n = len(rig)
    return TrackingModel(
        noise=np.full(n, noise / np.hypot(BOX, BOX)), acceleration=acceleration, velocity=velocity,
        dart=12 * acceleration, clear=np.full(n, 0.98), hidden=np.full(n, 0.7), clutter=np.full(n, 1e-7), births=1e-4,
        body_length=LENGTH, scales=np.zeros(3),
    ).with_(**changes)  # fmt: skip


def paths_of(rig, detections, known, pieces):
    """Paths of pieces (name, frames, rows (T, C) of detections, position (T, 3)), smoothed."""
    name = np.concatenate([np.full(len(f), n) for n, f, _, _ in pieces])
    frame = np.concatenate([np.asarray(f) for _, f, _, _ in pieces])
    state = np.zeros((len(name), 6))
    state[:, :3] = np.concatenate([p for *_, p in pieces])
    paths = Trajectories(name, frame, np.concatenate([m for _, _, m, _ in pieces]), state, np.zeros((len(name), 6, 6)))
    paths = paths.renamed(paths.name)
    return smoothed(rig, Observations.of(rig, detections, known), paths, known, JointSettings())


def wander(frames, acceleration, start, seed=0):
    """Positions (T, 3) under white acceleration, the model of the filter; start (6,)."""
    rng = np.random.default_rng(seed)
    q = acceleration**2
    L = np.linalg.cholesky(q * np.array([[1 / 3, 1 / 2], [1 / 2, 1]]))
    x, v = np.array(start[:3], float), np.array(start[3:], float)
    out = []
    for _ in range(frames):
        out.append(x.copy())
        jolt = L @ rng.standard_normal((2, 3))
        x, v = x + v + jolt[0], v + jolt[1]
    return np.array(out)
