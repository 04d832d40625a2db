"""Pixel loops from a map of deviations to blobs: runs, components, closing, holes, sums of moments."""

import numpy as np
from numba import njit

from ...core.graph import find_root, unite

ROW, START, END = 0, 1, 2  # columns of a table of runs; a run covers START <= x < END


@njit(cache=True, nogil=True)
def find_runs(level, low, spans, tile):  # type: ignore[no-untyped-def]
    """Rows of pixels at or above ``low`` in ``level`` (H, W) uint8, as a table (R, 3): row, start, end.

    Looked for in ``spans`` (S, 3) only: row of tiles, first x, end x, ascending; ``tile`` is their height, px.
    """
    height = level.shape[0]
    table = np.empty((1024, 3), np.int32)
    count, first = 0, 0
    while first < len(spans):
        j = spans[first, 0]
        last = first
        while last < len(spans) and spans[last, 0] == j:
            last += 1
        for y in range(j * tile, min((j + 1) * tile, height)):
            row = level[y]
            for s in range(first, last):
                x, width = spans[s, 1], spans[s, 2]
                while x < width:
                    while x < width and row[x] < low:
                        x += 1
                    if x == width:
                        break
                    start = x
                    while x < width and row[x] >= low:
                        x += 1
                    if count == len(table):
                        larger = np.empty((2 * count, 3), np.int32)
                        larger[:count] = table
                        table = larger
                    table[count, ROW], table[count, START], table[count, END] = y, start, x
                    count += 1
        first = last
    return table[:count].copy()


@njit(cache=True, nogil=True)
def connect_runs(runs, gap):  # type: ignore[no-untyped-def]
    """Component (R,) of each run and their number; runs belong together when at most ``gap`` pixels lie between them.

    ``gap`` 0 is the usual neighbourhood of eight. Components are numbered by their first run.
    """
    count = len(runs)
    parent = np.arange(count)
    first = 0
    for i in range(count):
        while runs[first, ROW] < runs[i, ROW] - gap - 1:
            first += 1
        for j in range(first, i):
            if runs[j, START] <= runs[i, END] + gap and runs[i, START] <= runs[j, END] + gap:
                unite(parent, i, j)
    label = np.full(count, -1, np.int64)
    number = 0
    for i in range(count):
        root = find_root(parent, i)
        if label[root] < 0:
            label[root] = number
            number += 1
        label[i] = label[root]
    return label, number


@njit(cache=True, nogil=True)
def component_facts(runs, label, number, level, high):  # type: ignore[no-untyped-def]
    """Table (C, 6) of components: pixels, left, top, right, bottom (ends exclusive), and pixels of ``high`` level."""
    out = np.zeros((number, 6), np.int64)
    out[:, 1], out[:, 2] = 1 << 30, 1 << 30
    for i in range(len(runs)):
        c, y, start, end = label[i], runs[i, ROW], runs[i, START], runs[i, END]
        out[c, 0] += end - start
        out[c, 1], out[c, 2] = min(out[c, 1], start), min(out[c, 2], y)
        out[c, 3], out[c, 4] = max(out[c, 3], end), max(out[c, 4], y + 1)
        for x in range(start, end):
            if level[y, x] >= high:
                out[c, 5] += 1
    return out


@njit(cache=True, nogil=True)
def cut_out(runs, label, component, facts, margin, level, threshold):  # type: ignore[no-untyped-def]
    """Mask (h, w) uint8 of one component's pixels at or above ``threshold``, ``margin`` wider than its box."""
    left, top = facts[1] - margin, facts[2] - margin
    mask = np.zeros((facts[4] - facts[2] + 2 * margin, facts[3] - facts[1] + 2 * margin), np.uint8)
    first = np.searchsorted(runs[:, ROW], facts[2])
    for i in range(first, len(runs)):
        y = runs[i, ROW]
        if y >= facts[4]:
            break
        if label[i] == component:
            for x in range(runs[i, START], runs[i, END]):
                if level[y, x] >= threshold:
                    mask[y - top, x - left] = 1
    return mask


@njit(cache=True, nogil=True)
def _grow(mask, radius, inside):  # type: ignore[no-untyped-def]
    """Pixels with a pixel of value ``inside`` within ``radius`` (a square) become ``inside``."""
    height, width = mask.shape
    half = mask.copy()
    for y in range(height):
        reach = -1
        for x in range(width + radius):
            if x < width and mask[y, x] == inside:
                reach = x
            at = x - radius
            if at >= 0 and reach >= at - radius and reach >= 0:
                half[y, at] = inside
    out = half.copy()
    for x in range(width):
        reach = -1
        for y in range(height + radius):
            if y < height and half[y, x] == inside:
                reach = y
            at = y - radius
            if at >= 0 and reach >= at - radius and reach >= 0:
                out[at, x] = inside
    return out


@njit(cache=True, nogil=True)
def grow_mask(mask, radius):  # type: ignore[no-untyped-def]
    """Grow a mask (h, w) of 0 and 1 by ``radius`` pixels to all sides (a square)."""
    return _grow(mask, radius, 1)


@njit(cache=True, nogil=True)
def close_mask(mask, radius):  # type: ignore[no-untyped-def]
    """Close gaps up to twice ``radius`` wide in a mask (h, w) of 0 and 1 whose margin is at least ``radius``."""
    if radius <= 0:
        return mask.copy()
    return _grow(_grow(mask, radius, 1), radius, 0)


