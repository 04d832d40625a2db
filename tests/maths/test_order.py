"""Sorting in kernels against NumPy's."""

import numpy as np
import pytest

from tests.kernels import opened
from trackfish3d.maths.order import begins, descending, doubled, grouped

begins = opened(begins)
descending = opened(descending)
doubled = opened(doubled)
grouped = opened(grouped)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 64, 433])
def test_descending_is_a_stable_sort(n):
    values = np.random.default_rng(n).integers(0, max(n // 3, 1), n).astype(float)  # with many equal ones
    np.testing.assert_array_equal(descending(values), np.argsort(-values, kind="stable"))


def test_infinities_have_their_place():
    assert descending(np.array([-np.inf, 1.0, np.inf, 1.0])).tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize("n", [0, 1, 50])
def test_labels_are_grouped_in_order(n):
    label = np.random.default_rng(n).integers(0, 7, n)
    order, begin = grouped(label, 7)
    np.testing.assert_array_equal(order, np.argsort(label, kind="stable"))
    np.testing.assert_array_equal(begin, np.searchsorted(np.sort(label), np.arange(8)))
    np.testing.assert_array_equal(begins(np.sort(label), 7), begin)


@pytest.mark.parametrize("kind", [float, np.int64])
def test_a_list_grows_and_keeps_what_it_has(kind):
    values = np.arange(5, dtype=kind)
    grown = doubled(values)
    assert grown.dtype == values.dtype
    assert len(grown) == 10
    np.testing.assert_array_equal(grown[:5], values)
