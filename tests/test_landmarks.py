"""Landmarks: features that span the kernel, and the exact model where every row is one."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise

from nystroem import CONTAINERS, KERNELS, TARGETS, WEIGHTS, X, Y, rows_for, spanned
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import make_kernel
from pegasos.kernels.nystroem import choose, of_rows
from textbook import pegasos_classifier, pegasos_regressor

N = len(X)


def kernel_of(params):
    """The library's kernel with the parameters of an estimator."""
    return recipe_of(pegasos_classifier(**params)).kernel(X, None)


def assert_close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


# --- features -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-4)])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_inner_products_of_features_are_the_kernel_s_as_far_as_landmarks_span_it(kernel, container, dtype, tolerance):
    params, rows, function = rows_for(kernel, container, dtype)
    landmarks = choose(rows, kernel_of(params), 9, "uniform", seed=1)
    Z, features = X[landmarks.index], landmarks.features(rows)
    assert features.shape == (N, landmarks.n_features)
    assert features.dtype == landmarks.whitening.dtype == dtype
    assert_close(landmarks.values(rows), function(X, Z), tolerance)
    assert_close(features @ features.T, spanned(function, X, Z), tolerance)
    assert_close((features @ features.T)[landmarks.index][:, landmarks.index], function(Z, Z), tolerance)
    exact = function(X, X)
    assert np.linalg.eigvalsh(exact - features @ features.T).min() > -tolerance * np.abs(exact).max(), "never more"


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_are_those_of_scikit_learn_s_nystroem(kernel):
    params, rows, function = rows_for(kernel)
    pair_by_pair = lambda a, b: function(a[None], b[None])[0, 0]
    theirs = Nystroem(kernel=pair_by_pair, n_components=11, random_state=0).fit(rows)
    ours = of_rows(rows[theirs.component_indices_], kernel_of(params))
    expected = theirs.transform(rows)
    assert_close(ours.features(rows) @ ours.features(rows).T, expected @ expected.T, 1e-9)
    weights = np.random.default_rng(0).normal(size=(ours.n_features, 2))
    assert_close(ours.values(rows) @ ours.coefficients(weights), ours.features(rows) @ weights, 1e-9)
    assert_close(ours.whitened(ours.values(rows).T @ TARGETS), ours.features(rows).T @ TARGETS, 1e-9)


DEFICIENT = {
    "repeated rows": (np.repeat(X[:4], 3, axis=0), make_kernel("rbf", gamma=0.3), 4),
    "all rows alike": (np.ones((6, 4)), make_kernel("rbf", gamma=0.3), 1),
    "nearly the same row": (X[:1] + 1e-9 * X[:5], make_kernel("rbf", gamma=0.3), 1),
    "few powers of one feature": (X[:12, :1] @ np.ones((1, 4)), make_kernel("poly", gamma=1.0, degree=2, coef0=1.0), 3),
    "rows of zeros beside others": (np.vstack([np.zeros((3, 4)), X[:2]]), make_kernel("poly", degree=2, coef0=0.0), 2),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", DEFICIENT)
def test_directions_that_are_nothing_but_rounding_are_left_out(case, dtype):
    Z, kernel, rank = DEFICIENT[case]
    landmarks = of_rows(Z.astype(dtype), kernel)
    assert np.linalg.matrix_rank(landmarks.whitening) == rank
    features = landmarks.features(Z.astype(dtype))
    assert np.isfinite(features).all()
    assert_close(features @ features.T, kernel(Z, Z), 1e-9 if dtype == np.float64 else 1e-4)


def test_negative_directions_of_an_indefinite_kernel_are_left_out():
    function = lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.5, coef0=-0.3)
    kernel = make_kernel("sigmoid", gamma=0.5, coef0=-0.3)
    landmarks = choose(X, kernel, 15, "uniform", seed=0)
    Z = X[landmarks.index]
    values = np.linalg.eigvalsh(function(Z, Z))
    assert values[0] < -0.1
    assert np.linalg.matrix_rank(landmarks.whitening) == (values > 1e-12 * values[-1]).sum() < 15
    features = landmarks.features(X)
    assert_close(features @ features.T, spanned(function, X, Z), 1e-10)
    model = pegasos_classifier(kernel="sigmoid", gamma=0.5, coef0=-0.3, n_landmarks=15, solver="sdca", tol=1e-3).fit(
        X, Y
    )
    assert (model.dual_gap_ <= 1e-3).all(), "features have a certificate, whatever the kernel"


# --- every row a landmark -------------------------------------------------------------------------

RULES = [
    dict(lam=0.02),
    dict(lam=0.02, solver="sdca", max_iter=40),
    dict(lam=0.02, batch_size=7, project=True, average="uniform"),
    dict(C=1.0, batch_size="all", multi_class="ovo", fit_intercept=True),
    dict(lam=0.02, multi_class="crammer_singer", average="suffix"),
    dict(lam=0.02, loss="log_loss"),
    dict(lam=0.02, loss="squared_hinge", solver="sdca", max_iter=40),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_with_every_row_a_landmark_the_model_is_the_exact_one(kernel, rule):
    params, rows, _ = rows_for(kernel)
    exact = pegasos_classifier(random_state=0, **params, **rule).fit(rows, Y)
    for cache_size in (None, 0):
        model = clone(exact).set_params(n_landmarks=N, cache_size=cache_size).fit(rows, Y)
        np.testing.assert_array_equal(model.support_, np.arange(N))
        np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-9)
        np.testing.assert_allclose(model.dual_gap_, exact.dual_gap_, rtol=1e-5, atol=1e-8)
        assert_close(model.decision_function(rows), exact.decision_function(rows), 1e-6)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "callable"])
def test_with_every_row_a_landmark_float32_reaches_the_exact_objective(kernel, container):
    params, rows, _ = rows_for(kernel, container, np.float32)
    for rule in (dict(lam=0.02), dict(lam=0.02, batch_size=32), dict(lam=0.02, solver="sdca", max_iter=40)):
        exact = pegasos_classifier(random_state=0, **params, **rule).fit(X, Y)
        for cache_size in (None, 0):
            model = clone(exact).set_params(n_landmarks=N, cache_size=cache_size).fit(rows, Y)
            assert model.dual_coef_.dtype == model.support_vectors_.dtype == np.float32
            np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-3)
            assert (model.predict(rows) == exact.predict(X)).mean() > 0.98


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_with_every_row_a_landmark_a_regressor_is_the_exact_one(kernel):
    params, rows, _ = rows_for(kernel)
    for rule in (dict(), dict(solver="sdca"), dict(batch_size=20, fit_intercept=True)):
        exact = pegasos_regressor(random_state=0, lam=0.02, epsilon=0.3, **params, **rule).fit(rows, TARGETS, WEIGHTS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of weight 0 are some
            model = clone(exact).set_params(n_landmarks=N).fit(rows, TARGETS, WEIGHTS)
        np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-9)
        assert_close(model.predict(rows), exact.predict(rows), 1e-7)