@njit(cache=True, nogil=True)
def fill_holes(mask, largest):  # type: ignore[no-untyped-def]
    """Set every hole of at most ``largest`` pixels; the mask's outermost pixels must be 0."""
    height, width = mask.shape
    seen = mask.copy()
    stack = np.empty((height * width, 2), np.int32)
    for y0 in range(height):
        for x0 in range(width):
            if seen[y0, x0]:
                continue
            stack[0, 0], stack[0, 1] = y0, x0
            seen[y0, x0] = 1
            size, at, open_ = 1, 0, False
            while at < size:
                y, x = stack[at]
                at += 1
                for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                    ny, nx = y + dy, x + dx
                    if ny < 0 or nx < 0 or ny >= height or nx >= width:
                        open_ = True
                    elif not seen[ny, nx]:
                        seen[ny, nx] = 1
                        stack[size, 0], stack[size, 1] = ny, nx
                        size += 1
            if not open_ and size <= largest:
                for k in range(size):
                    mask[stack[k, 0], stack[k, 1]] = 1


@njit(cache=True, nogil=True)
def label_mask(mask):  # type: ignore[no-untyped-def]
    """Label 1, 2, ... (h, w) int32 of the 8-connected parts of a mask, and their number."""
    whole = np.zeros((1, 3), np.int64)
    whole[0, 2] = mask.shape[1]
    runs = find_runs(mask, 1, whole, mask.shape[0])
    label, number = connect_runs(runs, 0)
    out = np.zeros(mask.shape, np.int32)
    for i in range(len(runs)):
        out[runs[i, ROW], runs[i, START] : runs[i, END]] = label[i] + 1
    return out, number


@njit(cache=True, nogil=True)
def label_sums(label, number, left, top):  # type: ignore[no-untyped-def]
    """Return sums (number, 11) over the pixels of labels 1..number, columns as in ``synfish.raster``."""
    out = np.zeros((number, 11))
    out[:, 6], out[:, 7], out[:, 8], out[:, 9] = 1e9, 1e9, -1e9, -1e9
    height, width = label.shape
    for j in range(height):
        for i in range(width):
            k = label[j, i] - 1
            if k < 0:
                continue
            x, y = float(i + left), float(j + top)
            out[k, 0] += 1
            out[k, 1] += x
            out[k, 2] += y
            out[k, 3] += x * x
            out[k, 4] += x * y
            out[k, 5] += y * y
            out[k, 6], out[k, 8] = min(out[k, 6], x - 0.5), max(out[k, 8], x + 0.5)
            out[k, 7], out[k, 9] = min(out[k, 7], y - 0.5), max(out[k, 9], y + 0.5)
    return out


@njit(cache=True, nogil=True)
def keep_above_neighbours(mask, level, left, top, reach, share):  # type: ignore[no-untyped-def]
    """Clear pixels of ``mask`` (h, w) whose level is below ``share`` of the highest one within ``reach`` pixels.

    Lens, codec and smoothing spread an animal over a rim of a few pixels whose level falls off; the outline is where
    it has fallen to about half. Relative to the neighbourhood, not to the blob, because an animal may be half bright
    and half hardly different from the background.
    """
    height, width = mask.shape
    value = np.zeros((height, width), np.uint8)
    for j in range(height):
        for i in range(width):
            if mask[j, i]:
                value[j, i] = level[j + top, i + left]
    wide = value.copy()
    for j in range(height):
        for i in range(width):
            if value[j, i]:
                most = value[j, i]
                for k in range(max(i - reach, 0), min(i + reach + 1, width)):
                    most = max(most, value[j, k])
                wide[j, i] = most
    for j in range(height):
        for i in range(width):
            if mask[j, i]:
                most = wide[j, i]
                for k in range(max(j - reach, 0), min(j + reach + 1, height)):
                    most = max(most, wide[k, i])
                if value[j, i] < share * most:
                    mask[j, i] = 0


@njit(cache=True, nogil=True)
def paint(mask, left, top, margin, out):  # type: ignore[no-untyped-def]
    """Set pixels of ``out`` (H, W) bool that are in ``mask`` (h, w at left, top) or within ``margin`` of it."""
    height, width = out.shape
    for j in range(mask.shape[0]):
        for i in range(mask.shape[1]):
            if not mask[j, i]:
                continue
            if (
                0 < i < mask.shape[1] - 1
                and 0 < j < mask.shape[0] - 1
                and mask[j, i - 1]
                and mask[j, i + 1]
                and mask[j - 1, i]
                and mask[j + 1, i]
            ):
                x, y = i + left, j + top  # inside: its rim paints the surroundings
                if 0 <= x < width and 0 <= y < height:
                    out[y, x] = True
                continue
            for y in range(max(j + top - margin, 0), min(j + top + margin + 1, height)):
                for x in range(max(i + left - margin, 0), min(i + left + margin + 1, width)):
                    out[y, x] = True


@njit(cache=True, nogil=True)
def upper_levels(label, number, left, top, level):  # type: ignore[no-untyped-def]
    """Level (number,) that a fifth of the pixels of labels 1..number reach."""
    counts = np.zeros((number, 256), np.int32)
    height, width = level.shape
    for j in range(label.shape[0]):
        for i in range(label.shape[1]):
            k = label[j, i] - 1
            x, y = i + left, j + top
            if k >= 0 and 0 <= x < width and 0 <= y < height:
                counts[k, level[y, x]] += 1
    out = np.zeros(number)
    for k in range(number):
        left_over = 0.2 * counts[k].sum()
        for value in range(255, -1, -1):
            left_over -= counts[k, value]
            if left_over <= 0:
                out[k] = value
                break
    return out
