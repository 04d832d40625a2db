"""Pixel loops that look closely only where something stirs: blocks of a small picture, and spans of tiles.

A block is 4 x 4 pixels of a picture, a tile 16 x 16. A span is a row (tile row, first x, end x) of a table (S, 3) of
tiles side by side.
"""

import numpy as np
from numba import njit

BLOCK, TILE = 4, 16
_PER_TILE = TILE // BLOCK


@njit(cache=True, nogil=True, fastmath=True)
def block_means(plane, block, out):  # type: ignore[no-untyped-def]
    """Mean of each ``block`` x ``block`` pixels of a plane (H, W), cut off at its edges, into ``out`` float32.

    ``block`` is 2 or 4. Of bytes and of floats alike, sums over rows first, which the compiler vectorises.
    """
    height, width = plane.shape
    sums = np.zeros(out.shape[1] * block, np.float32)
    for j in range(out.shape[0]):
        y0, y1 = j * block, min((j + 1) * block, height)
        if y1 - y0 == 4:
            for x in range(width):
                sums[x] = np.float32(plane[y0, x]) + np.float32(plane[y0 + 1, x])
            for x in range(width):
                sums[x] += np.float32(plane[y0 + 2, x]) + np.float32(plane[y0 + 3, x])
        elif y1 - y0 == 2:
            for x in range(width):
                sums[x] = np.float32(plane[y0, x]) + np.float32(plane[y0 + 1, x])
        else:
            sums[:width] = np.float32(0.0)
            for y in range(y0, y1):
                for x in range(width):
                    sums[x] += np.float32(plane[y, x])
        share = np.float32(1.0) / np.float32((y1 - y0) * block)
        if block == 4:
            for i in range(out.shape[1]):
                out[j, i] = (sums[4 * i] + sums[4 * i + 1] + (sums[4 * i + 2] + sums[4 * i + 3])) * share
        else:
            for i in range(out.shape[1]):
                out[j, i] = (sums[2 * i] + sums[2 * i + 1]) * share
        if width % block:
            out[j, -1] *= np.float32(block) / np.float32(width % block)


