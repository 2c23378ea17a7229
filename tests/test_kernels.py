"""Every kernel of the registry: its values by the textbook, what it says of itself, and models of it everywhere.

A new kernel is tested by one row of `TEXTBOOK`.
"""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

import pegasos
from conftest import classes_problem
from gpu import card, needs_any
from pegasos import PegasosClassifier, PegasosRegressor, PegasosSearchCV
from pegasos.cli.options import PARAMETERS
from pegasos.kernels import KERNELS, CallableKernel, inner_products, kernel_class, make_kernel, squared_norms
from pegasos.kernels.nystroem import choose
from textbook import pegasos_classifier

__all__ = ["card"]

# the parameters of an estimator, and the value of two rows
TEXTBOOK = {
    "linear": (dict(), lambda x, z: x @ z),
    "rbf": (dict(gamma=0.3), lambda x, z: np.exp(-0.3 * ((x - z) ** 2).sum())),
    "poly": (dict(gamma=0.4, degree=3, coef0=1.0), lambda x, z: (0.4 * x @ z + 1.0) ** 3),
    "sigmoid": (dict(gamma=0.2, coef0=-0.3), lambda x, z: np.tanh(0.2 * x @ z - 0.3)),
    "laplacian": (dict(gamma=0.3), lambda x, z: np.exp(-0.3 * np.abs(x - z).sum())),
}
CONTAINERS = {"dense": np.asarray, "columns first": np.asfortranarray, "csr": sp.csr_matrix}
TYPES = [(np.float64, 1e-12), (np.float32, 1e-5)]
X, Y = classes_problem(3, n_rows=60)
NAMES = pytest.mark.parametrize("name", TEXTBOOK)


def kernel_of(name):
    """The kernel of a row of the table."""
    return make_kernel(name, **TEXTBOOK[name][0])


def values_of(name, A, B):
    """Kernel values of the rows of A against those of B, pair by pair."""
    return pairwise_kernels(A, B, metric=TEXTBOOK[name][1])


@cache
def matrix_of(name):
    """Kernel values among the rows of X."""
    return values_of(name, X, X)


def test_every_kernel_of_the_registry_is_in_the_table():
    assert {*TEXTBOOK, "precomputed"} == {*KERNELS}
    assert all(KERNELS[name].name == name for name in KERNELS)
    assert {*PARAMETERS["kernel"].words, "precomputed"} == {*KERNELS}, "the command line knows them, too"


# --- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
@pytest.mark.parametrize("container", CONTAINERS)
@NAMES
def test_values_are_those_of_the_textbook(name, container, dtype, tolerance):
    rows, kernel, expected = CONTAINERS[container](X.astype(dtype)), kernel_of(name), matrix_of(name)
    close = dict(rtol=tolerance, atol=tolerance * np.abs(expected).max())
    squares = squared_norms(rows).astype(dtype) if kernel.needs_squares else None
    values = kernel(rows[:20], rows)
    assert values.dtype == dtype
    np.testing.assert_allclose(values, expected[:20], **close)
    np.testing.assert_allclose(kernel.matrix(rows, squares), expected, **close)
    np.testing.assert_allclose(kernel.diagonal(rows), expected.diagonal(), **close)
    np.testing.assert_allclose(kernel.diagonal(rows, squared_norms(rows)), expected.diagonal(), **close)
    weights = np.random.default_rng(0).normal(size=(len(X), 2)).astype(dtype)
    np.testing.assert_allclose(kernel.scores(rows, rows, weights), expected @ weights, rtol=0, atol=60 * close["atol"])
    if kernel.from_product:
        products = inner_products(rows, lambda part: True)
        np.testing.assert_allclose(kernel.matrix(rows, squares, products=products), expected, **close)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@NAMES
