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

from ....core.compiled import KERNEL, helper, inner
from ....maths.kalman import copy_state, predict
from ..arguments import Array
from ..kernels import TAIL_SCALE, TAIL_SHARE, absorb_quickly
from .filtering import begin_state

LEVELS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])  # of darts, in the model's change of velocity in a dart
_LEVEL_SHARES = np.array([0.4, 0.3, 0.2, 0.08, 0.02])
_STAYS = 0.9  # chance that a dart goes on in the next step
_BEAM = 20  # sequences kept
_DOUBT = -4.0  # log-odds of a slow dart, against a calm step, from which more than one sequence is followed
_LOG_NEAR, _LOG_FAR = math.log((1.0 - TAIL_SHARE) / (2.0 * math.pi)), math.log(TAIL_SHARE / (2.0 * math.pi))
_LOG_2PI = math.log(2.0 * math.pi)
_ROUNDING = 1e-6  # of log densities, at most
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
def _take(i, state, cov, around, lines, u, v, r, members, room):  # type: ignore[no-untyped-def]
    """Absorb the detections of row i; their log density. room (6, 2) : see `absorb_quickly`."""
    pixel, J, use = lines
    total = 0.0
    for c in range(members.shape[1]):
        if use[i, c]:
            d = members[i, c]
            at, px = around[i, :3], pixel[i, c]
            total += absorb_quickly(state, cov, at, px, J[i, c], u[d], v[d], r[d], r[d], 6, room)
    return total


@helper
def _doubtful(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart):  # type: ignore[no-untyped-def]
    """(b - a,) whether the step to a row, or one near it, may have been a dart, as far as a calm filter can tell."""
    out = np.zeros(b - a, np.bool_)
    state, cov, dt = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(1)
    other, other_cov, expected = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(3)
    room = np.empty((6, 2))
    begin_state(around[a, :3], p0, v0, state[0], cov[0])
    _take(a, state[0], cov[0], around, lines, u, v, r, members, room)
    for i in range(a + 1, b):
        dt[0] = frame[i] - frame[i - 1]
        copy_state(state[0], cov[0], other[0], other_cov[0])
        predict(state, cov, dt, q)
        spread = cov[0, 0, 0] + cov[0, 1, 1] + cov[0, 2, 2]
        for k in range(3):
            expected[k] = state[0, k]
        calm = _take(i, state[0], cov[0], around, lines, u, v, r, members, room)
        moved = 0.0
        for k in range(3):
            moved += (state[0, k] - expected[k]) ** 2
        if _count(lines[2][i]) < 2 or moved < spread:
            continue  # one view alone does not prove a dart, and what was expected is none
        predict(other, other_cov, dt, q + dart * LEVELS[1] ** 2)
        darted = _take(i, other[0], other_cov[0], around, lines, u, v, r, members, room)
        if darted + math.log(share) - calm > _DOUBT:
            for k in range(max(i - a - _NEAR, 1), min(i - a + _NEAR + 1, b - a)):
                out[k] = True
    return out


