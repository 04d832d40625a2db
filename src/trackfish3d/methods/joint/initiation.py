"""First sightings: sets of detections of two and more views that may be an animal nobody follows yet."""

import math

import numpy as np
from numba import njit

from ...cameras.triangulation import nearest_to_rays
from .kernels import absorb, in_image, innovation, look_one


@njit(cache=True, error_model="numpy")
def initiate(  # type: ignore[no-untyped-def]
    packed,
    sizes,
    origin,
    direction,
    camera,
    camera_begin,
    u,
    v,
    r,
    free,
    known,
    found,
    log_clutter,
    spread,
    log_prior,
    gate,
    h,
):
    """All sets of free detections that one point explains.

    Parameters
    ----------
    packed : cameras, sizes (C, 2) of their images, px. origin, direction (N, 3) : rays. camera (N,), camera_begin
    (C + 1,), u, v, r (N,) px.
    free (N,) bool; known (N, N) bool : pairs that a candidate already follows. found (C,) chance to be detected;
    log_clutter (C,) log density of false detections, 1/px^2.
    spread : standard deviation of a position before it is measured, world units, large against its measured error.
    log_prior : log of new animals a frame and volume, 1 / world^3. gate : largest squared innovation.
    h : step of derivatives, world units.

    Returns
    -------
    members (K, C), weight (K,) log-likelihood ratio, position (K, 3), covariance (K, 3, 3).

    A set grows from the pair of its two first cameras, so that none comes twice; a pair that a third view could join
    is left to that larger set.
    """
    n_views, n = packed.shape[0], u.shape[0]
    members = np.empty((64, n_views), np.int64)
    weight = np.empty(64)
    position = np.empty((64, 3))
    covariance = np.empty((64, 3, 3))
    count = 0
    a, b = np.empty((3, 3)), np.empty(3)
    two_o, two_d = np.empty((2, 3)), np.empty((2, 3))
    x0, x, P = np.empty(3), np.empty(3), np.empty((3, 3))
    pixel, J = np.empty((n_views, 2)), np.empty((n_views, 2, 3))
    seen = np.empty(n_views, np.bool_)
    third = np.empty(64, np.int64)
    base = log_prior + 1.5 * math.log(2.0 * math.pi * spread * spread)
    for i in range(n):
        if not free[i]:
            continue
        for j in range(camera_begin[camera[i] + 1], n):
            if not free[j] or known[i, j]:
                continue
            two_o[0], two_d[0], two_o[1], two_d[1] = origin[i], direction[i], origin[j], direction[j]
            px, py, pz, _, ok = nearest_to_rays(two_o, two_d, 0, 2, a, b)
            if not ok:
                continue
            x0[0], x0[1], x0[2] = px, py, pz
            seen[:] = False
            good = True
            for d in (i, j):
                c = camera[d]
                seen[c] = look_one(packed[c], x0, h, pixel[c], J[c])
                if not seen[c]:
                    good = False
                    break
                miss = ((u[d] - pixel[c, 0]) ** 2 + (v[d] - pixel[c, 1]) ** 2) / (r[d] * r[d])
                if miss > gate:
                    good = False
                    break
            if not good:
                continue
            x[:] = x0
            P[:] = 0.0
            for k in range(3):
                P[k, k] = spread * spread
            ll = base
            for d in (i, j):
                c = camera[d]
                ll += absorb(x, P, x0, pixel[c], J[c], u[d], v[d], r[d]) + math.log(found[c]) - log_clutter[c]
            larger = False  # a set of more views, grown from another pair or from this one
            options = 0
            best_c = -1
            for c in range(n_views):
                if c == camera[i] or c == camera[j]:
                    continue
                seen[c] = look_one(packed[c], x, h, pixel[c], J[c])
                if not seen[c]:
                    continue
                for d in range(camera_begin[c], camera_begin[c + 1]):
                    if free[d] and innovation(P, pixel[c], J[c], u[d], v[d], r[d]) < gate:
                        larger = True
                        if c > camera[j] and (best_c < 0 or c == best_c) and options < third.shape[0]:
                            best_c = c
                            third[options] = d
                            options += 1
            if larger and options == 0:
                continue
            for o in range(max(options, 1)):
                if count == weight.shape[0]:
                    members, weight, position, covariance = _grow(members, weight, position, covariance)
                members[count, :] = -1
                members[count, camera[i]], members[count, camera[j]] = i, j
                position[count], covariance[count] = x, P
                total = ll
                if options:
                    total += _join(
                        third[o], best_c, packed, camera_begin, u, v, r, free, found, log_clutter, gate, h,
                        members[count], position[count], covariance[count],
                    )  # fmt: skip
                for c in range(n_views):
                    if members[count, c] < 0 and seen[c] and in_image(pixel[c], sizes[c]):
                        total += math.log(max(1.0 - found[c], 1e-6))
                weight[count] = total
                count += 1
    return members[:count], weight[:count], position[:count], covariance[:count]


@njit(cache=True, error_model="numpy")
def _join(  # type: ignore[no-untyped-def]
    d, first, packed, camera_begin, u, v, r, free, found, log_clutter, gate, h, members, x, P
):
    """Add detection d of camera ``first``, then the nearest of every later camera, in place; the gain in likelihood."""
    pixel, J = np.empty(2), np.empty((2, 3))
    total = 0.0
    for c in range(first, packed.shape[0]):
        if not look_one(packed[c], x, h, pixel, J):
            continue
        best = d if c == first else -1
        if c > first:
            near = gate
            for k in range(camera_begin[c], camera_begin[c + 1]):
                if free[k]:
                    far = innovation(P, pixel, J, u[k], v[k], r[k])
                    if far < near:
                        near, best = far, k
        if best >= 0:
            total += absorb(x, P, x.copy(), pixel, J, u[best], v[best], r[best])
            total += math.log(found[c]) - log_clutter[c]
            members[c] = best
    return total


@njit(cache=True)
def _grow(members, weight, position, covariance):  # type: ignore[no-untyped-def]
    n = weight.shape[0]
    a, b = np.empty((2 * n, members.shape[1]), np.int64), np.empty(2 * n)
    c, d = np.empty((2 * n, 3)), np.empty((2 * n, 3, 3))
    a[:n], b[:n], c[:n], d[:n] = members, weight, position, covariance
    return a, b, c, d
