"""Errors that last: how far a smoothed position is wrong when centroids err for many frames in the same direction.

The smoother takes the errors of successive frames for independent, and averages them away. Those of real centroids last
for several frames, and a camera that is calibrated a little wrong errs for good. How long errors last is seen in how
views of one frame disagree: the correlation of those residuals over k frames is ``share * memory**k + constant``.

A smoother of constant velocity is, along each axis and away from the ends, a filter of response
``w(f) = 1 / (1 + (2 sin(f / 2) / corner)**4)``. Its error is what w lets through of the errors of centroids, and what
1 - w takes away of the motion. Both are known for white errors; for errors of another spectrum S, the former changes by
the mean of w^2 S over that of w^2. The corner follows from how much better a smoothed position is than one frame's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from .leaning import lean_of, mean_lean, moved
from .trajectories import Trajectories

Array = NDArray[np.float64]
Lines = tuple[Array, Array, NDArray[np.bool_]]
_LAGS = 40  # frames over which errors are compared
_FEWEST = 50  # pairs of residuals that a lag needs
_MEMORIES = 1.0 - np.geomspace(0.6, 0.02, 30)  # that are tried
_MOTION = 0.25  # of the variance that white acceleration would leave: animals accelerate more steadily
_STEADY = 0.7  # of the accelerations that tracks show: what the smoother takes away of velocities, on tuning scenes
_LOOSE = 0.7  # gain from which a row is hardly smoothed and shows no motion
_OUTLIER = 25.0  # times the expected square that counts at most
_SUPPOSED = 3
_NONE = 0.01  # share of an offset that is none: white errors show as much
_FREQUENCIES = (np.arange(1000) + 0.5) * np.pi / 1000
_CORNERS = np.geomspace(1e-3, 300.0, 120)


@dataclass(frozen=True)
class Memory:
    """How errors of centroids last: shares of their variance that fade by ``fading`` a frame, and that stay."""

    share: float
    fading: float
    constant: float

    def supposed(self, cameras: int) -> float:
        """Return the share that stays, as it is most likely to be where so many cameras were compared.

        Views of one point disagree in 2 C - 3 ways, so that two cameras with lasting offsets show one number of four,
        which may be small by chance. Where cameras differ for good at all, they are supposed to do so by about as much
        as from frame to frame, with the weight of `_SUPPOSED` such numbers.
        """
        white = 1.0 - self.share - self.constant
        if self.constant < _NONE or white <= 0.0 or self.share > white:
            return self.constant
        seen = 2 * cameras - 3
        return (seen * self.constant + _SUPPOSED * white) / (seen + _SUPPOSED)


def residuals(obs: Observations, paths: Trajectories, lines: Lines) -> tuple[Array, Array, Array]:
    """Residuals (N, C, 2) of each row's best point, in deviations, NaN where none, deviations a world unit
    (N, C, 2, 3), 0 where a view did not see it, and the information (N, 3, 3) of all views.

    lines : `filtering.linearised` of the paths.
    """
    pixel, J, use = lines
    rows = np.where(use, paths.members, 0)
    off = np.stack([obs.u[rows], obs.v[rows]], axis=-1) - pixel
    noise = np.where(use, obs.noise[rows], np.inf)[..., None]
    J, off = J / noise[..., None], np.where(use[..., None], off / noise, 0.0)
    J = np.where(use[..., None, None], J, 0.0)
    information = np.einsum("ncki,nckj->nij", J, J)
    enough = use.sum(1) >= 2
    point = np.zeros((len(rows), 3))
    right = np.einsum("ncki,nck->ni", J, off)
    point[enough] = np.linalg.solve(information[enough] + _floor(information[enough]), right[enough][..., None])[..., 0]
    left = off - np.einsum("ncki,ni->nck", J, point)
    return np.where((use & enough[:, None])[..., None], left, np.nan), J, information


def _floor(information: Array) -> Array:
    """Return a little information (N, 3, 3) in all directions, so that none is infinitely uncertain."""
    trace = np.trace(information, axis1=1, axis2=2)
    return np.asarray(1e-9 * trace[:, None, None] * np.eye(3))


def memory_of(paths: Trajectories, left: Array) -> Memory:
    """Fit the memory to the correlations of residuals (N, C, 2) of the same track and view over 1 to `_LAGS` frames."""
    lags, found = [], []
    for lag in range(1, _LAGS + 1):
        same = (paths.name[lag:] == paths.name[:-lag]) & (paths.frame[lag:] - paths.frame[:-lag] == lag)
        now, then = left[lag:][same], left[:-lag][same]
        both = np.isfinite(now) & np.isfinite(then)
        if both.sum() >= _FEWEST:
            a, b = np.clip(now[both], -4, 4), np.clip(then[both], -4, 4)  # outliers do not decide
            lags.append(lag)
            found.append(np.mean(a * b) / np.sqrt(np.mean(a * a) * np.mean(b * b)))
    best, least = Memory(0.0, 0.0, 0.0), np.inf
    if not lags:
        return best
    k, value = np.array(lags, float), np.array(found)
    for fading in _MEMORIES:
        for both_ in (True, False):
            design = np.column_stack([fading**k, np.full(len(k), float(both_))])
            share, constant = np.linalg.lstsq(design, value, rcond=None)[0]
            share, constant = max(float(share), 0.0), max(float(constant), 0.0) if both_ else 0.0
            total = max(share + constant, 1.0)
            misfit = float(np.sum((design @ [share, constant] - value) ** 2))
            if misfit < least:
                best, least = Memory(share / total, float(fading), constant / total), misfit
    return best


def widened(covariance: Array, information: Array, memory: Memory, offset: float, base: float = 1.0) -> Array:
    """Covariances (N, 3, 3) of smoothed positions when errors last so.

    information (N, 3, 3) : of each row's own detections; offset : share of their variance that stays; base : their
    variance, in the noise that was supposed.
    """
    return _wider(_gains(covariance, information), memory, offset, base)


def _wider(gains: tuple[Array, Array], memory: Memory, offset: float, base: float) -> Array:
    """Do as `widened` with what `_gains` found."""
    gain, turned = gains
    wider = gain * _growth(np.clip(gain, 0.0, 1.0), memory, base) + base * offset
    out: Array = np.einsum("nik,nk,njk->nij", turned, wider, turned)
    return out


def velocity_variance(paths: Trajectories, gains: tuple[Array, Array], memory: Memory, base: float) -> Array:
    """(N,) variances of velocities along an axis, world^2 a frame^2, when errors last so; gains: `_gains` of positions.

    What stays does not move. What fades slowly moves little, but is let through. Most of the error is motion that the
    smoother takes away: how restless that is, the tracks themselves show (`restlessness`).
    """
    gain, turned = gains
    inside = np.linalg.solve(turned, paths.cov[:, 3:, 3:])
    moving = np.einsum("nkk->nk", np.linalg.solve(turned, inside.transpose(0, 2, 1)))
    motion = _STEADY * restlessness(paths, gain, turned, memory, base)
    wider = np.maximum(moving, 0.0) * _growth(np.clip(gain, 0.0, 1.0), memory, base, motion, 1)
    return np.asarray(np.einsum("nik,nk->n", turned**2, wider) / 3)


def restlessness(paths: Trajectories, gain: Array, turned: Array, memory: Memory, base: float) -> float:
    """Density of the accelerations that tracks show, in that which the smoother supposes.

    Second differences of smoothed velocities have the density w^2 s^2 of accelerations and w^2 s^6 of errors, with
    s = 2 sin(f / 2). What is left of them without the errors tells the accelerations, about the smoother's corner.
    """
    row = np.arange(1, len(paths.name) - 1)
    same = (paths.name[row + 1] == paths.name[row - 1]) & (paths.frame[row + 1] - paths.frame[row - 1] == 2)
    row = row[same]
    velocity = paths.state[:, 3:]
    jerk = velocity[row + 1] - 2 * velocity[row] + velocity[row - 1]
    square = np.linalg.solve(turned[row], jerk[..., None])[..., 0] ** 2
    rising, w, spectrum = _responses(memory.fading)
    errors = base * (w * w * rising**6 * (1.0 - memory.share - memory.constant + memory.share * spectrum)).mean(1)
    smoothed = (gain[row] > 0) & (gain[row] < _LOOSE)
    known = w.mean(1)
    motion = np.interp(gain[row][smoothed], known, _CORNERS**4 * (w * w * rising**2).mean(1))
    noise = np.interp(gain[row][smoothed], known, errors)
    expected = motion + noise
    over = np.minimum(square[smoothed], _OUTLIER * expected) - noise
    if len(over) < _FEWEST:
        return 1.0
    return max(float((over * motion / expected**2).sum() / (motion**2 / expected**2).sum()), 0.0)


def _gains(covariance: Array, information: Array) -> tuple[Array, Array]:
    """Variances (N, 3) of positions in units of a single frame's, and the directions (N, 3, 3) of these units."""
    single = np.linalg.cholesky(np.linalg.inv(information + _floor(information)))
    inside = np.linalg.solve(single, covariance)
    inside = np.linalg.solve(single, inside.transpose(0, 2, 1))
    gain, axes = np.linalg.eigh(0.5 * (inside + inside.transpose(0, 2, 1)))
    return gain, single @ axes


