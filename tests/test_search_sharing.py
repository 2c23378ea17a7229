"""What candidates and threads of a search share, and what they must not."""

import threading
from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from pegasos import PegasosSearchCV
from pegasos.backends import threads
from pegasos.search import shared_runs
from pegasos.search.grouping import same
from textbook import pegasos_classifier

X, Y = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)
LAMS = list(np.logspace(-4, 1, 12))  # 12 × 3 classes × 3 folds = 108 columns
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=3)


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: 1)


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(shared_runs, "blas_threads", lambda: 2)


def both(estimator, grid, X=X, **options):
    found = PegasosSearchCV(estimator, grid, cv=3, **options).fit(X, Y)
    expected = GridSearchCV(estimator, grid, cv=3, **options).fit(X, Y)
    return found.cv_results_, expected.cv_results_


@pytest.fixture
def solves(monkeypatch):
    """Numbers of columns of the solves of a search."""
    seen = []
    solve = shared_runs.solve

    def counting(job, **kwargs):
        seen.append(job.n_columns)
        return solve(job, **kwargs)

    monkeypatch.setattr(shared_runs, "solve", counting)
    return seen


def test_the_configuration_holds_in_all_threads(two_threads, solves):
    seen = []

    def scorer(estimator, X, y):
        seen.append((threading.current_thread().name, sklearn.get_config()["assume_finite"]))
        return estimator.score(X, y)

    with sklearn.config_context(assume_finite=True):
        PegasosSearchCV(CYCLIC, {"lam": LAMS}, cv=3, scoring=scorer, refit=False).fit(X, Y)
    assert len(solves) == 2
    assert {name for name, _ in seen} != {threading.current_thread().name}
    assert all(finite for _, finite in seen)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_draws_do_not_depend_on_which_folds_run_together(monkeypatch, solves, kernel):
    svm = pegasos_classifier(kernel=kernel, solver="sdca", max_iter=2, random_state=0)
    grid = {"lam": LAMS[::4]}
    together = PegasosSearchCV(svm, grid, cv=3, refit=False).fit(X, Y).cv_results_
    monkeypatch.setattr(shared_runs.SharedRun, "_most_columns", lambda run: 1)
    apart = PegasosSearchCV(svm, grid, cv=3, refit=False).fit(X, Y).cv_results_
    assert solves[-9:] == [3] * 9  # a batch each: one fold at one lam
    for fold in range(3):
        np.testing.assert_array_equal(apart[f"split{fold}_test_score"], together[f"split{fold}_test_score"])


def test_routed_weights_reach_only_the_metric_that_asked(two_threads):
    weights = np.random.default_rng(0).integers(1, 9, len(Y))
    with sklearn.config_context(enable_metadata_routing=True):
        scoring = {
            "weighted": make_scorer(accuracy_score).set_score_request(sample_weight=True),
            "plain": make_scorer(accuracy_score).set_score_request(sample_weight=False),
        }
        estimator = pegasos_classifier(sampling="cyclic", max_iter=3).set_fit_request(sample_weight=True)
        options = dict(cv=3, scoring=scoring, refit=False)
        found = PegasosSearchCV(estimator, {"lam": LAMS}, **options).fit(X, Y, sample_weight=weights)
        expected = GridSearchCV(estimator, {"lam": LAMS}, **options).fit(X, Y, sample_weight=weights)
    for name in ("mean_test_weighted", "mean_test_plain"):
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], rtol=1e-12)
    assert not np.array_equal(found.cv_results_["mean_test_weighted"], found.cv_results_["mean_test_plain"])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_threads_change_no_cell(two_threads, solves, kernel):
    estimator = pegasos_classifier(kernel=kernel, gamma=0.5, sampling="cyclic", max_iter=2)
    lams = list(np.logspace(-4, 1, 20))  # 180 columns
    found, expected = both(estimator, {"lam": lams, "max_steps": [40, 100]}, refit=False)
    assert len(solves) == 2
    assert max(solves) - min(solves) <= 3
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])


