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
def deviation(luma, variance, noise, blue, red, blue_scale, red_scale, side, out):  # type: ignore[no-untyped-def]
    """How many standard deviations each pixel is off the background, in quarters, into ``out`` (H, W) uint8.

    ``luma`` (H, W) smoothed difference; ``variance`` of the background's own prediction and ``noise`` variance of a
    picture, levels^2. ``blue`` and ``red``, at half resolution or empty: their differences, ``*_scale`` one over
    their noise. All float32. ``side`` -1: only darker counts, 1: only brighter, 0: both (of the luma).
    """
    height, width = luma.shape
    coloured = blue.shape[0] > 0
    extra = np.zeros(width + 1, np.float32)
    line = np.empty(width, np.int32)  # floats become bytes by way of integers: the compiler vectorises either step
    least, most = np.float32(0.0 if side > 0 else -1e6), np.float32(0.0 if side < 0 else 1e6)
    for y in range(height):
        if coloured and y % 2 == 0:
            for x in range(blue.shape[1]):
                b, r = blue[y // 2, x] * blue_scale[y // 2, x], red[y // 2, x] * red_scale[y // 2, x]
                extra[2 * x] = extra[2 * x + 1] = b * b + r * r
        for x in range(width):
            d = min(max(luma[y, x], least), most)
            square = np.float32(16.0) * (d * d / (variance[y, x] + noise[y, x]) + extra[x])
            line[x] = np.int32(np.sqrt(min(square, np.float32(255.0 * 255.0))))
        for x in range(width):
            out[y, x] = line[x]


@njit(cache=True, nogil=True, fastmath=True)
def follow(plane, offset, still, ripple, noise, keep, taken, background, variance):  # type: ignore[no-untyped-def]
    """One step of a Kalman filter at every pixel: learn from free pixels, and predict the next picture's.

    The background is ``still`` (H, W) plus a ripple that forgets itself by the factor ``keep`` a frame and has the
    long-run variance ``ripple``; a picture shows it with variance ``noise``. Where ``taken`` (an animal), nothing is
    learnt, and the prediction falls back to the still one with its wide variance: a pixel that was hidden for long
    is judged by what is usual there.
    """
    height, width = plane.shape
    rho, shift = np.float32(keep), np.float32(offset)
    square = rho * rho
    fresh = np.float32(1.0) - square
    for y in range(height):
        for x in range(width):
            b, p = background[y, x], variance[y, x]
            gain = p / (p + noise[y, x])
            if taken[y, x]:
                gain = np.float32(0.0)
            b += gain * (np.float32(plane[y, x]) - shift - b)
            background[y, x] = still[y, x] + rho * (b - still[y, x])
            variance[y, x] = square * (np.float32(1.0) - gain) * p + fresh * ripple[y, x]


@njit(cache=True, nogil=True, fastmath=True)
def drift(plane, offset, taken, rate, slow_rate, still):  # type: ignore[no-untyped-def]
    """Move ``still`` (H, W) towards ``plane`` by ``rate``, under animals by ``slow_rate``."""
    height, width = plane.shape
    fast, slow, shift = np.float32(rate), np.float32(slow_rate), np.float32(offset)
    for y in range(height):
        for x in range(width):
            step = slow if taken[y, x] else fast
            still[y, x] += step * (np.float32(plane[y, x]) - shift - still[y, x])
