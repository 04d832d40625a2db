"""Constant-velocity Kalman filter of a point in 3D, many tracks at once.

A state is (6,) position and velocity (world units, world units a frame); its covariance (6, 6). Process noise is
white acceleration of spectral density q, which makes prediction over two frames equal to two predictions over one
(Bar-Shalom, Li & Kirubarajan 2001, section 6.2.2), so that frames without detections need no special case.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..core.compiled import KERNEL, helper

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MotionNoise:
    """What the filter believes about animals and cameras.

    ``acceleration`` : standard deviation of the velocity's change within one frame, world units a frame.
    ``measurement`` : standard deviation of a measured position along each axis, world units; it is used where a
    measurement comes without a covariance of its own.
    ``velocity`` : standard deviation of the unknown velocity of a track that was seen once, world units a frame.
    """

    acceleration: float
    measurement: float
    velocity: float


def initial_states(position: Array, noise: MotionNoise, covariance: Array | None = None) -> tuple[Array, Array]:
    """States (N, 6) and covariances (N, 6, 6) of tracks seen once at ``position`` (N, 3).

    ``covariance`` (N, 3, 3) of the positions, if known.
    """
    n = len(position)
    state = np.zeros((n, 6))
    state[:, :3] = position
    P = np.zeros((n, 6, 6))
    P[:, :3, :3] = noise.measurement**2 * np.eye(3) if covariance is None else covariance
    P[:, 3:, 3:] = noise.velocity**2 * np.eye(3)
    return state, P


@njit(**KERNEL)
def predict(state, P, dt, q):  # type: ignore[no-untyped-def]
    """Move states (N, 6) and covariances (N, 6, 6) ahead by ``dt`` frames (N,), in place."""
    for n in range(state.shape[0]):
        t = dt[n]
        for i in range(3):
            state[n, i] += t * state[n, 3 + i]
            for j in range(3):
                pp, pv, vp, vv = P[n, i, j], P[n, i, 3 + j], P[n, 3 + i, j], P[n, 3 + i, 3 + j]
                P[n, i, j] = pp + t * (pv + vp) + t * t * vv
                P[n, i, 3 + j] = pv + t * vv
                P[n, 3 + i, j] = vp + t * vv
            P[n, i, i] += q * t * t * t / 3.0
            P[n, i, 3 + i] += q * t * t / 2.0
            P[n, 3 + i, i] += q * t * t / 2.0
            P[n, 3 + i, 3 + i] += q * t


@helper
def copy_state(state, cov, other, other_cov):  # type: ignore[no-untyped-def]
    """Set another state (6,) and covariance (6, 6) to these.

    NumPy's way of assigning arrays costs two seconds of compiling (see `core.compiled`).
    """
    for k in range(6):
        other[k] = state[k]
        for m in range(6):
            other_cov[k, m] = cov[k, m]


@njit(**KERNEL)
def update(state, P, measured, R):  # type: ignore[no-untyped-def]
    """Correct states (N, 6) and covariances (N, 6, 6) by positions (N, 3) of covariance (N, 3, 3), in place.

    Returns the squared Mahalanobis distance (N,) of each innovation, chi-squared with 3 degrees of freedom.
    """
    distance = np.empty(state.shape[0])
    for n in range(state.shape[0]):
        S = np.linalg.inv(P[n, :3, :3] + R[n])
        innovation = measured[n] - state[n, :3]
        columns = np.ascontiguousarray(P[n, :, :3])
        gain = columns @ S
        distance[n] = innovation @ (S @ innovation)
        state[n] += gain @ innovation
        P[n] -= gain @ columns.T
        for i in range(6):  # rounding must not make the covariance lopsided over thousands of frames
            for j in range(i):
                P[n, i, j] = P[n, j, i] = 0.5 * (P[n, i, j] + P[n, j, i])
    return distance