def test_many_values_are_those_of_few(name, dtype):
    """Enough for tiles and compiled loops."""
    rows, kernel = np.random.default_rng(1).normal(size=(1300, 20)).astype(dtype) / 4, kernel_of(name)
    squares = squared_norms(rows).astype(dtype) if kernel.needs_squares else None
    matrix, weights = kernel.matrix(rows, squares), np.ones((1300, 3), dtype)
    assert matrix.dtype == dtype
    few = np.arange(0, 1300, 130)
    expected = values_of(name, rows[few].astype(float), rows.astype(float))
    close = dict(rtol=1e-4, atol=1e-5) if dtype == np.float32 else dict(rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(matrix[few], expected, **close)
    np.testing.assert_allclose(matrix, matrix.T, **close)
    wide = dict(rtol=1e-4, atol=1e-2) if dtype == np.float32 else dict(rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kernel.scores(rows, rows, weights)[few], expected @ weights, **wide)


@needs_any
@pytest.mark.usefixtures("card")
@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
@NAMES
def test_a_gpu_gives_the_same_values(name, dtype, tolerance):
    from pegasos.backends import cuda

    rows, kernel = X.astype(dtype), kernel_of(name)
    there = cuda.to_device(rows)
    found = cuda.to_host(kernel(there[:20], there))
    assert found.dtype == dtype
    expected = kernel(rows[:20], rows)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


# --- what a kernel says of itself ---------------------------------------------------------------------------------


@NAMES
def test_a_kernel_is_what_it_says(name):
    kernel, K = kernel_of(name), matrix_of(name)
    if kernel.stationary:
        assert kernel.definite
        np.testing.assert_allclose(K.diagonal(), 1.0)
        np.testing.assert_allclose(values_of(name, X[:9] + 5.0, X[:9] + 5.0), K[:9, :9])
        assert (K >= 0).all()
        assert (K <= 1).all()
    if kernel.definite:
        assert np.linalg.eigvalsh(K).min() > -1e-10 * np.linalg.eigvalsh(K).max()
    elif kernel.definite is False:
        assert np.linalg.eigvalsh(K).min() < -1e-3 * np.linalg.eigvalsh(K).max()
    if kernel.from_product and not kernel.needs_squares:
        np.testing.assert_allclose(kernel.transform(X @ X.T), K, rtol=1e-12, atol=1e-12)


@NAMES
def test_kernels_are_values(name):
    params, kernel = TEXTBOOK[name][0], kernel_of(name)
    assert kernel == kernel_of(name)
    assert hash(kernel) == hash(kernel_of(name))
    assert repr(kernel) == repr(kernel_of(name))
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert all(kernel != kernel_of(other) for other in TEXTBOOK if other != name)
    for parameter, value in params.items():
        assert kernel.uses(parameter)
        changed = make_kernel(name, **params | {parameter: value + 1})
        assert changed != kernel
        assert repr(changed) != repr(kernel)
    unused = {parameter: 7.0 for parameter in ("gamma", "degree", "coef0") if not kernel.uses(parameter)}
    assert make_kernel(name, **params | unused) == kernel


def test_functions_are_kernels_of_their_own():
    product = lambda A, B, power: (A @ B.T) ** power
    kernel = make_kernel(product, {"power": 2}, gamma=3.0)
    assert isinstance(kernel, CallableKernel)
    assert (kernel.params, kernel.uses("gamma"), kernel.definite) == ({"power": 2}, False, None)
    np.testing.assert_allclose(kernel(X[:9], X), (X[:9] @ X.T) ** 2)
    np.testing.assert_allclose(kernel.diagonal(X), (X**2).sum(axis=1) ** 2)
    assert kernel_class(product) is kernel_class("no such kernel") is CallableKernel


def test_a_precomputed_kernel_looks_up_training_rows():
    K = matrix_of("rbf")
    kernel = make_kernel("precomputed", gamma=3.0)
    np.testing.assert_array_equal(kernel(K[:9], np.array([2, 5])), K[:9, [2, 5]])
    np.testing.assert_array_equal(kernel.diagonal(K), K.diagonal())


# --- models -------------------------------------------------------------------------------------------------------


def pair_by_pair(name):
    """The textbook's kernel as a function for estimators."""
    return lambda A, B: pairwise_kernels(A, B, metric=TEXTBOOK[name][1])


@NAMES
@pytest.mark.parametrize("cache_size", [None, 0])
@pytest.mark.parametrize("estimator", [PegasosClassifier, PegasosRegressor])
def test_models_are_those_of_the_same_function(name, cache_size, estimator):
    params = dict(solver="pegasos", lam=0.02, max_iter=5, fit_intercept=False, random_state=0, cache_size=cache_size)
    y = Y if estimator is PegasosClassifier else X[:, 0]
    model = estimator(kernel=name, **TEXTBOOK[name][0], **params).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a function that is found to be indefinite
        expected = estimator(kernel=pair_by_pair(name), **params).fit(X, y)
    scores = "decision_function" if estimator is PegasosClassifier else "predict"
    new = X[::-1] + 0.1
    np.testing.assert_allclose(getattr(model, scores)(new), getattr(expected, scores)(new), rtol=1e-8, atol=1e-9)


@NAMES
def test_models_come_back_from_a_file(name, tmp_path):
    model = pegasos_classifier(kernel=name, **TEXTBOOK[name][0], random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    found = pegasos.load(tmp_path / "model")
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    assert found._kernel == model._kernel == kernel_of(name)


@NAMES
def test_searches_are_those_of_the_same_function(name):
    params, grid = dict(fit_intercept=False, random_state=0, max_iter=5), {"lam": [0.1, 0.02], "batch_size": [1, 5]}
    how = dict(cv=3, refit=False, error_score="raise", scoring="neg_log_loss")
    model, same = (
        pegasos_classifier(kernel=kernel, **parameters, loss="log_loss", **params)
        for kernel, parameters in [(name, TEXTBOOK[name][0]), (pair_by_pair(name), {})]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a function that is found to be indefinite
        found, expected = (PegasosSearchCV(each, grid, **how).fit(X, Y == 1).cv_results_ for each in (model, same))
    np.testing.assert_allclose(found["mean_test_score"], expected["mean_test_score"], rtol=1e-7)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", [name for name in TEXTBOOK if name != "linear"])
def test_landmarks_span_the_kernel(name, container):
    rows, kernel = CONTAINERS[container](X), kernel_of(name)
    landmarks = choose(rows, kernel, 9, "uniform", seed=1)
    features, Z = landmarks.features(rows), landmarks.index
    np.testing.assert_allclose(landmarks.values(rows), matrix_of(name)[:, Z], rtol=1e-9, atol=1e-9)
    if kernel.definite:
        np.testing.assert_allclose((features @ features.T)[Z][:, Z], matrix_of(name)[Z][:, Z], rtol=1e-8, atol=1e-8)
    model = pegasos_classifier(kernel=name, **TEXTBOOK[name][0], n_landmarks=9, random_state=0).fit(rows, Y)
    assert np.isfinite(model.decision_function(rows)).all()