@njit(cache=True, nogil=True, fastmath=True)
def mark_stirred(luma, inverse, blue, blue_inverse, red, red_inverse, side, limit, out):  # type: ignore[no-untyped-def]
    """Mark tiles, ``out`` (h, w) bool, with a block that is ``limit`` standard deviations or more off.

    ``luma``, ``blue``, ``red`` (H / 4, W / 4) differences of blocks, the last two empty for a picture without colour;
    ``*inverse`` one over their variances. ``side`` -1: only darker counts, 1: only brighter, 0: both (of the luma).
    """
    coloured = blue.shape[0] > 0
    square = np.float32(limit * limit)
    least, most = np.float32(0.0 if side > 0 else -1e6), np.float32(0.0 if side < 0 else 1e6)
    for j in range(luma.shape[0]):
        for i in range(luma.shape[1]):
            d = min(max(luma[j, i], least), most)
            off = d * d * inverse[j, i]
            if coloured:
                off += blue[j, i] * blue[j, i] * blue_inverse[j, i] + red[j, i] * red[j, i] * red_inverse[j, i]
            if off >= square:
                out[j // _PER_TILE, i // _PER_TILE] = True


@njit(cache=True, nogil=True)
def spans_of(tiles, width, grow):  # type: ignore[no-untyped-def]
    """Spans of the tiles (h, w) that are True, or within ``grow`` tiles of one; ``width`` of the picture, px."""
    rows, columns = tiles.shape
    wide = np.zeros((rows, columns), np.bool_)
    for j in range(rows):
        for i in range(columns):
            if tiles[j, i]:
                for b in range(max(j - grow, 0), min(j + grow + 1, rows)):
                    for a in range(max(i - grow, 0), min(i + grow + 1, columns)):
                        wide[b, a] = True
    out = np.empty((rows * (columns + 1) // 2 + 1, 3), np.int64)
    count = 0
    for j in range(rows):
        i = 0
        while i < columns:
            if not wide[j, i]:
                i += 1
                continue
            out[count, 0], out[count, 1] = j, i * TILE
            while i < columns and wide[j, i]:
                i += 1
            out[count, 2] = min(i * TILE, width)
            count += 1
    return out[:count].copy()


@njit(cache=True, nogil=True, fastmath=True)
def _row_sums(plane, background, y, x0, x1, line, out):  # type: ignore[no-untyped-def]
    """Sum over three pixels side by side of ``plane`` less ``background`` in row y, for x0 <= x < x1.

    ``line`` (x1 - x0 + 2,) is overwritten. Slices first: loops over them have no signs to check and are vectorised.
    """
    height, width = plane.shape
    y = min(max(y, 0), height - 1)
    before, after = min(x0, 1), min(width - x1, 1)
    seen, known = plane[y, x0 - before : x1 + after], background[y, x0 - before : x1 + after]
    inner = line[1 - before : 1 - before + len(seen)]
    for x in range(len(seen)):
        inner[x] = np.float32(seen[x]) - known[x]
    if not before:
        line[0] = line[1]
    if not after:
        line[len(line) - 1] = line[len(line) - 2]
    left, middle, right = line[: len(line) - 2], line[1 : len(line) - 1], line[2:]
    for x in range(len(out)):
        out[x] = left[x] + middle[x] + right[x]


@njit(cache=True, nogil=True, fastmath=True)
def add_colour(plane, still, scale, offset, spans, out):  # type: ignore[no-untyped-def]
    """Add squared deviations of a plane of colour (h, w) to ``out`` (h, w) float32, in the spans of the whole picture.

    ``still``, ``scale`` (h, w) float32: its background and one over its noise; ``offset``: change of light, levels.
    """
    height, width = plane.shape
    shift, ninth = np.float32(offset), np.float32(1.0 / 9.0)
    for s in range(len(spans)):
        x0, x1 = spans[s, 1] // 2, min((spans[s, 2] + 1) // 2, width)
        y0 = spans[s, 0] * TILE // 2
        y1 = min(y0 + TILE // 2, height)
        sums, line = np.empty((3, x1 - x0), np.float32), np.empty(x1 - x0 + 2, np.float32)
        _row_sums(plane, still, y0 - 1, x0, x1, line, sums[0])
        _row_sums(plane, still, y0, x0, x1, line, sums[1])
        for y in range(y0, y1):
            k = y - y0
            above, here, below = sums[k % 3], sums[(k + 1) % 3], sums[(k + 2) % 3]
            _row_sums(plane, still, y + 1, x0, x1, line, below)
            factor, into = scale[y, x0:x1], out[y, x0:x1]
            for i in range(len(into)):
                d = ((above[i] + here[i] + below[i]) * ninth - shift) * factor[i]
                into[i] += d * d


@njit(cache=True, nogil=True, fastmath=True)
def levels(plane, background, offset, variance, noise, colour, side, spans, out):  # type: ignore[no-untyped-def]
    """How many standard deviations each pixel is off the background, in quarters, into ``out`` (H, W) uint8.

    Differences are means over 3 x 3 pixels: sensor noise is white and animals are not. ``variance`` of the
    background's own prediction and ``noise`` variance of a picture, levels^2; ``colour``, at half resolution or empty,
    as `add_colour` gives it. ``side`` -1: only darker counts, 1: only brighter, 0: both (of the luma). Only pixels in
    ``spans`` are written.
    """
    height = plane.shape[0]
    coloured = colour.shape[0] > 0
    shift, ninth = np.float32(offset), np.float32(1.0 / 9.0)
    least, most = np.float32(0.0 if side > 0 else -1e6), np.float32(0.0 if side < 0 else 1e6)
    for s in range(len(spans)):
        x0, x1 = spans[s, 1], spans[s, 2]
        y0 = spans[s, 0] * TILE
        n = x1 - x0
        sums, line = np.empty((3, n), np.float32), np.empty(n + 2, np.float32)
        extra, whole = np.zeros(n + 1, np.float32), np.empty(n, np.int32)
        _row_sums(plane, background, y0 - 1, x0, x1, line, sums[0])
        _row_sums(plane, background, y0, x0, x1, line, sums[1])
        for y in range(y0, min(y0 + TILE, height)):
            k = y - y0
            above, here, below = sums[k % 3], sums[(k + 1) % 3], sums[(k + 2) % 3]
            _row_sums(plane, background, y + 1, x0, x1, line, below)
            if coloured and y % 2 == 0:
                half = colour[y // 2, x0 // 2 : x0 // 2 + (n + 1) // 2]
                for i in range(len(half)):
                    extra[2 * i] = extra[2 * i + 1] = half[i]
            wide, rough, into = variance[y, x0:x1], noise[y, x0:x1], out[y, x0:x1]
            for i in range(n):
                d = min(max((above[i] + here[i] + below[i]) * ninth - shift, least), most)
                square = np.float32(16.0) * (d * d / (wide[i] + rough[i]) + extra[i])
                # floats become bytes by way of integers: the compiler vectorises either step
                whole[i] = np.int32(np.sqrt(min(square, np.float32(255.0 * 255.0))))
            for i in range(n):
                into[i] = whole[i]


@njit(cache=True, nogil=True)
def follow_blocks(blocks, offset, still, gains, forget, tiles, now):  # type: ignore[no-untyped-def]
    """One step of the small picture's filter: ``now`` (h, w) learns from ``blocks`` where no animal is in its tile.

    ``gains`` (h, w) of the filter; ``forget`` is the share of the ripple that is lost a frame.
    """
    shift, lost = np.float32(offset), np.float32(forget)
    for j in range(now.shape[0]):
        for i in range(now.shape[1]):
            gain = np.float32(0.0) if tiles[j // _PER_TILE, i // _PER_TILE] else gains[j, i]
            seen = now[j, i] + gain * (blocks[j, i] - shift - now[j, i])
            now[j, i] = seen - lost * (seen - still[j, i])


@njit(cache=True, nogil=True, fastmath=True)
def follow(plane, offset, still, ripple, noise, gains, keep, taken, state, background, variance):  # type: ignore[no-untyped-def]
    """One step of a Kalman filter at every pixel: learn from free pixels, and predict the next picture's.

    The background is ``still`` (H, W) plus a ripple that forgets itself by the factor ``keep`` a frame and has the
    long-run variance ``ripple``; a picture shows it with variance ``noise``. Where ``taken`` (an animal), nothing is
    learnt, and the prediction falls back to the still one with its wide variance: a pixel that was hidden for long
    is judged by what is usual there. ``state`` of each tile: 0 nothing to follow; 1 undisturbed for long, so that its
    variance stays and the gain is ``gains`` (H, W); 2 an animal is or was there.
    """
    height, width = plane.shape
    rho, shift = np.float32(keep), np.float32(offset)
    square = rho * rho
    fresh = np.float32(1.0) - square
    for j in range(state.shape[0]):
        i = 0
        while i < state.shape[1]:
            kind, x0 = state[j, i], i * TILE
            while i < state.shape[1] and state[j, i] == kind:
                i += 1
            x1 = min(i * TILE, width)
            if kind == 0:
                continue
            for y in range(j * TILE, min((j + 1) * TILE, height)):
                seen, rest, now = plane[y, x0:x1], still[y, x0:x1], background[y, x0:x1]
                if kind == 1:
                    usual = gains[y, x0:x1]
                    for x in range(len(now)):
                        b = now[x] + usual[x] * (np.float32(seen[x]) - shift - now[x])
                        now[x] = rest[x] + rho * (b - rest[x])
                    continue
                hidden, rough, long, spread = taken[y, x0:x1], noise[y, x0:x1], ripple[y, x0:x1], variance[y, x0:x1]
                for x in range(len(now)):
                    p = spread[x]
                    gain = np.float32(0.0) if hidden[x] else p / (p + rough[x])
                    b = now[x] + gain * (np.float32(seen[x]) - shift - now[x])
                    now[x] = rest[x] + rho * (b - rest[x])
                    spread[x] = square * (np.float32(1.0) - gain) * p + fresh * long[x]
