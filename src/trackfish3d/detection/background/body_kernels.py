"""Loops that lay bent ellipses over pixels: how much evidence one covers, how it fits best, which pixels it covers.

A body is a row of six numbers: u, v of its middle, its direction (radians), how far it turns from end to end
(radians), and its half length and half width, px. Its middle line is an arc.
"""

import numpy as np
from numba import njit

U, V, ANGLE, BEND, LENGTH, WIDTH = range(6)
_FINE = 3.0  # samples across half of a body's width, where there are as many pixels
_MOST_BEND = 2.5  # radians from end to end
_STRAIGHT = 1e-3  # radians from the middle to an end, below which a body is straight
_BEYOND = 1.3  # half lengths to which distances along a body are told
_WIDER = 2.5  # half widths to which distances across it are told


@njit(cache=True, nogil=True)
def _middle(body, s):  # type: ignore[no-untyped-def]
    """Point x, y of the middle line at ``s`` (-1..1) and the direction there."""
    turn = 0.5 * body[BEND] * s
    chord = body[LENGTH] * s
    if abs(turn) > 2e-4:
        chord *= np.sin(0.5 * turn) / (0.5 * turn)
    direction = body[ANGLE] + 0.5 * turn
    return body[U] + chord * np.cos(direction), body[V] + chord * np.sin(direction), body[ANGLE] + turn


@njit(cache=True, nogil=True)
def _beyond(body, s):  # type: ignore[no-untyped-def]
    """Point x, y of the middle line, which goes on straight beyond its ends, and cosine and sine of its direction."""
    inner = min(max(s, -1.0), 1.0)
    x, y, direction = _middle(body, inner)
    cos, sin = np.cos(direction), np.sin(direction)
    return x + (s - inner) * body[LENGTH] * cos, y + (s - inner) * body[LENGTH] * sin, cos, sin


@njit(cache=True, nogil=True)
def area(body):  # type: ignore[no-untyped-def]
    """Pixels that a body covers."""
    return np.pi * body[LENGTH] * body[WIDTH]


@njit(cache=True, nogil=True)
def evidence_of(body, level, taken, worth):  # type: ignore[no-untyped-def]
    """Evidence under a body, px: ``worth`` (2, 256) of each pixel by ``taken`` (H, W) 0 or 1 and ``level`` (H, W)."""
    height, width = level.shape
    step = max(1.0, body[WIDTH] / _FINE)
    n = max(3, int(np.ceil(2 * body[LENGTH] / step)))
    total = 0.0
    # The direction turns by the same angle from sample to sample, and an arc's points are those of a circle: four
    # sines and cosines a body, not five a sample.
    bend = 0.5 * body[BEND]
    cos, sin = np.cos(body[ANGLE]), np.sin(body[ANGLE])
    begin = body[ANGLE] + bend * (1.0 / n - 1)
    ahead, aside = np.cos(begin), np.sin(begin)
    turn_cos, turn_sin = np.cos(2 * bend / n), np.sin(2 * bend / n)
    bent = abs(bend) > _STRAIGHT
    radius = body[LENGTH] / bend if bent else 0.0
    for i in range(n):
        s = (2 * i + 1) / n - 1
        if bent:
            x, y = body[U] + radius * (aside - sin), body[V] - radius * (ahead - cos)
        else:
            x, y = body[U] + s * body[LENGTH] * cos, body[V] + s * body[LENGTH] * sin
        half = body[WIDTH] * np.sqrt(1 - s * s)
        m = max(1, int(np.ceil(2 * half / step)))
        nx, ny = -aside, ahead
        ahead, aside = ahead * turn_cos - aside * turn_sin, aside * turn_cos + ahead * turn_sin
        part = 0.0
        for j in range(m):
            t = half * ((2 * j + 1) / m - 1)
            px, py = int(np.floor(x + t * nx + 0.5)), int(np.floor(y + t * ny + 0.5))
            if 0 <= px < width and 0 <= py < height:
                part += worth[taken[py, px], level[py, px]]
            else:
                part += worth[0, 0]
        total += part * 2 * half / m
    return total * 2 * body[LENGTH] / n


@njit(cache=True, nogil=True)
def _value(body, usual, stiff, level, taken, worth):  # type: ignore[no-untyped-def]
    """Evidence under a body less what it costs to differ from ``usual``.

    ``stiff`` (5,): cost, in areas of the usual body, of squared differences of length (log), width (log), bend
    (radians, from straight), place (in half lengths along and half widths across) and direction (sine).
    """
    length, width = np.log(body[LENGTH] / usual[LENGTH]), np.log(body[WIDTH] / usual[WIDTH])
    cost = stiff[0] * length * length + stiff[1] * width * width + stiff[2] * body[BEND] * body[BEND]
    if stiff[3] > 0 or stiff[4] > 0:
        cos, sin = np.cos(usual[ANGLE]), np.sin(usual[ANGLE])
        dx, dy = body[U] - usual[U], body[V] - usual[V]
        along, across = (dx * cos + dy * sin) / usual[LENGTH], (dy * cos - dx * sin) / usual[WIDTH]
        turned = np.sin(body[ANGLE] - usual[ANGLE])
        cost += stiff[3] * (along * along + across * across) + stiff[4] * turned * turned
    return evidence_of(body, level, taken, worth) - area(usual) * cost


