"""A distributed search in trouble: bad candidates, scorers and workers, time limits, and workers that die."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dask_search import SEEDED, X, Y, assert_same_cells, distributed, local, search, two_workers
from pegasos import PegasosClassifier
from pegasos.distributed.search import _PartQueue


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with two_workers(tmp_path_factory.mktemp("dask")) as client:
        yield client


# --- bad candidates, scorers and workers ----------------------------------------------------------


def test_bad_candidates_fail_and_good_ones_do_not(client):
    grid = {"lam": [0.1, -1.0, 0.01], "average": [False, "uniform"]}
    with pytest.warns(FitFailedWarning, match="lam"):
        found = search(client, grid=grid, error_score=-5.0).fit(X, Y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"] == -5.0, [False, True, False] * 2)
    with pytest.raises(ValueError, match="lam"):
        search(client, grid=grid, error_score="raise").fit(X, Y)


def test_bad_data_is_the_error_of_the_local_search(client):
    with pytest.raises(ValueError, match="NaN"):
        search(client).fit(np.full_like(X, np.nan), Y)


def test_a_scorer_that_raises(client):
    def raising(estimator, X, y):
        raise ZeroDivisionError("no score today")

    with pytest.warns(UserWarning, match="no score today"):
        found = search(client, scoring=raising, error_score=0.0).fit(X, Y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], 0)
    with pytest.raises(ZeroDivisionError, match="no score today"):
        search(client, scoring=raising, error_score="raise").fit(X, Y)


def test_tol_that_is_missed_is_reported_as_in_the_local_search(client):
    estimator = clone(SEEDED).set_params(tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="of 30 cells ended with a relative gap above tol") as expected:
        local(estimator).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="of 30 cells ended with a relative gap above tol") as found:
        search(client, estimator).fit(X, Y)
    assert [str(each.message) for each in found] == [str(each.message) for each in expected]


def test_warnings_of_a_worker_are_shown_here_once(client):
    def warning(estimator, X, y):
        warnings.warn("thin air", RuntimeWarning, stacklevel=1)
        return 0.5

    with pytest.warns(RuntimeWarning, match="thin air") as found:
        search(client, scoring=warning).fit(X, Y)
    assert len(found) == 1


def test_a_worker_without_the_package_is_named_as_the_reason(client):
    def hide():
        sys.modules["pegasos.distributed.search_worker"] = None

    def show():
        sys.modules.pop("pegasos.distributed.search_worker", None)

    client.run(hide)
    try:
        with pytest.raises(RuntimeError, match=r"worker cannot import pegasos.*install"):
            search(client).fit(X, Y)
    finally:
        client.run(show)
    assert_same_cells(search(client).fit(X, Y), local().fit(X, Y))


def test_a_module_that_the_workers_lack_is_named(client, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def score(estimator, X, y):\n    return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(RuntimeError, match=r"worker cannot read.*only_here"):
        search(client, scoring=only_here.score).fit(X, Y)


def test_what_cannot_be_sent_is_named(client):
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"pickled.*lock"):
        search(client, scoring=lambda estimator, X, y: lock.locked()).fit(X, Y)


# --- time and progress ----------------------------------------------------------------------------


class Slow(TransformerMixin, BaseEstimator):
    """Takes a while."""

    def fit(self, X, y=None):
        time.sleep(0.3)
        return self

    def transform(self, X):
        return X


def test_a_search_that_would_take_long_ends_with_scores(client):
    estimator = PegasosClassifier(solver="pegasos", max_iter=10**7, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time=2 ended some fits early"):
        found = search(client, estimator, max_time=2, refit=True).fit(X, Y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert found.best_estimator_.max_time is None


@pytest.mark.filterwarnings("ignore::UserWarning")  # of scores that are nan, and of fits cut short
def test_cells_there_is_no_time_for_have_no_score(client):
    pipeline = make_pipeline(Slow(), PegasosClassifier(random_state=0))
    grid = {"slow": [Slow(), *(StandardScaler(with_mean=k % 2 == 0, with_std=k < 2) for k in range(4)), Slow(), PCA()]}
    grid["slow"] += [make_pipeline(Slow(), PCA(k)) for k in (1, 2, 3)]
    with pytest.warns(ConvergenceWarning, match="no time for"):
        found = search(client, pipeline, grid, max_time=0.4).fit(X, Y)
    assert np.isnan(found.cv_results_["split2_test_score"]).any()


def test_a_limit_that_is_not_reached_changes_nothing(client):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = search(client, max_time=1000).fit(X, Y)
    assert_same_cells(found, local().fit(X, Y))


def test_progress_is_shown_as_parts_are_done(client, capsys):
    search(client, verbose=1).fit(X, Y)
    assert "30 of 30 cells, best 0." in capsys.readouterr().out.splitlines()[-1]


# --- accidents ------------------------------------------------------------------------------------


def killing(once):
    """A scorer that kills the first worker that it is called on."""

    def score(estimator, X, y):
        with suppress(FileExistsError):
            once.touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        return estimator.score(X, y)

    return score


def test_a_part_whose_worker_dies_runs_again(client, tmp_path):
    found = search(client, scoring=killing(tmp_path / "died")).fit(X, Y)
    assert (tmp_path / "died").exists()
    assert_same_cells(found, local().fit(X, Y))


def test_a_part_that_no_worker_survives_is_an_error(client, tmp_path):
    patience = lambda dask_scheduler, deaths: setattr(dask_scheduler, "allowed_failures", deaths)
    client.run_on_scheduler(patience, deaths=0)
    try:
        with pytest.raises(RuntimeError, match="1 workers were lost while they trained the same part.*memory"):
            search(client, scoring=killing(tmp_path / "died")).fit(X, Y)
    finally:
        client.run_on_scheduler(patience, deaths=3)


def test_rows_that_are_lost_with_all_workers_are_sent_again(client, monkeypatch):
    wait, losses = _PartQueue._wait, []

    def lose_and_wait(self):
        if len(losses) < most:
            losses.append(self.workers.data)
            client.cancel([self.workers.data], force=True)  # the scheduler then does as if all who had it were gone
        wait(self)

    monkeypatch.setattr(_PartQueue, "_wait", lose_and_wait)
    most = 2
    assert_same_cells(search(client).fit(X, Y), local().fit(X, Y))
    assert len(losses) == 2
    most = 100

    def slowly(estimator, X, y):  # no part is done before its rows are lost
        time.sleep(0.3)
        return estimator.score(X, y)

    with pytest.raises(RuntimeError, match="All workers that held the rows of the search were lost"):
        search(client, scoring=slowly).fit(X, Y)


def test_ctrl_c_takes_back_what_waits_and_leaves_the_earlier_fit_whole(client, tmp_path):
    driver, once = os.getpid(), tmp_path / "once"

    def interrupting(estimator, X, y):
        with suppress(FileExistsError):
            once.touch(exist_ok=False)
            os.kill(driver, signal.SIGINT)
            time.sleep(0.5)
        return 0.5

    found = search(client, refit=True).fit(X, Y)
    before = dict(vars(found))
    with pytest.raises(KeyboardInterrupt):
        found.set_params(scoring=interrupting).fit(X, 2 - Y)
    assert found.cv_results_ is before["cv_results_"]
    assert found.best_estimator_ is before["best_estimator_"]
    tasks = lambda dask_scheduler: [key for key in dask_scheduler.tasks if str(key).startswith("pegasos-search")]
    end = time.monotonic() + 10  # the scheduler hears of it from the client, in its own time
    while client.run_on_scheduler(tasks) and time.monotonic() < end:
        time.sleep(0.1)
    assert client.run_on_scheduler(tasks) == []
    assert_same_cells(search(client).fit(X, Y), local().fit(X, Y))


def test_a_lost_scheduler_is_a_connection_error(tmp_path):
    where = tmp_path / "scheduler.json"
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(where), "--port", "0"]
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)
    scheduler = subprocess.Popen([*begin, "--no-dashboard"], **quiet)
    worker = None
    try:
        begin = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(where)]
        worker = subprocess.Popen([*begin, "--no-dashboard", "--no-nanny", "--nthreads", "1"], **quiet)
        with distributed.Client(scheduler_file=str(where), set_as_default=False, timeout=30) as client:
            scoring = lambda estimator, X, y: os.kill(scheduler_pid, signal.SIGKILL) or time.sleep(60)
            scheduler_pid = scheduler.pid
            with pytest.raises(ConnectionError, match="connection to the Dask scheduler.*was lost"):
                search(client, scoring=scoring).fit(X, Y)
    finally:
        for started in (worker, scheduler):
            if started is not None:
                started.kill()
                started.wait()


@pytest.mark.filterwarnings("ignore:Port")  # that of the other cluster
def test_a_cluster_without_workers_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr("pegasos.distributed.search.SECONDS_FOR_WORKERS", 0.1)
    options = dict(n_workers=0, dashboard_address=None, local_directory=str(tmp_path))
    with distributed.LocalCluster(**options) as cluster, pytest.raises(TimeoutError, match="no worker"):
        search(cluster).fit(X, Y)