def test_fitted_transformers_of_one_class_are_told_apart():
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    first, second = (frozen(PCA(2).fit(rows)) for rows in (X, X[:, ::-1] ** 3))
    pipeline = Pipeline([("pre", first), ("svm", CYCLIC)])
    found, expected = both(pipeline, {"pre": [first, second], "svm__lam": [0.01, 0.1]}, refit=False)
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (np.ones(3), np.ones(3), True),
        (np.ones(3), np.ones(1), False),
        (np.array([]), np.array([5.0]), False),
        (1, 1.0, False),
        ("a", "a", True),
        ({"w": np.ones(2)}, {"w": np.ones(2)}, True),
        ({"w": np.ones(2)}, {"w": np.zeros(2)}, False),
        (np.random.RandomState(0), np.random.RandomState(0), True),
        (np.random.RandomState(0), np.random.RandomState(1), False),
        (partial(max, 1), partial(max, 1), True),
        (partial(max, 1), partial(max, 2), False),
        (StandardScaler(), StandardScaler(), True),
        (StandardScaler(), StandardScaler().fit(X), False),
        ([PCA(2), "x"], [PCA(3), "x"], False),
    ],
)
def test_what_is_the_same(a, b, equal):
    assert same(a, b) is equal


def test_a_generator_as_random_state_does_not_keep_candidates_apart(one_thread, solves):
    estimator = pegasos_classifier(random_state=np.random.RandomState(0), max_iter=2)
    PegasosSearchCV(estimator, {"lam": [0.01, 0.1, 1.0]}, cv=3, refit=False).fit(X, Y)
    assert solves == [3 * 3 * 3]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_little_memory_still_lets_columns_run_together(one_thread, solves, kernel):
    estimator = pegasos_classifier(kernel=kernel, sampling="cyclic", max_iter=2, cache_size=0)
    found, expected = both(estimator, {"lam": LAMS}, refit=False)
    assert len(solves) <= 6  # of 108 columns
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])


def test_rows_in_no_split_are_not_looked_at():
    rows = np.vstack([X, np.full((5, 6), np.nan)])
    labels = np.concatenate([Y, np.zeros(5, Y.dtype)])
    splits = [(train, test) for train, test in ShuffleSplit(3, random_state=0).split(X)]
    options = dict(cv=splits, refit=False)
    found = PegasosSearchCV(CYCLIC, {"lam": [0.01, 0.1]}, **options).fit(rows, labels)
    expected = GridSearchCV(CYCLIC, {"lam": [0.01, 0.1]}, **options).fit(rows, labels)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_callbacks_of_the_estimator_see_every_fit():
    pytest.importorskip("sklearn.callback")

    class StopAfterOnePass:
        def setup(self, *args, **kwargs):
            pass

        def teardown(self, *args, **kwargs):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, **kwargs):
            return True

    estimator = pegasos_classifier(sampling="cyclic", max_iter=30, average=False)
    estimator.set_callbacks(StopAfterOnePass())
    found, expected = both(estimator, {"lam": [0.001, 0.1]}, refit=False)
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_n_jobs_limits_threads_and_changes_nothing(n_jobs):
    before = threads.blas_threads()
    found = PegasosSearchCV(CYCLIC, {"lam": LAMS}, cv=3, n_jobs=n_jobs).fit(X, Y)
    assert found.best_score_ == GridSearchCV(CYCLIC, {"lam": LAMS}, cv=3).fit(X, Y).best_score_
    assert threads.blas_threads() == before


@pytest.fixture
def two_threads_of_blas():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_limits_within_limits_end_where_they_began(two_threads_of_blas):
    before = threads.blas_threads()
    inside, done = threading.Event(), threading.Event()

    def other():
        with threads.blas_limited(1):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    with threads.blas_limited(2):
        assert threads.blas_threads() == min(before, 2)
        thread.start()
        inside.wait(10)
        assert threads.blas_threads() == 1
    assert threads.blas_threads() == 1  # the other one is still in
    done.set()
    thread.join()
    assert threads.blas_threads() == before
    with pytest.raises(RuntimeError), threads.blas_limited(1):
        raise RuntimeError
    assert threads.blas_threads() == before
