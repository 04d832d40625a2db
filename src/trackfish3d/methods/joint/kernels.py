"""One frame of the joint tracker in Numba: where tracks should be seen, and what a detection says about one.

A measurement is a pixel, never a triangulated point, so that one view, two or eight update a track by the same
formula: with predicted position N(x, P), pixel Jacobian J and pixel noise r, a detection z has the innovation
z - pi(x) of covariance S = J P J' + r^2 I. Views are absorbed one after the other, which is exact for a linearised
camera, and gives the likelihood of any set of detections as a product.

Noise of a centroid has a heavy tail, because a neighbour may cover half of the animal: with chance ``TAIL_SHARE`` its
standard deviation is ``TAIL_SCALE`` times as large.
"""

import math

import numpy as np

from ...cameras.kernels import GLASS_MARGIN, project_within
from ...core.compiled import helper, inner, kernel
from .arguments import Array, Ints, Predicted, Readings, Rig
from .bodies.sides import seen_middle

TAIL_SHARE = 0.1
TAIL_SCALE = 4.0
FLIGHT_SHARE = 0.1  # of darts are flights ...
FLIGHT_SCALE = 4.0  # ... that are as much faster
_LOG_2PI = math.log(2.0 * math.pi)


@kernel
def look_one(cam: Array, x: Array, h: float, pixel: Array, J: Array) -> bool:
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


@helper
def in_image(pixel: Array, size: Array) -> bool:
    """Whether a pixel is in an image of this size."""
    return bool(0.0 <= pixel[0] < size[0] and 0.0 <= pixel[1] < size[1])


@kernel
def look(rig: Rig, tracks: Predicted) -> None:
    """Fill pixel, J and seen of tracks by their states."""
    packed, state, pixel, J, seen = rig.packed, tracks.state, tracks.pixel, tracks.J, tracks.seen
    for t in range(state.shape[0]):
        for c in range(packed.shape[0]):
            seen[t, c] = look_one(packed[c], state[t, :3], rig.step, pixel[t, c], J[t, c])


@kernel
def _gaussian(du: float, dv: float, s00: float, s01: float, s11: float) -> float:
    """Log density of a two-dimensional Gaussian at (du, dv)."""
    det = s00 * s11 - s01 * s01
    d2 = (s11 * du * du - 2.0 * s01 * du * dv + s00 * dv * dv) / det
    return -0.5 * d2 - _LOG_2PI - 0.5 * math.log(det)


@helper
def absorb(x: Array, P: Array, x0: Array, pixel: Array, J: Array, u: float, v: float, r: float) -> float:
    """Update x (n,), P (n, n) in place by a detection at (u, v) of noise r px; returns its log density."""
    return absorb_axes(x, P, x0, pixel, J, u, v, r, r)


@kernel
def absorb_axes(
    x: Array, P: Array, x0: Array, pixel: Array, J: Array, u: float, v: float, ru: float, rv: float
) -> float:
    """Update x (n,), P (n, n) in place by a detection at (u, v) of noise (ru, rv) px; returns its log density.

    The first three of the n numbers are the position; ``pixel`` and ``J`` belong to the point x0 (3,), about which the
    camera is linear.
    """
    n = x.shape[0]
    return absorb_quickly(x, P, x0, pixel, J, u, v, ru, rv, n, np.empty((n, 2)))


@inner
def absorb_quickly(
    x: Array, P: Array, x0: Array, pixel: Array, J: Array, u: float, v: float, ru: float, rv: float, n: int, g: Array
) -> float:
    """Do as `absorb_axes`, with n written down where it is called and room g (n, 2) for P J': in half the time."""
    du, dv = u - pixel[0], v - pixel[1]
    for k in range(3):
        du -= J[0, k] * (x[k] - x0[k])
        dv -= J[1, k] * (x[k] - x0[k])
    for i in range(n):
        g[i, 0] = P[i, 0] * J[0, 0] + P[i, 1] * J[0, 1] + P[i, 2] * J[0, 2]
        g[i, 1] = P[i, 0] * J[1, 0] + P[i, 1] * J[1, 1] + P[i, 2] * J[1, 2]
    s00 = J[0, 0] * g[0, 0] + J[0, 1] * g[1, 0] + J[0, 2] * g[2, 0]
    s01 = J[0, 0] * g[0, 1] + J[0, 1] * g[1, 1] + J[0, 2] * g[2, 1]
    s11 = J[1, 0] * g[0, 1] + J[1, 1] * g[1, 1] + J[1, 2] * g[2, 1]
    wide = TAIL_SCALE * TAIL_SCALE
    u2, v2 = ru * ru, rv * rv
    near = math.log(1.0 - TAIL_SHARE) + _gaussian(du, dv, s00 + u2, s01, s11 + v2)
    far = math.log(TAIL_SHARE) + _gaussian(du, dv, s00 + wide * u2, s01, s11 + wide * v2)
    top = max(near, far)
    density = top + math.log(math.exp(near - top) + math.exp(far - top))
    tail = math.exp(far - density)
    s00 += 1.0 / ((1.0 - tail) / u2 + tail / (wide * u2))
    s11 += 1.0 / ((1.0 - tail) / v2 + tail / (wide * v2))
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


@kernel
def add_dart(cov: Array, variance: float) -> None:
    """Add to a covariance (6, 6) what a dart somewhere in the last frame can do, in place.

    variance : of the velocity's change, world units^2 a frame^2.
    """
    for k in range(3):
        cov[k, k] += variance / 3.0
        cov[3 + k, 3 + k] += variance
        cov[k, 3 + k] += 0.5 * variance
        cov[3 + k, k] += 0.5 * variance


@helper
def innovation(P: Array, pixel: Array, J: Array, u: float, v: float, r: float) -> float:
    """Squared Mahalanobis distance of a detection from a predicted position, noise taken at its tail."""
    return innovation_axes(P, pixel, J, u, v, r, r)


@kernel
def innovation_axes(P: Array, pixel: Array, J: Array, u: float, v: float, ru: float, rv: float) -> float:
    """Squared Mahalanobis distance of a detection of noise (ru, rv) px from a predicted position."""
    s00 = s01 = s11 = 0.0
    for i in range(3):
        for j in range(3):
            s00 += J[0, i] * P[i, j] * J[0, j]
            s01 += J[0, i] * P[i, j] * J[1, j]
            s11 += J[1, i] * P[i, j] * J[1, j]
    s00 += ru * ru * 4.0
    s11 += rv * rv * 4.0
    du, dv = u - pixel[0], v - pixel[1]
    distance: float = (s11 * du * du - 2.0 * s01 * du * dv + s00 * dv * dv) / (s00 * s11 - s01 * s01)
    return distance


@kernel
def correct(tracks: Predicted, members: Ints, readings: Readings) -> None:
    """Update states and covariances of tracks in place by the chosen detections (T, C)."""
    state, cov, pixel, J = tracks.state, tracks.cov, tracks.pixel, tracks.J
    x0, room = np.empty(3), np.empty((6, 2))
    for t in range(members.shape[0]):
        for k in range(3):
            x0[k] = state[t, k]
        for c in range(members.shape[1]):
            d = members[t, c]
            if d >= 0:
                u, v, ru, rv = seen_middle(readings, d, tracks.half[t, c], tracks.hidden[t, c])
                absorb_quickly(state[t], cov[t], x0, pixel[t, c], J[t, c], u, v, ru, rv, 6, room)
