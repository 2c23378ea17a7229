"""What a careless user asks of a search: bad grids, folds, scorers and data; time limits, failures, memory."""

import time
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import classes_problem
from pegasos import PegasosSearchCV
from pegasos.kernels import tiles
from pegasos.search import shared_runs
from textbook import pegasos_classifier, pegasos_regressor

X, Y = classes_problem(2)
THIRDS = KFold(3)
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=2)
AGREEMENT = make_scorer(lambda y, predicted: (y == predicted).mean())  # accuracy, in no time
BOTH = pytest.mark.parametrize("kind", [PegasosSearchCV, GridSearchCV])  # scikit-learn's own as the measure


def search(estimator=CYCLIC, grid=None, *, kind=PegasosSearchCV, cv=THIRDS, **params):
    return kind(estimator, {"lam": [0.01, 0.1]} if grid is None else grid, cv=cv, **params)


def assert_same_scores(found, expected):
    for name, values in expected.cv_results_.items():
        if "_test_" in name:
            np.testing.assert_array_equal(found.cv_results_[name], values, err_msg=name)


# --- grids ----------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("grid", "error", "named"),
    [
        ({"lambda": [0.1]}, ValueError, "lambda"),
        ([{"lam": [0.1]}, {"gama": [0.1]}], ValueError, "gama"),
        ({"lam": []}, ValueError, "lam"),
        ([], ValueError, "No fits were performed"),
        ({"lam": 0.1}, TypeError, "lam"),
        ({"kernel": "rbf"}, TypeError, "kernel"),
        ({"lam": np.ones((2, 2))}, ValueError, "lam"),
        ([("lam", [0.1])], TypeError, "lam"),
        ("lam", ValueError, "param_grid"),
        (None, ValueError, "param_grid"),
        ({"lam": [-1.0, 0.0]}, ValueError, "lam"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_grids_that_make_no_sense(kind, grid, error, named):
    with pytest.raises(error, match=named):
        kind(CYCLIC, grid, cv=3).fit(X, Y)


BAD_BESIDE_GOOD = [
    ([{"lam": [0.1], "n_jobs": [0]}, {"lam": [0.1, 0.01]}], [0], "n_jobs=0"),
    ({"lam": [0.1, -1.0, 0.01]}, [1], "lam"),
    ({"lam": [0.1, 1e-320]}, [1], "lam"),
    ({"lam": [0.1], "batch_size": [1, 41, "all"]}, [1], "batch_size"),
    ({"lam": [0.1], "solver": ["pegasos", "sdca"], "batch_size": [2]}, [1], "sdca"),
    ({"lam": [0.1], "kernel": ["rbf", "rfb"]}, [1], "kernel"),
    ({"lam": [0.1], "n_landmarks": [None, 5]}, [1], "n_landmarks"),
    ({"lam": [0.1], "class_weight": [{0: -1.0}, None]}, [0], "class_weight"),
]


@pytest.mark.parametrize("error_score", [np.nan, 0.0])
@pytest.mark.parametrize(("grid", "bad", "named"), BAD_BESIDE_GOOD, ids=str)
def test_bad_candidates_fail_and_good_ones_do_not(grid, bad, named, error_score):
    with pytest.warns(FitFailedWarning, match=named):
        found = search(grid=grid, error_score=error_score, refit=False).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same_scores(found, search(grid=grid, error_score=error_score, refit=False, kind=GridSearchCV).fit(X, Y))
    failed = np.isin(np.arange(len(found.cv_results_["params"])), bad)
    np.testing.assert_array_equal(found.cv_results_["split0_test_score"][failed], error_score)
    assert (found.cv_results_["split0_test_score"][~failed] > 0.3).all()


@pytest.mark.parametrize(("grid", "bad", "named"), BAD_BESIDE_GOOD, ids=str)
def test_bad_candidates_raise_if_asked_to(grid, bad, named):
    with pytest.raises((ValueError, NotImplementedError), match=named):
        search(grid=grid, error_score="raise").fit(X, Y)


@pytest.mark.parametrize(
    "values",
    [[1, 2], np.array([0.1, 1.0]), [np.float32(0.1), np.float64(1)], (0.1, 1.0), np.array([1, 2]), range(1, 3)],
    ids=str,
)
def test_numbers_of_any_type(values):
    assert_same_scores(
        search(grid={"lam": values}).fit(X, Y), search(grid={"lam": values}, kind=GridSearchCV).fit(X, Y)
    )


@pytest.mark.parametrize("grid", [{"lam": [0.1]}, {"lam": [0.1, 0.1], "max_steps": [5, 5]}, {}, [{}, {}]], ids=str)
def test_small_and_repetitive_grids(grid):
    assert_same_scores(search(grid=grid).fit(X, Y), search(grid=grid, kind=GridSearchCV).fit(X, Y))


# --- folds ----------------------------------------------------------------------------------------

ONE_CLASS = [(np.flatnonzero(Y == 0), np.arange(60)), *KFold(2).split(X)]
NO_ROWS = [(np.arange(0), np.arange(60)), *KFold(2).split(X)]
NO_TEST = [(np.arange(60), np.arange(0)), *KFold(2).split(X)]


@pytest.mark.parametrize("estimator", [CYCLIC, make_pipeline(StandardScaler(), CYCLIC)], ids=["own", "pipeline"])
@pytest.mark.parametrize(
    ("cv", "warned"), [(ONE_CLASS, FitFailedWarning), (NO_ROWS, FitFailedWarning), (NO_TEST, UserWarning)]
)
def test_a_fold_that_cannot_be_used_gets_the_error_score(cv, warned, estimator):
    grid = {} if estimator is not CYCLIC else None
    with pytest.warns(warned):
        found = search(estimator, grid, cv=cv, error_score=0.25).fit(X, Y)
    np.testing.assert_array_equal(found.cv_results_["split0_test_score"], 0.25)
    assert (found.cv_results_["split1_test_score"] > 0.5).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = search(estimator, grid, cv=cv, error_score=0.25, kind=GridSearchCV).fit(X, Y)
    assert_same_scores(found, expected)


@pytest.mark.parametrize("cv", [ONE_CLASS, NO_ROWS, NO_TEST], ids=["one class", "no rows", "no test rows"])
def test_a_fold_that_cannot_be_used_raises_if_asked_to(cv):
    with pytest.raises(ValueError, match="class|rows|sample"):
        search(cv=cv, error_score="raise").fit(X, Y)


@pytest.mark.parametrize("cv", [1, "kfold", KFold(100), [], [([0, 99], [1])]], ids=str)
def test_splits_that_make_no_sense(cv):
    with pytest.raises((ValueError, IndexError)):
        search(cv=cv).fit(X, Y)


# --- scorers --------------------------------------------------------------------------------------


def raising(estimator, X, y):
    raise RuntimeError("no score today")


def raising_metric(y, predicted):
    raising(None, y, predicted)


def sometimes(estimator, X, y):
    return raising(estimator, X, y) if estimator.lam > 0.05 else 0.5


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("scoring", [raising, make_scorer(raising_metric), {"a": raising, "b": "accuracy"}, sometimes])
def test_a_scorer_that_raises(monkeypatch, scoring, n_threads):
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: n_threads)
    grid = {"lam": np.logspace(-3, 0, 12).tolist()}
    refit = "b" if isinstance(scoring, dict) else True
    with pytest.warns(UserWarning, match="no score today"):
        found = search(grid=grid, scoring=scoring, refit=refit, error_score=-1.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = search(grid=grid, scoring=scoring, refit=refit, error_score=-1.0, kind=GridSearchCV).fit(X, Y)
    assert_same_scores(found, expected)
    with pytest.raises(RuntimeError, match="no score today"):
        search(grid=grid, scoring=scoring, refit=refit, error_score="raise").fit(X, Y)


@BOTH
@pytest.mark.parametrize(
    ("scoring", "error", "named"),
    [
        (lambda estimator, X, y: "good", ValueError, "good"),
        (lambda estimator, X, y: np.ones(2), ValueError, "number"),
        (lambda estimator, X, y: {"a": 1.0}, ValueError, "refit"),
        ("acuracy", ValueError, "acuracy"),
        (["accuracy", "f1"], ValueError, "refit"),
        (3, ValueError, "scoring"),
    ],
)
def test_scorers_that_make_no_sense(kind, scoring, error, named):
    with pytest.raises(error, match=named):
        search(kind=kind, scoring=scoring).fit(X, Y)


# --- data -----------------------------------------------------------------------------------------

WITH_NAN = np.where(np.arange(60)[:, None] == 7, np.nan, X)


@BOTH
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [CYCLIC, make_pipeline(StandardScaler(), CYCLIC)], ids=["own", "pipeline"])
@pytest.mark.parametrize(
    ("rows", "y", "weights", "error"),
    [
        (WITH_NAN, Y, None, ValueError),
        (X, Y[:50], None, ValueError),
        (X, np.zeros(60), None, ValueError),
        (X, X[:, 0], None, ValueError),
        (X, None, None, (ValueError, TypeError)),
        (X[0], Y, None, ValueError),
        (X, Y, np.ones(50), ValueError),
        (X, Y, -np.ones(60), ValueError),
        (X, Y, np.zeros(60), ValueError),
    ],
    ids=["nan", "y too short", "one class", "numbers", "no y", "one row", "weights", "negative", "zeros"],
)
def test_bad_data_is_an_error(kind, estimator, rows, y, weights, error):
    name = "sample_weight" if estimator is CYCLIC else "pegasosclassifier__sample_weight"
    with pytest.raises(error):
        search(estimator, {}, kind=kind).fit(rows, y, **({} if weights is None else {name: weights}))


def test_what_is_passed_is_left_alone():
    rows, y, weights = X.copy(), Y.copy(), np.linspace(0, 2, 60)
    estimator, grid = pegasos_classifier(kernel="rbf", random_state=0), {"lam": [0.01, 0.1], "kernel_params": [None]}
    for array in (rows, y, weights):
        array.flags.writeable = False
    before = estimator.get_params()
    found = search(estimator, grid).fit(rows, y, sample_weight=weights)
    assert found.estimator is estimator
    assert estimator.get_params() == before
    assert grid == {"lam": [0.01, 0.1], "kernel_params": [None]}
    with pytest.raises(NotFittedError):
        estimator.predict(X)


def test_a_fitted_estimator_is_left_as_it_was():
    estimator = pegasos_classifier(lam=0.5, random_state=0).fit(X, Y)
    coefficients = estimator.coef_.copy()
    search(estimator).fit(X, 1 - Y)
    np.testing.assert_array_equal(estimator.coef_, coefficients)


def inner(A, B, scale=1.0):
    if np.ndim(scale) == 0 and scale < 0:
        raise RuntimeError("no kernel today")
    return (A * scale) @ B.T


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_kernel_that_raises_for_some():
    grid = {"kernel": [inner], "kernel_params": [{"scale": 1.0}, {"scale": -1.0}], "lam": [0.1, 0.01]}
    with pytest.warns(FitFailedWarning, match="no kernel today"):
        found = search(grid=grid).fit(X, Y)
    np.testing.assert_array_equal(np.isnan(found.cv_results_["mean_test_score"]), [False, False, True, True])
    assert_same_scores(found, search(grid=grid, kind=GridSearchCV).fit(X, Y))
    with pytest.raises(RuntimeError, match="no kernel today"):
        search(grid=grid, error_score="raise").fit(X, Y)


def test_kernel_parameters_may_be_arrays():
    grid = {"kernel_params": [{"scale": np.ones(4)}, {"scale": np.arange(4.0)}], "average": [False, "weighted"]}
    estimator = pegasos_classifier(kernel=inner, lam=0.1, sampling="cyclic")
    assert_same_scores(search(estimator, grid).fit(X, Y), search(estimator, grid, kind=GridSearchCV).fit(X, Y))


# --- failures after a good fit --------------------------------------------------------------------


def interrupting(estimator, X, y):
    raise KeyboardInterrupt


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_ctrl_c_and_errors_leave_the_earlier_fit_whole(monkeypatch, kernel, n_threads):
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: n_threads)
    grid = {"lam": np.logspace(-3, 0, 43).tolist()}
    found = search(pegasos_classifier(kernel=kernel, random_state=0), grid, scoring=AGREEMENT).fit(X, Y)
    before, labels = dict(vars(found)), found.predict(X)
    for change, error in [
        (dict(scoring=interrupting), KeyboardInterrupt),
        (dict(scoring=raising, error_score="raise"), RuntimeError),
        (dict(scoring=None, param_grid={"gammma": [1]}), ValueError),
    ]:
        with pytest.raises(error):
            found.set_params(**change).fit(X, 1 - Y)
        assert vars(found).keys() == before.keys()
        assert found.cv_results_ is before["cv_results_"]
        assert found.best_estimator_ is before["best_estimator_"]
        np.testing.assert_array_equal(found.predict(X), labels)


