"""One frame of the joint tracker in Numba: where tracks should be seen, what each may have been seen as.

A measurement is a pixel, never a triangulated point, so that one view, two or eight update a track by the same
formula: with predicted position N(x, P), pixel Jacobian J and pixel noise r, a detection z has the innovation
z - pi(x) of covariance S = J P J' + r^2 I. Views are absorbed one after the other, which is exact for a linearised
camera, and gives the likelihood of any set of detections as a product.

Noise of a centroid has a heavy tail, because a neighbour may cover half of the animal: with chance ``TAIL_SHARE`` its
standard deviation is ``TAIL_SCALE`` times as large.
"""

import math

import numpy as np
from numba import njit

from ...cameras.kernels import GLASS_MARGIN, project_within
from .cues import likeness

TAIL_SHARE = 0.1
TAIL_SCALE = 4.0
FLIGHT_SHARE = 0.1  # of darts are flights ...
FLIGHT_SCALE = 4.0  # ... that are as much faster
_LOG_2PI = math.log(2.0 * math.pi)
_MOST_VIEW = 8  # detections of one view that come into question for a track; the nearest ones
_BEAM = 48  # partial sets kept while views are added


@njit(cache=True, error_model="numpy")
def look_one(cam, x, h, pixel, J):  # type: ignore[no-untyped-def]
    """Pixel (2,) and Jacobian (2, 3), px a world unit, of the point x (3,); whether the camera can see it."""
    u, v, ok = project_within(cam, x[0], x[1], x[2], GLASS_MARGIN)
    if not ok:
        return False
    pixel[0], pixel[1] = u, v
    for k in range(3):
        dx = h if k == 0 else 0.0
        dy = h if k == 1 else 0.0
        dz = h if k == 2 else 0.0
        u1, v1, ok1 = project_within(cam, x[0] + dx, x[1] + dy, x[2] + dz, GLASS_MARGIN)
        u0, v0, ok0 = project_within(cam, x[0] - dx, x[1] - dy, x[2] - dz, GLASS_MARGIN)
        if not (ok1 and ok0):
            return False
        J[0, k] = (u1 - u0) / (2.0 * h)
        J[1, k] = (v1 - v0) / (2.0 * h)
    return True


@njit(cache=True)
def in_image(pixel, size):  # type: ignore[no-untyped-def]
    """Whether a pixel is in an image of this size."""
    return 0.0 <= pixel[0] < size[0] and 0.0 <= pixel[1] < size[1]


@njit(cache=True, error_model="numpy")
def look(packed, state, h, pixel, J, seen):  # type: ignore[no-untyped-def]
    """Pixels (T, C, 2), Jacobians (T, C, 2, 3) and visibility (T, C) of states (T, 6) in all cameras."""
    for t in range(state.shape[0]):
        for c in range(packed.shape[0]):
            seen[t, c] = look_one(packed[c], state[t, :3], h, pixel[t, c], J[t, c])


@njit(cache=True, error_model="numpy")
def _gaussian(du, dv, s00, s01, s11):  # type: ignore[no-untyped-def]
    """Log density of a two-dimensional Gaussian at (du, dv)."""
    det = s00 * s11 - s01 * s01
    d2 = (s11 * du * du - 2.0 * s01 * du * dv + s00 * dv * dv) / det
    return -0.5 * d2 - _LOG_2PI - 0.5 * math.log(det)


