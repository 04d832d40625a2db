"""Smooth positions, velocities and accelerations of tracks, each point trusted as far as its covariance says.

Differences of raw positions are mostly noise: at a step of a tenth of a unit a frame and as much error, the speed of a
resting fish looks like that of a swimming one. A Kalman smoother weighs every point by its own covariance, tells how
well speed and heading are known, and fills what was not seen with a growing uncertainty instead of a straight line.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from .kinematics import present
from .smoother_kernels import filter_track, smooth_track
from .uncertainty import Sigmas, lasting_covariance, sigmas

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SAMPLE = 6000  # points that the noise is fitted on
PIECE = 240  # frames of one piece of that sample
TRIM = 0.02  # share of innovations left out of the fit: wrong detections


@dataclass(frozen=True)
class SwimNoise:
    """What the smoother believes.

    ``jerk`` : root of the spectral density of the jerk, world / frame^2.5; the larger, the less is smoothed.
    ``measurement`` : standard deviation of a position along each axis where its covariance is not known, world.
    ``scale`` : share of the standard deviations that came with the points that shows as scatter about a smooth curve;
    1 if they were honest and independent, far less if the points were smoothed before and their errors last.
    ``spread`` : root mean square distance along an axis between points and curve, world: a position whose covariance
    is not known is never claimed to be known better.
    """

    jerk: float
    measurement: float
    scale: float
    spread: float = 0.0


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Smoothed tracks, T frames of N tracks, NaN where a track is not.

    ``position`` (T, N, 3) world; ``velocity`` (T, N, 3) world a frame; ``acceleration`` (T, N, 3) world a frame^2;
    ``sigma`` how well each is known.
    """

    position: Array
    velocity: Array
    acceleration: Array
    sigma: Sigmas


def smooth(
    position: ArrayLike,
    covariance: ArrayLike | None = None,
    observed: ArrayLike | None = None,
    noise: SwimNoise | None = None,
    max_gap: int = 30,
    threads: int | None = None,
    sigma_velocity: ArrayLike | None = None,
) -> Smoothed:
    """Smooth N tracks over T successive frames.

    Parameters
    ----------
    position : (T, N, 3) world, NaN where a track is not.
    covariance : (T, N, 3, 3) world^2, NaN where unknown.
    observed : (T, N) False where a point was interpolated: such points are no evidence, and are made anew.
    noise : of motion and measurement; without it, fitted to these positions.
    max_gap : frames without a point after which a track starts afresh, as if it were another.
    threads : tracks smoothed at once; Numba's number of threads if not said.
    sigma_velocity : (T, N) standard deviation along an axis of the velocity that comes of errors that last, as who made
        the tracks knows it, world a frame; NaN where unknown: then judged by how the tracks bend.
    """
    z, given, alive, use = _prepared(position, covariance, observed)
    if noise is None:
        noise = fit_noise(position, covariance, observed)
    moving, variance = _moments(z, _scaled(given, noise), alive, use, noise.jerk, max_gap, threads)
    unknown = ~np.isfinite(given[..., 0, 0])
    known = np.where(unknown, noise.spread**2, 0.0)[..., None]
    variance[..., :3] = np.maximum(variance[..., :3], known)
    lasting = lasting_covariance(given, noise.scale)
    known_velocity = (
        None if sigma_velocity is None else np.asarray(sigma_velocity, dtype=np.float64).reshape(z.shape[:2])
    )
    return Smoothed(*moving, sigmas(moving[1], moving[2], variance, lasting, known_velocity))


