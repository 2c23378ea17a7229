"""What surrounds the machines of `pegasos.svm`: copies, pipelines, searches, model files, limits, errors."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDOneClassSVM
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
from pegasos.storage import describe
from pegasos.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

IRIS = load_iris(return_X_y=True)
MACHINES = [
    SVC(C=2.0),
    SVC(kernel="linear", class_weight="balanced"),
    SVC(kernel="precomputed"),
    NuSVC(nu=0.3),
    SVR(epsilon=0.2),
    SVR(epsilon=1e3),
    NuSVR(C=2.0),
    OneClassSVM(nu=0.2),
    OneClassSVM(kernel="linear", random_state=0),
    OneClassSVM(n_landmarks=12, random_state=0),
    LinearSVC(),
    LinearSVC(multi_class="crammer_singer", fit_intercept=False),
    LinearSVR(epsilon=0.1),
]


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def rows_for(machine, container=np.asarray):
    X = IRIS[0] @ IRIS[0].T if getattr(machine, "kernel", "") == "precomputed" else IRIS[0]
    return container(X)


def assert_equal_models(one, other, X):
    np.testing.assert_array_equal(values(one, X), values(other, X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.get_params() == other.get_params()
    for name in ("coef_", "n_support_", "n_iter_", "dual_gap_", "converged_", "classes_", "intercept_"):
        if hasattr(one, name):
            a, b = getattr(one, name), getattr(other, name)
            a, b = (part.toarray() if sparse.issparse(part) else part for part in (a, b))
            np.testing.assert_array_equal(a, b)
            assert type(a) is type(b)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_stored_machine_answers_the_same(machine, container, tmp_path):
    if container is not np.asarray and getattr(machine, "kernel", "") == "precomputed":
        pytest.skip("a matrix of kernel values is dense")
    X = rows_for(machine, container)
    model = clone(machine).fit(X, IRIS[1])
    assert_equal_models(model, pickle.loads(pickle.dumps(model)), X)
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = pegasos.load(path)
    assert_equal_models(model, loaded, X)
    assert set(vars(loaded)) >= {name for name in vars(model) if name.endswith("_")}
    assert describe(path)["class"] == type(model).__name__
    if hasattr(model, "partial_fit"):
        np.testing.assert_array_equal(values(model.partial_fit(X), X), values(loaded.partial_fit(X), X))
        model.save(path)
        assert_equal_models(model, pegasos.load(path), X)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_stored_probabilities_and_labels(tmp_path):
    X, y = IRIS[0], np.array(["setosa", "versicolor", "virginica"])[IRIS[1]]
    model = make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)).fit(X, y)
    pegasos.save(model, tmp_path / "m")
    np.testing.assert_array_equal(pegasos.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(pegasos.load(tmp_path / "m").predict(X), model.predict(X))


def test_a_machine_with_a_python_function_is_not_stored(tmp_path):
    model = SVC(kernel=lambda A, B: A @ B.T).fit(*IRIS)
    with pytest.raises(ValueError, match="Python function"):
        model.save(tmp_path / "m")


def test_searches_and_cross_validation():
    X, y = IRIS
    search = GridSearchCV(SVC(), {"C": [0.01, 1.0], "gamma": [0.01, 0.3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    K = X @ X.T
    direct = cross_val_score(SVC(kernel="linear"), X, y, cv=3)
    np.testing.assert_allclose(cross_val_score(SVC(kernel="precomputed"), K, y, cv=3), direct)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = SVC().fit(*IRIS)
    before = model.decision_function(IRIS[0])
    with pytest.raises(ValueError, match="greater than one"):
        model.fit(IRIS[0][:20], np.zeros(20))
    np.testing.assert_array_equal(model.decision_function(IRIS[0]), before)


def test_a_time_limit_ends_a_fit_with_a_warning_and_its_gap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = rng.integers(0, 2, 1500)
    with pytest.warns(ConvergenceWarning, match="max_time ended the fit"):
        model = SVC(C=1e4, gamma=0.1, max_time=0.02).fit(X, y)
    assert model.fit_status_ == 1
    assert not model.converged_.any()
    assert (model.dual_gap_ > 0).all()


def test_max_iter_ends_each_pair():
    with pytest.warns(ConvergenceWarning, match=r"^Solver terminated early \(max_iter=3\)"):
        model = SVC(max_iter=3).fit(*IRIS)
    assert (model.n_iter_ <= 3).all()
    assert model.fit_status_ == 1


def test_threads_do_not_change_a_bit():
    X, y = IRIS
    one, two = (SVC(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_verbose_shows_the_fit(capsys):
    SVC(verbose=True).fit(*IRIS)
    assert "[SVC] step" in capsys.readouterr().out
    LinearSVC(verbose=1).fit(*IRIS)
    assert "[LinearSVC] step" in capsys.readouterr().out


@pytest.mark.parametrize(
    "machine, X, y, weights, message",
    [
        (SVC(), [[1.0], [2.0]], [0, 1], [1.0], "incompatible shapes"),
        (SVC(), [[1.0], [2.0]], [0, 1], [1.0, np.nan], "sample_weight contains NaN"),
        (SVC(kernel="precomputed"), [[1.0], [2.0]], [0, 1], None, "must be a square matrix"),
        (NuSVC(nu=1.0), [[1.0], [2.0], [3.0]], [0, 1, 1], None, "specified nu is infeasible"),
        (SVC(C=0.0), [[1.0], [2.0]], [0, 1], None, "'C' parameter"),
        (SVC(kernel="laplacian"), [[1.0], [2.0]], [0, 1], None, "'kernel' parameter"),
        (SVC(n_jobs=0), [[1.0], [2.0]], [0, 1], None, "n_jobs=0"),
        (OneClassSVM(kernel="linear", n_landmarks=2), [[1.0], [2.0]], None, None, "n_landmarks=2 is for"),
        (LinearSVR(epsilon=-1.0), [[1.0], [2.0]], [0, 1], None, "epsilon must not be negative"),
        (SVR(kernel="linear"), [[1e200], [2.0]], [0, 1], None, "are not finite"),
        (SVC(kernel=lambda A, B: np.ones((1, 1))), [[1.0], [2.0]], [0, 1], None, "matrix of shape"),
    ],
)
def test_bad_input(machine, X, y, weights, message):
    with pytest.raises(ValueError, match=message):
        machine.fit(X, y, weights)


# --- one class, online ----------------------------------------------------------------------------


def textbook(X, weights, nu, order):
    """One-class Pegasos as it is written: a step for each row, and the weighted average of all models."""
    w, r, squares, total = np.zeros(X.shape[1]), 0.0, 0.0, 0.0
    models, offsets = [], []
    for t, i in enumerate(order, 1):
        short = t == 1 or X[i] @ w < r
        total, squares = total + weights[i], squares + weights[i] * (X[i] @ X[i])
        w = (1 - 1 / t) * w + short * weights[i] / (nu * t) * X[i]
        r = r + squares / total * weights[i] * (1 - short / nu) / (t + 1 / nu)
        models.append(w)
        offsets.append(r)
    steps = np.arange(1, len(order) + 1)
    return np.average(models, axis=0, weights=steps), np.average(offsets, weights=steps)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_online_steps_are_those_of_the_textbook(container):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((90, 4)) < 0.6, rng.normal(size=(90, 4)) + 1.0, 0.0)
    weights = rng.uniform(0, 2, 90) * (rng.random(90) < 0.9)
    model = OneClassSVM(kernel="linear", nu=0.3, random_state=5)
    used = np.flatnonzero(weights)
    order = []
    for some in (slice(0, 40), slice(40, 90)):
        model.partial_fit(container(X[some]), sample_weight=weights[some])
        mine = used[(used >= some.start) & (used < some.stop)]
        order.append(np.random.RandomState(5).permutation(mine - some.start) + some.start)
    w, r = textbook(X, weights, 0.3, np.concatenate(order))
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    np.testing.assert_allclose(coef[0], w, rtol=1e-10)
    np.testing.assert_allclose(model.offset_, r, rtol=1e-10)
    assert model.n_iter_ == len(used)
    np.testing.assert_allclose(model.score_samples(container(X)), X @ w, rtol=1e-9, atol=1e-12)


def one_class_objective(X, w, r, nu):
    return 0.5 * w @ w - r + np.maximum(0, r - X @ w).mean() / nu


@pytest.mark.parametrize("nu", [0.05, 0.2])
def test_online_learning_comes_to_the_optimum(nu):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5)) + 2.0
    exact = OneClassSVM(kernel="linear", nu=nu, tol=1e-6).fit(X)
    online = OneClassSVM(kernel="linear", nu=nu, random_state=0)
    for _ in range(10):
        online.partial_fit(X)
    unit = nu * len(X)
    best = one_class_objective(X, exact.coef_[0] / unit, exact.offset_[0] / unit, nu)
    reached = one_class_objective(X, online.coef_[0], online.offset_[0], nu)
    theirs = SGDOneClassSVM(nu=nu, random_state=0, max_iter=10, tol=None).fit(X)
    assert best <= reached < best + 0.02 * abs(best)
    assert reached <= one_class_objective(X, theirs.coef_, theirs.offset_[0], nu) + 1e-3 * abs(best)
    went_on = exact.partial_fit(X)
    assert one_class_objective(X, went_on.coef_[0], went_on.offset_[0], nu) < best + 0.01 * abs(best)
    assert went_on.n_iter_ == 2 * len(X)


def test_landmarks_stand_for_the_kernel():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(300, 3)), rng.uniform(-6, 6, (30, 3))])
    exact = OneClassSVM(nu=0.1, gamma=0.2, tol=1e-5).fit(X)
    all_rows = OneClassSVM(nu=0.1, gamma=0.2, tol=1e-5, n_landmarks=len(X), random_state=0).fit(X)
    np.testing.assert_allclose(all_rows.decision_function(X), exact.decision_function(X), atol=2e-2)
    few = OneClassSVM(nu=0.1, gamma=0.2, n_landmarks=60, random_state=0).fit(X)
    assert np.mean(few.predict(X) == exact.predict(X)) > 0.95
    assert few.support_vectors_.shape == (60, 3)
    online = OneClassSVM(nu=0.1, gamma=0.2, n_landmarks=60, random_state=0)
    for _ in range(20):
        online.partial_fit(X)
    assert np.mean(online.predict(X) == exact.predict(X)) > 0.9


def test_partial_fit_exists_where_the_model_is_linear():
    with pytest.raises(AttributeError, match="kernel='linear' or n_landmarks"):
        OneClassSVM().partial_fit  # noqa: B018
    assert hasattr(OneClassSVM(n_landmarks=3), "partial_fit")
