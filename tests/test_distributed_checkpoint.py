"""Checkpoints of fits on a cluster: a new client, on a new cluster, goes on where the scheduler was lost."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from distributed_fits import chunked, n_solvers
from pegasos import Checkpoint
from pegasos.distributed import PegasosClassifier, PegasosRegressor, local_solver
from pegasos.distributed.cocoa import CocoaSolver
from pegasos.distributed.workers import ThreadWorkers
from pegasos.solver.checkpoint import CheckpointError
from test_distributed_cluster import chunked as chunked_rows
from test_distributed_cluster import two_workers

distributed = pytest.importorskip("distributed")
OFTEN = 1e-9
CLUSTER = """
import asyncio, sys, time
from distributed import Scheduler, Worker
from pegasos.distributed import local_solver
wait, folder = float(sys.argv[1]), sys.argv[2]
steps = local_solver.LocalSolver.round
def slow(self, duals, request):
    time.sleep(wait)
    return steps(self, duals, request)
local_solver.LocalSolver.round = slow
async def main():
    async with Scheduler(port=0, dashboard=False) as scheduler:
        address, one, two = scheduler.address, folder + "/one", folder + "/two"
        async with Worker(address, nthreads=1, local_directory=one), Worker(address, nthreads=1, local_directory=two):
            print(scheduler.address, flush=True)
            await asyncio.sleep(600)
asyncio.run(main())
"""


class Broken(Exception):
    """What ends a fit in the middle."""


@pytest.fixture
def breaking(monkeypatch):
    """Fits end with an error once they have taken so many rounds."""

    def after(rounds):
        record = CocoaSolver._record

        def breaking(self):
            record(self)
            if self.rounds == rounds:
                raise Broken

        monkeypatch.setattr(CocoaSolver, "_record", breaking)

    return after


@pytest.fixture
def always_due(monkeypatch):
    """Checkpoints are written after each round, however long that takes."""
    from pegasos.distributed.checkpoint import CocoaCheckpoint

    monkeypatch.setattr(CocoaCheckpoint, "due", lambda self: True)


@pytest.mark.parametrize("params", [{}, {"loss": "log_loss"}, {"multi_class": "crammer_singer"}])
def test_a_fit_that_goes_on_ends_in_the_same_model(digits, tmp_path, breaking, always_due, monkeypatch, params):
    X, y = digits[0][:400], digits[1][:400]
    model = PegasosClassifier(lam=0.02, tol=1e-2, shuffle=False, checkpoint=tmp_path / "fit", random_state=0, **params)
    with n_solvers(3):
        expected = PegasosClassifier(**model.get_params() | {"checkpoint": None}).fit(chunked(X, 6), y)
        with monkeypatch.context():
            breaking(3)
            with pytest.raises(Broken):
                model.fit(chunked(X, 6), y)
        monkeypatch.undo()
        assert (tmp_path / "fit").exists()
        found = model.fit(chunked(X, 6), y)
    assert found.n_rounds_ == expected.n_rounds_ > 3
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.dual_gap_, expected.dual_gap_)
    assert [record["gap"] for record in found.history_] == [record["gap"] for record in expected.history_]
    assert not (tmp_path / "fit").exists()


def test_rows_that_had_changed_workers_find_their_dual_variables(digits, tmp_path, breaking, always_due, monkeypatch):
    X, y = digits
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.where(y[order] < 5, 1.0, -2.0)
    model = PegasosRegressor(lam=1e-2, tol=2e-2, shuffle=True, checkpoint=tmp_path / "fit", random_state=0)
    with n_solvers(4):
        breaking(4)
        with pytest.raises(Broken):
            model.fit(chunked(X, 4), y)
        monkeypatch.undo()
        restored, seen = ThreadWorkers.restore, []
        monkeypatch.setattr(ThreadWorkers, "restore", lambda *args: seen.append(restored(*args)) or seen[-1])
        model.fit(chunked(X, 4), y)
    assert seen == [len(y)]
    assert model.converged_.all()
    gaps = [record["gap"] for record in model.history_]
    assert gaps[5] <= gaps[3]  # rounds after the loss go on from the dual variables of those before it


def test_a_checkpoint_of_other_rows_or_parameters_is_refused(digits, tmp_path, breaking, always_due, monkeypatch):
    X, y = digits[0][:300], digits[1][:300]
    model = PegasosClassifier(lam=0.02, checkpoint=Checkpoint(tmp_path / "fit", every=OFTEN), random_state=0)
    with n_solvers(2):
        breaking(3)
        with pytest.raises(Broken):
            model.fit(chunked(X, 4), y)
        monkeypatch.undo()
        with pytest.raises(CheckpointError, match="the data or its partitions changed"):
            model.fit(chunked(X + 1.0, 4), y)
        with pytest.raises(CheckpointError, match="the data or its partitions changed"):
            model.fit(chunked(X, 5), y)
        with pytest.raises(CheckpointError, match="the parameter lam changed"):
            PegasosClassifier(**model.get_params() | {"lam": 0.5}).fit(chunked(X, 4), y)
    assert not hasattr(model, "coef_")


def test_a_fit_that_time_ends_goes_on_later(digits, tmp_path):
    X, y = digits
    params = dict(lam=1e-5, tol=1e-4, random_state=0, checkpoint=tmp_path / "fit")
    with n_solvers(2), pytest.warns(ConvergenceWarning):
        first = PegasosClassifier(**params, max_time=0.3).fit(chunked(X, 4), y)
    assert (tmp_path / "fit").exists()
    with n_solvers(2), pytest.warns(ConvergenceWarning):
        again = PegasosClassifier(**params, max_rounds=first.n_rounds_ + 2).fit(chunked(X, 4), y)
    assert again.n_rounds_ == first.n_rounds_ + 2
    assert (again.objective_ <= first.objective_).all()
    assert not (tmp_path / "fit").exists()


def test_a_lost_scheduler_and_a_new_client_on_a_new_cluster(digits, tmp_path, always_due):
    X, y = digits[0], digits[1] % 2
    params = dict(lam=1e-3, tol=0.05, shuffle=False, random_state=0)
    checkpoint = tmp_path / "fit"
    process = subprocess.Popen([sys.executable, "-c", CLUSTER, "0.2", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        with distributed.Client(address, set_as_default=False) as client:

            def kill():
                while not checkpoint.exists():
                    time.sleep(0.01)
                time.sleep(0.5)
                process.kill()

            threading.Thread(target=kill, daemon=True).start()
            with pytest.raises(ConnectionError, match="scheduler"):
                PegasosClassifier(**params, checkpoint=checkpoint, client=client).fit(*chunked_rows(X, y))
    finally:
        process.kill()
        process.wait()
    assert checkpoint.exists()
    with two_workers(tmp_path / "new") as client:
        model = PegasosClassifier(**params, checkpoint=checkpoint, client=client)
        began = len(local_solver._dual_variables)
        model.fit(*chunked_rows(X, y))
        expected = PegasosClassifier(**params, client=client).fit(*chunked_rows(X, y))
    assert began == 0
    assert model.converged_.all()
    assert model.objective_[0] == pytest.approx(expected.objective_[0], rel=0.01)  # other workers, other steps
    assert not checkpoint.exists()
    seconds = [record["seconds"] for record in model.history_]
    assert (np.diff(seconds) > 0).all()  # rounds of the lost cluster are in the history, too
