"""Every cell of PegasosSearchCV is what GridSearchCV finds: same splits, same estimator, same scores."""

import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import make_regression
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import classes_problem
from pegasos import PegasosSearchCV
from pegasos.rows import SupportRows
from pegasos.search import shared_runs
from textbook import pegasos_classifier, pegasos_regressor

N = 80
X, Y = classes_problem(3, n_rows=N, n_features=5)
UNEVEN = np.where(np.arange(N) % 4 == 0, Y, 0)  # one class has most rows
WEIGHTS = np.random.default_rng(1).integers(0, 4, N).astype(float)
KINDS = {
    "dense": (X, dict()),
    "csr": (sparse.csr_matrix(np.where(np.abs(X) > 0.3, X, 0)), dict()),
    "rbf": (X, dict(kernel="rbf", gamma=0.3)),
    "poly": (X, dict(kernel="poly", gamma=0.2, degree=2)),
    "csr rbf": (sparse.csr_matrix(np.where(np.abs(X) > 0.3, X, 0)), dict(kernel="rbf", gamma=0.3)),
}
STOPS = [{"lam": [0.003], "max_iter": [3, 0.6]}, {"lam": [0.1], "max_iter": [1.7]}]
THIRDS = KFold(3)
AGREEMENT = make_scorer(lambda y, predicted: (y == predicted).mean())  # accuracy, in no time


def both(estimator, grid, X, y, cv=THIRDS, *, refit=False, scoring=AGREEMENT, **fit_params):
    """The two searches, fitted."""
    searches = []
    for kind in (PegasosSearchCV, GridSearchCV):
        search = kind(estimator, grid, cv=cv, refit=refit, return_train_score=True, scoring=scoring)
        searches.append(search.fit(X, y, **fit_params))
    return searches


def split_scores(search):
    return {name: values for name, values in search.cv_results_.items() if name.startswith("split") and "score" in name}


def assert_same_cells(found, expected, rtol=0.0):
    """All test and train scores of all splits; a rounding error apart where `rtol` says so."""
    scores = split_scores(found)
    assert scores.keys() == split_scores(expected).keys()
    assert found.cv_results_["params"] == expected.cv_results_["params"]
    for name, values in split_scores(expected).items():
        assert np.isfinite(values).all()
        np.testing.assert_allclose(scores[name], values, rtol=rtol, atol=0, err_msg=name)


def classifier(**params):
    return pegasos_classifier(**(dict(sampling="cyclic") | params))


# --- ways to train --------------------------------------------------------------------------------

