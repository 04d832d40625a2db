"""Fast starts: an animal that cruises bursts away within a few frames, as at a threat.

Found on the points as they came, because every smoother spreads a start backwards: the velocity over a few frames after
a moment is compared with that before it. A start is fast when the speed after is far above the school's, when the
change is beyond what the points' errors would make, and when more than one step carries it (an exchange of two
identities is one leap). Its onset is the moment at which accelerations most likely became those of a start.
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
PAST = 40  # frames before a start that show how an animal cruises
LEAST_PUSH = 0.12  # of the accelerations of a start: less is cruising
EARLIER = 1.5  # log-odds of each frame by which a start began earlier than it shows
HIDDEN = 0.5  # frames of a build-up that may be too slow to be seen
CHI3_MEDIAN = 2.366  # of chi-squared of three degrees
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
    """Row of the last point before the start, and its standard deviation, frames.

    Second differences of a cruise are small accelerations and errors, those after the onset large accelerations; the
    onset is where changing from the one to the other is likeliest. A start may build up: its first accelerations are
    less than its largest, so that only their variance is supposed, not their course.
    """
    low, high = _known_about(x, at, max(at - PAST, 0), min(at + k + 2, len(x)))
    push = np.diff(x[low:high], 2, axis=0)
    row = np.arange(low + 1, high - 1)  # that each second difference is about
    reach = max(8, 2 * k)
    if len(row) < 6:
        return at, float(k)
    square = (push**2).sum(1) / 3
    calm = square[row < max(at - reach, row[0] + 4)]
    usual = max(float(np.median(calm)) * 3 / CHI3_MEDIAN, 1e-300)
    noise = min(white**2, usual / 6)
    fast = max(float(square[row >= at - 2].mean()), 4 * usual)
    slow = max(usual - 6 * noise, usual / 4, LEAST_PUSH**2 * fast)
    knots = np.arange(max(at - reach - 2, row[0]), min(at + 1, row[-1]) + 1)
    near = row >= knots[0] - 6
    push, row, n = push[near], row[near], int(near.sum())
    shared = 6 * np.eye(n) - 4 * (np.eye(n, k=1) + np.eye(n, k=-1)) + np.eye(n, k=2) + np.eye(n, k=-2)
    value = np.empty(len(knots))
    for i, knot in enumerate(knots):
        root = np.linalg.cholesky(np.diag(np.where(row >= knot, fast, slow)) + noise * shared)
        value[i] = -0.5 * (np.linalg.solve(root, push) ** 2).sum() - 3 * np.log(np.diag(root)).sum()
    value += EARLIER * (at - knots)
    onset = int(knots[np.argmax(value)])
    weight = np.exp(value - value.max())
    spread = float((weight * (knots - onset) ** 2).sum() / weight.sum())
    return onset, float(np.sqrt(spread + HIDDEN**2))


def _known_about(x: Array, at: int, low: int, high: int) -> tuple[int, int]:
    """First and last row but one of the stretch of known points about a row, within these."""
    gaps = low + np.flatnonzero(~present(x[low:high]))
    before, after = gaps[gaps < at], gaps[gaps >= at]
    return int(before[-1]) + 1 if len(before) else low, int(after[0]) if len(after) else high


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
