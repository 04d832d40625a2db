"""Pixel loops of the background model: medians over time, and how far a picture is from the background."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def quantile_over_time(stack, rank, out):  # type: ignore[no-untyped-def]
    """Value of this ``rank`` (0: the smallest) over time of ``stack`` (K, H, W) uint8, into ``out`` (H, W) uint8.

    By bisection of the value, bit by bit, for a whole row at once: eight passes of byte compares, which the compiler
    turns into vector instructions, where sorting every pixel's history would take ten times as long.
    """
    count, height, width = stack.shape
    low, below = np.empty(width, np.uint8), np.empty(width, np.uint16)
    limit = np.uint16(rank)
    for y in range(height):
        low[:] = 0
        for bit in (128, 64, 32, 16, 8, 4, 2, 1):
            step = np.uint8(bit)
            below[:] = 0
            for k in range(count):
                for x in range(width):
                    below[x] += np.uint16(stack[k, y, x] < np.uint8(low[x] + step))
            for x in range(width):
                if below[x] <= limit:
                    low[x] += step
        out[y, :] = low


@njit(cache=True, nogil=True)
def quantile_of_free(stack, taken, share, out, free):  # type: ignore[no-untyped-def]
    """Quantile ``share`` over time of ``stack`` (K, H, W) uint8 where not ``taken``, into ``out`` (H, W) uint8.

    ``free`` (H, W) uint16 gets the number of values it is of; 255 where there are none. By bisection, as above.
    """
    count, height, width = stack.shape
    low, below, limit = np.empty(width, np.uint8), np.empty(width, np.uint16), np.empty(width, np.uint16)
    for y in range(height):
        limit[:] = 0
        for k in range(count):
            for x in range(width):
                limit[x] += np.uint16(not taken[k, y, x])
        free[y, :] = limit
        for x in range(width):
            limit[x] = np.uint16(share * limit[x])
        low[:] = 0
        for bit in (128, 64, 32, 16, 8, 4, 2, 1):
            step = np.uint8(bit)
            below[:] = 0
            for k in range(count):
                for x in range(width):
                    below[x] += np.uint16((stack[k, y, x] < np.uint8(low[x] + step)) & (not taken[k, y, x]))
            for x in range(width):
                if below[x] <= limit[x]:
                    low[x] += step
        out[y, :] = low


@njit(cache=True, nogil=True)
def densest_over_time(stack, pairs, size, out):  # type: ignore[no-untyped-def]
    """Middle of the shortest interval that holds ``size`` values over time of ``stack`` (K, H, W), into ``out`` (H, W).

    ``pairs`` (P, 2) is a sorting network: a row of pixels is sorted at once by byte minima and maxima.
    """
    count, height, width = stack.shape
    rows = np.empty((count, width), np.uint8)
    least = np.empty(width, np.uint8)
    for y in range(height):
        for k in range(count):
            rows[k, :] = stack[k, y, :]
        for q in range(len(pairs)):
            a, b = rows[pairs[q, 0]], rows[pairs[q, 1]]
            for x in range(width):
                u, v = a[x], b[x]
                a[x], b[x] = min(u, v), max(u, v)
        least[:] = 255
        out[y, :] = rows[count // 2]
        for k in range(count - size + 1):
            a, b = rows[k], rows[k + size - 1]
            for x in range(width):
                wide = np.uint8(b[x] - a[x])
                if wide < least[x]:
                    least[x] = wide
                    out[y, x] = np.uint8(a[x] + wide // 2)


@njit(cache=True, nogil=True, fastmath=True)
def smoothed_difference(plane, background, offset, out):  # type: ignore[no-untyped-def]
    """Mean over 3 x 3 pixels of ``plane`` (H, W) uint8 less ``background`` float32 less ``offset``, into ``out``.

    Sensor noise is white and animals are not: the small mean costs a pixel of outline and buys a third of the noise.
    """
    height, width = plane.shape
    rows = np.zeros((3, width), np.float32)
    line = np.empty(width + 2, np.float32)
    ninth = np.float32(1.0 / 9.0)
    shift = np.float32(offset)
    for y in range(-1, height):
        source = min(y + 1, height - 1)
        below = rows[(y + 1) % 3]
        for x in range(width):
            line[x + 1] = np.float32(plane[source, x]) - background[source, x] - shift
        line[0], line[width + 1] = line[1], line[width]
        for x in range(width):
            below[x] = line[x] + line[x + 1] + line[x + 2]
        if y < 0:
            rows[2, :] = below
            continue
        a, b = rows[(y - 1) % 3], rows[y % 3]
        for x in range(width):
            out[y, x] = (a[x] + b[x] + below[x]) * ninth


@njit(cache=True, nogil=True, fastmath=True)
def sizes_as_bytes(difference, steps, out):  # type: ignore[no-untyped-def]
    """Absolute ``difference`` (H, W) float32 in ``steps`` a level, at most 255, into ``out`` uint8."""
    height, width = difference.shape
    factor, most = np.float32(steps), np.float32(255.0)
    for y in range(height):
        for x in range(width):
            out[y, x] = np.uint8(min(abs(difference[y, x]) * factor + np.float32(0.5), most))


@njit(cache=True, nogil=True, fastmath=True)
def drift(plane, offset, taken, rate, slow_rate, still):  # type: ignore[no-untyped-def]
    """Move ``still`` (H, W) towards ``plane`` by ``rate``, under animals by ``slow_rate``."""
    height, width = plane.shape
    fast, slow, shift = np.float32(rate), np.float32(slow_rate), np.float32(offset)
    for y in range(height):
        for x in range(width):
            step = slow if taken[y, x] else fast
            still[y, x] += step * (np.float32(plane[y, x]) - shift - still[y, x])
