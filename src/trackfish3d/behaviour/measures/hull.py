"""Volume of the convex hull of a few points, in Numba: thousands of frames in the time SciPy needs for dozens."""

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy", nogil=True)
def _side(p, a, b, c, d):  # type: ignore[no-untyped-def]
    """Six times the signed volume of the tetrahedron of rows a, b, c, d of p."""
    ux, uy, uz = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    vx, vy, vz = p[c, 0] - p[a, 0], p[c, 1] - p[a, 1], p[c, 2] - p[a, 2]
    wx, wy, wz = p[d, 0] - p[a, 0], p[d, 1] - p[a, 1], p[d, 2] - p[a, 2]
    return (uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz


@njit(cache=True, error_model="numpy", nogil=True)
def _first_simplex(p, tiny):  # type: ignore[no-untyped-def]
    """Four points far apart, or -1 first where all lie in a plane."""
    n = p.shape[0]
    a = 0
    b = a
    best = 0.0
    for i in range(n):
        d = (p[i, 0] - p[a, 0]) ** 2 + (p[i, 1] - p[a, 1]) ** 2 + (p[i, 2] - p[a, 2]) ** 2
        if d > best:
            best, b = d, i
    c = a
    best = 0.0
    for i in range(n):
        x = (p[b, 1] - p[a, 1]) * (p[i, 2] - p[a, 2]) - (p[b, 2] - p[a, 2]) * (p[i, 1] - p[a, 1])
        y = (p[b, 2] - p[a, 2]) * (p[i, 0] - p[a, 0]) - (p[b, 0] - p[a, 0]) * (p[i, 2] - p[a, 2])
        z = (p[b, 0] - p[a, 0]) * (p[i, 1] - p[a, 1]) - (p[b, 1] - p[a, 1]) * (p[i, 0] - p[a, 0])
        d = x * x + y * y + z * z
        if d > best:
            best, c = d, i
    d_ = a
    best = tiny
    for i in range(n):
        d = abs(_side(p, a, b, c, i))
        if d > best:
            best, d_ = d, i
    if d_ == a or c == a or b == a:
        return -1, 0, 0, 0
    if _side(p, a, b, c, d_) > 0:
        b, c = c, b
    return a, b, c, d_


@njit(cache=True, nogil=True)
def _add(face, count, a, b, c):  # type: ignore[no-untyped-def]
    face[count, 0], face[count, 1], face[count, 2] = a, b, c
    return count + 1


@njit(cache=True, error_model="numpy", nogil=True)
def hull_volume(p):  # type: ignore[no-untyped-def]
    """Volume of the convex hull of p (N, 3), all finite; 0 for fewer than four points or points in a plane.

    Faces are added point by point: those a point sees are removed, and their rim is joined to it. A point within
    rounding of a face counts as inside, which keeps the hull closed and changes the volume by as little.
    """
    n = p.shape[0]
    if n < 4:
        return 0.0
    size = 0.0
    for i in range(n):
        for k in range(3):
            size = max(size, abs(p[i, k] - p[0, k]))
    tiny = 1e-12 * size * size * size
    a, b, c, d = _first_simplex(p, tiny)
    if a < 0:
        return 0.0
    room = 4 * n + 16
    face = np.empty((room, 3), np.int64)
    count = _add(face, 0, a, b, c)
    count = _add(face, count, a, c, d)
    count = _add(face, count, a, d, b)
    count = _add(face, count, b, d, c)
    rim = np.zeros((n, n), np.bool_)
    seen = np.zeros(room, np.bool_)
    for i in range(n):
        if i in (a, b, c, d):
            continue
        any_seen = False
        for f in range(count):
            seen[f] = _side(p, face[f, 0], face[f, 1], face[f, 2], i) > tiny
            any_seen |= seen[f]
        if not any_seen:
            continue
        for f in range(count):
            if seen[f]:
                for e in range(3):
                    rim[face[f, e], face[f, (e + 1) % 3]] = True
        kept = 0
        added = np.empty((3 * count, 3), np.int64)
        new = 0
        for f in range(count):
            if seen[f]:
                for e in range(3):
                    u, v = face[f, e], face[f, (e + 1) % 3]
                    if not rim[v, u]:
                        new = _add(added, new, u, v, i)
        for f in range(count):
            if seen[f]:
                for e in range(3):
                    rim[face[f, e], face[f, (e + 1) % 3]] = False
            else:
                kept = _add(face, kept, face[f, 0], face[f, 1], face[f, 2])
        if kept + new > room:  # rounding broke the rim: what is left is the hull so far
            break
        for f in range(new):
            _add(face, kept + f, added[f, 0], added[f, 1], added[f, 2])
        count = kept + new
    volume = 0.0
    for f in range(count):
        volume -= _side(p, face[f, 0], face[f, 1], face[f, 2], a)
    return max(volume, 0.0) / 6.0
