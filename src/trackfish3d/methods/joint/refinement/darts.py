"""When an animal darted: the most likely sequence of calm and of darting steps of each track, found without labels.

Each step between two rows of a track is calm, white acceleration of variance q, or a dart of one of `LEVELS`, in which
the velocity may change by so much more. A dart is rare, and is often followed by another step of it, whose level
costs nothing but its rareness: or the first steps of a dart, which are seldom its largest, would seem calm. Every
sequence of kinds has its own Kalman filter and thereby its likelihood; sequences are extended row by row and the best
`_BEAM` kept (Ackerson & Fu 1970; Kenefic 1981), so that a later row may still decide what an earlier step was. Where
the calm filter and one that supposes a dart agree for several rows, only the best sequence goes on.
"""

import math

import numpy as np
from numba import njit

from ....core.compiled import KERNEL, helper
from ....maths.kalman import copy_state, predict
from ....maths.order import descending
from ..kernels import absorb
from .filtering import begin_state

LEVELS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])  # of darts, in the model's change of velocity in a dart
_LEVEL_SHARES = np.array([0.4, 0.3, 0.2, 0.08, 0.02])
_STAYS = 0.9  # chance that a dart goes on in the next step
_BEAM = 20  # sequences kept
_DOUBT = -4.0  # log-odds of a slow dart, against a calm step, from which more than one sequence is followed
_NEAR = 4  # rows before and after a doubtful one in which sequences branch


@njit(**KERNEL)
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
        if _count(doubtful) > 0:
            _sequence(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart, doubtful, out)
    return out


@helper
def _count(flags):  # type: ignore[no-untyped-def]
    """How many of the flags (N,) are set."""
    count = 0
    for flag in flags:
        count += flag
    return count


@helper
def _take(i, state, cov, around, lines, u, v, r, members):  # type: ignore[no-untyped-def]
    """Absorb the detections of row i; their log density."""
    pixel, J, use = lines
    total = 0.0
    for c in range(members.shape[1]):
        if use[i, c]:
            d = members[i, c]
            total += absorb(state, cov, around[i, :3], pixel[i, c], J[i, c], u[d], v[d], r[d])
    return total


@helper
def _doubtful(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart):  # type: ignore[no-untyped-def]
    """(b - a,) whether the step to a row, or one near it, may have been a dart, as far as a calm filter can tell."""
    out = np.zeros(b - a, np.bool_)
    state, cov, dt = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(1)
    other, other_cov, expected = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(3)
    begin_state(around[a, :3], p0, v0, state[0], cov[0])
    _take(a, state[0], cov[0], around, lines, u, v, r, members)
    for i in range(a + 1, b):
        dt[0] = frame[i] - frame[i - 1]
        copy_state(state[0], cov[0], other[0], other_cov[0])
        predict(state, cov, dt, q)
        spread = cov[0, 0, 0] + cov[0, 1, 1] + cov[0, 2, 2]
        for k in range(3):
            expected[k] = state[0, k]
        calm = _take(i, state[0], cov[0], around, lines, u, v, r, members)
        moved = 0.0
        for k in range(3):
            moved += (state[0, k] - expected[k]) ** 2
        if _count(lines[2][i]) < 2 or moved < spread:
            continue  # one view alone does not prove a dart, and what was expected is none
        predict(other, other_cov, dt, q + dart * LEVELS[1] ** 2)
        darted = _take(i, other[0], other_cov[0], around, lines, u, v, r, members)
        if darted + math.log(share) - calm > _DOUBT:
            for k in range(max(i - a - _NEAR, 1), min(i - a + _NEAR + 1, b - a)):
                out[k] = True
    return out


@helper
def _sequence(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart, doubtful, out):  # type: ignore[no-untyped-def]
    """Write the variances of the likeliest sequence of a track's steps into ``out``."""
    kinds = 1 + LEVELS.shape[0]
    most = _BEAM * kinds
    variance, chance = np.full(kinds, q), np.empty((2, kinds))  # after a calm step, after a dart
    chance[0, 0], chance[1, 0] = math.log(1.0 - share), math.log(1.0 - _STAYS)
    for k in range(1, kinds):
        variance[k] += dart * LEVELS[k - 1] ** 2
        chance[0, k] = math.log(share * _LEVEL_SHARES[k - 1])
        chance[1, k] = math.log(_STAYS * _LEVEL_SHARES[k - 1] / _LEVEL_SHARES[0])
    state, cov, value = np.empty((2, most, 6)), np.empty((2, most, 6, 6)), np.zeros((2, most))
    last = np.zeros(most, np.int64)
    parent, kind = np.zeros((b - a, _BEAM), np.int64), np.zeros((b - a, _BEAM), np.int64)
    new_parent, new_kind = np.empty(most, np.int64), np.empty(most, np.int64)
    dt = np.empty(1)
    begin_state(around[a, :3], p0, v0, state[0, 0], cov[0, 0])
    _take(a, state[0, 0], cov[0, 0], around, lines, u, v, r, members)
    count, side = 1, 0
    for i in range(a + 1, b):
        dt[0] = frame[i] - frame[i - 1]
        new, n = 1 - side, 0
        tried = kinds if doubtful[i - a] and _count(lines[2][i]) >= 2 else 1
        for h in range(count if doubtful[i - a] else 1):
            for k in range(tried):
                copy_state(state[side, h], cov[side, h], state[new, n], cov[new, n])
                predict(state[new, n : n + 1], cov[new, n : n + 1], dt, variance[k])
                value[new, n] = value[side, h] + chance[min(last[h], 1), k]
                value[new, n] += _take(i, state[new, n], cov[new, n], around, lines, u, v, r, members)
                new_parent[n], new_kind[n] = h, k
                n += 1
        order = descending(value[new, :n])
        count = min(n, _BEAM)
        for s in range(count):
            h = order[s]
            parent[i - a, s], kind[i - a, s] = new_parent[h], new_kind[h]
            copy_state(state[new, h], cov[new, h], state[side, s], cov[side, s])
            value[side, s] = value[new, h]
            last[s] = new_kind[h]
    h = 0
    for i in range(b - 1, a, -1):
        out[i] = variance[kind[i - a, h]]
        h = parent[i - a, h]
