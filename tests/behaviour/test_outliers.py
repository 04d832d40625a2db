import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.behaviour.abnormal.outliers import isolation_forest, local_outlier_factor

sklearn_ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
sklearn_neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 60), st.integers(1, 9), st.integers(0, 10**6))
def test_lof_equals_scikit_learn(n, dimensions, seed):
    X = np.random.default_rng(seed).normal(size=(n, dimensions))
    k = min(5, n - 1)
    expected = -sklearn_neighbors.LocalOutlierFactor(n_neighbors=k).fit(X).negative_outlier_factor_
    assert local_outlier_factor(X) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [8, 60, 400])
def test_isolation_forest_agrees_with_scikit_learn(n):
    """Both are random; with many trees both come near the same expectation (400 rows are subsampled)."""
    X = np.random.default_rng(n).normal(size=(n, 9))
    X[0] += 3
    forest = sklearn_ensemble.IsolationForest(n_estimators=400, random_state=0).fit(X)
    ours = isolation_forest(X, trees=2000)
    assert ours == pytest.approx(-forest.score_samples(X), abs=0.03)
    assert abs((ours + forest.score_samples(X)).mean()) < 0.004
    assert ours.argmax() == 0


def test_the_forest_is_the_same_for_the_same_seed():
    X = np.random.default_rng(0).normal(size=(8, 9))
    assert (isolation_forest(X, seed=3) == isolation_forest(X, seed=3)).all()
    assert (isolation_forest(X, seed=3) != isolation_forest(X, seed=4)).any()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_are_no_error(n):
    assert isolation_forest(np.zeros((n, 9))).shape == (n,)
    assert local_outlier_factor(np.zeros((n, 9))).shape == (n,)


def test_equal_rows_are_equally_usual():
    assert isolation_forest(np.ones((6, 2))) == pytest.approx(np.full(6, isolation_forest(np.ones((6, 2)))[0]))
    assert local_outlier_factor(np.ones((6, 2))) == pytest.approx(np.ones(6))