def _growth(gain: Array, memory: Memory, base: float = 1.0, motion: float = _MOTION, order: int = 0) -> Array:
    """Return the times by which the variance of a smoothed position, ``gain`` of a single frame's, grows.

    base, motion : variances of errors and of accelerations, in those supposed; order : 1 for that of the velocity.
    """
    rising, w, spectrum = _responses(memory.fading)
    power = rising ** (2 * order)
    known = (power * w).mean(1)
    squared = power * w * w
    through = squared.mean(1) / known  # what comes of errors, not of motion
    white = 1.0 - memory.share - memory.constant
    times = base * through * (white + memory.share * (squared * spectrum).mean(1) / squared.mean(1))
    return np.asarray(np.interp(gain, w.mean(1), times + motion * (1.0 - through)))


def _responses(m: float) -> tuple[Array, Array, Array]:
    """By frequency: that of a difference from frame to frame, of smoothers (one a row), and of errors fading by m."""
    rising = 2.0 * np.sin(_FREQUENCIES / 2.0)
    w = 1.0 / (1.0 + (rising / _CORNERS[:, None]) ** 4)
    return rising, w, (1.0 - m * m) / (1.0 - 2.0 * m * np.cos(_FREQUENCIES) + m * m)


def lasting_errors(obs: Observations, paths: Trajectories, lines: Lines, body_length: float) -> tuple[Array, Array]:
    """Covariances (N, 3, 3) of the positions of tracks, errors lasting as they do in this recording, and standard
    deviations (N,) of their velocities along an axis, world a frame.
    """
    left, J, information = residuals(obs, paths, lines)
    enough = (J != 0).any((2, 3)).sum(1) >= 2
    pace = np.linalg.norm(paths.state[:, 3:], axis=1)
    ahead = body_length * paths.state[:, 3:] / np.maximum(pace, 1e-300)[:, None]
    body, point = moved(J[enough], information[enough] + _floor(information[enough]), ahead[enough])
    lean = lean_of(left[enough], J[enough], body, point, information[enough] + _floor(information[enough]))
    left[enough] -= mean_lean(left[enough], J[enough], body, point, lean)
    memory = memory_of(paths, left)
    cameras = paths.members.shape[1]
    outlined = np.where(paths.members >= 0, np.isfinite(obs.axis[paths.members]), False).any(1)
    along = np.where(outlined, lean.supposed(cameras), lean.along)
    information = _everywhere(paths, information)
    gains = _gains(paths.cov[:, :3, :3], information)
    found = _wider(gains, memory, memory.supposed(cameras), lean.base)
    shift = np.einsum("ni,nj->nij", ahead, ahead) / max(cameras, 1)
    shift[enough] = np.einsum("nci,ncj->nij", point, point)
    velocity = velocity_variance(paths, gains, memory, lean.base)
    return found + along[:, None, None] * shift, np.sqrt(velocity)


def _everywhere(paths: Trajectories, information: Array) -> Array:
    """Information (N, 3, 3) of rows, the mean of the track where fewer than two views saw it."""
    enough = (paths.members >= 0).sum(1) >= 2
    _, track = np.unique(paths.name, return_inverse=True)
    total = np.zeros((track.max(initial=-1) + 1, 3, 3))
    np.add.at(total, track[enough], information[enough])
    count = np.maximum(np.bincount(track[enough], minlength=len(total)), 1)
    return np.where(enough[:, None, None], information, (total / count[:, None, None])[track])
