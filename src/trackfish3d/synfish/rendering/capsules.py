"""Distances between fish bodies, each taken as a capsule: a segment along the heading, and a radius.

Points are not enough: two fish three units long may have their centres a unit apart and lie side by side,
or two units apart and cross. A capsule is the smallest solid whose distance is exact in closed form.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Half length of the capsule's segment, its radius, and how far its middle lies behind the body's centre (the tail
# is longer than the head), in body lengths. The whole mesh, fins and beating tail, stays inside (see body.py).
CAPSULE_HALF = 0.4225
CAPSULE_RADIUS = 0.12
CAPSULE_BEHIND = 0.1025
CAPSULE_REACH = CAPSULE_HALF + CAPSULE_BEHIND + CAPSULE_RADIUS  # farthest point of it from the body's centre


@njit(cache=True)
def segment_distance(px, py, pz, ux, uy, uz, a, qx, qy, qz, vx, vy, vz, b):  # type: ignore[no-untyped-def]
    """Distance of segments p +- a u and q +- b v (u, v unit) and the vector from the second to the first.

    Ericson, Real-Time Collision Detection, 5.1.9, written for centred segments.
    """
    rx, ry, rz = px - qx, py - qy, pz - qz
    uv = ux * vx + uy * vy + uz * vz
    ru = rx * ux + ry * uy + rz * uz
    rv = rx * vx + ry * vy + rz * vz
    denominator = 1.0 - uv * uv
    if denominator > 1e-9:
        s = (uv * rv - ru) / denominator
        s = min(max(s, -a), a)
    else:
        s = min(max(-ru, -a), a)
    t = s * uv + rv
    if t < -b or t > b:
        t = min(max(t, -b), b)
        s = min(max(t * uv - ru, -a), a)
    dx = rx + s * ux - t * vx
    dy = ry + s * uy - t * vy
    dz = rz + s * uz - t * vz
    return np.sqrt(dx * dx + dy * dy + dz * dz), dx, dy, dz


@njit(cache=True)
def body_distance(x, y, z, hx, hy, hz, length_i, px, py, pz, gx, gy, gz, length_j):  # type: ignore[no-untyped-def]
    """Distance of the middle lines of two fish with centres (x, y, z), (px, py, pz) and headings h, g; and vector."""
    a, b = CAPSULE_BEHIND * length_i, CAPSULE_BEHIND * length_j
    return segment_distance(
        x - a * hx,
        y - a * hy,
        z - a * hz,
        hx,
        hy,
        hz,
        CAPSULE_HALF * length_i,
        px - b * gx,
        py - b * gy,
        pz - b * gz,
        gx,
        gy,
        gz,
        CAPSULE_HALF * length_j,
    )


@njit(cache=True)
def pose_is_free(i, x, y, z, hx, hy, hz, position, heading, length):  # type: ignore[no-untyped-def]
    """Whether fish ``i`` in the given pose touches none of the others where they are now."""
    radius = CAPSULE_RADIUS * length[i]
    for j in range(position.shape[0]):
        if j == i:
            continue
        dx, dy, dz = x - position[j, 0], y - position[j, 1], z - position[j, 2]
        reach = CAPSULE_REACH * (length[i] + length[j])
        if dx * dx + dy * dy + dz * dz > reach * reach:
            continue
        gap, _, _, _ = body_distance(
            x,
            y,
            z,
            hx,
            hy,
            hz,
            length[i],
            position[j, 0],
            position[j, 1],
            position[j, 2],
            heading[j, 0],
            heading[j, 1],
            heading[j, 2],
            length[j],
        )
        if gap < radius + CAPSULE_RADIUS * length[j]:
            return False
    return True


@njit(cache=True)
def pose_in_water(x, y, z, hx, hy, hz, length, low, high):  # type: ignore[no-untyped-def]
    """Whether both ends of the capsule, with its radius, lie inside the box ``low`` to ``high``."""
    half, radius, behind = CAPSULE_HALF * length, CAPSULE_RADIUS * length, CAPSULE_BEHIND * length
    x, y, z = x - behind * hx, y - behind * hy, z - behind * hz
    return (
        x - abs(hx) * half - radius >= low[0]
        and x + abs(hx) * half + radius <= high[0]
        and y - abs(hy) * half - radius >= low[1]
        and y + abs(hy) * half + radius <= high[1]
        and z - abs(hz) * half - radius >= low[2]
        and z + abs(hz) * half + radius <= high[2]
    )


@njit(cache=True)
def smallest_clearance(position, heading, length):  # type: ignore[no-untyped-def]
    """Smallest distance between any two capsules' surfaces (T, N, 3) -> (T,); negative where they meet."""
    frames, fish = position.shape[0], position.shape[1]
    out = np.full(frames, np.inf)
    for t in range(frames):
        for i in range(fish):
            for j in range(i):
                gap, _, _, _ = body_distance(
                    position[t, i, 0],
                    position[t, i, 1],
                    position[t, i, 2],
                    heading[t, i, 0],
                    heading[t, i, 1],
                    heading[t, i, 2],
                    length[i],
                    position[t, j, 0],
                    position[t, j, 1],
                    position[t, j, 2],
                    heading[t, j, 0],
                    heading[t, j, 1],
                    heading[t, j, 2],
                    length[j],
                )
                out[t] = min(out[t], gap - CAPSULE_RADIUS * (length[i] + length[j]))
    return out
