"""Which of the plausible pairs of a frame are one animal: those that all views agree on, each detection once.

In a dense school most pairs that triangulate into both their boxes are chance (the paper's audit: 75 % at 16 fish), but
three detections that are plausible in all three pairs rarely are. No label is needed, only the pseudo-labels.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def agreed_pairs(
    camera: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    confidence: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Confidence (P,) of plausible pairs after a choice: as it was for one animal, 0 for two, -1 for undecided.

    Sets of three detections of different cameras, all pairs plausible, are taken in the order of their summed
    confidence, every detection once, and grow by what further cameras have that is plausible with all members. Pairs
    of a detection in a set with one outside are two animals. Pairs outside all sets stay undecided, unless the frame
    has detections of two cameras only: then the pairs themselves are taken in that order.

    Parameters
    ----------
    camera : (N,) of all detections.
    offsets : (F + 1,) their rows by frame.
    starts : (F + 1,) pairs by frame.
    first : (P,) one of each pair, its row within the frame.
    second : (P,) the other.
    confidence : (P,), above 0.
    """
    out = np.full(confidence.shape[0], np.float32(-1))
    for f in range(starts.shape[0] - 1):
        begin, n = offsets[f], offsets[f + 1] - offsets[f]
        mine = camera[begin : begin + n]
        table = np.zeros((n, n), np.float32)
        for p in range(starts[f], starts[f + 1]):
            i, j = first[p], second[p]
            table[i, j] = max(table[i, j], confidence[p])
            table[j, i] = table[i, j]
        group = np.full(n, -1, np.int64)
        cameras = np.unique(mine).shape[0]
        if cameras == 2:
            _take_pairs(table, group)
        elif cameras > 2:
            _take_triples(table, mine, group)
        for p in range(starts[f], starts[f + 1]):
            a, b = group[first[p]], group[second[p]]
            if a >= 0 and a == b:
                out[p] = confidence[p]
            elif a >= 0 or b >= 0:
                out[p] = np.float32(0)
    return out


@njit(cache=True, nogil=True)
def _take_pairs(table, group):  # type: ignore[no-untyped-def]
    """Group the pairs of a table (N, N) of confidences, the surest first, each detection once."""
    rows, columns = np.nonzero(np.triu(table))
    values = np.empty(rows.shape[0], np.float32)
    for k in range(rows.shape[0]):
        values[k] = -table[rows[k], columns[k]]
    number = 0
    for k in np.argsort(values, kind="mergesort"):
        i, j = rows[k], columns[k]
        if group[i] < 0 and group[j] < 0:
            group[i] = group[j] = number
            number += 1


@njit(cache=True, nogil=True)
def _take_triples(table, camera, group):  # type: ignore[no-untyped-def]
    """Group the triples of a table (N, N), the surest first, each detection once, and let them grow."""
    n = camera.shape[0]
    count = 0
    for fill in range(2):
        if fill:
            members, values = np.empty((count, 3), np.int64), np.empty(count, np.float32)
        count = 0
        for i in range(n):
            for j in range(i + 1, n):
                if table[i, j] <= 0:
                    continue
                for k in range(j + 1, n):
                    if table[i, k] > 0 and table[j, k] > 0:
                        if fill:
                            members[count, 0], members[count, 1], members[count, 2] = i, j, k
                            values[count] = -(table[i, j] + table[i, k] + table[j, k])
                        count += 1
    number = 0
    for t in np.argsort(values, kind="mergesort"):
        i, j, k = members[t]
        if group[i] >= 0 or group[j] >= 0 or group[k] >= 0:
            continue
        group[i] = group[j] = group[k] = number
        _grow(table, camera, group, number)
        number += 1


@njit(cache=True, nogil=True)
def _grow(table, camera, group, number):  # type: ignore[no-untyped-def]
    """Add the surest free detections of further cameras that are plausible with every member."""
    n = camera.shape[0]
    while True:
        best, most = -1, np.float32(0)
        for m in range(n):
            if group[m] >= 0:
                continue
            total = np.float32(0)
            for i in range(n):
                if group[i] == number:
                    if camera[i] == camera[m] or table[i, m] <= 0:
                        total = np.float32(-1)
                        break
                    total += table[i, m]
            if total > most:
                best, most = m, total
        if best < 0:
            return
        group[best] = number
