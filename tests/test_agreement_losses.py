"""Losses beyond the hinge: `solver="sdca"` at a small tol reaches the optimum that independent solvers find."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC, LinearSVR

from conftest import classes_problem
from reference import hinge_optimum
from reference_losses import linear_objective, optimum_of, regression_optimum
from textbook import pegasos_classifier, pegasos_regressor

WITHIN = 1e-3  # relative distance of the objectives
EXACT = dict(solver="sdca", average=False, tol=1e-6, max_iter=20_000, random_state=0)
LOSSES = ["squared_hinge", "log_loss"]

weightings = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
containers = pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])


@pytest.fixture(scope="module")
def diabetes():
    """(X, y) of the embedded diabetes set: standardised features, raw targets from 25 to 346."""
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def curve():
    """A small regression problem: 40 rows, 3 features, a curved target away from zero."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 3))
    return X, 2.0 + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=40)


def classifier(**params):
    """The classifier that is run to the optimum."""
    return pegasos_classifier(**(EXACT | dict(fit_intercept=False) | params))


def regressor(**params):
    """The regressor that is run to the optimum."""
    return pegasos_regressor(**(EXACT | params))


def row_weights(n_rows, weighted):
    return np.random.default_rng(1).uniform(0.2, 3.0, n_rows) if weighted else None


def lam_of(C, n_rows, weights):
    return 1.0 / (C * (n_rows if weights is None else weights.sum()))


def objective_by_liblinear(loss, X, y, C, weights=None):
    """Optimal objective of the problem `y` (-1 and 1) in the library's units, by the trust-region Newton method."""
    if loss == "log_loss":
        model = LogisticRegression(C=C, fit_intercept=False, tol=1e-8, max_iter=10_000, solver="liblinear")
    else:
        model = LinearSVC(loss=loss, C=C, fit_intercept=False, tol=1e-8, max_iter=10_000, dual=False)
    coef = model.fit(X, y, sample_weight=weights).coef_[0]
    return linear_objective(loss, X, y, coef, lam_of(C, len(y), weights), weights=weights)


def one_vs_rest(y):
    """Targets of each one-vs-rest column: one column for two classes, where the later class is +1."""
    classes = np.unique(y)
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(y == positive, 1, -1) for positive in positives]


@weightings
@containers
@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("data", ["digits", "breast_cancer"])
@pytest.mark.parametrize("loss", LOSSES)
def test_each_column_reaches_the_objective_of_liblinear(request, loss, data, C, container, weighted):
    X, y = request.getfixturevalue(data)
    X, weights = container(X[:800]), row_weights(len(y[:800]), weighted)
    y = y[:800]
    ours = classifier(loss=loss, C=C).fit(X, y, sample_weight=weights)
    theirs = [objective_by_liblinear(loss, X, target, C, weights) for target in one_vs_rest(y)]
    np.testing.assert_allclose(ours.objective_, theirs, rtol=WITHIN)


@weightings
def test_log_loss_reaches_the_coefficients_of_logistic_regression_by_newton(breast_cancer, weighted):
    X, y = breast_cancer
    weights = row_weights(len(y), weighted)
    ours = classifier(loss="log_loss", C=0.5, tol=1e-10).fit(X, y, sample_weight=weights)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, solver="newton-cholesky", max_iter=1000)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_squared_hinge_with_an_intercept_reaches_linear_svc(breast_cancer):
    X, y = breast_cancer
    ours = classifier(loss="squared_hinge", C=0.3, fit_intercept=True, intercept_scaling=2.0).fit(X, y)
    theirs = LinearSVC(C=0.3, intercept_scaling=2.0, dual=False, tol=1e-8, max_iter=10_000).fit(X, y)
    expected = linear_objective(
        "squared_hinge",
        X,
        np.where(y == 1, 1, -1),
        theirs.coef_[0],
        1.0 / (0.3 * len(y)),
        intercept=theirs.intercept_[0],
        intercept_scaling=2.0,
    )
    np.testing.assert_allclose(ours.objective_, [expected], rtol=WITHIN)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0.01)


