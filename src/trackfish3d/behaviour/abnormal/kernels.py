"""Each animal against the others, in Numba."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sort_first(values, count):  # type: ignore[no-untyped-def]
    """Sort the first ``count`` of values in place, by insertion: for a few dozen, as here, nothing is faster."""
    for i in range(1, count):
        v = values[i]
        j = i
        while j > 0 and values[j - 1] > v:
            values[j] = values[j - 1]
            j -= 1
        values[j] = v


@njit(cache=True, error_model="numpy", nogil=True)
def against_others(values, spread, weight, spare):  # type: ignore[no-untyped-def]
    """(W, N, M) Student's t of each animal against the others, NaN where it, or all but one of them, is missing.

    values (W, N, M); spread (M,) what healthy animals differ by, believed as if ``weight`` more animals had shown it.
    Of the others, the share ``spare`` that lies furthest from their median is left out: abnormal ones must not hide
    each other.
    """
    W, N, M = values.shape
    out = np.full((W, N, M), np.nan)
    others = np.empty(N)
    for w in range(W):
        for m in range(M):
            for i in range(N):
                x = values[w, i, m]
                if not np.isfinite(x):
                    continue
                count = 0
                for j in range(N):
                    if j != i and np.isfinite(values[w, j, m]):
                        others[count] = values[w, j, m]
                        count += 1
                kept = count - int(spare * (count + 1))
                if kept < 2:
                    continue
                sort_first(others, count)
                first, last = 0, count
                middle = 0.5 * (others[(count - 1) // 2] + others[count // 2])
                while last - first > kept:
                    if middle - others[first] > others[last - 1] - middle:
                        first += 1
                    else:
                        last -= 1
                mean = square = 0.0
                for k in range(first, last):
                    mean += others[k] / kept
                for k in range(first, last):
                    square += (others[k] - mean) ** 2
                variance = (square + weight * spread[m] ** 2) / (kept - 1 + weight)
                out[w, i, m] = (x - mean) / np.sqrt(variance * (1.0 + 1.0 / kept))
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def window_means(bins, first, length, coverage, trim):  # type: ignore[no-untyped-def]
    """(W, N, M) mean over bins first..first + length (W,) of (B, N, M), the share ``trim`` left out at either end.

    NaN where a smaller share than ``coverage`` of the bins is there.
    """
    B, N, M = bins.shape
    out = np.full((first.shape[0], N, M), np.nan)
    here = np.empty(length)
    for w in range(first.shape[0]):
        for n in range(N):
            for m in range(M):
                count = 0
                for b in range(first[w], min(first[w] + length, B)):
                    if np.isfinite(bins[b, n, m]):
                        here[count] = bins[b, n, m]
                        count += 1
                if count and count >= coverage * length:
                    sort_first(here, count)
                    out_of = int(trim * count)
                    total = 0.0
                    for k in range(out_of, count - out_of):
                        total += here[k]
                    out[w, n, m] = total / (count - 2 * out_of)
    return out
