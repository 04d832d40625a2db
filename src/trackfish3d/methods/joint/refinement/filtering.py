"""Tracks whose detections are known, from the past, from the future, and from both.

A track is filtered forwards and backwards in time. Their states at one moment rest on different detections, so that

    log N(forward state moved to the next frame - backward state there; sum of their covariances)

is, up to what all continuations share, the log-likelihood that this past has that future (two-filter smoother; Fraser &
Potter 1969). The same number tells whether two tracks were swapped, and which fragment continues which.
"""

import math

import numpy as np
from numba import njit

from ....core.compiled import KERNEL, helper
from ....maths.kalman import copy_state, predict
from ..kernels import FLIGHT_SCALE, FLIGHT_SHARE, absorb_quickly, look_one

_LOG_2PI = math.log(2.0 * math.pi)


@njit(**KERNEL)
def linearised(packed, members, around, h):  # type: ignore[no-untyped-def]
    """Pixels (N, C, 2), Jacobians (N, C, 2, 3) and use (N, C) of the views that members (N, C) hold.

    around (N, 6) : states about which cameras are linear; h : step of derivatives, world units.
    """
    n, views = members.shape
    pixel, J, use = np.zeros((n, views, 2)), np.zeros((n, views, 2, 3)), np.zeros((n, views), np.bool_)
    for i in range(n):
        for c in range(views):
            if members[i, c] >= 0:
                use[i, c] = look_one(packed[c], around[i, :3], h, pixel[i, c], J[i, c])
    return pixel, J, use


@helper
def begin_state(x, p0, v0, state, cov):  # type: ignore[no-untyped-def]
    """Set state (6,) and covariance (6, 6) of a track at x (3,) of which nothing else is known."""
    for k in range(6):
        state[k] = x[k] if k < 3 else 0.0
        for m in range(6):
            cov[k, m] = 0.0
        cov[k, k] = p0 if k < 3 else v0


@njit(**KERNEL)
def run_filter(begin, frame, members, around, lines, u, v, r, q, v0, p0, back):  # type: ignore[no-untyped-def]
    """Kalman filter of each track over its own detections, in one direction of time.

    Parameters
    ----------
    begin (T + 1,), frame (N,), members (N, C) : rows of the tracks, ascending in time. around (N, 6), lines : states
    about which cameras are linear, and `linearised` there. q (N,) : variance of acceleration in the step that leads to
    each row. v0, p0 : variances of an unknown velocity and of a position before it is measured. back : go backwards in
    time.

    Returns
    -------
    before (N, 6), before_cov (N, 6, 6) : state of each row from the rows before it (after it, if ``back``); after,
    after_cov : the same with its own detections; density (N,) : log density of its detections, given the others'.
    Velocities are those of forward time.
    """
    n = frame.shape[0]
    before, before_cov = np.empty((n, 6)), np.empty((n, 6, 6))
    after, after_cov = np.empty((n, 6)), np.empty((n, 6, 6))
    density = np.zeros(n)
    pixel, J, use = lines
    state, cov, dt, room = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(1), np.empty((6, 2))
    x, P = state[0], cov[0]
    for t in range(begin.shape[0] - 1):
        count = begin[t + 1] - begin[t]
        for k in range(count):
            i = begin[t + 1] - 1 - k if back else begin[t] + k
            if k == 0:
                begin_state(around[i], p0, v0, state[0], cov[0])
            else:
                j = i + 1 if back else i - 1
                dt[0] = abs(frame[i] - frame[j])
                if back:
                    mirror(state[0], cov[0])
                predict(state, cov, dt, q[max(i, j)])
                if back:
                    mirror(state[0], cov[0])
            copy_state(state[0], cov[0], before[i], before_cov[i])
            for c in range(members.shape[1]):
                d = members[i, c]
                if use[i, c]:
                    at, px = around[i, :3], pixel[i, c]
                    density[i] += absorb_quickly(x, P, at, px, J[i, c], u[d], v[d], r[d], r[d], 6, room)
            copy_state(state[0], cov[0], after[i], after_cov[i])
    return before, before_cov, after, after_cov, density


@helper
def mirror(state, cov):  # type: ignore[no-untyped-def]
    """Turn time around: velocity changes sign, in place."""
    for i in range(3):
        state[3 + i] = -state[3 + i]
        for j in range(3):
            cov[i, 3 + j] = -cov[i, 3 + j]
            cov[3 + j, i] = -cov[3 + j, i]


@helper
def meeting(past, past_cov, future, future_cov, gap, q, share, dart):  # type: ignore[no-untyped-def]
    """Log density that a past state becomes a future one ``gap`` frames later.

    q : variance of acceleration. In each frame it darted with chance ``share``: a change of velocity of variance
    ``dart``, somewhere in the gap; a tenth of darts are flights, four times as fast.
    """
    state, cov, dt = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(1)
    difference, both = np.empty(6), np.empty((6, 6))
    copy_state(past, past_cov, state[0], cov[0])
    dt[0] = gap
    predict(state, cov, dt, q)
    for k in range(6):
        difference[k] = future[k] - state[0, k]
    _add(cov[0], future_cov, both)
    total = _density(difference, both)
    if share <= 0.0:
        return total
    for rare, scale in ((1.0, 1.0), (FLIGHT_SHARE, FLIGHT_SCALE)):
        variance = dart * scale * scale
        for k in range(3):  # at a moment spread evenly over the gap: mean square way gap^2 / 3
            cov[0, k, k] += variance * gap * gap / 3.0
            cov[0, 3 + k, 3 + k] += variance
            cov[0, k, 3 + k] += 0.5 * variance * gap
            cov[0, 3 + k, k] += 0.5 * variance * gap
        _add(cov[0], future_cov, both)
        other = math.log(min(rare * share * gap, 0.5)) + _density(difference, both)
        top = max(total, other)
        total = top + math.log(math.exp(total - top) + math.exp(other - top))
    return total


@helper
def _add(a, b, out):  # type: ignore[no-untyped-def]
    """Set out (6, 6) to the sum of two covariances."""
    for k in range(6):
        for m in range(6):
            out[k, m] = a[k, m] + b[k, m]


@helper
def _density(x, S):  # type: ignore[no-untyped-def]
    """Log of the Gaussian density of covariance S (6, 6) at x (6,), through its Cholesky factor."""
    L = np.linalg.cholesky(S)
    total = 0.0
    y = np.empty(6)
    for i in range(6):
        value = x[i]
        for j in range(i):
            value -= L[i, j] * y[j]
        y[i] = value / L[i, i]
        total += 0.5 * y[i] * y[i] + math.log(L[i, i])
    return -total - 3.0 * _LOG_2PI
