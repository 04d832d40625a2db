"""Isolation Forest and Local Outlier Factor, compact: as scikit-learn has them, thousands of small sets in a second."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

TREES = 200
NEIGHBOURS = 5
SUBSAMPLE = 256


def isolation_forest(features: ArrayLike, seed: int = 0, trees: int = TREES) -> Array:
    """(N,) anomaly score of the rows of (N, D) by Isolation Forest (Liu et al. 2008), 0 to 1, high for what is odd.

    Each tree splits up to 256 rows at random until they stand alone or its depth is log2 of their number; what stands
    alone early is odd. The score is 2^(-mean depth / expected depth), scikit-learn's ``-score_samples``.
    """
    X = np.ascontiguousarray(features, dtype=np.float64)
    n = len(X)
    if n < 2:
        return np.full(n, 0.5)
    rng = np.random.default_rng(seed)
    size = min(SUBSAMPLE, n)
    rows = (
        np.stack([rng.permutation(n)[:size] for _ in range(trees)]) if size < n else np.tile(np.arange(n), (trees, 1))
    )
    depth = _forest(X, rows, rng.random((trees, size, 2)), int(np.ceil(np.log2(size))))
    return np.asarray(2.0 ** (-depth / (trees * _expected_depth(size))))


@njit(cache=True)
def _expected_depth(n):  # type: ignore[no-untyped-def]
    """Mean depth of an unsuccessful search among n rows."""
    if n <= 1:
        return 0.0
    if n == 2:
        return 1.0
    return 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n


@njit(cache=True, error_model="numpy", nogil=True)
def _forest(X, rows, chance, deepest):  # type: ignore[no-untyped-def]
    """(N,) depths summed over the trees; each tree is made of its rows (trees, S) and chances (trees, S, 2)."""
    n, D = X.shape
    trees, S = rows.shape
    depth = np.zeros(n)
    order = np.empty(S, np.int64)
    everyone = np.empty(n, np.int64)
    varied = np.empty(D, np.int64)
    # A node: rows of the sample, all rows that reach it, its depth.
    nodes = np.empty((2 * S + 2, 5), np.int64)
    for b in range(trees):
        for i in range(S):
            order[i] = rows[b, i]
        for i in range(n):
            everyone[i] = i
        waiting, used = _push(nodes, 0, 0, S, 0, n, 0), 0
        while waiting:
            waiting -= 1
            a, e, level = nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 4]
            ra, re = nodes[waiting, 2], nodes[waiting, 3]
            count = 0
            if e - a > 1 and level < deepest:
                for f in range(D):
                    low = high = X[order[a], f]
                    for i in range(a + 1, e):
                        low, high = min(low, X[order[i], f]), max(high, X[order[i], f])
                    if high > low:
                        varied[count] = f
                        count += 1
            if count == 0:
                for i in range(ra, re):
                    depth[everyone[i]] += level + _expected_depth(e - a)
                continue
            f = varied[min(int(chance[b, used, 0] * count), count - 1)]
            low = high = X[order[a], f]
            for i in range(a + 1, e):
                low, high = min(low, X[order[i], f]), max(high, X[order[i], f])
            cut = low + chance[b, used, 1] * (high - low)
            used += 1
            middle = _partition(order, a, e, X, f, cut)
            reach = _partition(everyone, ra, re, X, f, cut)
            waiting = _push(nodes, waiting, a, middle, ra, reach, level + 1)
            waiting = _push(nodes, waiting, middle, e, reach, re, level + 1)
    return depth


@njit(cache=True, nogil=True)
def _push(nodes, count, a, e, ra, re, level):  # type: ignore[no-untyped-def]
    nodes[count, 0], nodes[count, 1], nodes[count, 2], nodes[count, 3], nodes[count, 4] = a, e, ra, re, level
    return count + 1


@njit(cache=True, nogil=True)
def _partition(order, a, e, X, f, cut):  # type: ignore[no-untyped-def]
    """Move rows with feature f up to the cut before the others; returns where those begin."""
    middle = a
    for i in range(a, e):
        if X[order[i], f] <= cut:
            order[i], order[middle] = order[middle], order[i]
            middle += 1
    return middle


def local_outlier_factor(features: ArrayLike, neighbours: int = NEIGHBOURS) -> Array:
    """(N,) Local Outlier Factor (Breunig et al. 2000) of the rows of (N, D): 1 among its like, larger for outliers.

    The number of neighbours is at most N - 1.
    """
    X = np.asarray(features, dtype=np.float64)
    n = len(X)
    k = min(neighbours, n - 1)
    if k < 1:
        return np.ones(n)
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    near = np.argsort(distance, axis=1, kind="stable")[:, :k]
    within = np.take_along_axis(distance, near, 1)
    reach = np.maximum(within[near, k - 1], within)
    density = 1.0 / (reach.mean(1) + 1e-10)
    return np.asarray(density[near].mean(1) / density)