def _moments(
    z: Array, R: Array, alive: Bools, use: Bools, jerk: float, max_gap: int, threads: int | None
) -> tuple[tuple[Array, Array, Array], Array]:
    """Position, velocity and acceleration (T, N, 3) of all tracks, and their variances (T, N, 7)."""
    T, N = alive.shape
    out = tuple(np.full((T, N, 3), np.nan) for _ in range(3))
    variance = np.full((T, N, 7), np.nan)
    prior = _prior(z, use)

    def one(n: int) -> None:
        for first, last in _stretches(alive[:, n], max_gap):
            rows = slice(first, last + 1)
            parts = [np.empty((last + 1 - first, width)) for width in (3, 3, 3, 7)]
            measured = use[rows, n].copy()
            measured[0] = True  # something must begin, be it interpolated
            state = _filter(z[rows, n], R[rows, n], measured, jerk**2, prior)
            smooth_track(*state[:5], measured, *parts)
            there = alive[rows, n]
            for whole, part in zip((*out, variance), parts, strict=True):
                whole[rows, n][there] = part[there]

    with ThreadPoolExecutor(threads or numba.config.NUMBA_NUM_THREADS) as pool:
        list(pool.map(one, range(N)))
    return (out[0], out[1], out[2]), variance


def fit_noise(position: ArrayLike, covariance: ArrayLike | None = None, observed: ArrayLike | None = None) -> SwimNoise:
    """Fit jerk and measurement noise to tracks (T, N, 3) by the likelihood of the filter's innovations.

    Only their ratio needs a search: the common scale follows from how far the innovations scatter. A sample of the
    tracks is enough. Tracks too short to tell give the noise of a fish that swims straight on.
    """
    z, R, _, use = _prepared(position, covariance, observed)
    known = np.isfinite(R[use][:, 0, 0])
    base = 1.0
    if known.any():
        base = float(np.sqrt(np.median(np.trace(R[use][known], axis1=1, axis2=2) / 3)))
    step = _typical_step(z, use)
    if not known.any():
        base = step if step > 0 else 1.0
    R = _scaled(R, SwimNoise(0.0, base, 1.0))
    pieces = _pieces(use)
    if not pieces:
        return SwimNoise(0.1 * base, base, 1.0)
    prior = _prior(z, use)

    def cost(log_ratio: float) -> tuple[float, float]:
        volume, distances = 0.0, []
        for rows, n in pieces:
            *_, part, squared = _filter(z[rows, n], R[rows, n], use[rows, n], base**2 * np.exp(2 * log_ratio), prior)
            volume += part
            distances.append(squared[3:])  # the first points only find the velocity
        d = np.concatenate(distances)
        d = np.sort(d[np.isfinite(d)])
        d = d[: max(1, round((1 - TRIM) * len(d)))]
        scale2 = max(float(d.mean()) / 3, 1e-12)
        total = sum(int(use[rows, n].sum()) for rows, n in pieces)
        return volume / total + 3 * np.log(scale2), scale2

    grid = np.arange(-9.0, 2.1, 1.0)
    costs = [cost(g)[0] for g in grid]
    best = grid[int(np.argmin(costs))]
    found = minimize_scalar(
        lambda g: cost(g)[0], bounds=(best - 1, best + 1), method="bounded", options={"xatol": 0.05}
    )
    scale = float(np.sqrt(cost(float(found.x))[1]))
    noise = SwimNoise(base * scale * float(np.exp(found.x)), base * scale, scale if known.any() else 1.0)
    return replace(noise, spread=_spread_of(z, R, use, pieces, prior, noise, base))


def _spread_of(
    z: Array, R: Array, use: Bools, pieces: list[tuple[slice, int]], prior: Array, noise: SwimNoise, base: float
) -> float:
    """Root mean square distance along an axis between points and the smoothed curve."""
    squares = []
    for rows, n in pieces:
        curve, *rest = (np.empty((rows.stop - rows.start, width)) for width in (3, 3, 3, 7))
        scaled = R[rows, n] * (noise.measurement / base) ** 2
        state = _filter(z[rows, n], scaled, use[rows, n], noise.jerk**2, prior)
        smooth_track(*state[:5], use[rows, n], curve, *rest)
        squares.append((z[rows, n] - curve)[use[rows, n]] ** 2)
    return float(np.sqrt(np.concatenate(squares).mean()))


