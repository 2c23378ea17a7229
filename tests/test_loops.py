"""The fast loops by themselves: tiles of kernel values, entries of CSR rows, threads that share the work."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_csr
from sklearn.metrics.pairwise import pairwise_kernels

from pegasos.backends import threads
from pegasos.backends.cpu.elementwise import rbf_values
from pegasos.backends.products import product
from pegasos.backends.threads import blas_threads, share_out
from pegasos.kernels import inner_products, make_kernel, sizes_of, squared_norms
from pegasos.rows import SupportRows
from textbook import pegasos_classifier


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
    kernel = make_kernel(name, gamma=0.02, **extra)
    squares = squared_norms(X).astype(dtype)
    expected = pairwise_kernels(X.astype(np.float64), metric=name, gamma=0.02, **extra)
    close = {"rtol": 1e-4 if dtype == np.float32 else 1e-10, "atol": 1e-6}
    np.testing.assert_allclose(kernel.matrix(X, squares), expected, **close)
    np.testing.assert_allclose(kernel(X, X[: n_rows // 2 + 1]), expected[:, : n_rows // 2 + 1], **close)


def test_values_of_many_rows_against_few_and_few_against_many(rng):
    X = rng.normal(size=(3000, 40)).astype(np.float32)
    kernel = make_kernel("rbf", gamma=0.02)
    for one, other in [(X, X[:700]), (X[:300], X), (X[:3], X), (X, X[:1])]:
        np.testing.assert_allclose(
            kernel(one, other), pairwise_kernels(one, other, metric="rbf", gamma=0.02), rtol=2e-4
        )


@pytest.mark.parametrize("kept", [0, 1, 30])
def test_features_that_are_zero_throughout_change_nothing(rng, kept):
    X = np.zeros((600, 40))
    X[:, 5 : 5 + kept] = rng.normal(size=(600, kept))
    found = make_kernel("rbf", gamma=0.02).matrix(X, squared_norms(X))
    np.testing.assert_allclose(found, pairwise_kernels(X, metric="rbf", gamma=0.02), rtol=1e-10)


@pytest.mark.parametrize("n_rows", [1, 700, 1024, 1028, 1100, 1500, 2047, 2100])
@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_products_that_are_known_give_the_same_matrix(rng, monkeypatch, name, n_rows):
    """What lies right of the diagonal of known products means nothing: here, NaN."""
    X = rng.normal(size=(n_rows, 10))
    empty = np.empty
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: empty(shape, dtype) * np.nan)
    products = inner_products(X, lambda part: True)
    monkeypatch.undo()
    kernel = make_kernel(name, gamma=0.02)
    found = kernel.matrix(X, squared_norms(X), products=products)
    np.testing.assert_allclose(found, kernel.matrix(X, squared_norms(X)), rtol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
@pytest.mark.parametrize(("n_rows", "n_others"), [(3000, 700), (300, 3000), (3, 3000), (513, 1), (1, 1), (0, 5)])
def test_scores_are_the_kernel_times_the_coefficients(rng, name, n_rows, n_others):
    X, Z = (rng.normal(size=(n, 40)) for n in (n_rows, n_others))
    kernel, coefficients = make_kernel(name, gamma=0.02), rng.normal(size=(n_others, 7))
    gamma = {} if name == "linear" else {"gamma": 0.02}
    values = pairwise_kernels(X, Z, metric=name, **gamma) if n_rows else np.zeros((0, n_others))
    np.testing.assert_allclose(kernel.scores(X, Z, coefficients), values @ coefficients, rtol=1e-9, atol=1e-9)


@pytest.fixture
def two_threads(monkeypatch):
    """Two threads, whatever BLAS is allowed."""
    monkeypatch.setattr(threads, "blas_threads", lambda: 2)


def test_threads_do_not_change_a_bit_of_matrix_and_scores(rng, monkeypatch):
    X = rng.normal(size=(1300, 40)).astype(np.float32)
    kernel, squares = make_kernel("rbf", gamma=0.02), squared_norms(X).astype(np.float32)
    coefficients = rng.normal(size=(1300, 3)).astype(np.float32)
    found = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "blas_threads", lambda number=number: number)
        with threads.blas_limited(1):
            found.append((kernel.matrix(X, squares), kernel.scores(X, X, coefficients)))
    for matrix, scores in found[1:]:
        np.testing.assert_array_equal(matrix, found[0][0])
        np.testing.assert_array_equal(scores, found[0][1])


def test_a_matrix_that_takes_too_long_is_given_up(rng):
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    asked = []
    assert make_kernel("rbf").matrix(X, squared_norms(X).astype(np.float32), lambda part: asked.append(part)) is None
    assert len(asked) == 1
    assert 0 < asked[0] < 1


# --- threads --------------------------------------------------------------------------------------------------------


def test_each_item_is_worked_on_once_with_blas_on_one_thread():
    seen, counts, lock = [], set(), threading.Lock()

    def work(item):
        with lock:
            seen.append(item)
            counts.add(blas_threads())

    before = blas_threads()
    assert share_out(work, list(range(100)))
    assert sorted(seen) == list(range(100))
    assert counts == {1}
    assert blas_threads() == before
    assert share_out(work, [])


@pytest.mark.usefixtures("two_threads")
def test_two_threads_do_each_item_once():
    seen, who, lock, both = [], set(), threading.Lock(), threading.Barrier(2)

    def work(item):
        if item < 2:
            both.wait(timeout=30)  # each of the threads has one of the first two
        with lock:
            seen.append(item)
            who.add(threading.get_ident())

    assert share_out(work, list(range(50)))
    assert sorted(seen) == list(range(50))
    assert len(who) == 2


@pytest.mark.usefixtures("two_threads")
def test_after_a_failure_the_other_thread_stops():
    seen = []

    def work(item):
        if item == 1:
            raise RuntimeError("seven")
        time.sleep(0.01)
        seen.append(item)

    with pytest.raises(RuntimeError, match="seven"):
        share_out(work, list(range(1000)))
    assert len(seen) < 100


def test_a_failure_in_a_thread_is_raised_and_blas_has_its_threads_back():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="seven"):
        share_out(lambda item: (_ for _ in ()).throw(RuntimeError("seven")) if item == 7 else None, list(range(20)))
    assert blas_threads() == before


def test_limits_of_threads_hold_for_the_thread_that_sets_them():
    before = blas_threads()
    with threads.threads_limited(3):
        assert blas_threads() == 3
        with threads.threads_limited(None):
            assert blas_threads() == 3
        with threads.threads_limited(2):
            assert blas_threads() == 2
        with threads.threads_limited(5):
            assert blas_threads() == 3
    with threads.threads_limited(-1):
        assert blas_threads() == threads.cpu_count()
    with threads.threads_limited(-1000):
        assert blas_threads() == 1
    with pytest.raises(ValueError, match="n_jobs=0"), threads.threads_limited(0):
        pass
    with pytest.raises(RuntimeError), threads.threads_limited():
        raise RuntimeError
    assert blas_threads() == before


def test_fits_at_the_same_time_share_the_threads_there_are(monkeypatch):
    monkeypatch.setattr(threads, "_all_threads", lambda: 8)
    found, inside, done = [], threading.Barrier(3), threading.Barrier(3)

    def fit(n_jobs):
        with threads.threads_limited(n_jobs):
            inside.wait(10)
            found.append((n_jobs, blas_threads()))
            done.wait(10)

    others = [threading.Thread(target=fit, args=(n_jobs,)) for n_jobs in (None, 3)]
    with threads.threads_limited():
        assert blas_threads() == 8
        for other in others:
            other.start()
        inside.wait(10)
        assert blas_threads() == 4
        done.wait(10)
        for other in others:
            other.join()
        assert blas_threads() == 8
    assert sorted(found, key=str) == [(3, 3), (None, 4)]


def test_within_a_fit_blas_has_one_thread_and_the_threads_are_ours():
    before, names = blas_threads(), set()

    def work(item):
        names.add(threading.current_thread().name)
        assert blas_threads() == 1

    with threads.threads_limited(2):
        assert max(library.num_threads for library in threads._libraries()) == 1
        for _ in range(20):
            assert share_out(work, list(range(10)))
            threads.in_parallel(lambda first, last: work(first), 2)
    assert len(names) <= 2  # the same from call to call
    assert not [thread for thread in threading.enumerate() if thread.name in names]  # and none is left
    assert blas_threads() == before


@pytest.mark.parametrize("shape", [(3, 2000, 2000), (2000, 2000, 3), (5, 4, 3), (300, 400, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_by_our_threads_are_those_of_numpy(rng, shape, dtype):
    A, B = rng.normal(size=shape[:2]).astype(dtype), rng.normal(size=shape[1:]).astype(dtype)
    with threads.threads_limited(1):
        alone = product(A, B)
    with threads.threads_limited(3):
        np.testing.assert_array_equal(product(A, B), alone)
    np.testing.assert_allclose(alone, A.astype(np.float64) @ B, rtol=0, atol=1e5 * np.finfo(dtype).eps)


# --- support rows ---------------------------------------------------------------------------------------------------


def test_support_rows_cover_what_is_asked_for_and_forget_what_is_not(rng):
    X = rng.normal(size=(6000, 5))
    rows = SupportRows(X, squared_norms(X))
    for _ in range(30):
        support = np.sort(rng.choice(6000, rng.integers(1, 1500), replace=False))
        order, values, squares = rows.of(support)
        assert set(support) <= set(order)
        assert len(order) <= 1.2 * len(support) + 1024
        np.testing.assert_array_equal(values, X[order])
        np.testing.assert_allclose(squares, squared_norms(X[order]))


def test_support_rows_that_take_too_much_memory_are_all_rows(rng):
    X = rng.normal(size=(100, 5))
    rows = SupportRows(X, None, most_bytes=50 * 5 * 8)
    assert len(rows.of(np.arange(50))[1]) == 50
    assert rows.of(np.arange(51))[1] is X
    assert len(rows.of(np.arange(50, 100))[1]) == 50


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("cache_size", [0, 1])
def test_a_kernel_without_a_matrix_gives_the_model_of_one_with_it(rng, solver, cache_size):
    X = rng.normal(size=(2500, 8))
    y = np.argmax(X @ rng.normal(size=(8, 4)) + rng.normal(size=(2500, 4)), axis=1)
    how = dict(kernel="rbf", gamma=0.1, solver=solver, lam=1e-3, max_iter=3, random_state=0)
    kept = pegasos_classifier(**how).fit(X, y)
    computed = pegasos_classifier(**how, cache_size=cache_size).fit(X, y)
    np.testing.assert_allclose(computed.decision_function(X), kept.decision_function(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(computed.dual_gap_, kept.dual_gap_, rtol=1e-6)


# --- one look at rows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("compiled", [False, True])
def test_sizes_are_those_of_the_entries(rng, dtype, compiled, monkeypatch):
    monkeypatch.setattr("pegasos.kernels.norms.WORTH_COMPILED", 0 if compiled else np.inf)
    X = (rng.normal(size=(50, 7)) * (rng.random((50, 7)) < 0.5)).astype(dtype)
    X[3] = X[:, 2] = 0.0
    wide, most = X.astype(np.float64), np.abs(X).max(axis=0)
    for rows in (X, np.asfortranarray(X), X[:0], X[:1], csr_matrix(X), csr_matrix((4, 7), dtype=dtype)):
        expected = wide[: rows.shape[0]] if rows.shape[0] != 4 else np.zeros((4, 7))
        squares, largest = sizes_of(rows)
        np.testing.assert_allclose(
            squares, np.square(expected).sum(axis=1), rtol=1e-6 if dtype == np.float32 else 1e-14
        )
        if rows.shape[0] == 50 and largest is not None:
            np.testing.assert_array_equal(largest, most)
    for strange in (np.nan, np.inf, -np.inf):
        X[7, 3] = strange
        for rows in (X, csr_matrix(X)):
            assert not np.isfinite(sizes_of(rows).squares.sum())


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
    how = dict(solver=solver, average=average, lam=1e-3, max_iter=4, random_state=0, fit_intercept=True)
    sparse, dense = pegasos_classifier(**how).fit(X, y), pegasos_classifier(**how).fit(X.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sparse.dual_gap_, dense.dual_gap_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("average", [False, "weighted"])
def test_threads_do_not_change_a_bit_of_a_model_of_csr_rows(rng, average, monkeypatch):
    X = random_csr(4000, 300, density=0.1, random_state=1, format="csr", dtype=np.float32)
    y = np.argmax(X @ rng.normal(size=(300, 24)), axis=1)
    how = dict(solver="sdca", average=average, lam=1e-3, max_iter=3, random_state=0)
    alone = pegasos_classifier(**how).fit(X, y)
    monkeypatch.setattr(threads, "blas_threads", lambda: 3)
    together = pegasos_classifier(**how).fit(X, y)
    np.testing.assert_array_equal(together.coef_, alone.coef_)
    np.testing.assert_array_equal(together.objective_, alone.objective_)
