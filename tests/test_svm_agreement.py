"""The machines of `pegasos.svm` end where scikit-learn's do: decisions, support vectors, intercepts."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import pegasos.svm
from pegasos.backends.cpu import dual_columns

PRECISE = dict(tol=1e-6)
KERNELS = [
    dict(kernel="linear"),
    dict(kernel="rbf", gamma=0.3),
    dict(kernel="poly", degree=2, coef0=1.0),
    dict(kernel="sigmoid", gamma=0.01),
]
KINDS = {"SVC": 2, "SVC of three": 3, "NuSVC": 2, "SVR": 0, "NuSVR": 0, "OneClassSVM": 1}


def problem(seed, n_classes):
    """A small random problem with weights of the rows or without."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(20, 70)), int(rng.integers(2, 6))
    X = rng.normal(size=(n_rows, n_features))
    noisy = X @ rng.normal(size=n_features) + rng.normal(size=n_rows)
    y = noisy if n_classes < 2 else np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes))
    return X, y, rng.uniform(0.3, 3.0, n_rows) if seed % 2 else None


def both(name, params, X, y, weights=None):
    """Scikit-learn's machine and ours, fitted."""
    found = []
    for library in (sklearn.svm, pegasos.svm):
        found.append(getattr(library, name)(**params).fit(X, y, sample_weight=weights))
    return found


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def edge_distance(model, X, y):
    """How far rows are from where the loss begins: there a row may have a coefficient, or none."""
    if type(model).__name__ == "OneClassSVM":
        return np.abs(model.decision_function(X))
    if type(model).__name__ == "SVR":
        return np.abs(np.abs(y - model.predict(X)) - model.epsilon)
    if type(model).__name__ == "NuSVR":
        inside = np.setdiff1d(np.arange(len(y)), model.support_)
        off = np.abs(y - model.predict(X))
        return np.abs(off - (off[inside].max() if len(inside) else 0.0))
    return np.abs(np.abs(model.decision_function(X)) - 1.0)


def assert_the_same(theirs, ours, X, y, atol=1e-4):
    """Decisions and intercepts within `atol` of the size of decisions; the same support vectors up to ties."""
    size = max(1.0, np.abs(values(theirs, X)).max())
    np.testing.assert_allclose(values(ours, X), values(theirs, X), atol=atol * size)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=atol * size)
    if len(theirs.intercept_) == 1:
        of_one_only = np.setxor1d(theirs.support_, ours.support_)
        assert (edge_distance(theirs, X, y)[of_one_only] < 10 * atol * size).all()


