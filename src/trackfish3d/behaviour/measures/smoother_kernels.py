"""Kalman filter and smoother of a swimming point, in Numba, one track at a time.

The state is position, velocity and acceleration, (9,) as three blocks of three axes; its acceleration is a random walk
(white jerk), the smoothest model whose speed and acceleration are both defined. The backward pass is the modified
Bryson-Frazier smoother (Bierman 1973), which inverts nothing larger than a measurement.
"""

import numpy as np
from numba import njit

# An innovation this many times its own scatter (squared, 3 axes) is a wrong detection: its point is trusted less.
GROSS = 25.0


@njit(cache=True, error_model="numpy", nogil=True)
def _spread(P, t):  # type: ignore[no-untyped-def]
    """F P F' in place, F moving a state ahead by t frames."""
    h = 0.5 * t * t
    for i in range(3):
        for j in range(9):
            P[i, j] += t * P[3 + i, j] + h * P[6 + i, j]
            P[3 + i, j] += t * P[6 + i, j]
    for j in range(9):
        for i in range(3):
            P[j, i] += t * P[j, 3 + i] + h * P[j, 6 + i]
            P[j, 3 + i] += t * P[j, 6 + i]


@njit(cache=True, error_model="numpy", nogil=True)
def _gather(L, t):  # type: ignore[no-untyped-def]
    """F' L F in place, the way back of `_spread`."""
    h = 0.5 * t * t
    for i in range(3):
        for j in range(9):
            L[6 + i, j] += t * L[3 + i, j] + h * L[i, j]
            L[3 + i, j] += t * L[i, j]
    for j in range(9):
        for i in range(3):
            L[j, 6 + i] += t * L[j, 3 + i] + h * L[j, i]
            L[j, 3 + i] += t * L[j, i]


@njit(cache=True, error_model="numpy", nogil=True)
def _invert(S, out):  # type: ignore[no-untyped-def]
    """Inverse of a symmetric (3, 3) into ``out``; returns the determinant."""
    a, b, c, d, e, f = S[0, 0], S[0, 1], S[0, 2], S[1, 1], S[1, 2], S[2, 2]
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    det = a * A + b * B + c * C
    out[0, 0], out[0, 1], out[0, 2] = A / det, B / det, C / det
    out[1, 0], out[1, 1], out[1, 2] = B / det, (a * f - c * c) / det, (b * c - a * e) / det
    out[2, 0], out[2, 1], out[2, 2] = C / det, out[1, 2], (a * d - b * b) / det
    return det


@njit(cache=True, error_model="numpy", nogil=True)
def filter_track(z, R, use, q, prior, x, P, gain, inverse, innovation):  # type: ignore[no-untyped-def]
    """Filter positions z (T, 3) of covariance R (T, 3, 3) where ``use`` (T,); all arrays after ``prior`` are filled.

    ``use[0]`` must hold. ``prior`` (2,) variances of the first velocity and acceleration. x (T, 9), P (T, 9, 9) are
    the filtered states, gain (T, 9, 3), inverse (T, 3, 3), innovation (T, 3) what the smoother needs. Returns the sum
    of the innovations' log determinants, and their squared lengths (T,), NaN where nothing was measured.
    """
    T = z.shape[0]
    distance = np.empty(T)
    distance[0] = np.nan
    S = np.empty((3, 3))
    for a in range(9):
        x[0, a] = 0.0
        for b in range(9):
            P[0, a, b] = 0.0
    for i in range(3):
        x[0, i] = z[0, i]
        for j in range(3):
            P[0, i, j] = R[0, i, j]
        P[0, 3 + i, 3 + i] = prior[0]
        P[0, 6 + i, 6 + i] = prior[1]
    volume = 0.0
    for k in range(1, T):
        for i in range(3):
            x[k, i] = x[k - 1, i] + x[k - 1, 3 + i] + 0.5 * x[k - 1, 6 + i]
            x[k, 3 + i] = x[k - 1, 3 + i] + x[k - 1, 6 + i]
            x[k, 6 + i] = x[k - 1, 6 + i]
        Pk = P[k]
        before = P[k - 1]
        for a in range(9):
            for b in range(9):
                Pk[a, b] = before[a, b]
        _spread(Pk, 1.0)
        for i in range(3):
            Pk[i, i] += q / 20.0
            Pk[i, 3 + i] += q / 8.0
            Pk[3 + i, i] += q / 8.0
            Pk[i, 6 + i] += q / 6.0
            Pk[6 + i, i] += q / 6.0
            Pk[3 + i, 3 + i] += q / 3.0
            Pk[3 + i, 6 + i] += q / 2.0
            Pk[6 + i, 3 + i] += q / 2.0
            Pk[6 + i, 6 + i] += q
        distance[k] = np.nan
        if not use[k]:
            continue
        y = innovation[k]
        for i in range(3):
            y[i] = z[k, i] - x[k, i]
            for j in range(3):
                S[i, j] = Pk[i, j] + R[k, i, j]
        si = inverse[k]
        det = _invert(S, si)
        d = 0.0
        for i in range(3):
            for j in range(3):
                d += y[i] * si[i, j] * y[j]
        distance[k] = d
        if d > GROSS:
            for i in range(3):
                for j in range(3):
                    S[i, j] = Pk[i, j] + R[k, i, j] * (d / GROSS)
            det = _invert(S, si)
        volume += np.log(det)
        K = gain[k]
        for a in range(9):
            for j in range(3):
                K[a, j] = Pk[a, 0] * si[0, j] + Pk[a, 1] * si[1, j] + Pk[a, 2] * si[2, j]
            x[k, a] += K[a, 0] * y[0] + K[a, 1] * y[1] + K[a, 2] * y[2]
        for a in range(9):
            for b in range(a, 9):
                v = Pk[a, b]
                for i in range(3):
                    for j in range(3):
                        v -= K[a, i] * S[i, j] * K[b, j]
                Pk[a, b] = v
        for a in range(9):
            for b in range(a):
                Pk[a, b] = Pk[b, a]
    return volume, distance