RULES = [
    dict(),
    dict(batch_size=7),
    dict(solver="sdca"),
    dict(project=True, average="uniform"),
    dict(multi_class="ovo", solver="sdca", average=False),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_equals_grid_search(kind, rule):
    rows, params = KINDS[kind]
    assert_same_cells(*both(classifier(**params, **rule), STOPS, rows, Y))


MORE_RULES = [
    dict(average=False),
    dict(average="uniform"),
    dict(average="suffix"),
    dict(multi_class="crammer_singer"),
    dict(average="weighted", batch_size=7),
    dict(batch_size="all"),
    dict(solver="sdca", average=False),
    dict(multi_class="crammer_singer", solver="sdca"),
    dict(multi_class="ovo", batch_size=7, class_weight="balanced"),
    dict(class_weight="balanced"),
    dict(class_weight={0: 1.0, 1: 3.0, 2: 0.5}, solver="sdca"),
    dict(class_weight={0: 1.0, 1: 0.0, 2: 2.0}),
    dict(tol=0.05, solver="sdca"),
    dict(tol=0.4, average=False),
    dict(loss="log_loss"),
    dict(loss="squared_hinge", average=False),
    dict(fit_intercept=True, intercept_scaling=2.0),
]


@pytest.mark.parametrize("rule", MORE_RULES, ids=str)
@pytest.mark.filterwarnings("ignore:.*tol:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["dense", "rbf"])
def test_every_rule_equals_grid_search(kind, rule):
    rows, params = KINDS[kind]
    grid = {"lam": [0.02], "max_iter": [8, 2]}
    assert_same_cells(*both(classifier(**params, **rule), grid, rows, Y))


GRIDS = [
    ({"C": [0.01, 1, 30]}, dict()),
    ({"C": [0.01, 1, 30]}, dict(kernel="rbf", multi_class="ovo", class_weight="balanced")),
    ({"lam": [0.01, 0.1], "gamma": ["scale", "auto", 0.05, 1]}, dict(kernel="rbf")),
    ({"kernel": ["linear", "rbf", "poly", "sigmoid", "laplacian"]}, dict(lam=0.05, max_iter=3)),
    ({"degree": [1, 3], "coef0": [0.0, 1.0]}, dict(kernel="poly", lam=0.05, max_iter=3)),
    ({"loss": ["hinge", "log_loss", "squared_hinge"]}, dict(lam=0.05)),
    ({"average": [False, "suffix"], "solver": ["pegasos", "sdca"], "max_iter": [2]}, dict(lam=0.02)),
    ({"multi_class": ["ovr", "ovo", "crammer_singer"], "class_weight": [None, "balanced"]}, dict(lam=0.02)),
    ([{"lam": [0.01, 0.1], "kernel": ["rbf"]}, {"C": [1, 10], "max_steps": [5, 200]}, {}], dict()),
    ({"max_steps": [3, 200, 50, 1], "lam": [0.01, 0.1]}, dict(kernel="rbf", average="suffix")),
    ({"max_steps": [3, 200, 50], "tol": [None, 0.2], "lam": [0.01, 1.0]}, dict(solver="sdca")),
    ({"batch_size": [1, 4, "all"], "max_steps": [5, 10]}, dict(lam=0.02, kernel="rbf")),
]


@pytest.mark.parametrize(("grid", "params"), GRIDS, ids=str)
@pytest.mark.filterwarnings("ignore:.*tol:sklearn.exceptions.ConvergenceWarning")
def test_every_grid_equals_grid_search(grid, params):
    assert_same_cells(*both(classifier(**params), grid, X, Y))


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca", average="weighted")], ids=str)
def test_read_points_come_in_another_order_on_each_pair_of_classes(params):
    grid = [{"max_steps": [30, 95], "lam": [0.01, 0.1]}, {"max_iter": [1, 2.4], "lam": [0.01, 0.1]}]
    assert_same_cells(*both(classifier(multi_class="ovo", **params), grid, X, UNEVEN, StratifiedKFold(3)))


@pytest.mark.parametrize(
    "rule", [dict(), dict(solver="sdca"), dict(multi_class="ovo", class_weight="balanced")], ids=str
)
@pytest.mark.parametrize("kind", ["dense", "csr", "rbf"])
def test_sample_weights_are_those_of_the_fold(kind, rule):
    rows, params = KINDS[kind]
    if "gamma" in params:
        params = params | {"gamma": "scale"}  # follows the weights too
    grid = [{"lam": [0.01]}, {"C": [0.1, 1]}]
    assert_same_cells(*both(classifier(**params, **rule), grid, rows, Y, scoring="accuracy", sample_weight=WEIGHTS))


@pytest.mark.parametrize("rule", [dict(), dict(solver="sdca"), dict(average=False, batch_size=7)], ids=str)
@pytest.mark.parametrize("kind", ["dense", "csr", "rbf"])
def test_float32_cells_differ_by_two_rows_at_most(kind, rule):
    rows, params = KINDS[kind]
    found, expected = both(classifier(**params, **rule), STOPS, rows.astype(np.float32), Y)
    for fold, (train, test) in enumerate(THIRDS.split(X)):
        for side, n_rows in (("test", len(test)), ("train", len(train))):
            name = f"split{fold}_{side}_score"
            assert (np.abs(found.cv_results_[name] - expected.cv_results_[name]) * n_rows <= 2 + 1e-9).all()


@pytest.mark.parametrize("cv", [KFold(3), ShuffleSplit(3, random_state=0)], ids=["in order", "permuted"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_precomputed_kernels_are_cut_both_ways(fit_intercept, cv):
    estimator = classifier(kernel="precomputed", fit_intercept=fit_intercept)
    assert_same_cells(*both(estimator, STOPS, X @ X.T, Y, cv))


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf")], ids=str)
@pytest.mark.parametrize(
    ("rule", "targets"),
    [(dict(), 1), (dict(solver="sdca"), 2), (dict(batch_size=7, fit_intercept=True, epsilon=0.5), 2)],
    ids=str,
)
def test_regressors_too(params, rule, targets):
    rows, y = make_regression(60, 4, n_targets=targets, noise=1.0, random_state=0)
    estimator = pegasos_regressor(sampling="cyclic", **params, **rule)
    grid = [{"lam": [0.01], "max_iter": [2, 5]}, {"C": [1]}]
    assert_same_cells(*both(estimator, grid, rows, 3 + y / 50, scoring="r2"), rtol=1e-8)


# --- splits ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
GROUPS = RNG.integers(0, 4, N)
BOOTSTRAP = [(drawn, np.setdiff1d(np.arange(N), drawn)) for drawn in RNG.integers(0, N, (3, N))]
SPLITS = {
    "stratified, shuffled": StratifiedKFold(3, shuffle=True, random_state=0),
    "permuted": ShuffleSplit(2, test_size=0.3, random_state=0),
    "not all rows": ShuffleSplit(2, test_size=0.2, train_size=0.4, random_state=0),
    "repeated": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    "groups": GroupKFold(3),
    "one group out": LeaveOneGroupOut(),
    "bootstrap": BOOTSTRAP,
    "bootstrap beside plain folds": [*KFold(2).split(X), *BOOTSTRAP[:1]],
    "masks": [(np.arange(N) % 3 != part, np.arange(N) % 3 == part) for part in range(3)],
    "a class is missing": [(np.flatnonzero(Y != 2), np.arange(N)), (np.arange(0, N, 2), np.arange(1, N, 2))],
    "predefined": PredefinedSplit(np.arange(N) % 4 - 1),
    "an int": 4,
}
SPLIT_KINDS = [
    dict(),
    dict(kernel="rbf", batch_size=7),
    dict(solver="sdca", multi_class="crammer_singer"),
]


@pytest.mark.parametrize("params", SPLIT_KINDS, ids=str)
@pytest.mark.parametrize("split", SPLITS)
def test_every_split_equals_grid_search(split, params):
    grid = [{"lam": [0.01], "max_iter": [1, 3]}, {"lam": [0.1]}]
    groups = {"groups": GROUPS} if "group" in split else {}
    assert_same_cells(*both(classifier(**params), grid, X, Y, SPLITS[split], **groups))


@pytest.mark.parametrize("split", ["permuted", "bootstrap"])
def test_weights_follow_repeated_and_permuted_rows(split):
    given = dict(scoring="accuracy", sample_weight=WEIGHTS)
    assert_same_cells(*both(classifier(), {"C": [0.1, 1]}, X, Y, SPLITS[split], **given))


# --- random orders --------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["shuffle", "replacement", "cyclic"])
@pytest.mark.parametrize(
    "params", [dict(), dict(kernel="rbf"), dict(solver="sdca"), dict(kernel="rbf", batch_size=7)], ids=str
)
def test_the_best_estimator_is_a_fit_on_all_rows(params, sampling):
    estimator = pegasos_classifier(sampling=sampling, random_state=3, **params)
    search = PegasosSearchCV(estimator, {"lam": [0.01, 0.1], "max_iter": [2, 4]}, cv=3).fit(X, Y)
    fresh = pegasos_classifier(sampling=sampling, random_state=3, **params, **search.best_params_).fit(X, Y)
    for name in ("dual_coef_" if params.get("kernel") else "coef_", "intercept_", "t_", "dual_gap_", "objective_"):
        np.testing.assert_array_equal(getattr(search.best_estimator_, name), getattr(fresh, name))


@pytest.mark.parametrize("sampling", ["shuffle", "replacement"])
@pytest.mark.parametrize("params", [dict(average=False), dict(kernel="rbf", average=False, batch_size=7)], ids=str)
def test_random_orders_have_the_same_distribution(params, sampling):
    estimator = pegasos_classifier(sampling=sampling, lam=0.02, max_iter=1.5, **params)
    cv = [(np.arange(0, N, 2), np.arange(1, N, 2))]
    searches = both(estimator, {"random_state": list(range(20))}, X, Y, cv)
    scores = [search.cv_results_["split0_test_score"] for search in searches]
    spread = np.sqrt(sum(values.var(ddof=1) / len(values) for values in scores))
    assert spread > 0
    assert abs(scores[0].mean() - scores[1].mean()) <= 4 * spread


# --- pipelines and other estimators ---------------------------------------------------------------


class Stateless(TransformerMixin, BaseEstimator):
    """Learns nothing, and so has nothing to show for it."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


TEXTS = [" ".join(f"w{label}{word}" for word in row) for label, row in zip(Y, RNG.integers(0, 9, (N, 5)))]
PEGASOS = classifier(lam=0.05, max_iter=3)
PIPELINES = [
    (make_pipeline(StandardScaler(), PEGASOS), {"pegasosclassifier__lam": [0.01, 0.1]}, X),
    (
        Pipeline([("pca", PCA()), ("svm", classifier(kernel="rbf"))]),
        {"pca__n_components": [2, 3], "svm__lam": [0.01, 0.1], "svm__gamma": ["scale", 0.3]},
        X,
    ),
    (
        Pipeline([("scale", StandardScaler()), ("svm", PEGASOS)]),
        {"scale": [StandardScaler(), StandardScaler(with_mean=False), "passthrough"], "svm__lam": [0.05]},
        3 * X + 1,
    ),
    (
        Pipeline([("scale", StandardScaler()), ("svm", PEGASOS)]),
        {"svm": [PEGASOS, LogisticRegression(), classifier(kernel="rbf", lam=0.1)]},
        3 * X + 1,
    ),
    (make_pipeline(CountVectorizer(), PEGASOS), {"pegasosclassifier__lam": [0.01, 0.1]}, TEXTS),
    (make_pipeline(StandardScaler(), Stateless(), PEGASOS), {"pegasosclassifier__lam": [0.01, 0.1]}, X),
    (LogisticRegression(), {"C": [0.1, 1.0]}, X),
]


@pytest.mark.parametrize("cv", [KFold(3), ShuffleSplit(2, random_state=0)], ids=["in order", "permuted"])
@pytest.mark.parametrize(("estimator", "grid", "rows"), PIPELINES, ids=range(len(PIPELINES)))
def test_pipelines_and_other_estimators_equal_grid_search(estimator, grid, rows, cv):
    found, expected = both(estimator, grid, rows, Y, cv, refit=True)
    scores = split_scores(found)
    for name, values in split_scores(expected).items():
        np.testing.assert_array_equal(scores[name], values)
    assert found.best_index_ == expected.best_index_
    np.testing.assert_array_equal(found.predict(rows), expected.predict(rows))


def test_fit_parameters_of_a_pipeline_reach_its_last_step():
    pipeline = make_pipeline(StandardScaler(), PEGASOS)
    weights = {"pegasosclassifier__sample_weight": WEIGHTS}
    assert_same_cells(*both(pipeline, {"pegasosclassifier__lam": [0.01, 0.1]}, X, Y, **weights))


class Witness(StandardScaler):
    """Keeps the rows that each fit saw; the first feature is the row's number."""

    seen = []

    def fit(self, X, y=None, sample_weight=None):
        self.seen.append(np.sort(X[:, 0]))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("split", ["permuted", "bootstrap", "masks"])
def test_transformers_see_the_training_rows_of_their_fold_only(split):
    rows, cv = np.column_stack([np.arange(N), X]), SPLITS[split]
    pipeline = make_pipeline(Witness(), classifier())
    Witness.seen.clear()
    grid = {"pegasosclassifier__lam": [0.01, 0.1], "pegasosclassifier__max_iter": [1, 2]}
    PegasosSearchCV(pipeline, grid, cv=cv, refit=False).fit(rows, Y)
    splits = cv.split(rows) if hasattr(cv, "split") else cv
    expected = [np.sort(np.arange(N)[train]) for train, _ in splits]
    assert len(Witness.seen) == len(expected)
    for seen, train in zip(Witness.seen, expected, strict=True):
        np.testing.assert_array_equal(seen, train)


# --- batches of columns, memory and threads -------------------------------------------------------

MANY = {"lam": np.logspace(-3, 0, 15).tolist(), "max_iter": [2]}  # 135 columns over three folds and classes


@pytest.fixture(scope="module")
def in_one_batch():
    """Searches with ample room."""
    return {
        (kind, solver): PegasosSearchCV(
            classifier(solver=solver, **KINDS[kind][1]), MANY, cv=THIRDS, refit=False, scoring=AGREEMENT
        ).fit(KINDS[kind][0], Y)
        for kind in ("dense", "rbf")
        for solver in ("pegasos", "sdca")
    }


@pytest.mark.parametrize(
    ("cache_size", "n_threads"), [(0, 1), (0.04, 2), (0.1, 1), (0.1, 5), (None, 2)]
)  # the kernel matrix takes 0.05
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kind", ["dense", "rbf"])
def test_room_and_threads_do_not_matter(monkeypatch, in_one_batch, kind, solver, cache_size, n_threads):
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: n_threads)
    rows, params = KINDS[kind]
    estimator = classifier(solver=solver, cache_size=cache_size, **params)
    found = PegasosSearchCV(estimator, MANY, cv=THIRDS, refit=False, scoring=AGREEMENT).fit(rows, Y)
    assert_same_cells(found, in_one_batch[kind, solver])


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf", average=False)], ids=str)
def test_many_columns_equal_grid_search(params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The objective is")  # of so small a lam after three passes
        assert_same_cells(*both(classifier(max_iter=3, **params), {"lam": MANY["lam"]}, X, Y))


class Unhurried(np.ndarray):
    """Rows that take their time to be picked, so that another thread has its turn meanwhile."""

    def __getitem__(self, index):
        time.sleep(5e-3)
        return np.asarray(self)[index]


def test_threads_do_not_get_into_each_others_support_rows(monkeypatch):
    """Rows without a kept matrix gather those that have a coefficient; runs side by side gather different ones."""
    rows, y = classes_problem(2, n_rows=400)
    estimator = classifier(kernel="rbf", gamma=0.5, average=False)
    grid = {"lam": np.logspace(-4, 0, 64).tolist(), "max_steps": [10, 20, 30, 40]}
    search = PegasosSearchCV(estimator, grid, cv=KFold(2), refit=False, error_score="raise", scoring=AGREEMENT)
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: 1)
    expected = search.fit(rows, y).cv_results_
    begin = SupportRows.__init__
    monkeypatch.setattr(SupportRows, "__init__", lambda self, X, *more: begin(self, X.view(Unhurried), *more))
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: 2)
    found = search.fit(rows, y).cv_results_
    for name in split_scores(search):
        np.testing.assert_array_equal(found[name], expected[name])
