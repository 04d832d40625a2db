"""How well smoothed positions, speeds and turns are known, whatever was smoothed before.

Points that come from a tracker are its posterior means: smoothed once already, so that their errors last. They scatter
about a smooth curve far less than they err, and what a second smoother makes of that scatter is no uncertainty. The
share of their covariance that does not show as scatter is taken for a lasting error and carried along unsmoothed.

What it does to velocity and acceleration follows from how a smoother works. For a motion of white acceleration, density
q, measured with white noise of density r, the posterior error of the position has the spectrum q r / (q + r w^4), and
the acceleration of the posterior mean q^2 / (q + r w^4). Integrated over all w, with P and A the variances of the
position's error and of the acceleration that is left in the track:

    variance of the velocity = sqrt(P A)

That is for tracks of which nothing else is known. A tracker that knows how its errors last tells the velocities' errors
itself (`Tracks.sigma_velocity`): what stays for good is in P, and moves nothing.

Animals do not accelerate at random from frame to frame, so that the truth is somewhat better: `CALM`. The acceleration
itself is known no better than what the smoother took away from it: `UNSEEN` times what is left. Both were chosen on the
tuning scenes of ``benchmarks/bench_sigma.py``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .kinematics import acceleration_along, heading, speed, turning_rad

Array = NDArray[np.float64]

CALM = 0.7  # standard deviation of a velocity, as a share of (P A)^(1/4)
UNSEEN = 0.6  # standard deviation of an acceleration, as a share of sqrt(A)
AROUND = 31  # frames over which A is averaged


@dataclass(frozen=True, eq=False)
class Sigmas:
    """Standard deviations (T, N, 3) of a position along each axis (world), and (T, N) of a speed (world a frame), the
    acceleration along the path (world a frame^2), a heading (rad) and the turning (rad a frame).
    """

    position: Array
    speed: Array
    acceleration: Array
    heading_rad: Array
    turning_rad: Array


def sigmas(
    velocity: Array, acceleration: Array, variance: Array, lasting: Array, sigma_velocity: Array | None = None
) -> Sigmas:
    """Join what the smoother knows with errors that last.

    Parameters
    ----------
    velocity : (T, N, 3) world a frame, NaN where a track is not.
    acceleration : (T, N, 3) world a frame^2.
    variance : (T, N, 7) the smoother's, columns of `smoother_kernels.smooth_track`.
    lasting : (T, N, 3, 3) covariance of the errors of positions that last, world^2.
    sigma_velocity : (T, N) of the velocities that lasting errors make, along an axis, where it is known.
    """
    ahead = heading(velocity)
    total = np.trace(lasting, axis1=2, axis2=3)
    along = np.einsum("tni,tnij,tnj->tn", ahead, lasting, ahead)
    along = np.where(np.isfinite(along), along, total / 3)
    across = np.maximum(0.5 * (total - along), 0.0)
    seen = running_mean(np.einsum("tni,tni->tn", acceleration, acceleration) / 3, AROUND)
    told = np.full(total.shape, np.nan) if sigma_velocity is None else np.where(total > 0, sigma_velocity**2, np.nan)
    on_path = variance[..., 3] + np.where(np.isfinite(told), told, CALM**2 * np.sqrt(along * seen))
    off_path = variance[..., 4] + np.where(np.isfinite(told), told, CALM**2 * np.sqrt(across * seen))
    unseen = np.where(total > 0, UNSEEN**2 * seen, 0.0)
    pace = speed(velocity)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.nan_to_num(turning_rad(velocity, acceleration))
        push = np.nan_to_num(acceleration_along(velocity, acceleration))
        heading_variance = off_path / pace**2
        turn_variance = (variance[..., 6] + unseen + turn**2 * on_path + push**2 * heading_variance) / pace**2
    return Sigmas(
        np.sqrt(variance[..., :3] + np.einsum("tnii->tni", lasting)),
        np.sqrt(on_path),
        np.sqrt(variance[..., 5] + unseen),
        np.sqrt(heading_variance),
        np.sqrt(turn_variance),
    )


def rms(sigma: Array) -> Array:
    """(...) root mean square over the axes of standard deviations (..., 3)."""
    return np.asarray(np.sqrt((sigma**2).mean(-1)))


def lasting_covariance(covariance: Array, scale: float) -> Array:
    """Part of the covariances of points (..., 3, 3) that does not show as scatter; 0 where they are not known.

    ``scale`` is how many of the standard deviations that came with the points show. From 0.7 on the points count as
    independent: a fit of honest white noise comes that near to 1.
    """
    share = max(0.0, 1.0 - 2.0 * scale**2)
    return np.asarray(np.where(np.isfinite(covariance), share * covariance, 0.0))


def running_mean(values: Array, frames: int) -> Array:
    """(T, N) mean over so many frames about each, of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    zero = np.zeros((1, values.shape[1]))
    total = np.concatenate([zero, np.cumsum(np.where(known, values, 0.0), axis=0)])
    count = np.concatenate([zero, np.cumsum(known, axis=0)])
    at = np.arange(len(values))
    low, high = np.maximum(at - frames // 2, 0), np.minimum(at + frames // 2 + 1, len(values))
    number = count[high] - count[low]
    return np.asarray(np.divide(total[high] - total[low], number, out=np.full(number.shape, np.nan), where=number > 0))