def _prepared(
    position: ArrayLike, covariance: ArrayLike | None, observed: ArrayLike | None
) -> tuple[Array, Array, Bools, Bools]:
    """Positions, covariances (NaN unknown), where a track is, and where it was measured."""
    z = np.asarray(position, dtype=np.float64)
    if z.ndim != 3 or z.shape[2] != 3:
        raise ValueError(f"positions must be (frames, tracks, 3), not {z.shape}")
    T, N = z.shape[:2]
    alive = present(z)
    use = alive if observed is None else alive & np.asarray(observed, dtype=np.bool_).reshape(T, N)
    use = np.where(use.any(0), use, alive)
    R: Array = np.full((T, N, 3, 3), np.nan)
    if covariance is not None:
        R[:] = np.asarray(covariance, dtype=np.float64).reshape(T, N, 3, 3)
        with np.errstate(invalid="ignore", over="ignore"):
            minor = R[..., 0, 0] * R[..., 1, 1] - R[..., 0, 1] ** 2
            good = present(R.reshape(T, N, 9)) & (R[..., 0, 0] > 0) & (minor > 0) & (np.linalg.det(R) > 0)
        R[~good] = np.nan
    return z, R, alive, use


def _scaled(R: Array, noise: SwimNoise) -> Array:
    known = np.isfinite(R[..., 0, 0])
    floor = (1e-9 * noise.measurement) ** 2 * np.eye(3)
    return np.where(known[..., None, None], R * noise.scale**2 + floor, noise.measurement**2 * np.eye(3))


def point_sigma(covariance: Array, noise: SwimNoise) -> Array:
    """(...) standard deviation along an axis of what scatters from point to point, of covariances (..., 3, 3)."""
    return np.asarray(np.sqrt(np.trace(_scaled(covariance, noise), axis1=-2, axis2=-1) / 3))


def _typical_step(z: Array, use: Bools) -> float:
    both = use[1:] & use[:-1]
    step = np.linalg.norm(np.diff(z, axis=0)[both], axis=-1)
    return float(np.median(step)) if len(step) else 0.0


def _prior(z: Array, use: Bools) -> Array:
    """Variances of a velocity and an acceleration of which nothing is known yet: far above those seen."""
    step = max(_typical_step(z, use), 1e-12)
    return np.array([(10 * step) ** 2, (3 * step) ** 2])


def _stretches(alive: Bools, max_gap: int) -> list[tuple[int, int]]:
    """First and last frame of stretches without a gap longer than ``max_gap``."""
    at = np.flatnonzero(alive)
    if not len(at):
        return []
    cuts = np.flatnonzero(np.diff(at) > max_gap + 1)
    first, last = at[np.append(0, cuts + 1)], at[np.append(cuts, len(at) - 1)]
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _pieces(use: Bools) -> list[tuple[slice, int]]:
    """Up to `SAMPLE` points in pieces of up to `PIECE` frames, evenly over time and tracks."""
    T, N = use.shape
    found = []
    for n in range(N):
        for first in range(0, T, PIECE):
            at = np.flatnonzero(use[first : first + PIECE, n])
            if len(at) >= 12:
                found.append((slice(first + int(at[0]), first + int(at[-1]) + 1), n))
    most = max(1, SAMPLE // PIECE)
    if len(found) > most:
        found = [found[i] for i in np.linspace(0, len(found) - 1, most).round().astype(int)]
    return found


def _filter(
    z: Array, R: Array, use: Bools, q: float, prior: Array
) -> tuple[Array, Array, Array, Array, Array, float, Array]:
    T = len(z)
    x, P, gain = np.empty((T, 9)), np.empty((T, 9, 9)), np.empty((T, 9, 3))
    inverse, innovation = np.empty((T, 3, 3)), np.empty((T, 3))
    volume, distance = filter_track(
        np.ascontiguousarray(z),
        np.ascontiguousarray(R),
        np.ascontiguousarray(use),
        q,
        prior,
        x,
        P,
        gain,
        inverse,
        innovation,
    )
    return x, P, gain, inverse, innovation, volume, distance
