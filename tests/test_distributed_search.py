"""PegasosSearchCV on the workers of a Dask client: the cells of the local search, wherever they are trained."""

import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline

import pegasos
from dask_search import CYCLIC, LAMS, SEEDED, PegasosSearchCV, X, Y, assert_same_cells, local, search, two_workers
from pegasos import PegasosClassifier, PegasosRegressor

SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with two_workers(tmp_path_factory.mktemp("dask")) as client:
        yield client


# --- the same cells -------------------------------------------------------------------------------

PCA_SVM = Pipeline([("pca", PCA()), ("svm", SEEDED)])
TEXTS = [" ".join(f"w{label}{word}" for word in row) for label, row in zip(Y, np.arange(450).reshape(90, 5) % 7)]
GRIDS = {
    "shuffle": (SEEDED, {"lam": LAMS, "max_steps": [20, 70, None]}, X),
    "replacement": (clone(SEEDED).set_params(sampling="replacement", average="suffix"), {"C": [0.1, 1.0, 10.0]}, X),
    "cyclic": (CYCLIC, {"lam": LAMS, "max_iter": [0.5, 3]}, X),
    "sdca": (clone(SEEDED).set_params(solver="sdca", multi_class="ovo"), {"lam": LAMS}, X),
    "outer": (SEEDED, {"lam": LAMS[:3], "average": [False, "uniform"], "loss": ["hinge", "log_loss"]}, X),
    "csr": (SEEDED, {"lam": LAMS}, SPARSE),
    "float32": (CYCLIC, {"lam": LAMS[:3]}, X.astype(np.float32)),
    "generator": (clone(SEEDED).set_params(random_state=np.random.RandomState(1)), {"lam": LAMS}, X),
    "rbf": (clone(SEEDED).set_params(kernel="rbf"), {"lam": LAMS[:4], "gamma": [0.1, 0.5, "scale"]}, X),
    "kernels": (CYCLIC, {"lam": [0.01], "kernel": ["linear", "rbf", "poly", "laplacian"]}, X),
    "callable": (clone(CYCLIC).set_params(kernel=lambda A, B: A @ B.T), {"lam": [0.01, 0.1]}, X),
    "precomputed": (clone(CYCLIC).set_params(kernel="precomputed"), {"lam": LAMS}, X @ X.T),
    "pipeline": (PCA_SVM, {"pca__n_components": [2, 3], "svm__lam": LAMS, "svm__max_steps": [30, 60]}, X),
    "texts": (make_pipeline(CountVectorizer(), CYCLIC), {"pegasosclassifier__lam": [0.01, 0.1]}, TEXTS),
    "landmarks": (clone(SEEDED).set_params(kernel="rbf", n_landmarks=20), {"lam": LAMS[:4], "gamma": [0.1, 0.5]}, X),
    "foreign": (LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, X),
}


@pytest.mark.parametrize("kind", GRIDS)
def test_every_cell_is_that_of_the_local_search(client, kind):
    estimator, grid, rows = GRIDS[kind]
    options = dict(return_train_score=True, cv=ShuffleSplit(3, test_size=0.3, random_state=0))
    assert_same_cells(
        search(client, estimator, grid, **options).fit(rows, Y), local(estimator, grid, **options).fit(rows, Y)
    )


def test_digits_and_their_best_model_too(client, digits):
    rows, y = digits[0][:500], digits[1][:500]
    grid = {"lam": [1e-4, 1e-3, 1e-2], "gamma": [0.05, 0.2]}
    estimator = PegasosClassifier(kernel="rbf", random_state=0, max_iter=5)
    expected = local(estimator, grid, refit=True).fit(rows, y)
    found = search(client, estimator, grid, refit=True).fit(rows, y)
    assert_same_cells(found, expected)
    assert found.best_params_ == expected.best_params_
    np.testing.assert_array_equal(found.decision_function(rows), expected.decision_function(rows))


def test_regression_with_several_targets(client):
    estimator, grid = PegasosRegressor(random_state=0, max_iter=3), {"lam": LAMS, "epsilon": [0.0, 0.1]}
    expected = local(estimator, grid).fit(X, X[:, :2] + 5)
    assert_same_cells(search(client, estimator, grid).fit(X, X[:, :2] + 5), expected, rtol=1e-9)


def test_weights_groups_and_routing(client):
    weights, groups = np.arange(90) % 4 + 1.0, np.arange(90) % 5
    given = dict(sample_weight=weights, groups=groups)
    options = dict(cv=GroupKFold(3), scoring="accuracy")
    assert_same_cells(search(client, **options).fit(X, Y, **given), local(**options).fit(X, Y, **given))
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = clone(CYCLIC).set_fit_request(sample_weight=True)
        options["cv"].set_split_request(groups=True)
        options["scoring"] = sklearn.metrics.get_scorer("accuracy").set_score_request(sample_weight=True)
        expected = local(estimator, **options).fit(X, Y, **given)
        assert_same_cells(search(client, estimator, **options).fit(X, Y, **given), expected)


