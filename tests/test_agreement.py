"""`solver="sdca"` at a small tol reaches the optimum that independent solvers find, column by column."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC, LinearSVC

from reference import degree_two_features, hinge_optimum, linear_objective
from textbook import pegasos_classifier

WITHIN = 1e-3  # relative distance of the objectives


def exact(**params):
    """The estimator that is run to the optimum."""
    settings = dict(solver="sdca", average=False, fit_intercept=False, tol=1e-6, max_iter=20_000, random_state=0)
    return pegasos_classifier(**(settings | params))


def liblinear(C, **params):
    return LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-7, max_iter=200_000, random_state=0, **params)


def row_weights(n_rows, weighted):
    return np.random.default_rng(1).uniform(0.2, 3.0, n_rows) if weighted else None


def objective_by_liblinear(X, y, C, weights=None):
    """Optimal objective of the problem `y` (-1 and 1) in the library's units: lam = 1 / (C sum s)."""
    total = X.shape[0] if weights is None else weights.sum()
    model = liblinear(C).fit(X, y, sample_weight=weights)
    return linear_objective(X, y, model.coef_, 1.0 / (C * total), weights=weights)


def one_vs_rest(y):
    """Targets of each one-vs-rest column: one column for two classes, where the later class is +1."""
    classes = np.unique(y)
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(y == positive, 1, -1) for positive in positives]


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("data", ["digits", "breast_cancer"])
def test_each_column_reaches_the_objective_of_linear_svc(request, data, C, container, weighted):
    X, y = request.getfixturevalue(data)
    X, weights = container(X), row_weights(len(y), weighted)
    ours = exact(C=C).fit(X, y, sample_weight=weights)
    theirs = [objective_by_liblinear(X, target, C, weights) for target in one_vs_rest(y)]
    np.testing.assert_allclose(ours.objective_, theirs, rtol=WITHIN)


@pytest.mark.data
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a9a_reaches_the_objective_of_linear_svc(a9a, weighted):
    X, y = a9a
    X = X.astype(np.float64)
    weights = row_weights(len(y), weighted)
    ours = exact(C=0.1, tol=1e-4).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.objective_, [objective_by_liblinear(X, y, 0.1, weights)], rtol=WITHIN)


def test_float32_reaches_the_objective_of_linear_svc(digits):
    X, y = digits
    ours = exact(C=0.1, tol=1e-5).fit(X.astype(np.float32), y)
    theirs = [objective_by_liblinear(X, target, 0.1) for target in one_vs_rest(y)]
    np.testing.assert_allclose(ours.objective_, theirs, rtol=WITHIN)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_one_vs_one_columns_reach_the_objective_of_linear_svc_on_their_pair(digits, weighted):
    X, y = digits
    few = y < 4
    X, y = X[few], y[few]
    weights = row_weights(len(y), weighted)
    ours = exact(C=0.1, multi_class="ovo").fit(X, y, sample_weight=weights)
    theirs = []
    for first, second in combinations(range(4), 2):
        rows = (y == first) | (y == second)
        target = np.where(y[rows] == second, 1, -1)
        theirs.append(objective_by_liblinear(X[rows], target, 0.1, None if weights is None else weights[rows]))
    np.testing.assert_allclose(ours.objective_, theirs, rtol=WITHIN)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}], ids=["balanced", "dict"])
def test_class_weight_of_two_classes_means_what_it_means_in_linear_svc(breast_cancer, class_weight):
    X, y = breast_cancer
    ours = exact(C=0.1, class_weight=class_weight).fit(X, y)
    theirs = liblinear(0.1, class_weight=class_weight).fit(X, y)
    factors = len(y) / (2 * np.bincount(y)) if class_weight == "balanced" else np.array([3.0, 0.5])
    weights = factors[y]
    lam = 1.0 / (0.1 * weights.sum())
    expected = linear_objective(X, np.where(y == 1, 1, -1), theirs.coef_, lam, weights=weights)
    np.testing.assert_allclose(ours.objective_, [expected], rtol=WITHIN)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_class_weight_multiplies_the_weight_of_a_rows_own_class_in_every_column(multiclass, multi_class):
    X, y = multiclass
    factors = np.array([0.5, 1.0, 2.0, 4.0])
    by_class = exact(C=0.3, class_weight=dict(enumerate(factors)), multi_class=multi_class).fit(X, y)
    by_row = exact(C=0.3, multi_class=multi_class).fit(X, y, sample_weight=factors[y])
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_class.objective_, by_row.objective_, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_degree_two_polynomial_reaches_the_objective_of_linear_svc_on_explicit_features(breast_cancer, weighted):
    X, y = breast_cancer
    X, gamma, coef0, C = X[:, :8], 0.2, 1.0, 0.05
    weights = row_weights(len(y), weighted)
    ours = exact(kernel="poly", degree=2, gamma=gamma, coef0=coef0, C=C).fit(X, y, sample_weight=weights)
    features = degree_two_features(X, gamma, coef0)
    theirs = objective_by_liblinear(features, np.where(y == 1, 1, -1), C, weights)
    np.testing.assert_allclose(ours.objective_, [theirs], rtol=WITHIN)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_small_kernel_problems_reach_the_optimum_of_an_independent_quadratic_program(
    binary, kernel, lam, weighted, bias
):
    X, y = binary
    gamma, scaling = 0.7, 1.5
    weights = row_weights(len(y), weighted)
    K = laplacian_kernel(X, gamma=gamma) if kernel == "laplacian" else rbf_kernel(X, gamma=gamma)
    params = dict(kernel=kernel) if kernel == "precomputed" else dict(kernel=kernel, gamma=gamma)
    ours = exact(lam=lam, fit_intercept=bias, intercept_scaling=scaling, tol=1e-7, **params)
    ours.fit(K if kernel == "precomputed" else X, y, sample_weight=weights)
    optimum = hinge_optimum(K + bias * scaling**2, np.where(y == 1, 1, -1), lam, weights=weights)
    np.testing.assert_allclose(ours.objective_, [optimum.objective], rtol=WITHIN)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_rbf_columns_each_reach_the_optimum_of_their_own_problem(multiclass, multi_class):
    X, y = multiclass
    gamma, C = 0.5, 2.0
    ours = exact(kernel="rbf", gamma=gamma, C=C, multi_class=multi_class).fit(X, y)
    if multi_class == "ovr":
        columns = [(np.ones(len(y), bool), target) for target in one_vs_rest(y)]
    else:
        columns = [((y == a) | (y == b), np.where(y == b, 1, -1)) for a, b in combinations(range(4), 2)]
    expected = []
    for rows, target in columns:
        K = rbf_kernel(X[rows], gamma=gamma)
        expected.append(hinge_optimum(K, target[rows], 1.0 / (C * rows.sum())).objective)
    np.testing.assert_allclose(ours.objective_, expected, rtol=WITHIN)


def test_rbf_predicts_as_svc_does(digits):
    # SVC's bias is not penalised and ours is absent, so a few rows near the boundary may differ.
    X, y = digits
    train, test = slice(0, 900), slice(900, None)
    ours = exact(kernel="rbf", gamma=0.05, C=10.0, tol=1e-4, multi_class="ovo").fit(X[train], y[train])
    theirs = SVC(kernel="rbf", gamma=0.05, C=10.0).fit(X[train], y[train])
    assert np.mean(ours.predict(X[test]) == theirs.predict(X[test])) > 0.98
