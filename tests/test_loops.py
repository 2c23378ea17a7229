"""The fast loops by themselves: tiles of kernel values, entries of CSR rows, threads that share the work."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_csr
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits

from pegasos import PegasosClassifier
from pegasos.backends.cpu.elementwise import rbf_values
from pegasos.backends.threads import blas_threads, share_out
from pegasos.kernels import Kernel, squared_norms


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# --- elementwise ----------------------------------------------------------------------------------------------------


def test_exponentials_are_as_good_as_float32_allows():
    exponents = np.linspace(-79.9, 0, 500_001, dtype=np.float32)
    values = (exponents / 2)[None].copy()  # 2·gamma·<x, z> with gamma 1 and no squares
    rbf_values(values, np.zeros(1, np.float32), np.zeros(len(exponents), np.float32), 1.0)
    exact = np.exp(exponents.astype(np.float64))
    assert np.max(np.abs(values[0] - exact) / exact) < 5e-7


@pytest.mark.parametrize(("exponent", "value"), [(-1e4, np.exp(-80)), (-np.float32(3e38), np.exp(-80)), (1e-3, 1.0)])
def test_exponents_out_of_range_are_moved_into_it(exponent, value):
    products = np.array([[exponent / 2]], np.float32)
    rbf_values(products, np.zeros(1, np.float32), np.zeros(1, np.float32), 1.0)
    assert products[0, 0] == pytest.approx(value, rel=1e-6)


# --- tiles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "extra"), [("rbf", {}), ("poly", {"degree": 3, "coef0": 1}), ("sigmoid", {"coef0": 1})]
)
@pytest.mark.parametrize("n_rows", [1, 511, 512, 513, 1100])
def test_tiles_are_the_kernel(rng, name, extra, n_rows, dtype):
    X = rng.normal(size=(n_rows, 30)).astype(dtype)
    kernel = Kernel(name, gamma=0.02, **extra)
    squares = squared_norms(X).astype(dtype)
    expected = pairwise_kernels(X.astype(np.float64), metric=name, gamma=0.02, **extra)
    close = {"rtol": 1e-4 if dtype == np.float32 else 1e-10, "atol": 1e-6}
    np.testing.assert_allclose(kernel.matrix(X, squares), expected, **close)
    np.testing.assert_allclose(kernel(X, X[: n_rows // 2 + 1]), expected[:, : n_rows // 2 + 1], **close)


def test_values_of_many_rows_against_few_and_few_against_many(rng):
    X = rng.normal(size=(3000, 40)).astype(np.float32)
    kernel = Kernel("rbf", gamma=0.02)
    for one, other in [(X, X[:700]), (X[:300], X), (X[:3], X), (X, X[:1])]:
        np.testing.assert_allclose(
            kernel(one, other), pairwise_kernels(one, other, metric="rbf", gamma=0.02), rtol=2e-4
        )


@pytest.mark.parametrize("kept", [0, 1, 30])
def test_features_that_are_zero_throughout_change_nothing(rng, kept):
    X = np.zeros((600, 40))
    X[:, 5 : 5 + kept] = rng.normal(size=(600, kept))
    found = Kernel("rbf", gamma=0.02).matrix(X, squared_norms(X))
    np.testing.assert_allclose(found, pairwise_kernels(X, metric="rbf", gamma=0.02), rtol=1e-10)


def test_threads_do_not_change_a_bit_of_the_matrix(rng):
    X = rng.normal(size=(1300, 40)).astype(np.float32)
    kernel, squares = Kernel("rbf", gamma=0.02), squared_norms(X).astype(np.float32)
    with threadpool_limits(1, user_api="blas"):
        alone = kernel.matrix(X, squares)
    np.testing.assert_array_equal(kernel.matrix(X, squares), alone)


def test_a_matrix_that_takes_too_long_is_given_up(rng):
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    asked = []
    assert Kernel("rbf").matrix(X, squared_norms(X).astype(np.float32), lambda part: asked.append(part)) is None
    assert len(asked) == 1
    assert 0 < asked[0] < 1


# --- threads --------------------------------------------------------------------------------------------------------


def test_each_item_is_worked_on_once_with_blas_on_one_thread():
    seen, threads, lock = [], set(), threading.Lock()

    def work(item):
        with lock:
            seen.append(item)
            threads.add(blas_threads())

    before = blas_threads()
    assert share_out(work, list(range(100)))
    assert sorted(seen) == list(range(100))
    assert threads == {1}
    assert blas_threads() == before
    assert share_out(work, [])


def test_a_failure_in_a_thread_is_raised_and_blas_has_its_threads_back():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="seven"):
        share_out(lambda item: (_ for _ in ()).throw(RuntimeError("seven")) if item == 7 else None, list(range(20)))
    assert blas_threads() == before


# --- CSR ------------------------------------------------------------------------------------------------------------


def test_squared_norms_of_csr_rows_some_of_them_empty(rng):
    dense = rng.normal(size=(300, 50)) * (rng.random((300, 50)) < 0.05)
    dense[[0, 1, 17, 298, 299]] = 0
    for X in (csr_matrix(dense), csr_matrix((300, 50)), csr_matrix((0, 50))):
        np.testing.assert_allclose(squared_norms(X), np.square(X.toarray()).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("average", [False, "weighted"])
@pytest.mark.parametrize("classes", [2, 5, 20])
def test_csr_rows_give_the_model_of_dense_ones(rng, solver, average, classes):
    """One column, few whose pulls are added one by one, and many."""
    X = random_csr(1500, 200, density=0.1, random_state=1, format="csr", dtype=np.float64)
    y = np.argmax(X @ rng.normal(size=(200, classes)), axis=1)
    how = dict(solver=solver, average=average, lam=1e-3, max_passes=4, random_state=0, fit_intercept=True)
    sparse, dense = PegasosClassifier(**how).fit(X, y), PegasosClassifier(**how).fit(X.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sparse.dual_gap_, dense.dual_gap_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("average", [False, "weighted"])
def test_threads_do_not_change_a_bit_of_a_model_of_csr_rows(rng, average):
    X = random_csr(4000, 300, density=0.1, random_state=1, format="csr", dtype=np.float32)
    y = np.argmax(X @ rng.normal(size=(300, 24)), axis=1)
    how = dict(solver="sdca", average=average, lam=1e-3, max_passes=3, random_state=0)
    with threadpool_limits(1, user_api="blas"):
        alone = PegasosClassifier(**how).fit(X, y)
    together = PegasosClassifier(**how).fit(X, y)
    np.testing.assert_array_equal(together.coef_, alone.coef_)
    np.testing.assert_array_equal(together.objective_, alone.objective_)
