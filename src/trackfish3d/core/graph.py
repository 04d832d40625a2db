"""Sets that grow together (union-find), for use inside compiled code."""

from numba import njit


@njit(cache=True)
def find_root(parent, i):  # type: ignore[no-untyped-def]
    """Return the root of member ``i``; ``parent`` (N,) int64, halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def unite(parent, i, j):  # type: ignore[no-untyped-def]
    """Make the sets of members ``i`` and ``j`` one; the smaller root stays."""
    a, b = find_root(parent, i), find_root(parent, j)
    parent[max(a, b)] = min(a, b)
