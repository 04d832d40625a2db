"""Linear assignment inside Numba kernels.

SciPy's solver cannot be called from a compiled loop and refuses matrices whose forbidden entries leave no
complete assignment. A tracker meets exactly those, a small one every frame, so the solver is here.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def _complete_assignment(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Cheapest assignment of every row of a finite (R, C) matrix, R <= C: the column of each row.

    Shortest augmenting paths (Jonker and Volgenant 1987; rectangular form of Crouse 2016, "On implementing
    2D rectangular assignment algorithms"). O(R^2 C) at worst; where each row's nearest column is free, as in
    most frames, each path ends after one scan and the whole costs O(R C).
    """
    rows, columns = cost.shape
    u = np.zeros(rows)
    v = np.zeros(columns)
    row_to_col = np.full(rows, -1, np.int64)
    col_to_row = np.full(columns, -1, np.int64)
    path = np.empty(columns, np.int64)
    shortest = np.empty(columns)
    remaining = np.empty(columns, np.int64)
    scanned_row = np.zeros(rows, np.bool_)
    scanned_col = np.zeros(columns, np.bool_)

    for start in range(rows):
        for j in range(columns):
            remaining[j] = j
            shortest[j] = np.inf
            scanned_col[j] = False
        scanned_row[:] = False
        left = columns
        lowest = 0.0
        i = start
        sink = -1
        while sink < 0:
            scanned_row[i] = True
            best = -1
            best_value = np.inf
            for k in range(left):
                j = remaining[k]
                reduced = lowest + cost[i, j] - u[i] - v[j]
                if reduced < shortest[j]:
                    shortest[j] = reduced
                    path[j] = i
                # among equals a free column ends the path at once
                if shortest[j] < best_value or (shortest[j] == best_value and col_to_row[j] < 0):
                    best_value = shortest[j]
                    best = k
            lowest = best_value
            j = remaining[best]
            scanned_col[j] = True
            left -= 1
            remaining[best] = remaining[left]
            if col_to_row[j] < 0:
                sink = j
            else:
                i = col_to_row[j]

        u[start] += lowest
        for k in range(rows):
            if scanned_row[k] and k != start:
                u[k] += lowest - shortest[row_to_col[k]]
        for j in range(columns):
            if scanned_col[j]:
                v[j] -= lowest - shortest[j]

        j = sink
        while True:
            i = path[j]
            col_to_row[j] = i
            j, row_to_col[i] = row_to_col[i], j
            if i == start:
                break
    return row_to_col


@njit(cache=True)
def assign(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Assign rows to columns: as many pairs as possible, and of those the cheapest.

    Parameters
    ----------
    cost : (R, C) float64
        Any real costs; ``inf`` (or NaN) forbids a pair.

    Returns
    -------
    row_to_col : (R,) int64
        Column of each row, -1 where the row stays alone.

    Notes
    -----
    Forbidden pairs enter the solver at a price that no set of allowed pairs can reach and are struck out
    afterwards, as py-motmetrics does. Leaving out rows that find no path would be cheaper, but would keep
    whichever rows came first instead of the cheapest. The price is 2 min(R, C) max|cost| + 1, so costs that
    span more than about twelve decimal digits should be scaled or split into components by the caller.
    """
    rows, columns = cost.shape
    result = np.full(rows, -1, np.int64)
    largest = -1.0
    complete = True
    for i in range(rows):
        for j in range(columns):
            if np.isfinite(cost[i, j]):
                largest = max(largest, abs(cost[i, j]))
            else:
                complete = False
    if largest < 0.0:
        return result
    forbidden = 2.0 * min(rows, columns) * (largest + 1.0) + 1.0

    transposed = rows > columns
    finite = np.empty((columns, rows)) if transposed else np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            value = cost[i, j] if complete or np.isfinite(cost[i, j]) else forbidden
            if transposed:
                finite[j, i] = value
            else:
                finite[i, j] = value
    solved = _complete_assignment(finite)
    for k in range(solved.shape[0]):
        i, j = (solved[k], k) if transposed else (k, solved[k])
        if complete or np.isfinite(cost[i, j]):
            result[i] = j
    return result
