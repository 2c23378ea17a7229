"""Fits on a real Dask cluster of two processes: agreement, lost workers, a lost scheduler."""

import itertools
import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import pegasos
from pegasos import datasets

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402
import dask.array as da  # noqa: E402

from pegasos.distributed import (  # noqa: E402
    PegasosClassifier,
    PegasosRegressor,
    local_solver,
)
from pegasos.distributed import dask_workers as cluster_module  # noqa: E402

X, Y = load_digits(return_X_y=True)
X = X / 16
LAM = 1e-3
needs_data = pytest.mark.skipif(not os.environ.get("PEGASOS_DATA"), reason="PEGASOS_DATA is not set")


@contextmanager
def two_workers(folder):
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(folder))
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with two_workers(tmp_path_factory.mktemp("dask")) as client:
        yield client


def chunked(rows, labels, parts=4):
    edges = np.linspace(0, rows.shape[0], parts + 1).astype(int)
    blocks = [rows[first:last] for first, last in itertools.pairwise(edges)]
    found = [da.from_delayed(dask.delayed(part), part.shape, dtype=part.dtype, meta=part[:0]) for part in blocks]
    return da.concatenate(found), da.from_array(labels, chunks=(tuple(np.diff(edges).tolist()),))


def optimum(rows, labels, lam, **params):
    return pegasos.PegasosClassifier(lam=lam, solver="sdca", tol=1e-4, random_state=0, **params).fit(rows, labels)


def assert_good(model, best, tol=2e-3):
    """A certified gap within `tol`, a bound that is none above the optimum, and so an objective close to it."""
    assert (model.dual_gap_ <= tol).all()
    assert (model.objective_ - model.dual_gap_ <= best.objective_ + 1e-6).all()
    assert (model.objective_ <= best.objective_ + tol + 1e-6).all()


# --- agreement --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("parts", [2, 5])
def test_a_fit_on_two_processes_reaches_the_optimum(client, kind, parts):
    model = PegasosClassifier(lam=LAM, tol=3e-3, random_state=0, client=client).fit(*chunked(kind(X), Y, parts))
    assert_good(model, optimum(X, Y, LAM), tol=3e-3)
    assert model.n_recoveries_ == 0
    assert model.history_[-1]["bytes"] > 0
    rows, labels = chunked(X, Y)
    assert model.predict(rows).compute(scheduler=client).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(
        model.decision_function(rows).compute(scheduler=client), model.decision_function(X), rtol=1e-12
    )
    assert model.score(rows, labels) == pytest.approx(model.score(X, Y))


def test_the_same_placement_gives_the_same_model(client):
    rows = chunked(X, Y, 2)
    first = PegasosClassifier(lam=0.1, tol=1e-2, random_state=1, client=client).fit(*rows)
    second = PegasosClassifier(lam=0.1, tol=1e-2, random_state=1, client=client).fit(*rows)
    np.testing.assert_allclose(first.objective_, second.objective_, rtol=0.02)


def test_the_address_of_a_scheduler_and_a_cluster_are_clients_too(client):
    for given in (client.scheduler.address, client.cluster):
        model = PegasosClassifier(lam=0.1, client=given, random_state=0).fit(*chunked(X, Y))
        assert (model.dual_gap_ <= 1e-2).all()


def test_the_active_client_is_used_where_none_is_given(client):
    with client.as_current():
        model = PegasosClassifier(lam=0.1, random_state=0).fit(*chunked(X, Y))
    assert (model.dual_gap_ <= 1e-2).all()


def test_landmarks_and_regression_run_on_workers(client):
    params = dict(kernel="rbf", gamma=0.1, lam=LAM, n_landmarks=100, random_state=0, client=client)
    model = PegasosClassifier(**params).fit(*chunked(X, Y))
    assert model.score(X, Y) > 0.95
    targets = (Y - 4.5) / 3
    fitted = PegasosRegressor(lam=LAM, client=client, random_state=0).fit(*chunked(X, targets))
    alone = pegasos.PegasosRegressor(lam=LAM, solver="sdca", tol=1e-3, random_state=0).fit(X, targets)
    assert fitted.objective_[0] <= 1.02 * alone.objective_[0]


