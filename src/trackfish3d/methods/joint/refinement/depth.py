"""Whether views tell how far away an animal is: what was never seen in depth is a ghost, wherever it drifted to."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..model import TrackingModel
from ..observations import Observations
from .filtering import linearised
from .trajectories import Trajectories

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
SEEN_DEPTH = 4.0  # squared body lengths: variance of a single frame that leaves depth known to two lengths
MOST_DEPTH = 0.2  # of the way to the nearest camera: uncertainty of depth at which an animal may be born
_ROWS = 20  # of a track that are looked at
_LEAST = 0.2  # share of them that must be seen in depth


def deep(alone: Array, near: Array, body_length: float) -> Flags:
    """Whether depth is known: to two body lengths, and to a small share of the way to the nearest camera.

    What is as near to the cameras as they are to each other by chance would pass for small.

    Parameters
    ----------
    alone : (K,) largest variance of a point that the views of one frame leave, world^2.
    near : (K,) way to the nearest camera, world.
    body_length : world.
    """
    return np.asarray((alone < SEEN_DEPTH * body_length**2) & (alone < (MOST_DEPTH * near) ** 2))


def seen_in_depth(rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel) -> Trajectories:
    """Return the tracks of which at least a fifth is seen in depth.

    Between cameras that stand close together, two animals that pass may look like one nearby for the frame in which a
    track is born. It goes on with the detections of one of them, at a depth that nothing tells.
    """
    begin = paths.begin
    rows = [np.linspace(a, b - 1, _ROWS).astype(np.int64) for a, b in pairwise(begin.tolist())]
    some = paths.take(np.unique(np.concatenate(rows)))
    _, J, use = linearised(rig.packed, some.members, some.state, 1e-4 * model.body_length)
    noise = np.where(use, obs.noise[np.where(use, some.members, 0)], np.inf)
    J = np.where(use[..., None, None], J / noise[..., None, None], 0.0)
    least = np.linalg.eigvalsh(np.einsum("ncki,nckj->nij", J, J))[:, 0]
    away = np.linalg.norm(some.state[:, None, :3] - np.array([c.centre for c in rig]), axis=2)
    enough = use.sum(1) >= 2
    known = enough & deep(1.0 / np.maximum(least, 1e-300), np.where(use, away, np.inf).min(1), model.body_length)
    names, whose = np.unique(some.name, return_inverse=True)
    share = np.bincount(whose, known) / np.maximum(np.bincount(whose, enough), 1)
    return paths.take(np.isin(paths.name, names[share >= _LEAST]))