@njit(cache=True, nogil=True)
def fit_body(body, usual, stiff, level, taken, worth, first, scales):  # type: ignore[no-untyped-def]
    """Move, turn, bend and stretch a body to where it is worth most; changes ``body``, returns its value.

    Steps along and across, of direction, bend, length and width are tried one after the other, ``first`` times as
    large as a search from afar begins with, and halved until there were ``scales`` sizes.
    """
    best = _value(body, usual, stiff, level, taken, worth)
    trial = body.copy()
    steps = first * np.array([0.3 * body[LENGTH], body[WIDTH], 0.25, 0.4, 0.2, 0.2])
    for _ in range(scales):
        for _ in range(4):
            moved = False
            for kind in range(6):
                for sign in (1.0, -1.0):
                    step = sign * steps[kind]
                    trial[:] = body
                    if kind == 0:
                        trial[U] += step * np.cos(body[ANGLE])
                        trial[V] += step * np.sin(body[ANGLE])
                    elif kind == 1:
                        trial[U] -= step * np.sin(body[ANGLE])
                        trial[V] += step * np.cos(body[ANGLE])
                    elif kind == 2:
                        trial[ANGLE] += step
                    elif kind == 3:
                        trial[BEND] = min(max(trial[BEND] + step, -_MOST_BEND), _MOST_BEND)
                    else:
                        trial[kind] *= np.exp(step)
                    value = _value(trial, usual, stiff, level, taken, worth)
                    if value > best:
                        best, moved = value, True
                        body[:] = trial
                        break
            if not moved:
                break
        steps *= 0.5
    return best


@njit(cache=True, nogil=True)
def box(body, shape):  # type: ignore[no-untyped-def]
    """Left, top, right, bottom in a picture (H, W) of the pixels that `lay` may write."""
    reach = _BEYOND * body[LENGTH] + _WIDER * body[WIDTH] + 1
    left, right = max(int(body[U] - reach), 0), min(int(body[U] + reach) + 2, shape[1])
    top, bottom = max(int(body[V] - reach), 0), min(int(body[V] + reach) + 2, shape[0])
    return left, top, max(left, right), max(top, bottom)


@njit(cache=True, nogil=True)
def lay(body, number, left, top, distance, owner):  # type: ignore[no-untyped-def]
    """Write the squared distance of pixels from a body (1: its edge) where it is less than ``distance`` (h, w) has.

    There ``owner`` (h, w) becomes ``number``. The first pixel of both is at left, top.
    """
    height, width = distance.shape
    n = max(5, int(np.ceil(4 * _BEYOND * body[LENGTH])))
    m = max(3, int(np.ceil(4 * _WIDER * body[WIDTH])))
    for i in range(n):
        s = _BEYOND * ((2 * i + 1) / n - 1)
        x, y, cos, sin = _beyond(body, s)
        for j in range(m):
            t = _WIDER * ((2 * j + 1) / m - 1)
            px = int(np.floor(x - t * body[WIDTH] * sin + 0.5)) - left
            py = int(np.floor(y + t * body[WIDTH] * cos + 0.5)) - top
            d = s * s + t * t
            if 0 <= px < width and 0 <= py < height and d < distance[py, px]:
                distance[py, px], owner[py, px] = d, number


@njit(cache=True, nogil=True)
def only_seen(distance, seen, inner, owner, count):  # type: ignore[no-untyped-def]
    """Let nobody own pixels of ``owner`` (h, w) that are neither ``seen`` (h, w) nor within ``inner`` of a body.

    ``count`` (K,) gets how many each of the bodies 1..K keeps.
    """
    for j in range(owner.shape[0]):
        for i in range(owner.shape[1]):
            if distance[j, i] > inner and not seen[j, i]:
                owner[j, i] = 0
            elif owner[j, i] > 0:
                count[owner[j, i] - 1] += 1


@njit(cache=True, nogil=True)
def take(body, taken, within):  # type: ignore[no-untyped-def]
    """Set ``taken`` (H, W) where the squared distance from a body is at most ``within``."""
    height, width = taken.shape
    reach = np.sqrt(within)
    n, m = max(5, int(np.ceil(4 * reach * body[LENGTH]))), max(3, int(np.ceil(4 * reach * body[WIDTH])))
    for i in range(n):
        s = reach * ((2 * i + 1) / n - 1)
        x, y, cos, sin = _beyond(body, s)
        half = np.sqrt(within - s * s) * body[WIDTH]
        for j in range(m):
            t = half * ((2 * j + 1) / m - 1)
            px, py = int(np.floor(x - t * sin + 0.5)), int(np.floor(y + t * cos + 0.5))
            if 0 <= px < width and 0 <= py < height:
                taken[py, px] = 1