def test_an_error_in_the_rows_is_one_sentence_on_the_driver(client):
    rows, labels = chunked(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        PegasosClassifier(client=client).fit(da.where(rows > 0.99, np.nan, rows), labels)
    with pytest.raises(ValueError, match="2 classes"):
        PegasosClassifier(client=client).fit(rows, da.zeros_like(labels))


def test_sorted_rows_change_processes(client):
    order = np.argsort(Y, kind="stable")
    rows = chunked(X[order], Y[order], 2)
    model = PegasosClassifier(lam=1e-2, tol=1e-2, random_state=0, client=client).fit(*rows)
    assert model.n_shuffles_ >= 1
    assert model.converged_.all()
    assert (model.objective_ <= 1.01 * optimum(X, Y, 1e-2).objective_).all()


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("parts", [2, 8])
def test_rcv1_and_covtype_reach_a_certified_gap_of_a_hundredth(client, parts):
    rcv1 = datasets.load("rcv1")
    model = PegasosClassifier(lam=1e-4, random_state=0, client=client).fit(*chunked(rcv1.X, rcv1.y, parts))
    best = optimum(rcv1.X, rcv1.y, 1e-4)
    assert_good(model, best)
    assert model.objective_[0] <= 1.01 * best.objective_[0]
    covtype = datasets.load("covtype")
    some = np.random.default_rng(0).permutation(len(covtype.y))[:50_000]  # sorted rows would take many rounds
    rows = covtype.X[some] - covtype.X[some].mean(axis=0)
    rows = (rows / np.maximum(rows.std(axis=0), 1e-9)).astype(np.float32)
    labels = np.where(covtype.y[some] == 2, 1, -1)
    model = PegasosClassifier(lam=1e-4, tol=5e-3, random_state=0, client=client).fit(*chunked(rows, labels, parts))
    best = pegasos.PegasosClassifier(lam=1e-4, solver="sdca", tol=2e-3, random_state=0).fit(rows, labels)
    assert_good(model, best, tol=5e-3)
    assert model.objective_[0] <= 1.01 * best.objective_[0]


# --- accidents --------------------------------------------------------------------------------------


class Slow(local_solver.LocalSolver):
    """A local solver that takes its time, so that there is a middle of a fit."""

    def round(self, duals, request):
        time.sleep(0.05)
        return super().round(duals, request)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_worker_killed_in_mid_fit_does_not_change_the_gap(tmp_path, monkeypatch, shuffle):
    monkeypatch.setattr(cluster_module, "LocalSolver", Slow)
    with two_workers(tmp_path) as client:
        begun, killed = threading.Event(), []

        def kill():
            begun.wait(60)
            pid = sorted(client.run(os.getpid).values())[0]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

        params = dict(lam=1e-3, tol=1e-2, local_passes=1, shuffle=shuffle, random_state=0)
        model = PegasosClassifier(**params, client=client)
        callback = model._callback

        def watching(tasks, shown):
            inner = callback(tasks, shown)

            def after_round(record, make):
                if record["round"] >= 2:
                    begun.set()
                return inner(record, make)

            return after_round

        monkeypatch.setattr(model, "_callback", watching)
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        model.fit(*chunked(X, Y % 2))
        killer.join(60)
        assert killed
        assert model.n_recoveries_ >= 1
        assert model.dual_gap_[0] <= 1e-2
        assert model.objective_[0] <= optimum(X, Y % 2, 1e-3).objective_[0] + 1e-2


def test_a_lost_scheduler_is_a_connection_error(tmp_path):
    scheduler = f"""
import asyncio
from distributed import Scheduler, Worker
async def main():
    async with Scheduler(port=0, dashboard=False) as scheduler:
        async with Worker(scheduler.address, nthreads=1, local_directory={str(tmp_path)!r}):
            print(scheduler.address, flush=True)
            await asyncio.sleep(600)
asyncio.run(main())
"""
    import subprocess
    import sys

    process = subprocess.Popen([sys.executable, "-c", scheduler], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        with distributed.Client(address, set_as_default=False) as client:
            model = PegasosClassifier(lam=1e-7, tol=1e-12, max_rounds=10**6, random_state=0, client=client)
            threading.Timer(2.0, process.kill).start()
            with pytest.raises(ConnectionError, match="scheduler"):
                model.fit(*chunked(X, Y))
            assert not hasattr(model, "coef_")
    finally:
        process.kill()
        process.wait()


def test_rows_that_cannot_be_computed_again_are_an_error_in_a_sentence(client):
    rows, labels = chunked(X, Y)
    held = client.persist(rows)
    futures = distributed.futures_of(held)
    client.cancel(futures, force=True)
    with pytest.raises((RuntimeError, ConnectionError)):
        PegasosClassifier(lam=LAM, client=client).fit(held, labels)