@weightings
@pytest.mark.parametrize("loss", LOSSES)
def test_one_vs_one_columns_reach_the_objective_of_liblinear_on_their_pair(digits, loss, weighted):
    X, y = digits
    few = y < 4
    X, y = X[few], y[few]
    weights = row_weights(len(y), weighted)
    ours = classifier(loss=loss, C=0.1, multi_class="ovo").fit(X, y, sample_weight=weights)
    theirs = []
    for first, second in combinations(range(4), 2):
        rows = (y == first) | (y == second)
        target = np.where(y[rows] == second, 1, -1)
        theirs.append(objective_by_liblinear(loss, X[rows], target, 0.1, None if weights is None else weights[rows]))
    np.testing.assert_allclose(ours.objective_, theirs, rtol=WITHIN)


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_reaches_the_objective_of_liblinear(digits, loss):
    X, y = digits[0][:800], digits[1][:800]
    ours = classifier(loss=loss, C=0.1, tol=1e-5).fit(X.astype(np.float32), y)
    theirs = [objective_by_liblinear(loss, X, target, 0.1) for target in one_vs_rest(y)]
    np.testing.assert_allclose(ours.objective_, theirs, rtol=WITHIN)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@weightings
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
@pytest.mark.parametrize("loss", LOSSES)
def test_smooth_kernel_problems_reach_the_optimum_by_newton(binary, loss, kernel, lam, weighted, bias):
    X, y = binary
    gamma, scaling = 0.7, 1.5
    weights = row_weights(len(y), weighted)
    K = laplacian_kernel(X, gamma=gamma) if kernel == "laplacian" else rbf_kernel(X, gamma=gamma)
    params = dict(kernel=kernel) if kernel == "precomputed" else dict(kernel=kernel, gamma=gamma)
    ours = classifier(loss=loss, lam=lam, fit_intercept=bias, intercept_scaling=scaling, tol=1e-8, **params)
    ours.fit(K if kernel == "precomputed" else X, y, sample_weight=weights)
    optimum = optimum_of(loss, K + bias * scaling**2, np.where(y == 1, 1, -1), lam, weights=weights)
    np.testing.assert_allclose(ours.objective_, [optimum.objective], rtol=1e-6)


