"""What parts of a body tell: where it points, how it bends, how its tail beats; each with a standard deviation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import detrend, welch

from ...core.errors import InputError
from ...recordings.poses import Poses

Array = NDArray[np.float64]


def heading(poses: Poses, tail: str, head: str, up: ArrayLike) -> tuple[Array, Array, Array]:
    """Return where bodies point: unit vectors (N, 3), pitch (N,) above the horizon in radians, and its sigma (N,).

    Parameters
    ----------
    poses : of the animals.
    tail : part that the heading comes from.
    head : part that it goes to.
    up : (3,) direction of up in the world.
    """
    a, b = poses.skeleton.index(tail), poses.skeleton.index(head)
    way = poses.position[:, b] - poses.position[:, a]
    length = np.linalg.norm(way, axis=1)
    unit = way / length[:, None]
    rise = np.asarray(up, np.float64) / np.linalg.norm(up)
    pitch = np.arcsin(np.clip(unit @ rise, -1, 1))
    spread = np.sqrt(poses.sigma[:, a] ** 2 + poses.sigma[:, b] ** 2) / length
    return unit, pitch, spread


def bending(poses: Poses, midline: Sequence[str]) -> tuple[Array, Array]:
    """Return how far bodies are bent (N,), radians: the sum of the turns along the midline, and its sigma (N,).

    Parameters
    ----------
    poses : of the animals.
    midline : three parts or more, from head to tail.
    """
    if len(midline) < 3:
        raise InputError(f"a midline of {len(midline)} parts has no bend; name three or more, from head to tail")
    at = [poses.skeleton.index(p) for p in midline]
    steps = np.diff(poses.position[:, at], axis=1)
    length = np.linalg.norm(steps, axis=-1)
    unit = steps / length[..., None]
    cosine = np.clip((unit[:, 1:] * unit[:, :-1]).sum(-1), -1, 1)
    noise = (poses.sigma[:, at[1:]] ** 2 + poses.sigma[:, at[:-1]] ** 2) / length**2
    return np.arccos(cosine).sum(1), np.sqrt((noise[:, 1:] + noise[:, :-1]).sum(1))


def distance(poses: Poses, part: str, others: Poses, other: str) -> tuple[Array, Array]:
    """Return the distance (N,) between a part of each pose and one of the pose beside it, and its sigma (N,).

    Parameters
    ----------
    poses : of one animal.
    part : of it, such as its snout.
    others : of another animal, row for row in the same frames.
    other : part of that one, such as its tail.
    """
    if not np.array_equal(poses.frame, others.frame):
        raise InputError("the poses of two animals must be of the same frames")
    a, b = poses.skeleton.index(part), others.skeleton.index(other)
    off = poses.position[:, a] - others.position[:, b]
    far = np.linalg.norm(off, axis=1)
    unit = off / far[:, None]
    both = poses.covariance[:, a] + others.covariance[:, b]
    return far, np.sqrt(np.einsum("ni,nij,nj->n", unit, both, unit))


def tail_beat(poses: Poses, head: str, base: str, tip: str, fps: float) -> tuple[float, float]:
    """Return frequency (Hz) and amplitude (world units, half of side to side) of the tail of one animal.

    Parameters
    ----------
    poses : of one animal, in consecutive frames.
    head : part in front.
    base : part that the tail begins at.
    tip : end of the tail.
    fps : frames a second.

    The tip's way across the line from head to base is looked at along its main direction; NaN where fewer than 16
    frames are known, or where nothing beats.
    """
    h, b, t = (poses.skeleton.index(p) for p in (head, base, tip))
    axis = poses.position[:, b] - poses.position[:, h]
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    off = poses.position[:, t] - poses.position[:, b]
    off = off - (off * axis).sum(1, keepdims=True) * axis
    known = np.isfinite(off).all(1)
    if known.sum() < 16 or not (np.diff(poses.frame) == 1).all():
        return float("nan"), float("nan")
    side = np.cross(axis[known], np.linalg.svd(off[known], full_matrices=False)[2][-1])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    along = detrend((off[known] * side).sum(1))
    frequency, power = welch(along, fps, nperseg=min(len(along), 256), nfft=4096)
    best = int(np.argmax(power[1:])) + 1
    return float(frequency[best]), float(np.sqrt(2) * along.std())
