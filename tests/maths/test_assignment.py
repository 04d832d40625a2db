"""The compiled assignment solver against SciPy's."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from trackfish3d.maths.assignment import assign, assign_edges


def _pairs(row_to_col: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero(row_to_col >= 0)
    return rows, row_to_col[rows]


def _assert_is_matching(row_to_col: np.ndarray, cost: np.ndarray) -> None:
    rows, columns = _pairs(row_to_col)
    assert row_to_col.shape == (cost.shape[0],)
    assert len(set(columns.tolist())) == len(columns)
    assert np.isfinite(cost[rows, columns]).all()


def _brute_force(cost: np.ndarray) -> tuple[int, float]:
    """Most pairs, then least cost, by trying every matching."""
    if cost.shape[0] > cost.shape[1]:
        cost = cost.T
    best = (0, 0.0)
    for columns in itertools.permutations(range(cost.shape[1]), cost.shape[0]):
        chosen = cost[np.arange(cost.shape[0]), columns]
        chosen = chosen[np.isfinite(chosen)]
        candidate = (-len(chosen), float(chosen.sum()))
        best = min(best, candidate)
    return -best[0], best[1]


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_complete_matrices_give_scipys_pairs(rows: int, columns: int, seed: int) -> None:
    cost = np.random.default_rng(seed).normal(size=(rows, columns)) * 10
    expected = np.full(rows, -1)
    i, j = linear_sum_assignment(cost)
    expected[i] = j
    np.testing.assert_array_equal(assign(cost), expected)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_forbidden_pairs_leave_most_pairs_at_least_cost(rows: int, columns: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = rng.normal(size=(rows, columns)) * 10
    cost[rng.random(cost.shape) > density] = np.inf
    row_to_col = assign(cost)
    _assert_is_matching(row_to_col, cost)
    i, j = _pairs(row_to_col)
    count, total = _brute_force(cost)
    assert len(i) == count
    assert cost[i, j].sum() == pytest.approx(total, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.02, 0.5), st.integers(0, 2**32 - 1))
def test_large_sparse_matrices_cost_what_scipy_finds(rows: int, columns: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = rng.random((rows, columns))
    cost[rng.random(cost.shape) > density] = np.inf
    row_to_col = assign(cost)
    _assert_is_matching(row_to_col, cost)
    padded = np.where(np.isfinite(cost), cost, 1000.0)
    i, j = linear_sum_assignment(padded)
    kept = np.isfinite(cost[i, j])
    mine = _pairs(row_to_col)
    assert len(mine[0]) == kept.sum()
    assert cost[mine].sum() == pytest.approx(cost[i[kept], j[kept]].sum(), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_ties_still_cost_the_optimum(rows: int, columns: int, seed: int) -> None:
    cost = np.random.default_rng(seed).integers(0, 3, (rows, columns)).astype(float)
    row_to_col = assign(cost)
    _assert_is_matching(row_to_col, cost)
    i, j = linear_sum_assignment(cost)
    assert cost[_pairs(row_to_col)].sum() == cost[i, j].sum()


def test_the_cheaper_of_two_rows_gets_the_only_column() -> None:
    np.testing.assert_array_equal(assign(np.array([[5.0], [1.0]])), [-1, 0])


def test_two_expensive_pairs_win_over_one_cheap_pair() -> None:
    np.testing.assert_array_equal(assign(np.array([[0.0, 100.0], [100.0, np.inf]])), [1, 0])


def test_nan_forbids_like_inf() -> None:
    np.testing.assert_array_equal(assign(np.array([[np.nan, 2.0], [1.0, np.nan]])), [1, 0])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_matrices_leave_every_row_alone(shape: tuple[int, int]) -> None:
    np.testing.assert_array_equal(assign(np.zeros(shape)), np.full(shape[0], -1))


def test_all_forbidden_leaves_every_row_alone() -> None:
    np.testing.assert_array_equal(assign(np.full((3, 2), np.inf)), [-1, -1, -1])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.01, 0.4), st.integers(0, 2**32 - 1))
def test_components_give_the_same_pairs_as_the_whole_matrix(rows: int, columns: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = np.where(rng.random((rows, columns)) < density, rng.random((rows, columns)), np.inf)
    i, j = np.nonzero(np.isfinite(cost))
    shuffled = rng.permutation(len(i))
    i, j = i[shuffled], j[shuffled]
    chosen = assign_edges(i, j, cost[i, j], rows, columns, np.inf)
    by_edges = np.where(chosen >= 0, j[chosen] if len(j) else -1, -1)
    np.testing.assert_array_equal(by_edges, assign(cost))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.01, 0.4), st.integers(0, 2**32 - 1))
def test_with_free_solitude_the_total_weight_is_greatest(rows: int, columns: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random((rows, columns)) < density, rng.random((rows, columns)), 0.0)
    i, j = np.nonzero(weight)
    chosen = assign_edges(i, j, -weight[i, j], rows, columns, 0.0)
    taken = chosen[chosen >= 0]
    assert len(set(j[taken].tolist())) == len(taken)
    assert weight[i[taken], j[taken]].sum() == pytest.approx(weight[linear_sum_assignment(-weight)].sum(), abs=1e-9)