@pytest.mark.parametrize("seed", range(60))
def test_random_problems(seed):
    kind = list(KINDS)[seed % 6]
    name, rng = kind.split()[0], np.random.default_rng(seed + 1000)
    X, y, weights = problem(seed, KINDS[kind])
    params = dict(KERNELS[(seed // 6) % 4]) | PRECISE
    if params["kernel"] in ("linear", "sigmoid") and name == "OneClassSVM":
        X = X + 2.0  # around the origin there is nothing to separate, and a sigmoid has several optima
    if name in ("SVC", "SVR", "NuSVR"):
        params["C"] = float(10 ** rng.uniform(-3, 2 if params["kernel"] == "rbf" else 0))
    if name == "SVC" and seed % 4 < 2:
        params["class_weight"] = {0: 2.0, 1: 0.7}
    if name in ("NuSVC", "NuSVR", "OneClassSVM"):
        params["nu"] = float(rng.uniform(0.1, 0.6))
    if name == "NuSVC":  # other settings leave no margin on such data, and what is divided by it is noise
        params |= dict(kernel="rbf", gamma=[0.7, 1.0, 2.0, 4.0][(seed // 6) % 4], nu=float(rng.uniform(0.4, 0.8)))
    theirs, ours = both(name, params, X, y, weights)
    assert_the_same(theirs, ours, X, y, 1e-3 if name == "NuSVC" else 1e-4)
    if ours.kernel != "sigmoid":
        assert (ours.dual_gap_ >= 0).all()
        assert (ours.relative_gap_ < 1e-4).all()
    assert ours.converged_.all()


@pytest.mark.parametrize("C", [1e-3, 1e4])
def test_extreme_C(C):
    X, y, _ = problem(4, 2)
    assert_the_same(*both("SVC", dict(C=C, gamma=0.3, tol=1e-7), X, y), X, y)


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_real_classes_by_default_parameters(load, name):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X) if name == "NuSVC" else X
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    theirs, ours = both(name, dict(nu=0.2) if name == "NuSVC" else {}, X[train], y[train])
    theirs.decision_function_shape = ours.decision_function_shape = "ovo"
    assert np.mean(theirs.predict(X[test]) != ours.predict(X[test])) < 0.005
    np.testing.assert_allclose(ours.decision_function(X[test]), theirs.decision_function(X[test]), atol=0.02)
    np.testing.assert_allclose(ours.n_support_, theirs.n_support_, atol=5)


def test_pairs_by_votes_and_by_confidence():
    X, y, _ = problem(2, 5)
    for params in (dict(), dict(decision_function_shape="ovo"), dict(break_ties=True)):
        theirs, ours = both("SVC", dict(gamma=0.5, C=3.0, **params, **PRECISE), X, y)
        assert ours.decision_function(X).shape == theirs.decision_function(X).shape
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        assert ours.n_iter_.shape == theirs.n_iter_.shape


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_csr_rows(name, container):
    X, y, weights = problem(9, 3 if name == "SVC" else 0)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    _, dense = both(name, PRECISE, X, y, weights)
    theirs, ours = both(name, PRECISE, container(X), y, weights)
    np.testing.assert_allclose(values(ours, container(X)), values(dense, X), atol=1e-8)
    np.testing.assert_allclose(values(ours, container(X)), values(theirs, container(X)), atol=1e-4)
    assert sparse.issparse(ours.support_vectors_)
    assert sparse.issparse(ours.dual_coef_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_callable_and_precomputed_kernels(name):
    X, y, weights = problem(10, 3 if "SVC" in name else 0)

    def kernel(A, B):
        return (A @ B.T + 1.0) ** 2

    known = dict(kernel="poly", degree=2, gamma=1.0, coef0=1.0)
    _, direct = both(name, known | PRECISE, X, y, weights)
    _, called = both(name, dict(kernel=kernel) | PRECISE, X, y, weights)
    theirs, matrix = both(name, dict(kernel="precomputed") | PRECISE, kernel(X, X), y, weights)
    np.testing.assert_allclose(values(called, X), values(direct, X), atol=1e-4)
    np.testing.assert_allclose(values(matrix, kernel(X, X)), values(theirs, kernel(X, X)), atol=1e-3)
    assert matrix.support_vectors_.shape == theirs.support_vectors_.shape == (0, 0)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_probabilities(name):
    X, y, _ = problem(3, 3)
    X = np.vstack([X, X + 0.01, X - 0.01])
    y = np.tile(y, 3)
    with pytest.warns(FutureWarning, match="probability"):
        theirs, ours = both(name, dict(probability=True, random_state=0, gamma=2.0), X, y)
    chances = ours.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.abs(chances - theirs.predict_proba(X)).mean() < 0.05  # other folds
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), chances)
    ours._probA, ours._probB = theirs._probA, theirs._probB
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)  # the same sigmoids


def test_a_class_without_weight_is_never_predicted():
    X, y, _ = problem(6, 3)
    weights = (y != 1).astype(float)
    model = pegasos.svm.SVC(gamma=0.3).fit(X, y, weights)
    without = pegasos.svm.SVC(gamma=0.3).fit(X[y != 1], y[y != 1])
    assert list(model.classes_) == [0, 1, 2]
    np.testing.assert_array_equal(model.predict(X), without.predict(X))
    np.testing.assert_array_equal(y[model.support_], np.repeat([0, 2], model.n_support_[[0, 2]]))


@pytest.mark.parametrize("params", [dict(), dict(kernel="linear", shrinking=False), dict(C=np.inf)], ids=str)
def test_the_solver_ends_where_it_does_without_shrinking(params):
    X, y, _ = problem(8, 0)
    theirs, ours = both("SVR", dict(kernel="rbf", gamma=1.0) | params | PRECISE, X, y)
    assert_the_same(theirs, ours, X, y)


def test_rows_of_two_segments_are_not_taken_for_neighbours():
    rng = np.random.default_rng(0)
    cached, coefficients = rng.normal(size=(3, 6)).astype(np.float32), rng.normal(size=3)
    for columns in ([0, 5, 2, 3], [0, 2, 1, 3], [1, 2, 3, 4]):
        slopes = np.zeros(4)
        dual_columns.add_kernel_rows(slopes, np.array(columns), np.arange(3), coefficients, cached)
        np.testing.assert_allclose(slopes, coefficients @ cached[:, columns], rtol=1e-6)


# --- linear machines ------------------------------------------------------------------------------

LINEAR = [
    ("LinearSVC", dict(), 2),
    ("LinearSVC", dict(C=0.05, class_weight={0: 3.0}), 2),
    ("LinearSVC", dict(class_weight="balanced"), 3),
    ("LinearSVC", dict(loss="hinge", C=0.3, class_weight={1: 4.0, 2: 0.2}), 3),
    ("LinearSVC", dict(fit_intercept=False, dual=True), 3),
    ("LinearSVC", dict(intercept_scaling=20.0), 2),
    ("LinearSVC", dict(multi_class="crammer_singer", C=0.3), 3),
    ("LinearSVC", dict(multi_class="crammer_singer", C=0.3), 2),
    ("LinearSVR", dict(epsilon=0.2), 0),
    ("LinearSVR", dict(loss="squared_epsilon_insensitive", C=0.1), 0),
    ("LinearSVR", dict(loss="squared_epsilon_insensitive", dual=True, fit_intercept=False), 0),
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name, params, n_classes", LINEAR)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # liblinear's, at so small a tol
def test_linear_machines(name, params, n_classes, seed):
    X, y, weights = problem(20 + seed, n_classes)
    theirs = getattr(sklearn.svm, name)(tol=1e-9, max_iter=100_000, **params).fit(X, y, weights)
    ours = getattr(pegasos.svm, name)(tol=1e-9, **params).fit(X, y, weights)
    assert np.shape(ours.coef_) == np.shape(theirs.coef_)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(values(ours, X), values(theirs, X), atol=2e-3)
    np.testing.assert_array_equal(getattr(ours, "classes_", 0), getattr(theirs, "classes_", 0))


def test_the_objective_is_that_of_the_machine():
    X, y, weights = problem(21, 2)
    model = pegasos.svm.LinearSVC(C=0.4, intercept_scaling=2.0).fit(X, y, weights)
    short = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
    norm = (model.coef_**2).sum() + (model.intercept_[0] / 2.0) ** 2
    np.testing.assert_allclose(model.objective_, 0.5 * norm + 0.4 * (weights @ short**2), rtol=1e-6)
    kernel = pegasos.svm.SVC(C=0.4, kernel="linear", tol=1e-6).fit(X, y, weights)
    short = np.maximum(0, 1 - np.where(y == 1, 1, -1) * kernel.decision_function(X))
    by_hand = 0.5 * (kernel.coef_**2).sum() + 0.4 * (weights @ short)
    np.testing.assert_allclose(kernel.objective_, by_hand, rtol=1e-5)


def test_the_l1_penalty_is_scikit_learns():
    X, y, _ = problem(0, 2)
    with pytest.raises(NotImplementedError, match="sklearn.svm.LinearSVC"):
        pegasos.svm.LinearSVC(penalty="l1", dual=False).fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments.*dual=False"):
        pegasos.svm.LinearSVC(loss="hinge", dual=False).fit(X, y)


def test_a_linear_machine_that_is_stopped_warns_as_scikit_learn_does():
    X, y, _ = problem(0, 0)
    with pytest.warns(ConvergenceWarning, match="^Liblinear failed to converge, increase the number of iterations"):
        model = pegasos.svm.LinearSVR(C=1e3, max_iter=2).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.converged_.any()