@pytest.mark.parametrize(
    "scoring",
    [["accuracy", "f1_macro"], lambda estimator, X, y: {"f1_macro": estimator.score(X, y), "lam": estimator.lam}],
    ids=["names", "callable"],
)
def test_several_scores(client, scoring):
    options = dict(scoring=scoring, refit="f1_macro", return_train_score=True)
    expected, found = local(**options).fit(X, Y), search(client, **options).fit(X, Y)
    assert_same_cells(found, expected)
    assert found.best_score_ == expected.best_score_


def test_dask_arrays_are_brought_here(client):
    array = pytest.importorskip("dask.array")
    found = search(client).fit(array.from_array(X, chunks=(40, 4)), array.from_array(Y, chunks=40))
    assert_same_cells(found, local().fit(X, Y))


# --- where it runs --------------------------------------------------------------------------------


WHERE = lambda estimator, X, y: os.getpid()  # sent as code
WHERE_AND_HOW_LONG = lambda estimator, X, y: time.sleep(0.01) or os.getpid()


def processes(found):
    return {int(pid) for fold in range(3) for pid in found.cv_results_[f"split{fold}_test_score"]}


def test_all_workers_take_part(client):
    client.wait_for_workers(2)
    found = search(client, grid={"lam": LAMS, "average": [False, "uniform"]}, scoring=WHERE_AND_HOW_LONG).fit(X, Y)
    assert processes(found) == set(client.run(os.getpid).values())


def test_without_a_client_the_search_is_local(client):
    assert processes(search(None, scoring=WHERE).fit(X, Y)) == {os.getpid()}


def test_the_active_client_or_an_address_will_do(client):
    workers = set(client.run(os.getpid).values())
    with client.as_current():
        assert processes(search(None, scoring=WHERE).fit(X, Y)) <= workers
    assert processes(search(client.scheduler.address, scoring=WHERE).fit(X, Y)) <= workers
    assert client.status == "running"


def test_a_worker_uses_its_own_threads_and_the_configuration_of_the_driver(client):
    def threads(estimator, X, y):
        from pegasos.backends.threads import blas_threads

        return blas_threads() + 100 * sklearn.get_config()["assume_finite"]

    with sklearn.config_context(assume_finite=True):
        found = search(client, scoring=threads, n_jobs=4).fit(X, Y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], 101)


PAGES = """
import resource
from contextlib import nullcontext
import numpy as np
from pegasos.distributed.malloc import keep_freed_memory
for kept in (False, True, False):
    with keep_freed_memory() if kept else nullcontext():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(100):
            np.ones(2**17)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="malloc of glibc")
def test_memory_of_a_worker_is_not_fetched_anew_for_every_block():
    """In a process with the setting that Dask gives its workers; not every cluster of a process gets it."""
    found = subprocess.run(
        [sys.executable, "-c", PAGES], env=os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}, check=True, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    before, kept, after = map(int, found.stdout.split())
    assert kept < before / 4
    assert kept < after / 4


# --- as a value -----------------------------------------------------------------------------------


def test_clones_keep_the_client_and_pickles_do_not(client):
    fitted = search(client, refit=True).fit(X, Y)
    assert clone(fitted).client is client
    assert clone(fitted).get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    again = pickle.loads(pickle.dumps(fitted))
    assert again.client is None
    assert fitted.client is client
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_only_the_client_is_a_new_parameter():
    own = PegasosSearchCV(CYCLIC, {}).get_params(deep=False)
    theirs = pegasos.PegasosSearchCV(CYCLIC, {}).get_params(deep=False)
    assert own.keys() - theirs.keys() == {"client"}
    assert {name: own[name] for name in theirs if name != "error_score"} == {
        name: value for name, value in theirs.items() if name != "error_score"
    }


@pytest.mark.parametrize("pipeline", [False, True])
def test_cells_write_no_checkpoints(client, pipeline, tmp_path):
    estimator = clone(CYCLIC).set_params(checkpoint=str(tmp_path / "fit"))
    estimator, name = (make_pipeline(estimator), "pegasosclassifier__") if pipeline else (estimator, "")
    scoring = lambda estimator, X, y: float(estimator.get_params()[f"{name}checkpoint"] is None)
    for where in (None, client):
        found = search(where, estimator, {f"{name}lam": [0.1, 0.01]}, scoring=scoring).fit(X, Y)
        np.testing.assert_array_equal(found.cv_results_["mean_test_score"], 1.0)
    assert list(tmp_path.iterdir()) == []
    best = search(client, found.estimator, {f"{name}lam": [0.1]}, refit=True).fit(X, Y).best_estimator_
    assert best.get_params()[f"{name}checkpoint"] == found.estimator.get_params()[f"{name}checkpoint"]
