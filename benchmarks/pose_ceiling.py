"""The most that any choice of views could score on Shelf: of all pairs of rays of a joint, the nearest to the truth."""

from itertools import combinations

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.recordings import Detections, Poses, Skeleton

BEHIND = 1e-9


def best_pairs(rig: CameraRig, found: Detections, truth: Poses, parts: dict[str, str]) -> Poses:
    """Poses like the truth's whose every joint is the point between two rays, of any instances, nearest to its own.

    Nobody can choose so without the truth; what is wrong even here is wrong in what was seen or annotated.

    Parameters
    ----------
    rig : the cameras.
    found : joints in every view.
    truth : annotated poses.
    parts : of a joint that was seen, the annotated one that it is measured by.
    """
    names = list(parts)
    rows = np.full((len(truth), len(names), 3), np.nan)
    rays = {}
    for c, camera in enumerate(rig):
        mine = np.flatnonzero(found.camera == c)
        cast = camera.rays(found.parts[mine][..., :2].reshape(-1, 2))
        shape = (len(mine), found.parts.shape[1], 3)
        rays[c] = found.frame[mine], cast.origin.reshape(shape), cast.direction.reshape(shape)
    for n, frame in enumerate(truth.frame):
        here = {c: (o[f == frame], d[f == frame]) for c, (f, o, d) in rays.items()}
        for k, name in enumerate(names):
            at, goal = found.skeleton.index(name), truth.position[n, truth.skeleton.index(parts[name])]
            points = [
                between(*(x[:, at] for x in here[a]), *(x[:, at] for x in here[b])) for a, b in combinations(here, 2)
            ]
            every = np.concatenate(points)
            every = every[np.isfinite(every).all(1)]
            if len(every):
                rows[n, k] = every[np.linalg.norm(every - goal, axis=1).argmin()]
    return Poses.build(truth.frame, truth.track, rows, Skeleton(tuple(names)))


def between(o1: np.ndarray, d1: np.ndarray, o2: np.ndarray, d2: np.ndarray) -> np.ndarray:
    """Points (A * B, 3) half-way between rays (A, 3) and rays (B, 3) where these are nearest; NaN behind a camera."""
    o1, d1, o2, d2 = o1[:, None], d1[:, None], o2[None], d2[None]
    along = (d1 * d2).sum(-1)
    sine = 1 - along**2
    across = o2 - o1
    one, two = (d1 * across).sum(-1), (d2 * across).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = (one - along * two) / sine, (along * one - two) / sine
    point = 0.5 * (o1 + s[..., None] * d1 + o2 + t[..., None] * d2)
    point[~((s > BEHIND) & (t > BEHIND))] = np.nan
    return point.reshape(-1, 3)
