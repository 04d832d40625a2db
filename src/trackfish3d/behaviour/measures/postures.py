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
    along = sideways(poses, head, base, tip, len(poses))
    along = along[np.isfinite(along)]
    if len(along) < 16 or not (np.diff(poses.frame) == 1).all():
        return float("nan"), float("nan")
    frequency, _, amplitude, _ = beat_fit(along, fps)
    return frequency, amplitude


def sideways(poses: Poses, head: str, base: str, tip: str, length: int) -> Array:
    """Return how far the tail's tip is off the line from head to base (N,), to the side that it mostly beats to.

    Parameters
    ----------
    poses : of one animal.
    head : part in front.
    base : part that the tail begins at.
    tip : end of the tail.
    length : frames over which the side is found; an animal that rolls has another one later.
    """
    h, b, t = (poses.skeleton.index(p) for p in (head, base, tip))
    axis = poses.position[:, b] - poses.position[:, h]
    axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
    off = poses.position[:, t] - poses.position[:, b]
    off = off - (off * axis).sum(1, keepdims=True) * axis
    out = np.full(len(poses), np.nan)
    for begin in range(0, len(poses), max(length, 1)):
        part = np.arange(begin, min(begin + length, len(poses)))
        part = part[np.isfinite(off[part]).all(1)]
        if len(part) < 3:
            continue
        side = np.cross(axis[part], np.linalg.svd(off[part], full_matrices=False)[2][-1])
        out[part] = (off[part] * side / np.linalg.norm(side, axis=1, keepdims=True)).sum(1)
    return out


def beat_fit(along: ArrayLike, fps: float) -> tuple[float, float, float, float]:
    """Fit a sine to a tail's way to the side: frequency (Hz), its sigma, amplitude (world units), its sigma.

    Parameters
    ----------
    along : (N,) world units, a frame each.
    fps : frames a second.

    Sigmas are those of a sine in what is left over (Rife and Boorstyn 1974), whose errors last as long as it shows.
    """
    values = np.asarray(detrend(np.asarray(along, np.float64)), np.float64)
    count, time = len(values), np.arange(len(values)) / fps
    frequency, power = welch(values, fps, nperseg=min(count, 256), nfft=4096)
    best = float(frequency[int(np.argmax(power[1:])) + 1])
    step = fps / count
    for _ in range(12):
        trials = best + step * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        trials = trials[(trials > 0) & (trials < fps / 2)]
        best = float(trials[int(np.argmin([_left_over(values, time, f)[0] for f in trials]))])
        step *= 0.5
    rest, amplitude, error = _left_over(values, time, best)
    lag = float((error[1:] * error[:-1]).sum() / max(float((error**2).sum()), 1e-300))
    lasting = (1 + max(lag, 0.0)) / (1 - min(max(lag, 0.0), 0.9))
    noise = float(np.sqrt(rest / max(count - 4, 1) * lasting))
    spread = np.sqrt(6 / count) * noise / (np.pi * max(amplitude, 1e-300) * count / fps)
    return best, float(spread), amplitude, float(noise * np.sqrt(2 / count))


def _left_over(values: Array, time: Array, frequency: float) -> tuple[float, float, Array]:
    """Sum of squares that a sine of this frequency leaves over, its amplitude, and what is left over (N,)."""
    waves = np.column_stack([np.sin(2 * np.pi * frequency * time), np.cos(2 * np.pi * frequency * time)])
    weight = np.linalg.lstsq(waves, values, rcond=None)[0]
    error = values - waves @ weight
    return float((error**2).sum()), float(np.hypot(weight[0], weight[1])), error


def angle(poses: Poses, one: str, corner: str, other: str) -> tuple[Array, Array]:
    """Return the angle (N,) at a part between two others, radians, and its sigma (N,).

    Parameters
    ----------
    poses : of the animals.
    one : a part.
    corner : the part at which the angle is.
    other : another part.
    """
    a, b, c = (poses.skeleton.index(p) for p in (one, corner, other))
    first, second = poses.position[:, a] - poses.position[:, b], poses.position[:, c] - poses.position[:, b]
    long, wide = (np.linalg.norm(v, axis=1, keepdims=True) for v in (first, second))
    u, v = first / long, second / wide
    cosine = np.clip((u * v).sum(1, keepdims=True), -1, 1)
    sine = np.maximum(np.sqrt(1 - cosine**2), 0.05)  # near 0 and pi the angle has no slope
    by_one, by_other = -(v - cosine * u) / (long * sine), -(u - cosine * v) / (wide * sine)
    variance = np.zeros(len(poses))
    for slope, k in ((by_one, a), (by_other, c), (-by_one - by_other, b)):
        variance += np.einsum("ni,nij,nj->n", slope, poses.covariance[:, k], slope)
    return np.arccos(cosine[:, 0]), np.sqrt(variance)