@njit(cache=True, error_model="numpy", nogil=True)
def smooth_track(x, P, gain, inverse, innovation, use, position, velocity, acceleration, variance):  # type: ignore[no-untyped-def]
    """Backward pass over what `filter_track` left; fills (T, 3) each and ``variance`` (T, 7), see `_scatter`."""
    T = x.shape[0]
    L = np.zeros((9, 9))
    pull = np.zeros(9)
    PL = np.empty((9, 9))
    LK = np.empty((9, 3))
    cov = np.empty((3, 3, 3))
    step = np.empty(3)
    for k in range(T - 1, -1, -1):
        Pk = P[k]
        for i in range(3):
            p, v, a = x[k, i], x[k, 3 + i], x[k, 6 + i]
            for b in range(9):
                p -= Pk[i, b] * pull[b]
                v -= Pk[3 + i, b] * pull[b]
                a -= Pk[6 + i, b] * pull[b]
            position[k, i], velocity[k, i], acceleration[k, i] = p, v, a
        for a in range(9):
            for b in range(9):
                v = 0.0
                for c in range(9):
                    v += Pk[a, c] * L[c, b]
                PL[a, b] = v
        for block in range(3):
            for i in range(3):
                for j in range(3):
                    a, b = 3 * block + i, 3 * block + j
                    v = Pk[a, b]
                    for c in range(9):
                        v -= PL[a, c] * Pk[c, b]
                    cov[block, i, j] = v
        _scatter(cov, velocity[k], variance[k])
        if use[k] and k > 0:
            K, si, y = gain[k], inverse[k], innovation[k]
            for a in range(9):
                for j in range(3):
                    v = 0.0
                    for b in range(9):
                        v += L[a, b] * K[b, j]
                    LK[a, j] = v
            for j in range(3):
                v = 0.0
                for b in range(9):
                    v += K[b, j] * pull[b]
                for i in range(3):
                    v += si[j, i] * y[i]
                step[j] = v
            for j in range(3):
                pull[j] -= step[j]
            for i in range(3):
                for j in range(3):
                    v = si[i, j]
                    for b in range(9):
                        v += K[b, i] * LK[b, j]
                    L[i, j] += v
            for a in range(9):
                for j in range(3):
                    L[a, j] -= LK[a, j]
                    L[j, a] -= LK[a, j]
        for i in range(3):
            pull[6 + i] += pull[3 + i] + 0.5 * pull[i]
            pull[3 + i] += pull[i]
        _gather(L, 1.0)
        for a in range(9):  # the update takes L for symmetric: a lopsided rounding error would grow without end
            for b in range(a):
                L[a, b] = L[b, a] = 0.5 * (L[a, b] + L[b, a])


@njit(cache=True, error_model="numpy", nogil=True)
def _scatter(cov, v, out):  # type: ignore[no-untyped-def]
    """Fill out (7,) from cov (3, 3, 3), the covariances of position, velocity and acceleration.

    Variances of the position along each axis, of the velocity along and across the heading, of the acceleration along
    and across the heading. An animal that stands still has no heading: its axes count alike.
    """
    for i in range(3):
        out[i] = max(cov[0, i, i], 0.0)
    speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    for block in range(1, 3):
        total = cov[block, 0, 0] + cov[block, 1, 1] + cov[block, 2, 2]
        along = total / 3.0
        if speed2 >= 1e-30:
            along = 0.0
            for i in range(3):
                for j in range(3):
                    along += v[i] * cov[block, i, j] * v[j]
            along /= speed2
        out[2 * block + 1] = max(along, 0.0)
        out[2 * block + 2] = max(0.5 * (total - along), 0.0)
