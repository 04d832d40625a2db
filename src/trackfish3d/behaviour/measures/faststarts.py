"""Fast starts: an animal that cruises bursts away within a few frames, as at a threat.

Found on the points as they came, because every smoother spreads a start backwards: the velocity over a few frames after
a moment is compared with that before it. A start is fast when the speed after is far above the school's, when the
change is beyond what the points' errors would make, and when more than one step carries it (an exchange of two
identities is one leap). Its onset is the knot of the best of two curves, straight before it and bent or parabolic
after, or earlier if the animal leaves its course before that.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kinematics import present, speed

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_SIGMAS = 6.0  # of a change of velocity; three axes, and every frame of every animal is a trial
LEAP = 0.75  # share of a way that one step may have
GAIN = 1.5  # by which an animal gets faster than it was itself
DEPARTURE = 4.0  # standard deviations of a second difference; the length of three axes exceeds it once in 900
TURN_FRAMES = 5
BEFORE, AFTER = 10, 20  # frames of a start's profile


@dataclass(frozen=True, eq=False)
class Starts:
    """E fast starts, by track and time; frames and rows are of the positions given, lengths in world, times in frames.

    ``column``, ``onset``, ``peak`` (E,) track and rows of the last point before the start and of the highest speed;
    (E,) each with its standard deviation: ``peak_speed``, ``peak_acceleration``, ``turn_first_rad`` from the heading
    before to that after `TURN_FRAMES` frames, ``turn_rad`` to that over as many frames more; ``sigma_onset`` frames;
    ``profile`` (E, BEFORE + AFTER + 1) speeds about the onset.
    """

    column: Ints
    onset: Ints
    peak: Ints
    sigma_onset: Array
    peak_speed: Array
    sigma_peak_speed: Array
    peak_acceleration: Array
    sigma_peak_acceleration: Array
    turn_first_rad: Array
    sigma_turn_first_rad: Array
    turn_rad: Array
    sigma_turn_rad: Array
    profile: Array

    def __len__(self) -> int:
        return len(self.onset)


@dataclass(frozen=True, eq=False)
class PointErrors:
    """(T, N) standard deviations along an axis: ``white`` of a point, independent from frame to frame, world;
    ``velocity`` of a velocity, world a frame, and ``acceleration``, world a frame^2, from errors that last.
    """

    white: Array
    velocity: Array
    acceleration: Array


def fast_starts(position: Array, errors: PointErrors, fast: float, fps: float) -> Starts:
    """Find fast starts.

    Parameters
    ----------
    position : (T, N, 3) points as they came, world; NaN where a track was not seen.
    errors : of the points.
    fast : speed that no animal cruises at, world a frame.
    fps : frames a second: the change of velocity is looked for over 15 ms, or 3 frames where that is more.
    """
    k = max(3, round(0.015 * fps))
    span = max(TURN_FRAMES, round(0.1 * fps))
    rows: list[dict[str, Any]] = []
    for n in range(position.shape[1]):
        x, last = position[:, n], -span
        for at in _candidates(x, errors.white[:, n], errors.velocity[:, n], fast, k):
            onset, doubt = _onset(x, at, k, errors.white[at, n])
            if onset - last < span:
                continue
            last = onset
            rows.append({"column": n, "onset": onset, "sigma_onset": doubt} | _measured(x, onset, span, errors, n))
    kinds: dict[str, Any] = {"column": np.int64, "onset": np.int64, "peak": np.int64}
    columns: dict[str, Any] = {
        f.name: np.array([r[f.name] for r in rows], kinds.get(f.name, np.float64)) for f in fields(Starts)
    }
    columns["profile"] = columns["profile"].reshape(len(rows), BEFORE + AFTER + 1)
    return Starts(**columns)


def _candidates(x: Array, white: Array, velocity: Array, fast: float, k: int) -> list[int]:
    """Rows at which the change of velocity is greatest in each stretch where a start may be."""
    T = len(x)
    if 2 * k + 1 > T:
        return []
    chord = (x[k:] - x[:-k]) / k
    before, after = chord[: T - 2 * k], chord[k:]
    step = speed(np.diff(x, axis=0))
    known = np.isfinite(step)
    windows = np.lib.stride_tricks.sliding_window_view(np.where(known, step, 0.0), k)[k:]
    whole = np.lib.stride_tricks.sliding_window_view(known, k)[k:].all(1)
    inner = slice(k, T - k)
    jump = speed(after - before)
    noise = np.sqrt(6 * (white[inner] / k) ** 2 + 2 * velocity[inner] ** 2)
    with np.errstate(invalid="ignore"):
        found = (speed(after) >= fast) & (speed(after) >= GAIN * speed(before)) & (jump >= LEAST_SIGMAS * noise)
        found &= whole & (windows.max(1) <= LEAP * windows.sum(1))
    at = np.flatnonzero(found)
    if not len(at):
        return []
    parts = np.split(at, np.flatnonzero(np.diff(at) > k) + 1)
    return [int(p[np.argmax(jump[p])]) + k for p in parts]


def _onset(x: Array, at: int, k: int, white: float) -> tuple[int, float]:
    """Row of the last point before the start, and its standard deviation, frames."""
    low, high = max(at - max(8, 2 * k), 0), min(at + k + 2, len(x))
    rows = low + np.flatnonzero(present(x[low:high]))
    knots = np.arange(max(at - k, low + 2), min(at + k, high - 2) + 1)
    cost = np.array([min(_misfit(x[rows], rows - at, knot - at, power) for power in (1, 2)) for knot in knots.tolist()])
    variance = max(white**2, float(cost.min()) / max(3 * len(rows) - 10, 1), 1e-300)
    onset, hidden = _first_departure(x, int(knots[np.argmin(cost)]), int(knots[0]), white)
    weight = np.exp(-0.5 * (cost - cost.min()) / variance)
    spread = float((weight * (knots - onset) ** 2).sum() / weight.sum())
    return onset, float(np.sqrt(spread + hidden**2 + 1 / 12))  # frames are whole: evenly within one


def _misfit(x: Array, t: Ints, knot: int, power: int) -> float:
    """Sum of squares that a line, bent (power 1) or curved (2) from the knot on, leaves of points (R, 3) at t (R,)."""
    after = np.maximum(t - knot, 0).astype(np.float64) ** power
    basis = np.column_stack([np.ones(len(t)), t, after])
    left = x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
    return float((left**2).sum())


def _first_departure(x: Array, knot: int, first: int, white: float) -> tuple[int, float]:
    """Move a knot back, to ``first`` at most, while the step after the row before it already leaves the cruise.

    A start that builds up over two or three frames bends more later, which draws the best knot there. Also returns how
    much of a frame of build-up may be hidden by noise: the least departure that can be seen, as a share of the largest.
    """
    push = np.diff(x[max(first - BEFORE, 0) : first + 1], 2, axis=0)
    usual = np.sqrt(np.nanmean(push**2)) if np.isfinite(push).any() else 0.0
    least = DEPARTURE * max(float(usual), np.sqrt(6) * white)
    while knot > first and knot >= 2 and speed(x[knot] - 2 * x[knot - 1] + x[knot - 2]) > least:
        knot -= 1
    largest = np.nanmax(speed(np.diff(x[max(knot - 1, 0) : knot + 5], 2, axis=0)), initial=0.0)
    return knot, min(1.0, float(least / largest)) if largest > 0 else 1.0


def _measured(x: Array, onset: int, span: int, errors: PointErrors, n: int) -> dict[str, Any]:
    """Peak speed and acceleration, turns and profile of one start, from differences of the points themselves."""
    padded = np.full((BEFORE + span + AFTER + 3, 3), np.nan)  # row BEFORE + 1 is the onset
    low, high = max(onset - BEFORE - 1, 0), min(onset + span + AFTER + 2, len(x))
    padded[low - onset + BEFORE + 1 : high - onset + BEFORE + 1] = x[low:high]
    pace = speed((padded[2:] - padded[:-2]) / 2)
    push = speed(padded[2:] - 2 * padded[1:-1] + padded[:-2])
    rush = np.nan_to_num(pace[BEFORE : BEFORE + span + 1])
    peak = int(np.argmax(rush))
    white, drift, shove = errors.white[onset, n], errors.velocity[onset, n], errors.acceleration[onset, n]
    here, m = padded[BEFORE + 1 :], TURN_FRAMES
    past = here[0] - padded[BEFORE + 1 - m]
    first, later = here[m + 1] - here[m - 1], here[2 * m] - here[m]
    out: dict[str, Any] = {"peak": onset + peak, "profile": pace[: BEFORE + AFTER + 1]}
    out |= {"peak_speed": rush[peak], "sigma_peak_speed": np.hypot(white / np.sqrt(2), drift)}
    out["peak_acceleration"] = float(np.nan_to_num(push[BEFORE : BEFORE + peak + 1]).max())
    out["sigma_peak_acceleration"] = np.hypot(np.sqrt(6) * white, shove)
    for name, end, frames in (("turn_first_rad", first, 2), ("turn_rad", later, m)):
        out[name] = float(np.arctan2(speed(np.cross(past, end)), past @ end))
        with np.errstate(divide="ignore", invalid="ignore"):
            each = [np.hypot(np.sqrt(2) * white, f * drift) / speed(d) for f, d in ((m, past), (frames, end))]
        out["sigma_" + name] = float(np.hypot(*each))
    return out
