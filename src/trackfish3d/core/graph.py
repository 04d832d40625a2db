"""Sets that grow together (union-find), for use inside compiled code."""

import numpy as np
from numpy.typing import NDArray

from .compiled import helper


@helper
def find_root(parent: NDArray[np.int64], i: int) -> int:
    """Return the root of a member.

    Parameters
    ----------
    parent : (N,) member above each, a root's being itself; ways to the root are halved.
    i : the member.
    """
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@helper
def unite(parent: NDArray[np.int64], i: int, j: int) -> None:
    """Make the sets of two members one; the smaller root stays.

    Parameters
    ----------
    parent : (N,) member above each.
    i : one member.
    j : the other.
    """
    a, b = find_root(parent, i), find_root(parent, j)
    parent[max(a, b)] = min(a, b)