@weightings
@containers
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_crammer_singer_reaches_the_objective_of_linear_svc(digits, C, container, weighted):
    X, y = digits
    few = np.flatnonzero(y < 5)[:500]
    X, y = X[few], y[few]
    repeats = np.random.default_rng(2).integers(1, 4, len(y)) if weighted else np.ones(len(y), int)
    ours = classifier(multi_class="crammer_singer", C=C, tol=5e-6).fit(
        container(X), y, sample_weight=repeats.astype(float) if weighted else None
    )
    rows = np.repeat(np.arange(len(y)), repeats)
    theirs = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-7, max_iter=100_000)
    theirs.fit(X[rows], y[rows])
    expected = linear_objective("crammer_singer", X[rows], y[rows], theirs.coef_, 1.0 / (C * repeats.sum()))
    np.testing.assert_allclose(ours.objective_, expected, rtol=WITHIN)
    own = linear_objective("crammer_singer", X[rows], y[rows], ours.coef_, 1.0 / (C * repeats.sum()))
    np.testing.assert_allclose(ours.objective_, own, rtol=1e-9)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@weightings
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("lam", [1e-2, 1e-1])
def test_crammer_singer_reaches_the_optimum_of_an_independent_quadratic_program(
    multiclass, kernel, lam, weighted, bias
):
    X, y = multiclass
    weights = row_weights(len(y), weighted)
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    ours = classifier(multi_class="crammer_singer", kernel=kernel, gamma=0.5, lam=lam, fit_intercept=bias, tol=1e-7)
    ours.fit(X, y, sample_weight=weights)
    optimum = optimum_of("crammer_singer", K + bias, y, lam, weights=weights, n_classes=4)
    np.testing.assert_allclose(ours.objective_, optimum.objective, rtol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_crammer_singer_of_two_classes_is_the_hinge_at_half_the_regularisation(binary, kernel):
    # The two weight vectors are v/2 and -v/2: |W|² = |v|²/2, and the loss is the hinge of <v, x>.
    X, y = binary
    lam = 0.05
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    ours = classifier(multi_class="crammer_singer", kernel=kernel, gamma=0.5, lam=lam, tol=1e-8).fit(X, y)
    hinge = hinge_optimum(K, np.where(y == 1, 1, -1), lam / 2)
    np.testing.assert_allclose(ours.objective_, hinge.objective, rtol=1e-6)
    plain = classifier(kernel=kernel, gamma=0.5, lam=lam / 2, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@weightings
@containers
@pytest.mark.parametrize("C, epsilon", [(0.1, 0.0), (1.0, 5.0), (10.0, 0.1)])
def test_regression_reaches_the_objective_of_linear_svr(diabetes, C, epsilon, container, weighted, bias):
    X, y = diabetes
    X = container(X[:, :6] + 0.5)
    weights = row_weights(len(y), weighted)
    ours = regressor(C=C, epsilon=epsilon, fit_intercept=bias).fit(X, y, sample_weight=weights)
    theirs = LinearSVR(
        C=C, epsilon=epsilon, fit_intercept=bias, intercept_scaling=1.0, tol=1e-6, max_iter=1_000_000, random_state=0
    ).fit(X, y, sample_weight=weights)
    lam = lam_of(C, len(y), weights)
    about = dict(weights=weights, epsilon=epsilon)
    loss = "epsilon_insensitive"
    expected = linear_objective(loss, X, y, theirs.coef_, lam, intercept=theirs.intercept_, **about)
    np.testing.assert_allclose(ours.objective_, [expected], rtol=WITHIN)
    own = linear_objective(loss, X, y, ours.coef_[0], lam, intercept=ours.intercept_[0], **about)
    np.testing.assert_allclose(ours.objective_, [own], rtol=1e-9)


def test_float32_regression_reaches_the_objective_of_linear_svr(diabetes):
    X, y = diabetes
    ours = regressor(C=1.0, epsilon=1.0, fit_intercept=True, tol=1e-4).fit(X.astype(np.float32), y)
    theirs = LinearSVR(C=1.0, epsilon=1.0, tol=1e-6, max_iter=1_000_000, random_state=0).fit(X, y)
    expected = linear_objective(
        "epsilon_insensitive", X, y, theirs.coef_, 1.0 / len(y), intercept=theirs.intercept_, epsilon=1.0
    )
    np.testing.assert_allclose(ours.objective_, [expected], rtol=WITHIN)


@pytest.mark.parametrize("bias", [False, True, "auto"], ids=["no bias", "bias", "auto"])
@weightings
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
@pytest.mark.parametrize("lam, epsilon", [(5e-3, 0.1), (1e-1, 0.5), (2e-2, 0.0)])
def test_kernel_regression_reaches_the_optimum_of_an_independent_quadratic_program(
    curve, kernel, lam, epsilon, weighted, bias
):
    X, y = curve
    gamma, scaling = 0.5, 1.5
    weights = row_weights(len(y), weighted)
    K = laplacian_kernel(X, gamma=gamma) if kernel == "laplacian" else rbf_kernel(X, gamma=gamma)
    params = dict(kernel=kernel) if kernel == "precomputed" else dict(kernel=kernel, gamma=gamma)
    ours = regressor(lam=lam, epsilon=epsilon, fit_intercept=bias, intercept_scaling=scaling, **params)
    ours.fit(K if kernel == "precomputed" else X, y, sample_weight=weights)
    taken_off = np.average(y, weights=weights) if bias == "auto" else 0.0
    constant = scaling**2 if bias is True else 0.0
    optimum = regression_optimum(K + constant, y - taken_off, lam, epsilon, weights=weights)
    np.testing.assert_allclose(ours.objective_, [optimum.objective], rtol=1e-4)
    fitted = (K + constant) @ optimum.beta / (lam * len(y)) + taken_off
    np.testing.assert_allclose(ours.predict(K if kernel == "precomputed" else X), fitted, atol=0.05)


def test_rbf_regression_predicts_as_svr_does(diabetes):
    # SVR's bias is not penalised; ours is the mean of the targets.
    X, y = diabetes
    ours = regressor(kernel="rbf", gamma=0.05, C=10.0, epsilon=1.0, tol=1e-4).fit(X, y)
    theirs = SVR(kernel="rbf", gamma=0.05, C=10.0, epsilon=1.0).fit(X, y)
    assert np.corrcoef(ours.predict(X), theirs.predict(X))[0, 1] > 0.99
    assert np.abs(ours.predict(X) - theirs.predict(X)).mean() < 0.1 * y.std()


@weightings
@containers
@pytest.mark.parametrize("settings", [EXACT, dict(random_state=0), dict(batch_size=7, project=True, random_state=0)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_several_targets_are_as_many_separate_fits(curve, kernel, settings, container, weighted):
    X, y = curve
    targets = np.column_stack([y, 3 * X[:, 0] - y**2, np.abs(y)])
    weights = row_weights(len(y), weighted)
    X = container(X)
    model = pegasos_regressor(kernel=kernel, gamma=0.5, lam=0.02, **settings)
    together = model.fit(X, targets, sample_weight=weights).predict(X)
    objectives, gaps = model.objective_, model.dual_gap_
    assert together.shape == targets.shape
    for t in range(3):
        alone = model.fit(X, targets[:, t], sample_weight=weights).predict(X)
        np.testing.assert_allclose(together[:, t], alone, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose([objectives[t], gaps[t]], [model.objective_[0], model.dual_gap_[0]], atol=1e-9)


@pytest.mark.parametrize("average", ["weighted", "suffix"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", [*LOSSES, "crammer_singer"])
def test_long_runs_of_pegasos_approach_the_same_optimum(loss, kernel, average):
    X, y = classes_problem(3, n_rows=90)
    params = dict(multi_class="crammer_singer") if loss == "crammer_singer" else dict(loss=loss)
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    model = pegasos_classifier(
        kernel=kernel, gamma=0.5, lam=0.05, fit_intercept=False, max_iter=1000, average=average, random_state=0
    )
    model.set_params(**params).fit(X, y)
    if loss == "crammer_singer":
        optima = 3 * [optimum_of(loss, K, y, 0.05, n_classes=3).objective]
    else:
        optima = [optimum_of(loss, K, target, 0.05).objective for target in one_vs_rest(y)]
    excess = model.objective_ - optima
    assert (excess >= -1e-9).all()
    assert (excess <= model.dual_gap_ + 1e-9).all()
    assert (model.dual_gap_ < 0.02 * np.array(optima)).all()


@pytest.mark.parametrize("average", ["weighted", "suffix"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_long_runs_of_pegasos_approach_the_same_optimum_of_regression(curve, kernel, average):
    X, y = curve
    K = linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    model = pegasos_regressor(
        kernel=kernel, gamma=0.5, lam=0.05, fit_intercept=True, max_iter=1000, average=average, random_state=0
    ).fit(X, y)
    optimum = regression_optimum(K + 1.0, y, 0.05, 0.1)
    assert -1e-9 <= model.objective_[0] - optimum.objective <= model.dual_gap_[0] + 1e-9
    assert model.dual_gap_[0] < 0.02 * optimum.objective