@njit(cache=True, error_model="numpy")
def absorb(x, P, x0, pixel, J, u, v, r):  # type: ignore[no-untyped-def]
    """Update x (n,), P (n, n) in place by a detection at (u, v) of noise r px; returns its log density.

    The first three of the n numbers are the position; ``pixel`` and ``J`` belong to the point x0 (3,), about which the
    camera is linear.
    """
    n = x.shape[0]
    du, dv = u - pixel[0], v - pixel[1]
    for k in range(3):
        du -= J[0, k] * (x[k] - x0[k])
        dv -= J[1, k] * (x[k] - x0[k])
    g = np.empty((n, 2))  # P J'
    for i in range(n):
        g[i, 0] = P[i, 0] * J[0, 0] + P[i, 1] * J[0, 1] + P[i, 2] * J[0, 2]
        g[i, 1] = P[i, 0] * J[1, 0] + P[i, 1] * J[1, 1] + P[i, 2] * J[1, 2]
    s00 = J[0, 0] * g[0, 0] + J[0, 1] * g[1, 0] + J[0, 2] * g[2, 0]
    s01 = J[0, 0] * g[0, 1] + J[0, 1] * g[1, 1] + J[0, 2] * g[2, 1]
    s11 = J[1, 0] * g[0, 1] + J[1, 1] * g[1, 1] + J[1, 2] * g[2, 1]
    r2 = r * r
    wide = r2 * TAIL_SCALE * TAIL_SCALE
    near = math.log(1.0 - TAIL_SHARE) + _gaussian(du, dv, s00 + r2, s01, s11 + r2)
    far = math.log(TAIL_SHARE) + _gaussian(du, dv, s00 + wide, s01, s11 + wide)
    top = max(near, far)
    density = top + math.log(math.exp(near - top) + math.exp(far - top))
    tail = math.exp(far - density)
    r2 = 1.0 / ((1.0 - tail) / r2 + tail / wide)
    s00 += r2
    s11 += r2
    det = s00 * s11 - s01 * s01
    a, b, d = s11 / det, -s01 / det, s00 / det
    for i in range(n):
        k0 = g[i, 0] * a + g[i, 1] * b
        k1 = g[i, 0] * b + g[i, 1] * d
        x[i] += k0 * du + k1 * dv
        for j in range(i + 1):
            P[i, j] -= k0 * g[j, 0] + k1 * g[j, 1]
            P[j, i] = P[i, j]
    return density


@njit(cache=True)
def add_dart(cov, variance):  # type: ignore[no-untyped-def]
    """Add to a covariance (6, 6) what a dart somewhere in the last frame can do, in place.

    variance : of the velocity's change, world units^2 a frame^2.
    """
    for k in range(3):
        cov[k, k] += variance / 3.0
        cov[3 + k, 3 + k] += variance
        cov[k, 3 + k] += 0.5 * variance
        cov[3 + k, k] += 0.5 * variance


@njit(cache=True, error_model="numpy")
def innovation(P, pixel, J, u, v, r):  # type: ignore[no-untyped-def]
    """Squared Mahalanobis distance of a detection from a predicted position, noise taken at its tail."""
    s00 = s01 = s11 = 0.0
    for i in range(3):
        for j in range(3):
            s00 += J[0, i] * P[i, j] * J[0, j]
            s01 += J[0, i] * P[i, j] * J[1, j]
            s11 += J[1, i] * P[i, j] * J[1, j]
    r2 = r * r * 4.0
    s00 += r2
    s11 += r2
    du, dv = u - pixel[0], v - pixel[1]
    return (s11 * du * du - 2.0 * s01 * du * dv + s00 * dv * dv) / (s00 * s11 - s01 * s01)


