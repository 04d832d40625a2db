"""The joint tracker's formulas once more, in plain NumPy and SciPy, slowly: oracles for its kernels."""

import numpy as np
from scipy.special import logsumexp

from trackfish3d.methods.joint.arguments import Predicted

TAIL_SHARE, TAIL_SCALE = 0.1, 4.0


def jacobian(camera, x, h=1e-3):
    """Derivative (2, 3) of a pixel by five points, error of fourth order."""
    columns = []
    for axis in np.eye(3):
        far, near = camera.project(x + np.outer([2, -2], h * axis)), camera.project(x + np.outer([1, -1], h * axis))
        columns.append((8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * h))
    return np.stack(columns, axis=1)


def gaussian(y, S):
    """Log density of N(0, S) at y."""
    return -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2 * np.pi * S)[1])


def absorb(x, P, x0, pixel, J, z, r, share=TAIL_SHARE):
    """Update of a state by a pixel whose noise is a mixture; returns state, covariance, log density."""
    H = np.zeros((2, len(x)))
    H[:, :3] = J
    y = z - (pixel + J @ (x[:3] - x0))
    noises = [r**2, (TAIL_SCALE * r) ** 2]
    parts = [
        np.log(p) + gaussian(y, H @ P @ H.T + q * np.eye(2)) for p, q in zip((1 - share, share), noises, strict=True)
    ]
    density = logsumexp(parts)
    belong = np.exp(np.array(parts) - density)
    R = np.eye(2) / (belong / noises).sum()
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
    keep = np.eye(len(x)) - K @ H
    return x + K @ y, keep @ P @ keep.T + K @ R @ K.T, density


def predict(x, P, dt, q):
    """Constant velocity with white acceleration."""
    F, Q = motion(dt, q)
    return F @ x, F @ P @ F.T + Q


def motion(dt, q):
    """Transition and noise (6, 6) over dt frames."""
    one = np.eye(3)
    F = np.block([[one, dt * one], [0 * one, one]])
    return F, q * np.block([[dt**3 / 3 * one, dt**2 / 2 * one], [dt**2 / 2 * one, dt * one]])


def spd(rng, k, scale=1.0):
    """Random covariance (k, k)."""
    a = rng.standard_normal((k, k))
    return scale * (a @ a.T + 0.3 * np.eye(k))


def predicted(tracks, views, **known):
    """Tracks as kernels take them: what is given, and nothing elsewhere."""
    blank = {
        "state": np.zeros((tracks, 6)),
        "cov": np.zeros((tracks, 6, 6)),
        "pixel": np.zeros((tracks, views, 2)),
        "J": np.zeros((tracks, views, 2, 3)),
        "seen": np.zeros((tracks, views), bool),
        "found": np.zeros((tracks, views)),
        "size": np.full((tracks, views), np.nan),
        "axis": np.full((tracks, views), np.nan),
        "last": np.full((tracks, views), -1),
        "half": np.zeros((tracks, views, 4)),
        "hidden": np.zeros((tracks, views, 4), bool),
    }
    return Predicted(**(blank | known))