# --- time and progress ----------------------------------------------------------------------------


class Slow(TransformerMixin, BaseEstimator):
    """Takes a while."""

    def fit(self, X, y=None):
        time.sleep(0.1)
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


ENDLESS = dict(max_iter=10**7, random_state=0)
LONG = {
    "linear": pegasos_classifier(**ENDLESS),
    "sdca": pegasos_classifier(solver="sdca", **ENDLESS),
    "rbf": pegasos_classifier(kernel="rbf", **ENDLESS),
    "batches": pegasos_classifier(kernel="rbf", batch_size=7, **ENDLESS),
    "regression": pegasos_regressor(**ENDLESS),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_search_that_would_take_long_ends_in_time_with_scores(digits, kind):
    rows, y = digits[0][:300], digits[1][:300]
    search(clone(LONG[kind]).set_params(max_iter=1), {"lam": [1e-3]}).fit(rows, y)  # no limit shortens compiling
    with pytest.warns(ConvergenceWarning, match="max_time"):
        found = search(LONG[kind], {"lam": [1e-3, 1e-2]}, max_time=0.2).fit(rows, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert np.isfinite(found.best_score_)
    assert len(found.predict(rows)) == 300
    assert found.best_estimator_.max_time is None


@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1"], lambda e, X, y: {"f1": 0.5, "two": e.score(X, y)}])
def test_cells_there_is_no_time_for_have_no_score(scoring):
    pipeline = make_pipeline(Slow(), pegasos_classifier(random_state=0))
    grid = {"pegasosclassifier__lam": [0.01, 0.1], "slow": [Slow(), StandardScaler()]}
    name = "score" if scoring is None else "f1"
    with pytest.warns(ConvergenceWarning, match="no time"):
        found = search(pipeline, grid, scoring=scoring, refit=scoring is None or "f1", max_time=0.25).fit(X, Y)
    scores = found.cv_results_[f"split0_test_{name}"]
    assert np.isfinite(scores).any()
    assert np.isnan(found.cv_results_[f"split2_test_{name}"]).any()
    assert hasattr(found, "best_estimator_")


def test_a_limit_that_is_not_reached_changes_nothing():
    grid = {"lam": [0.01, 0.1], "max_iter": [1, 3]}
    for estimator in (CYCLIC, pegasos_classifier(kernel="rbf", sampling="cyclic")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = search(estimator, grid, max_time=1000).fit(X, Y)
        expected = search(estimator, grid).fit(X, Y)
        assert_same_scores(found, expected)
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_a_kernel_matrix_that_takes_too_long_is_left_out(monkeypatch):
    """Then rows are computed as they are needed; not all of them a second time, without a limit."""
    monkeypatch.setattr(tiles, "STRIP", 100)
    asked = []

    def slow(A, B):
        asked.append(len(A) * len(B))
        time.sleep(4e-6 * asked[-1])
        return A @ B.T

    rows, y = classes_problem(2, n_rows=800)
    estimator = pegasos_classifier(kernel=slow, max_steps=10**7, random_state=0)
    cv = [(np.arange(700), np.arange(700, 800))]
    with pytest.warns(ConvergenceWarning):
        search(estimator, {"lam": [0.1]}, cv=cv, refit=False, max_time=0.5).fit(rows, y)
    assert sum(asked) < 800**2


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("estimator", [CYCLIC, make_pipeline(StandardScaler(), CYCLIC)], ids=["own", "pipeline"])
def test_progress_is_shown_if_asked_for(capsys, estimator, verbose):
    search(estimator, {}, verbose=verbose).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == verbose
    assert not verbose or "3 of 3 cells, best 0." in lines[-1]


# --- many columns ---------------------------------------------------------------------------------


def test_thousands_of_columns_stay_within_the_cache(digits):
    rows, y = digits[0][:120], digits[1][:120]
    estimator = pegasos_classifier(
        kernel="rbf", gamma=0.1, multi_class="ovo", cache_size=20, sampling="cyclic", max_iter=2
    )
    grid = {"lam": np.logspace(-4, 0, 38).tolist()}  # 38 · 3 folds · 45 pairs of classes
    search(estimator, {"lam": [0.1]}, refit=False).fit(rows, y)  # compiled
    tracemalloc.start()
    found = search(estimator, grid, refit=False, scoring=AGREEMENT).fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 20e6
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
