"""Sorting, grouping and growing inside Numba kernels."""

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import helper


@helper
def descending(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """(N,) indices of values (N,) from the greatest to the smallest; equal ones stay in their order.

    A merge sort from the bottom up: NumPy's sort inside a kernel costs a second of compiling.
    """
    n = values.shape[0]
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and values[order[i]] >= values[order[j]]):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        order, merged = merged, order
        width *= 2
    return order


@helper
def begins(label: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """(count + 1,) where each label 0, 1, ... begins in ascending labels (N,)."""
    out = np.empty(count + 1, np.int64)
    at = 0
    for k in range(count + 1):
        while at < label.shape[0] and label[at] < k:
            at += 1
        out[k] = at
    return out


@helper
def grouped(label: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bring together what has one label.

    Parameters
    ----------
    label : (N,) below ``count``.

    Returns
    -------
    order : (N,) indices in the order of labels, those of one label in their own order.
    begin : (count + 1,) where each label begins in ``order``.
    """
    begin = np.zeros(count + 1, np.int64)
    for i in range(label.shape[0]):
        begin[label[i] + 1] += 1
    for k in range(count):
        begin[k + 1] += begin[k]
    free, order = begin.copy(), np.empty(label.shape[0], np.int64)
    for i in range(label.shape[0]):
        order[free[label[i]]] = i
        free[label[i]] += 1
    return order, begin


@helper
def doubled(values: NDArray) -> NDArray:
    """Return an array (2 N,) that begins with these values (N,), for a list that grows."""
    out = np.empty(2 * values.shape[0], values.dtype)
    for i in range(values.shape[0]):
        out[i] = values[i]
    return out
