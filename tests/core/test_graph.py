"""Union-find against SciPy's connected components."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.kernels import opened
from trackfish3d.core.graph import find_root, unite

find_root = opened(find_root)
unite = opened(unite)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_members_have_one_root_where_edges_connect_them_and_it_is_the_smallest(case):
    n, edges = case
    parent = np.arange(n)
    for i, j in edges:
        unite(parent, i, j)
    root = np.array([find_root(parent, i) for i in range(n)])
    pairs = np.array(edges, int).reshape(-1, 2)
    _, label = connected_components(coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)), False)
    smallest = np.array([np.flatnonzero(label == k)[0] for k in label])
    np.testing.assert_array_equal(root, smallest)