@njit(cache=True, error_model="numpy")
def hypotheses(  # type: ignore[no-untyped-def]
    state,
    cov,
    pixel,
    J,
    seen,
    found,
    memory_size,
    memory_axis,
    memory_frame,
    now,
    camera_begin,
    u,
    v,
    r,
    log_size,
    axis,
    free,
    scales,
    log_clutter,
    gate,
):
    """List what each track may be in this frame: sets of detections, at most one a view, with their likelihoods.

    Parameters
    ----------
    state (T, 6), cov (T, 6, 6) : predicted. pixel, J, seen : of `look`. found (T, C) : chance to be detected.
    memory_size, memory_axis, memory_frame (T, C), scales : see `cues.likeness`; now : number of this frame.
    camera_begin (C + 1,) : first detection of each camera; u, v, r, log_size, axis (N,); free (N,) bool : may be used.
    log_clutter (C,) : log density of false detections, 1/px^2.
    gate : largest squared innovation.

    Returns
    -------
    owner (H,) track, ascending; members (H, C) detection or -1; weight (H,) log-likelihood ratio against "all its
    detections are false". Each track has the empty set as its first hypothesis.
    """
    n_tracks, n_views = seen.shape
    owner = np.empty(64 + n_tracks * 16, np.int64)
    members = np.empty((owner.shape[0], n_views), np.int64)
    weight = np.empty(owner.shape[0])
    count = 0
    near = np.empty(_MOST_VIEW, np.int64)
    near_d = np.empty(_MOST_VIEW)
    near_cue = np.empty(_MOST_VIEW)
    width = _BEAM * (_MOST_VIEW + 1)
    x, P = np.empty((2, width, 3)), np.empty((2, width, 3, 3))
    ll, det = np.empty((2, width)), np.empty((2, width, n_views), np.int64)
    for t in range(n_tracks):
        side = 0
        size = 1
        x[0, 0] = state[t, :3]
        P[0, 0] = cov[t, :3, :3]
        ll[0, 0] = 0.0
        det[0, 0, :] = -1
        for c in range(n_views):
            if not seen[t, c]:
                continue
            k = 0
            for d in range(camera_begin[c], camera_begin[c + 1]):
                if not free[d]:
                    continue
                far = innovation(cov[t, :3, :3], pixel[t, c], J[t, c], u[d], v[d], r[d])
                if far < gate and (k < _MOST_VIEW or far < near_d[k - 1]):
                    at = min(k, _MOST_VIEW - 1)
                    while at > 0 and near_d[at - 1] > far:
                        near[at], near_d[at] = near[at - 1], near_d[at - 1]
                        at -= 1
                    near[at], near_d[at] = d, far
                    k = min(k + 1, _MOST_VIEW)
            lost = math.log(max(1.0 - found[t, c], 1e-6))
            gained = math.log(max(found[t, c], 1e-6)) - log_clutter[c]
            if k == 0:
                for p in range(size):
                    ll[side, p] += lost
                continue
            for i in range(k):
                d = near[i]
                near_cue[i] = likeness(
                    now, log_size[d], axis[d], memory_size[t, c], memory_axis[t, c], memory_frame[t, c], scales
                )
            new = 1 - side
            n = 0
            for p in range(size):
                x[new, n] = x[side, p]
                P[new, n] = P[side, p]
                ll[new, n] = ll[side, p] + lost
                det[new, n] = det[side, p]
                n += 1
                for i in range(k):
                    d = near[i]
                    x[new, n] = x[side, p]
                    P[new, n] = P[side, p]
                    det[new, n] = det[side, p]
                    det[new, n, c] = d
                    density = absorb(x[new, n], P[new, n], state[t, :3], pixel[t, c], J[t, c], u[d], v[d], r[d])
                    ll[new, n] = ll[side, p] + density + gained + near_cue[i]
                    n += 1
            side = new
            size = n
            if size > _BEAM:
                order = np.argsort(-ll[side, :size])
                order = np.sort(order[:_BEAM])  # in place, and the empty set, which came first, may go: see below
                for i in range(_BEAM):
                    s = order[i]
                    if s != i:
                        x[side, i] = x[side, s]
                        P[side, i] = P[side, s]
                        ll[side, i] = ll[side, s]
                        det[side, i] = det[side, s]
                size = _BEAM
        nothing = 0.0
        for c in range(n_views):
            if seen[t, c]:
                nothing += math.log(max(1.0 - found[t, c], 1e-6))
        if count + size + 1 > owner.shape[0]:
            grown = 2 * owner.shape[0] + size
            owner, members, weight = _grow(owner, members, weight, count, grown)
        owner[count], weight[count] = t, nothing
        members[count, :] = -1
        count += 1
        for p in range(size):
            empty = True
            for c in range(n_views):
                if det[side, p, c] >= 0:
                    empty = False
            if empty or ll[side, p] < nothing:
                continue  # explains less than saying nothing
            owner[count], weight[count] = t, ll[side, p]
            members[count] = det[side, p]
            count += 1
    return owner[:count], members[:count], weight[:count]


@njit(cache=True)
def _grow(owner, members, weight, count, size):  # type: ignore[no-untyped-def]
    a = np.empty(size, np.int64)
    b = np.empty((size, members.shape[1]), np.int64)
    c = np.empty(size)
    a[:count], b[:count], c[:count] = owner[:count], members[:count], weight[:count]
    return a, b, c


@njit(cache=True, error_model="numpy")
def correct(state, cov, pixel, J, members, u, v, r):  # type: ignore[no-untyped-def]
    """Update states (T, 6) and covariances (T, 6, 6) in place by the chosen detections (T, C)."""
    x0 = np.empty(3)
    for t in range(state.shape[0]):
        x0[:] = state[t, :3]
        for c in range(members.shape[1]):
            d = members[t, c]
            if d >= 0:
                absorb(state[t], cov[t], x0, pixel[t, c], J[t, c], u[d], v[d], r[d])
