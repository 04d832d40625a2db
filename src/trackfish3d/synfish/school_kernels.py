"""One step of the school, in Numba: what each fish wants, how it turns, and where it may go.

Every fish is moved in turn, and only into a pose that is free of the others as they stand and inside the
water; otherwise it tries gentler moves and at last stays. A pose that was free stays free, so by induction
no two bodies ever meet and nobody leaves the water, whatever the forces do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .rendering.capsules import CAPSULE_RADIUS, body_distance, pose_in_water, pose_is_free

# Columns of the settings row that `step_school` reads.
REPULSION_RADIUS, ALIGNMENT_RADIUS, ATTRACTION_RADIUS = 0, 1, 2
REPULSION, ALIGNMENT, ATTRACTION = 3, 4, 5
WALL_MARGIN, WALL, MILLING, LAYERING = 6, 7, 8, 9
WANDER, WANDER_MEMORY, TURN_MAX, TURN_SMOOTH = 10, 11, 12, 13
BURST_CHANCE, BURST_FRAMES, BURST_SPEED, COAST_SPEED = 14, 15, 16, 17
PITCH_MAX, HOME, STEP_MAX = 18, 19, 20
START_CHANCE, START_TURN, START_TURN_FRAMES, START_FRAMES, START_SPEED = 21, 22, 23, 24, 25
REST_CHANCE, REST_FRAMES = 26, 27
SETTINGS_COLUMNS = 28
# Columns of what a fish is at, frames left and radians a frame: `step_school`.
STARTING, TURNING, TURN_RATE, RESTING = 0, 1, 2, 3
# Moves that a fish tries, the boldest first: shares of its step ahead and aside, and whether it turns.
AHEAD = (1.0, 0.6, 0.3, 0.2, 0.6, 0.2, 0.0, 0.0, -0.3)
ASIDE = (0.0, 0.0, 0.0, 0.4, 0.0, 0.4, 0.4, 0.0, 0.0)
TURNED = (True, True, True, True, False, False, False, True, False)


@njit(cache=True)
def _social(i, position, heading, length, social, row):  # type: ignore[no-untyped-def]
    """Zonal forces on fish ``i``: away from close bodies, along near headings, towards far centres."""
    ax = ay = az = lx = ly = lz = rx = ry = rz = 0.0
    aligned, attracted = 0, 0
    crowd = 0.0
    repulsion = row[REPULSION_RADIUS] * length[i]
    alignment = row[ALIGNMENT_RADIUS] * length[i]
    attraction = row[ATTRACTION_RADIUS] * length[i]
    for j in range(position.shape[0]):
        if j == i:
            continue
        dx = position[i, 0] - position[j, 0]
        dy = position[i, 1] - position[j, 1]
        dz = position[i, 2] - position[j, 2]
        d2 = dx * dx + dy * dy + dz * dz
        if d2 > attraction * attraction:
            continue
        d = np.sqrt(d2)
        if d < repulsion + 0.5 * (length[i] + length[j]):
            gap, gx, gy, gz = body_distance(
                position[i, 0],
                position[i, 1],
                position[i, 2],
                heading[i, 0],
                heading[i, 1],
                heading[i, 2],
                length[i],
                position[j, 0],
                position[j, 1],
                position[j, 2],
                heading[j, 0],
                heading[j, 1],
                heading[j, 2],
                length[j],
            )
            clearance = max(gap - CAPSULE_RADIUS * (length[i] + length[j]), 0.0)
            if clearance < repulsion and gap > 1e-9:
                push = 1.0 - clearance / repulsion
                push = push * push
                # The near end pushes away from contact, the centre away from the neighbour's place.
                rx += push * (gx / gap + 0.5 * dx / (d + 1e-9))
                ry += push * (gy / gap + 0.5 * dy / (d + 1e-9))
                rz += push * (gz / gap + 0.5 * dz / (d + 1e-9))
                crowd = max(crowd, 1.0 - clearance / (0.25 * length[i]))
        if d < alignment:
            lx += heading[j, 0]
            ly += heading[j, 1]
            lz += heading[j, 2]
            aligned += 1
        else:
            ax -= dx / d
            ay -= dy / d
            az -= dz / d
            attracted += 1
    s = social[i]
    kr = row[REPULSION] * (0.4 + 0.6 * s)
    kl = row[ALIGNMENT] * s / max(aligned, 1)
    ka = row[ATTRACTION] * s / max(attracted, 1)
    return (
        kr * rx + kl * lx + ka * ax,
        kr * ry + kl * ly + ka * ay,
        kr * rz + kl * lz + ka * az,
        max(crowd, 0.0),
    )


@njit(cache=True)
def _walls(i, position, heading, length, low, high, row):  # type: ignore[no-untyped-def]
    """Push away from walls and surface, felt by the nose before the body arrives."""
    out = np.zeros(3)
    margin = row[WALL_MARGIN] * length[i]
    for k in range(3):
        nose = position[i, k] + 0.6 * length[i] * heading[i, k]
        room = 0.5 * (high[k] - low[k])
        reach = min(margin, room)
        below = (nose - low[k]) / reach
        above = (high[k] - nose) / reach
        if below < 1.0:
            out[k] += row[WALL] * (1.0 - below) ** 2
        if above < 1.0:
            out[k] -= row[WALL] * (1.0 - above) ** 2
    return out


@njit(cache=True)
def _turn(i, want, heading, spin, row, agility):  # type: ignore[no-untyped-def]
    """Turn the heading towards ``want`` with a limited, smoothed rate; pitch stays below its limit."""
    hx, hy, hz = heading[i, 0], heading[i, 1], heading[i, 2]
    norm = np.sqrt(want[0] ** 2 + want[1] ** 2 + want[2] ** 2) + 1e-12
    wx, wy, wz = want[0] / norm, want[1] / norm, want[2] / norm
    level = np.sqrt(wx * wx + wy * wy)
    steepest = np.tan(row[PITCH_MAX])
    if abs(wz) > steepest * level:
        if level < 1e-6:
            wx, wy, level = hx, hy, np.sqrt(hx * hx + hy * hy) + 1e-9
        wz = np.sign(wz) * steepest * level
        norm = np.sqrt(wx * wx + wy * wy + wz * wz)
        wx, wy, wz = wx / norm, wy / norm, wz / norm
    cx, cy, cz = hy * wz - hz * wy, hz * wx - hx * wz, hx * wy - hy * wx
    sine = np.sqrt(cx * cx + cy * cy + cz * cz)
    angle = np.arctan2(sine, hx * wx + hy * wy + hz * wz)
    if sine < 1e-9:  # straight ahead, or exactly backwards: then turn level
        cx, cy, cz, sine = -0.0, 0.0, 1.0, 1.0
    limit = row[TURN_MAX] * agility
    rate = min(0.25 * angle, limit)
    goal = (cx / sine * rate, cy / sine * rate, cz / sine * rate)
    for k in range(3):
        spin[i, k] += row[TURN_SMOOTH] * (goal[k] - spin[i, k])
    rate = np.sqrt(spin[i, 0] ** 2 + spin[i, 1] ** 2 + spin[i, 2] ** 2)
    if rate > limit:
        spin[i] *= limit / rate
        rate = limit
    if rate < 1e-12:
        return hx, hy, hz
    kx, ky, kz = spin[i, 0] / rate, spin[i, 1] / rate, spin[i, 2] / rate
    c, s = np.cos(rate), np.sin(rate)
    dot = (kx * hx + ky * hy + kz * hz) * (1.0 - c)
    nx = hx * c + (ky * hz - kz * hy) * s + kx * dot
    ny = hy * c + (kz * hx - kx * hz) * s + ky * dot
    nz = hz * c + (kx * hy - ky * hx) * s + kz * dot
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / norm, ny / norm, nz / norm


@njit(cache=True)
def _swing(i, heading, spin, rate):  # type: ignore[no-untyped-def]
    """Turn the heading level by ``rate`` radians, whatever the fish would rather do: the first stage of a C-start."""
    c, s = np.cos(rate), np.sin(rate)
    hx, hy, hz = heading[i, 0], heading[i, 1], heading[i, 2]
    spin[i, 0], spin[i, 1], spin[i, 2] = 0.0, 0.0, rate
    return c * hx - s * hy, s * hx + c * hy, hz


@njit(cache=True)
def _roomier(i, angle, position, heading, length, low, high):  # type: ignore[no-untyped-def]
    """+1 or -1: the side to which a turn by ``angle`` radians leaves more water before the fish, 0 if both do."""
    short = np.zeros(2)
    for k in range(2):
        c, s = np.cos(angle), np.sin(angle) * (1.0 - 2.0 * k)
        ahead = (c * heading[i, 0] - s * heading[i, 1], s * heading[i, 0] + c * heading[i, 1])
        for m in range(2):
            goal = position[i, m] + 4.0 * length[i] * ahead[m]
            short[k] += max(low[m] - goal, 0.0) + max(goal - high[m], 0.0)
    return np.sign(short[1] - short[0])


@njit(cache=True)
def _decide(i, chance, side, doing, position, heading, length, low, high, row):  # type: ignore[no-untyped-def]
    """Begin a fast start or a rest, rarely; count down what the fish is at. Columns of ``doing`` are above."""
    for k in (STARTING, TURNING, RESTING):
        doing[i, k] = max(doing[i, k] - 1.0, 0.0)
    if chance > 1.0 - row[START_CHANCE] and doing[i, STARTING] <= 0.0:
        roomier = _roomier(i, row[START_TURN], position, heading, length, low, high)
        turn = row[START_TURN] * (roomier if roomier != 0.0 else np.sign(side))
        doing[i, STARTING], doing[i, TURNING] = row[START_TURN_FRAMES] + row[START_FRAMES], row[START_TURN_FRAMES]
        doing[i, TURN_RATE], doing[i, RESTING] = turn / row[START_TURN_FRAMES], 0.0
    elif chance > 1.0 - row[START_CHANCE] - row[REST_CHANCE] and doing[i, STARTING] + doing[i, RESTING] <= 0.0:
        doing[i, RESTING] = row[REST_FRAMES]


@njit(cache=True)
def _settle(i, hx, hy, hz, step, push, position, heading, length, low, high):  # type: ignore[no-untyped-def]
    """Move fish ``i`` by the first of ever gentler moves that leaves it free and in the water; returns its share.

    Swim on, slower; else give way sideways along ``push`` (a fin stroke), turning or not; else turn on the spot; else
    back off.
    """
    ox, oy, oz = heading[i, 0], heading[i, 1], heading[i, 2]
    norm = np.sqrt(push[0] ** 2 + push[1] ** 2 + push[2] ** 2) + 1e-12
    for attempt in range(len(AHEAD)):
        nx, ny, nz = (hx, hy, hz) if TURNED[attempt] else (ox, oy, oz)
        ahead, aside = AHEAD[attempt], ASIDE[attempt] / norm
        dx, dy, dz = ahead * nx + aside * push[0], ahead * ny + aside * push[1], ahead * nz + aside * push[2]
        share = abs(ahead) + 0.4 * (aside > 0.0)
        x = position[i, 0] + step * dx
        y = position[i, 1] + step * dy
        z = position[i, 2] + step * dz
        if pose_in_water(x, y, z, nx, ny, nz, length[i], low, high) and pose_is_free(
            i, x, y, z, nx, ny, nz, position, heading, length
        ):
            position[i, 0], position[i, 1], position[i, 2] = x, y, z
            heading[i, 0], heading[i, 1], heading[i, 2] = nx, ny, nz
            return share
    return 0.0


@njit(cache=True)
def step_school(  # type: ignore[no-untyped-def]
    position,
    heading,
    speed,
    spin,
    wander,
    burst,
    doing,
    length,
    cruise,
    social,
    erratic,
    home,
    depth,
    low,
    high,
    row,
    noise,
    chance,
):
    """Advance every fish by one frame, in place.

    Parameters are (N, 3) or (N,) arrays of the school's state; ``noise`` (N, 3) standard normal and
    ``chance`` (N,) uniform numbers keep the randomness outside, so that one seed gives one school.
    """
    middle = 0.5 * (low + high)
    room = 0.5 * (high - low)
    for i in range(position.shape[0]):
        _decide(i, chance[i], noise[i, 0], doing, position, heading, length, low, high, row)
        memory = row[WANDER_MEMORY]
        fresh = np.sqrt(1.0 - memory * memory)
        for k in range(3):
            wander[i, k] = memory * wander[i, k] + fresh * noise[i, k]
        want = _walls(i, position, heading, length, low, high, row)
        sx, sy, sz, crowd = _social(i, position, heading, length, social, row)
        push = np.array([sx, sy, sz])
        for k in range(3):
            # Walls push the whole body aside once it is near, whichever way it looks.
            extent = (0.2 + 0.5 * abs(heading[i, k])) * length[i]
            push[k] += max(low[k] + extent - position[i, k], 0.0) - max(position[i, k] + extent - high[k], 0.0)
        want[0] += heading[i, 0] + sx
        want[1] += heading[i, 1] + sy
        want[2] += 0.6 * heading[i, 2] + sz
        lift = row[WANDER] * erratic[i]
        want[0] += lift * wander[i, 0]
        want[1] += lift * wander[i, 1]
        want[2] += 0.4 * lift * wander[i, 2]
        ex, ey = position[i, 0] - middle[0], position[i, 1] - middle[1]
        reach = np.sqrt(ex * ex + ey * ey) + 1e-9
        mill = row[MILLING] * social[i]
        want[0] -= mill * ey / reach
        want[1] += mill * ex / reach
        want[2] += row[LAYERING] * (depth[i] - position[i, 2]) / room[2]
        for k in range(3):
            want[k] += row[HOME] * home[i, 3] * (home[i, k] - position[i, k]) / (room[k] + 1e-9)
        agility = 1.0 + 0.5 * (erratic[i] > 1.5)
        hx, hy, hz = _turn(i, want, heading, spin, row, agility)

        if doing[i, TURNING] > 0.0:
            hx, hy, hz = _swing(i, heading, spin, doing[i, TURN_RATE])
        step = _pace(i, chance[i], crowd, speed, burst, doing, cruise, row)
        share = _settle(i, hx, hy, hz, step, push, position, heading, length, low, high)
        if share < 1.0:
            speed[i] *= max(share, 0.6)
            spin[i] *= 0.5


@njit(cache=True)
def _pace(i, chance, crowd, speed, burst, doing, cruise, row):  # type: ignore[no-untyped-def]
    """Way of this frame, world units: bursts and coasts, slower in a crowd; a fast start; rest."""
    burst[i] -= 1.0
    if burst[i] <= 0.0 and chance < row[BURST_CHANCE]:
        burst[i] = row[BURST_FRAMES]
    if doing[i, STARTING] > 0.0:  # little way while the body bends, then almost at once
        share = 0.1 if doing[i, TURNING] > 0.0 else 0.6
        speed[i] += share * (row[START_SPEED] * cruise[i] - speed[i])
        return speed[i]
    if speed[i] > row[STEP_MAX] * cruise[i]:  # the end of a start
        speed[i] *= 0.7
        return speed[i]
    if doing[i, RESTING] > 0.0:
        speed[i] *= 0.7
        return speed[i]
    if burst[i] > 0.0:
        speed[i] += 0.35 * (row[BURST_SPEED] * cruise[i] - speed[i])
    else:
        speed[i] += 0.08 * (row[COAST_SPEED] * cruise[i] - speed[i])
    step = min(speed[i] * (1.0 - 0.5 * min(crowd, 1.0)), row[STEP_MAX] * cruise[i])
    return max(step, 0.4 * cruise[i])