@helper
def _views(i, lines, u, v, r, members, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` (C, 9) with the views of row i: pixel off that of the line, squared noise, J; how many there are."""
    pixel, J, use = lines
    n = 0
    for c in range(members.shape[1]):
        if use[i, c]:
            d = members[i, c]
            out[n, 0], out[n, 1], out[n, 2] = u[d] - pixel[i, c, 0], v[d] - pixel[i, c, 1], r[d] * r[d]
            for k in range(3):
                out[n, 3 + k], out[n, 6 + k] = J[i, c, 0, k], J[i, c, 1, k]
            n += 1
    return n


@inner
def _moved(cov: Array, t: float, q: float) -> tuple[float, float, float, float, float, float]:
    """Covariance of a position ``t`` frames after a state of covariance (6, 6): 00, 11, 22, 01, 02, 12."""
    more = q * t * t * t / 3.0
    p00 = cov[0, 0] + 2.0 * t * cov[0, 3] + t * t * cov[3, 3] + more
    p11 = cov[1, 1] + 2.0 * t * cov[1, 4] + t * t * cov[4, 4] + more
    p22 = cov[2, 2] + 2.0 * t * cov[2, 5] + t * t * cov[5, 5] + more
    p01 = cov[0, 1] + t * (cov[0, 4] + cov[1, 3]) + t * t * cov[3, 4]
    p02 = cov[0, 2] + t * (cov[0, 5] + cov[2, 3]) + t * t * cov[3, 5]
    p12 = cov[1, 2] + t * (cov[1, 5] + cov[2, 4]) + t * t * cov[4, 5]
    return p00, p11, p22, p01, p02, p12


@helper
def _highest(cov, t, variance, views, n, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` (K, C + 1) with the highest log density of each view and all later ones, by kind of step.

    cov (6, 6) : no sequence is less uncertain; no detection is better than its noise near the middle. As the Riccati
    recursion keeps the order of covariances, none becomes less uncertain from view to view either.
    """
    wide = TAIL_SCALE * TAIL_SCALE
    for k in range(variance.shape[0]):
        p00, p11, p22, p01, p02, p12 = _moved(cov, t, variance[k])
        for c in range(n):
            a0, a1, a2, b0, b1, b2 = views[c, 3], views[c, 4], views[c, 5], views[c, 6], views[c, 7], views[c, 8]
            g0, h0 = p00 * a0 + p01 * a1 + p02 * a2, p00 * b0 + p01 * b1 + p02 * b2
            g1, h1 = p01 * a0 + p11 * a1 + p12 * a2, p01 * b0 + p11 * b1 + p12 * b2
            g2, h2 = p02 * a0 + p12 * a1 + p22 * a2, p02 * b0 + p12 * b1 + p22 * b2
            s00, s01, s11 = a0 * g0 + a1 * g1 + a2 * g2, a0 * h0 + a1 * h1 + a2 * h2, b0 * h0 + b1 * h1 + b2 * h2
            r2 = views[c, 2]
            far = (s00 + wide * r2) * (s11 + wide * r2) - s01 * s01
            s00, s11 = s00 + r2, s11 + r2
            det = s00 * s11 - s01 * s01
            out[k, c] = math.log((1.0 - TAIL_SHARE) / math.sqrt(det) + TAIL_SHARE / math.sqrt(far)) - _LOG_2PI
            k0, l0 = (g0 * s11 - h0 * s01) / det, (h0 * s00 - g0 * s01) / det
            k1, l1 = (g1 * s11 - h1 * s01) / det, (h1 * s00 - g1 * s01) / det
            k2, l2 = (g2 * s11 - h2 * s01) / det, (h2 * s00 - g2 * s01) / det
            p00, p11, p22 = p00 - k0 * g0 - l0 * h0, p11 - k1 * g1 - l1 * h1, p22 - k2 * g2 - l2 * h2
            p01, p02, p12 = p01 - k0 * g1 - l0 * h1, p02 - k0 * g2 - l0 * h2, p12 - k1 * g2 - l1 * h2
        out[k, n] = 0.0
        for c in range(n - 1, -1, -1):
            out[k, c] += out[k, c + 1]


@inner
def _log_mixture(du: float, dv: float, s00: float, s01: float, s11: float, r2: float) -> tuple[float, float]:
    """Log density of an innovation, and the variance of noise that its tail leaves (see `kernels.absorb`)."""
    wide = TAIL_SCALE * TAIL_SCALE
    a, d = s00 + r2, s11 + r2
    det = a * d - s01 * s01
    near = _LOG_NEAR - 0.5 * ((d * du * du - 2.0 * s01 * du * dv + a * dv * dv) / det + math.log(det))
    a, d = s00 + wide * r2, s11 + wide * r2
    det = a * d - s01 * s01
    far = _LOG_FAR - 0.5 * ((d * du * du - 2.0 * s01 * du * dv + a * dv * dv) / det + math.log(det))
    less = math.exp(-abs(near - far))
    tail = (less if near > far else 1.0) / (1.0 + less)
    return max(near, far) + math.log(1.0 + less), r2 / (1.0 - tail + tail / wide)


@helper
def _density(state, cov, t, q, least, at, views, n, highest):  # type: ignore[no-untyped-def]
    """Log density of a row's detections, which only the predicted position decides: `_take` in half the numbers.

    state (6,), cov (6, 6) : before the step of ``t`` frames and variance q; at (3,) : where cameras are linear; views,
    n : of `_views`. least : what it must be at least; -inf as soon as it cannot be, by ``highest`` of `_highest`.
    """
    if highest[0] < least:
        return -np.inf
    x0, x1, x2 = state[0] + t * state[3] - at[0], state[1] + t * state[4] - at[1], state[2] + t * state[5] - at[2]
    p00, p11, p22, p01, p02, p12 = _moved(cov, t, q)
    total = 0.0
    for c in range(n):
        if total + highest[c] < least:
            return -np.inf
        a0, a1, a2, b0, b1, b2 = views[c, 3], views[c, 4], views[c, 5], views[c, 6], views[c, 7], views[c, 8]
        du = views[c, 0] - a0 * x0 - a1 * x1 - a2 * x2
        dv = views[c, 1] - b0 * x0 - b1 * x1 - b2 * x2
        g0, h0 = p00 * a0 + p01 * a1 + p02 * a2, p00 * b0 + p01 * b1 + p02 * b2
        g1, h1 = p01 * a0 + p11 * a1 + p12 * a2, p01 * b0 + p11 * b1 + p12 * b2
        g2, h2 = p02 * a0 + p12 * a1 + p22 * a2, p02 * b0 + p12 * b1 + p22 * b2
        s00, s01, s11 = a0 * g0 + a1 * g1 + a2 * g2, a0 * h0 + a1 * h1 + a2 * h2, b0 * h0 + b1 * h1 + b2 * h2
        density, noise = _log_mixture(du, dv, s00, s01, s11, views[c, 2])
        total += density
        s00, s11 = s00 + noise, s11 + noise
        det = s00 * s11 - s01 * s01
        k0, l0 = (g0 * s11 - h0 * s01) / det, (h0 * s00 - g0 * s01) / det
        k1, l1 = (g1 * s11 - h1 * s01) / det, (h1 * s00 - g1 * s01) / det
        k2, l2 = (g2 * s11 - h2 * s01) / det, (h2 * s00 - g2 * s01) / det
        x0, x1, x2 = x0 + k0 * du + l0 * dv, x1 + k1 * du + l1 * dv, x2 + k2 * du + l2 * dv
        p00, p11, p22 = p00 - k0 * g0 - l0 * h0, p11 - k1 * g1 - l1 * h1, p22 - k2 * g2 - l2 * h2
        p01, p02, p12 = p01 - k0 * g1 - l0 * h1, p02 - k0 * g2 - l0 * h2, p12 - k1 * g2 - l1 * h2
    return total


@helper
def _least(cov, t, q, views, n):  # type: ignore[no-untyped-def]
    """Let a covariance (6, 6) become, in place, what a calm step and detections near the middle leave at least."""
    for i in range(3):
        for j in range(3):
            pv, vp, vv = cov[i, 3 + j], cov[3 + i, j], cov[3 + i, 3 + j]
            cov[i, j] += t * (pv + vp) + t * t * vv
            cov[i, 3 + j] += t * vv
            cov[3 + i, j] += t * vv
        cov[i, i] += q * t * t * t / 3.0
        cov[i, 3 + i] += q * t * t / 2.0
        cov[3 + i, i] += q * t * t / 2.0
        cov[3 + i, 3 + i] += q * t
    g, h = np.empty(6), np.empty(6)
    for c in range(n):
        a0, a1, a2, b0, b1, b2 = views[c, 3], views[c, 4], views[c, 5], views[c, 6], views[c, 7], views[c, 8]
        for i in range(6):
            g[i] = cov[i, 0] * a0 + cov[i, 1] * a1 + cov[i, 2] * a2
            h[i] = cov[i, 0] * b0 + cov[i, 1] * b1 + cov[i, 2] * b2
        s00 = a0 * g[0] + a1 * g[1] + a2 * g[2] + views[c, 2]
        s11 = b0 * h[0] + b1 * h[1] + b2 * h[2] + views[c, 2]
        s01 = a0 * h[0] + a1 * h[1] + a2 * h[2]
        det = s00 * s11 - s01 * s01
        for i in range(6):
            k, m = (g[i] * s11 - h[i] * s01) / det, (h[i] * s00 - g[i] * s01) / det
            for j in range(i + 1):
                cov[i, j] -= k * g[j] + m * h[j]
                cov[j, i] = cov[i, j]


@helper
def _insert(value, place, best, places):  # type: ignore[no-untyped-def]
    """Put a value and its place among the best (K,), the greatest first, equal ones by place; the last falls out."""
    k = best.shape[0] - 1
    if value < best[k] or (value == best[k] and place > places[k]):
        return
    while k > 0 and (best[k - 1] < value or (best[k - 1] == value and places[k - 1] > place)):
        best[k], places[k] = best[k - 1], places[k - 1]
        k -= 1
    best[k], places[k] = value, place


@helper
def _extended(state, cov, value, last, count, t, variance, chance, at, views, n, highest, best, places):  # type: ignore[no-untyped-def]
    """Weigh what ``count`` sequences can become in a step of any kind; how many of the best (K,) there are.

    Most fall out of the beam at once: they are weighed by their positions, and given up in the view in which that is
    certain. Calm steps come first, so that it soon is. ``places`` are filled with sequence and kind: h * kinds + kind.
    """
    kinds, worst = variance.shape[0], best.shape[0] - 1
    for s in range(best.shape[0]):
        best[s], places[s] = -np.inf, count * kinds
    found = 0
    for k in range(kinds):
        for h in range(count):
            prior = value[h] + chance[min(last[h], 1), k]
            least = best[worst] - prior - _ROUNDING
            prior += _density(state[h], cov[h], t, variance[k], least, at, views, n, highest[k])
            if prior > -np.inf:
                _insert(prior, h * kinds + k, best, places)
                found += 1
    return min(found, best.shape[0])


@helper
def _sequence(a, b, frame, around, lines, u, v, r, members, q, v0, p0, share, dart, doubtful, out):  # type: ignore[no-untyped-def]
    """Write the variances of the likeliest sequence of a track's steps into ``out``."""
    kinds = 1 + LEVELS.shape[0]
    variance, chance = np.full(kinds, q), np.empty((2, kinds))  # after a calm step, after a dart
    chance[0, 0], chance[1, 0] = math.log(1.0 - share), math.log(1.0 - _STAYS)
    for k in range(1, kinds):
        variance[k] += dart * LEVELS[k - 1] ** 2
        chance[0, k] = math.log(share * _LEVEL_SHARES[k - 1])
        chance[1, k] = math.log(_STAYS * _LEVEL_SHARES[k - 1] / _LEVEL_SHARES[0])
    state, cov, value = np.empty((2, _BEAM, 6)), np.empty((2, _BEAM, 6, 6)), np.zeros((2, _BEAM))
    parent, kind = np.zeros((b - a, _BEAM), np.int64), np.zeros((b - a, _BEAM), np.int64)
    best, places, dt = np.empty(_BEAM), np.empty(_BEAM, np.int64), np.empty(1)
    views, highest = np.empty((members.shape[1], 9)), np.empty((kinds, members.shape[1] + 1))
    room, floor = np.empty((6, 2)), np.empty((6, 6))  # of the covariances of all sequences
    begin_state(around[a, :3], p0, v0, state[0, 0], cov[0, 0])
    _take(a, state[0, 0], cov[0, 0], around, lines, u, v, r, members, room)
    count, side = 1, 0
    for i in range(a + 1, b):
        dt[0] = frame[i] - frame[i - 1]
        new = 1 - side
        count = count if doubtful[i - a] else 1
        tried = kinds if doubtful[i - a] and _count(lines[2][i]) >= 2 else 1
        if count == 1:
            for k in range(36):
                floor[k // 6, k % 6] = cov[side, 0, k // 6, k % 6]
        places[0] = 0
        if count * tried > 1:
            seen, last = _views(i, lines, u, v, r, members, views), kind[i - a - 1]
            _highest(floor, dt[0], variance[:tried], views, seen, highest)
            before = state[side], cov[side], value[side]
            count = _extended(
                *before, last, count, dt[0], variance[:tried], chance, around[i], views, seen, highest, best, places
            )
            _least(floor, dt[0], q, views, seen)
        for s in range(count):
            h, k = places[s] // tried, places[s] % tried
            parent[i - a, s], kind[i - a, s] = h, k
            copy_state(state[side, h], cov[side, h], state[new, s], cov[new, s])
            predict(state[new, s : s + 1], cov[new, s : s + 1], dt, variance[k])
            value[new, s] = value[side, h] + chance[min(kind[i - a - 1, h], 1), k]
            value[new, s] += _take(i, state[new, s], cov[new, s], around, lines, u, v, r, members, room)
        side = new
    h = 0
    for i in range(b - 1, a, -1):
        out[i] = variance[kind[i - a, h]]
        h = parent[i - a, h]
