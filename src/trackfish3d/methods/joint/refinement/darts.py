"""When an animal darted: the most likely sequence of calm and of darting steps of each track, found without labels.

Each step between two rows of a track is calm, white acceleration of variance q, or a dart of one of `LEVELS`, in which
the velocity may change by so much more. A dart is rare, and is often followed by another step of it. Every sequence of
kinds has its own Kalman filter and thereby its likelihood; sequences are extended row by row and the best `_BEAM` kept
(Ackerson & Fu 1970; Kenefic 1981), so that a later row may still decide what an earlier step was. Where the calm filter
and one that supposes a dart agree for several rows, only the best sequence goes on.
"""

import math

import numpy as np
from numba import njit

from ....maths.kalman import predict
from ..kernels import absorb

LEVELS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])  # of darts, in the model's change of velocity in a dart
_LEVEL_SHARES = np.array([0.4, 0.3, 0.2, 0.08, 0.02])
_STAYS = 0.9  # chance that a dart goes on in the next step
_BEAM = 20  # sequences kept
_DOUBT = -4.0  # log-odds of a slow dart, against a calm step, from which more than one sequence is followed
_NEAR = 4  # rows before and after a doubtful one in which sequences branch


@njit(cache=True, error_model="numpy")
def find_darts(begin, frame, around, lines, u, v, r, members, q, v0, p0, share, dart):  # type: ignore[no-untyped-def]
    """Variance of acceleration (N,) in the step that leads to each row: ``q``, and more where the animal darted.

    begin (T + 1,), frame (N,), members (N, C) : rows of the tracks; around (N, 6), lines : states about which cameras
    are linear, and `filtering.linearised` there. q, v0, p0 : variances of acceleration, first velocity, first position.
    share : chance of a dart in a frame; dart : variance of the change of velocity.
    """
    out = np.full(frame.shape[0], q)
    if share <= 0.0:
        return out
    for t in range(begin.shape[0] - 1):
        a, b = begin[t], begin[t + 1]
        doubtful = _doubtful(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart)
        if doubtful.any():
            _sequence(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart, doubtful, out)
    return out


@njit(cache=True, error_model="numpy")
def _begin(x, p0, v0, state, cov):  # type: ignore[no-untyped-def]
    """Set state (6,) and covariance (6, 6) of a track at x (3,) of which nothing else is known."""
    state[:3], state[3:] = x, 0.0
    cov[:] = 0.0
    for k in range(3):
        cov[k, k], cov[3 + k, 3 + k] = p0, v0


@njit(cache=True, error_model="numpy")
def _take(i, state, cov, around, lines, u, v, r, members):  # type: ignore[no-untyped-def]
    """Absorb the detections of row i; their log density."""
    pixel, J, use = lines
    total = 0.0
    for c in range(members.shape[1]):
        if use[i, c]:
            d = members[i, c]
            total += absorb(state, cov, around[i, :3], pixel[i, c], J[i, c], u[d], v[d], r[d])
    return total


@njit(cache=True, error_model="numpy")
def _doubtful(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart):  # type: ignore[no-untyped-def]
    """(b - a,) whether the step to a row, or one near it, may have been a dart, as far as a calm filter can tell."""
    out = np.zeros(b - a, np.bool_)
    state, cov, dt = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(1)
    other, other_cov = np.empty((1, 6)), np.empty((1, 6, 6))
    _begin(around[a, :3], p0, v0, state[0], cov[0])
    _take(a, state[0], cov[0], around, lines, u, v, r, members)
    for i in range(a + 1, b):
        dt[0] = frame[i] - frame[i - 1]
        other[:], other_cov[:] = state, cov
        predict(state, cov, dt, q)
        expected, spread = state[0, :3].copy(), cov[0, 0, 0] + cov[0, 1, 1] + cov[0, 2, 2]
        calm = _take(i, state[0], cov[0], around, lines, u, v, r, members)
        if lines[2][i].sum() < 2 or np.sum((state[0, :3] - expected) ** 2) < spread:
            continue  # one view alone does not prove a dart, and what was expected is none
        predict(other, other_cov, dt, q + dart * LEVELS[1] ** 2)
        darted = _take(i, other[0], other_cov[0], around, lines, u, v, r, members)
        if darted + math.log(share) - calm > _DOUBT:
            out[max(i - a - _NEAR, 1) : i - a + _NEAR + 1] = True
    return out


@njit(cache=True, error_model="numpy")
def _sequence(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart, doubtful, out):  # type: ignore[no-untyped-def]
    """Write the variances of the likeliest sequence of a track's steps into ``out``."""
    kinds = 1 + LEVELS.shape[0]
    most = _BEAM * kinds
    variance, chance = np.full(kinds, q), np.empty((2, kinds))  # after a calm step, after a dart
    chance[0, 0], chance[1, 0] = math.log(1.0 - share), math.log(1.0 - _STAYS)
    for k in range(1, kinds):
        variance[k] += dart * LEVELS[k - 1] ** 2
        chance[0, k] = math.log(share * _LEVEL_SHARES[k - 1])
        chance[1, k] = math.log(_STAYS * _LEVEL_SHARES[k - 1])
    state, cov, value = np.empty((2, most, 6)), np.empty((2, most, 6, 6)), np.zeros((2, most))
    last = np.zeros(most, np.int64)
    parent, kind = np.zeros((b - a, _BEAM), np.int64), np.zeros((b - a, _BEAM), np.int64)
    new_parent, new_kind = np.empty(most, np.int64), np.empty(most, np.int64)
    dt = np.empty(1)
    _begin(around[a, :3], p0, v0, state[0, 0], cov[0, 0])
    _take(a, state[0, 0], cov[0, 0], around, lines, u, v, r, members)
    count, side = 1, 0
    for i in range(a + 1, b):
        dt[0] = frame[i] - frame[i - 1]
        new, n = 1 - side, 0
        tried = kinds if doubtful[i - a] and lines[2][i].sum() >= 2 else 1
        for h in range(count if doubtful[i - a] else 1):
            for k in range(tried):
                state[new, n], cov[new, n] = state[side, h], cov[side, h]
                predict(state[new, n : n + 1], cov[new, n : n + 1], dt, variance[k])
                value[new, n] = value[side, h] + chance[min(last[h], 1), k]
                value[new, n] += _take(i, state[new, n], cov[new, n], around, lines, u, v, r, members)
                new_parent[n], new_kind[n] = h, k
                n += 1
        order = np.argsort(-value[new, :n])
        count = min(n, _BEAM)
        for s in range(count):
            h = order[s]
            parent[i - a, s], kind[i - a, s] = new_parent[h], new_kind[h]
            state[side, s], cov[side, s], value[side, s] = state[new, h], cov[new, h], value[new, h]
        last[:count] = kind[i - a, :count]
    h = 0
    for i in range(b - 1, a, -1):
        out[i] = variance[kind[i - a, h]]
        h = parent[i - a, h]
