"""Loops over frames and pairs of animals, in Numba."""

import numpy as np
from numba import njit

from ..abnormal.kernels import sort_first
from .hull import hull_volume

NEIGHBOURS = 3  # whose headings an animal is compared with


@njit(cache=True, error_model="numpy", nogil=True)
def hulls(position):  # type: ignore[no-untyped-def]
    """(T,) hull volume of the finite points of (T, N, 3), NaN for fewer than four."""
    T, N = position.shape[:2]
    out = np.full(T, np.nan)
    here = np.empty((N, 3))
    for t in range(T):
        count = 0
        for i in range(N):
            if np.isfinite(position[t, i, 0] + position[t, i, 1] + position[t, i, 2]):
                for k in range(3):
                    here[count, k] = position[t, i, k]
                count += 1
        if count >= 4:
            out[t] = hull_volume(here[:count])
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def neighbours(position, ahead):  # type: ignore[no-untyped-def]
    """(T, N, 3) distance to the nearest, median distance to all others, mean cosine of the nearest three's headings."""
    T, N = position.shape[:2]
    out = np.full((T, N, 3), np.nan)
    distance = np.empty(N)
    others = np.empty(N)
    for t in range(T):
        for i in range(N):
            count = 0
            for j in range(N):
                dx = position[t, i, 0] - position[t, j, 0]
                dy = position[t, i, 1] - position[t, j, 1]
                dz = position[t, i, 2] - position[t, j, 2]
                d = np.sqrt(dx * dx + dy * dy + dz * dz)
                distance[j] = np.inf
                if j != i and np.isfinite(d):
                    distance[j] = d
                    others[count] = d
                    count += 1
            if count == 0:
                continue
            sort_first(others, count)
            out[t, i, 0] = others[0]
            out[t, i, 1] = 0.5 * (others[(count - 1) // 2] + others[count // 2])
            far = others[min(NEIGHBOURS, count) - 1]
            cosine = 0.0
            near = 0
            for j in range(N):
                if distance[j] <= far:
                    c = 0.0
                    for k in range(3):
                        c += ahead[t, i, k] * ahead[t, j, k]
                    if np.isfinite(c):
                        cosine += c
                        near += 1
            if near:
                out[t, i, 2] = cosine / near
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def pair_counts(position, shifted, edges):  # type: ignore[no-untyped-def]
    """(B,) pairs i < j of animals by distance, j taken from ``shifted`` (T, N, 3); edges (B + 1,) evenly spaced."""
    T, N = position.shape[:2]
    bins = edges.shape[0] - 1
    out = np.zeros(bins)
    width = (edges[bins] - edges[0]) / bins
    for t in range(T):
        for i in range(N):
            for j in range(i + 1, N):
                dx = position[t, i, 0] - shifted[t, j, 0]
                dy = position[t, i, 1] - shifted[t, j, 1]
                dz = position[t, i, 2] - shifted[t, j, 2]
                d = np.sqrt(dx * dx + dy * dy + dz * dz)
                if edges[0] <= d < edges[bins]:
                    out[min(int((d - edges[0]) / width), bins - 1)] += 1.0
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def delayed_cosines(ahead, begin, end, step, lags, pair, total, count):  # type: ignore[no-untyped-def]
    """Add ahead_i(t) . ahead_j(t + lag) for lag -L..L and every step-th t of begin..end to total and count (K, 2L + 1).

    ``pair`` (K, 2) the animals i, j; frames that t + lag reaches beyond the array, or that are missing, are left out.
    """
    T = ahead.shape[0]
    for k in range(pair.shape[0]):
        i, j = pair[k, 0], pair[k, 1]
        for t in range(begin, end, step):
            x, y, z = ahead[t, i, 0], ahead[t, i, 1], ahead[t, i, 2]
            if not np.isfinite(x):
                continue
            for lag in range(max(-lags, -t), min(lags, T - 1 - t) + 1):
                c = x * ahead[t + lag, j, 0] + y * ahead[t + lag, j, 1] + z * ahead[t + lag, j, 2]
                if np.isfinite(c):
                    total[k, lags + lag] += c
                    count[k, lags + lag] += 1.0


@njit(cache=True, error_model="numpy", nogil=True)
def neighbour_counts(position, ahead, up, reach, out):  # type: ignore[no-untyped-def]
    """Add to out (3, B, B): neighbours seen from above, from the left side and from behind, in the swimmer's frame.

    Rows and columns span -reach..reach: of ahead over right, ahead over up, and up over right.
    """
    T, N = position.shape[:2]
    B = out.shape[1]
    for t in range(T):
        for i in range(N):
            ax, ay, az = ahead[t, i, 0], ahead[t, i, 1], ahead[t, i, 2]
            rx = ay * up[2] - az * up[1]
            ry = az * up[0] - ax * up[2]
            rz = ax * up[1] - ay * up[0]
            level = np.sqrt(rx * rx + ry * ry + rz * rz)
            if not level > 1e-9:  # straight up or down there is no right hand
                continue
            rx, ry, rz = rx / level, ry / level, rz / level
            ux, uy, uz = ry * az - rz * ay, rz * ax - rx * az, rx * ay - ry * ax
            for j in range(N):
                if j == i:
                    continue
                dx = position[t, j, 0] - position[t, i, 0]
                dy = position[t, j, 1] - position[t, i, 1]
                dz = position[t, j, 2] - position[t, i, 2]
                a = (dx * ax + dy * ay + dz * az) / reach
                r = (dx * rx + dy * ry + dz * rz) / reach
                u = (dx * ux + dy * uy + dz * uz) / reach
                if abs(a) < 1.0 and abs(r) < 1.0 and abs(u) < 1.0:
                    ia, ir, iu = int((a + 1) / 2 * B), int((r + 1) / 2 * B), int((u + 1) / 2 * B)
                    out[0, ia, ir] += 1.0
                    out[1, ia, iu] += 1.0
                    out[2, iu, ir] += 1.0
