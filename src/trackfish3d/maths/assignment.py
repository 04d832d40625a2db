"""Linear assignment inside Numba kernels.

SciPy's solver cannot be called from a compiled loop and refuses matrices whose forbidden entries leave no
complete assignment. A tracker meets exactly those, a small one every frame, so the solver is here.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..core.compiled import KERNEL, helper
from ..core.graph import find_root, unite


@helper
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
        for k in range(rows):
            scanned_row[k] = False
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


@njit(**KERNEL)
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


@njit(**KERNEL)
def _components(
    row: NDArray[np.int64], column: NDArray[np.int64], n_rows: int, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort edges by connected component: edge numbers (E,), and where each component begins (K + 1,)."""
    parent = np.arange(n_rows + n_columns)
    for e in range(row.shape[0]):
        unite(parent, row[e], n_rows + column[e])

    label = np.full(n_rows, -1, np.int64)  # the root is the smallest node of a component, hence a row
    root = np.empty(row.shape[0], np.int64)
    count = 0
    for e in range(row.shape[0]):
        a = find_root(parent, row[e])
        if label[a] < 0:
            label[a] = count
            count += 1
        root[e] = label[a]
    begin = np.zeros(count + 1, np.int64)
    for e in range(row.shape[0]):
        begin[root[e] + 1] += 1
    for k in range(count):
        begin[k + 1] += begin[k]
    order = np.empty(row.shape[0], np.int64)
    cursor = begin[:-1].copy()
    for e in range(row.shape[0]):
        order[cursor[root[e]]] = e
        cursor[root[e]] += 1
    return order, begin


@njit(**KERNEL)
def assign_edges(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    cost: NDArray[np.float64],
    n_rows: int,
    n_columns: int,
    absent: float,
) -> NDArray[np.int64]:
    """Assign rows to columns where only the pairs of a list come into question.

    Gating leaves a fish a handful of candidates, so the problem falls apart into small connected components,
    each solved alone; a hundred fish then cost little more than their edges.

    Parameters
    ----------
    row : (E,) int64
        Row of each edge; no edge twice.
    column : (E,) int64
        Column of each edge.
    cost : (E,) float64
        Finite costs.
    n_rows : int
        Number of rows.
    n_columns : int
        Number of columns.
    absent : float
        Cost of a pair that is not in the list. ``inf``: forbidden, so as many pairs as possible are made, the
        cheapest of those (`assign`). ``0``: staying alone costs nothing, so with negative costs the
        assignment of greatest total weight is found, whatever its number of pairs.

    Returns
    -------
    chosen : (n_rows,) int64
        Edge chosen for each row, -1 where it stays alone.
    """
    chosen = np.full(n_rows, -1, np.int64)
    order, begin = _components(row, column, n_rows, n_columns)
    local_row = np.full(n_rows, -1, np.int64)
    local_column = np.full(n_columns, -1, np.int64)
    for k in range(begin.shape[0] - 1):
        rows = 0
        columns = 0
        cheapest = order[begin[k]]
        for e in order[begin[k] : begin[k + 1]]:
            if local_row[row[e]] < 0:
                local_row[row[e]] = rows
                rows += 1
            if local_column[column[e]] < 0:
                local_column[column[e]] = columns
                columns += 1
            if cost[e] < cost[cheapest]:
                cheapest = e
        if rows == 1 or columns == 1:
            if cost[cheapest] < absent:
                chosen[row[cheapest]] = cheapest
            continue
        matrix = np.full((rows, columns), absent)
        edge = np.full((rows, columns), -1, np.int64)
        of_row = np.empty(rows, np.int64)
        for e in order[begin[k] : begin[k + 1]]:
            i = local_row[row[e]]
            j = local_column[column[e]]
            matrix[i, j] = cost[e]
            edge[i, j] = e
            of_row[i] = row[e]
        solved = assign(matrix)
        for i in range(rows):
            if solved[i] >= 0:
                chosen[of_row[i]] = edge[i, solved[i]]
    return chosen
