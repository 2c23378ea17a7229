"""PegasosSearchCV on a Dask client: parts of the grid are trained on the workers, and their results collected."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from sklearn import get_config

from pegasos.distributed.clients import HoldsClient, is_lost, using_client
from pegasos.distributed.search_worker import PartResults, SearchInput, pack, task_by_value
from pegasos.search import PegasosSearchCV as LocalSearchCV
from pegasos.search.deadline import Deadline
from pegasos.search.results import Results

if TYPE_CHECKING:
    from distributed import Client, Future

SECONDS_FOR_WORKERS = 30.0  # that a search waits for the first of them
MOST_LOSSES = 3  # times that the rows are sent again after all workers that held them were lost


class PegasosSearchCV(HoldsClient, LocalSearchCV):
    """`pegasos.PegasosSearchCV` with the grid spread over the workers of a Dask client.

    Cells, results and attributes are those of the local search. The rows are sent to each worker once; then workers
    are given parts of the grid, all folds of some of the candidates, two or more parts a worker. Parts are cut between
    outer parameters and kernels first and then between values of `lam` or `C`; values of `max_steps` and `max_iter`
    stay together, as read points of one run. A worker takes one part at a time and uses all of
    its threads for it. The best is fitted here, on all rows.

    A part whose worker is lost runs again on another. Ctrl-C takes back what has not begun.

    Parameters
    ----------
    estimator, param_grid, cv, scoring, refit, return_train_score, error_score, verbose
        As in `pegasos.PegasosSearchCV`. What you have written yourself, scorers for instance, is sent with cloudpickle;
        modules that it is imported from have to be there on the workers. Progress is shown as parts are done.
    max_time : float, default=None
        As in `pegasos.PegasosSearchCV`; parts share the time, and those for which none is left are not begun.
    n_jobs : int, default=None
        Threads to use at most on a worker, and here for the refit; None: those that each worker has.
    client : distributed.Client, cluster or str, default=None
        The client, a cluster, or the address of a scheduler. None: the active client; without one the search is local.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in `pegasos.PegasosSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.distributed import PegasosSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"lam": [1e-4, 1e-3], "gamma": [0.01, 0.03]}
    >>> search = PegasosSearchCV(PegasosClassifier(kernel="rbf", random_state=0), grid)  # on the active client
    >>> bool(search.fit(X / 4, y).best_score_ > 0.96)
    True
    """

    _parameter_constraints: dict = {**LocalSearchCV._parameter_constraints, "client": "no_validation"}

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        cv=5,
        scoring=None,
        refit=True,
        return_train_score=False,
        error_score=np.nan,
        max_time=None,
        verbose=0,
        n_jobs=None,
        client=None,
    ):
        super().__init__(
            estimator, param_grid, cv=cv, scoring=scoring, refit=refit, return_train_score=return_train_score,
            error_score=error_score, max_time=max_time, verbose=verbose, n_jobs=n_jobs,
        )  # fmt: skip
        self.client = client

    def fit(self, X, y=None, **params):
        """Search the grid, and fit the best on all rows if `refit` says so.

        Parameters
        ----------
        X : array-like, CSR matrix or Dask collection of shape (n_samples, n_features)
            Folds cut the rows in any way, so those of a Dask collection are brought here first and have to fit into
            the memory of this machine and of each worker.
        y : array-like or Dask collection of shape (n_samples,) or (n_samples, n_targets)
        **params : dict
            As in `pegasos.PegasosSearchCV`.

        Returns
        -------
        self
        """
        X, y, params = self._brought_here(X, y, params)
        return super().fit(X, y, **params)

    def _brought_here(self, X, y, params: dict) -> tuple:
        dask = sys.modules.get("dask")  # without it nothing can be a collection
        if dask is None or not any(map(dask.is_dask_collection, (X, y, *params.values()))):
            return X, y, params
        with using_client(self.client) as client:
            return dask.compute(X, y, params, **({} if client is None else {"scheduler": client}))

    def _evaluate(
        self, evaluate, candidates: dict, X, y, fit_params: dict, results: Results, deadline: Deadline
    ) -> None:
        with using_client(self.client) as client:
            if client is None:
                super()._evaluate(evaluate, candidates, X, y, fit_params, results, deadline)
                return
            from pegasos.search.partition import cut, share_draws

            given = SearchInput(
                X, y, fit_params, results.folds, results.scorers, results.metric, self.error_score,
                self.return_train_score, self.n_jobs, get_config(),
            )  # fmt: skip
            share_draws(candidates, fit_params)
            workers = _Workers(client, given)
            parts = cut(candidates, y, fit_params, len(results.folds), workers.n_workers())
            _PartQueue(workers, parts, results, deadline).run()


class _Workers:
    """The workers of a client, each with the rows and all else that every part of a search needs."""

    def __init__(self, client: Client, given: SearchInput):
        self.client, self.losses = client, 0
        self.task, self.packed = task_by_value(), pack(given)
        self.send()

    def n_workers(self) -> int:
        """How many there are, now."""
        return max(1, len(self.client.nthreads()))

    def send(self) -> None:
        """Send the rows and all else to every worker."""
        if not self.client.nthreads():
            self._wait_for_workers()
        (self.data,) = self.client.scatter([self.packed], broadcast=True, hash=False)

    def submit(self, part: dict[int, Any], deadline: Deadline, share: float) -> Future:
        """Have a part evaluated, in that share of the time that is left."""
        packed = pack((list(part.values()), deadline, share))
        return self.client.submit(self.task, self.data, packed, key=f"pegasos-search-{uuid4().hex}", pure=False)

    def send_again(self) -> None:
        """Send the rows again after all workers that held them were lost; an error if that happens too often."""
        self.losses += 1
        if self.losses > MOST_LOSSES:
            raise RuntimeError(
                f"All workers that held the rows of the search were lost, {self.losses} times; see their logs, and "
                "whether they have enough memory."
            )
        self.send()

    def take_back(self, futures: list[Future]) -> None:
        """Forget the rows and these parts, as far as they have not begun."""
        if self.client.status == "running":
            with suppress(Exception):
                self.client.cancel([*futures, self.data])

    def _wait_for_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=SECONDS_FOR_WORKERS)
        except TimeoutError as error:
            raise TimeoutError(f"The Dask cluster had no worker for {SECONDS_FOR_WORKERS:g} seconds.") from error


class _PartQueue:
    """The parts of a search that wait and those that run; the results of both are collected.

    There are as many parts under way as workers, so that a part begins as soon as it is sent: its share of the time is
    then the one it was given, no worker has two while another has none, and Ctrl-C leaves little behind.
    """

    def __init__(self, workers: _Workers, parts: list[dict[int, Any]], results: Results, deadline: Deadline):
        self.workers, self.results, self.deadline = workers, results, deadline
        self.waiting = deque(parts)
        self.running: dict[Future, tuple[dict[int, Any], int]] = {}  # a part, and losses before it was sent
        self.warned: set[tuple[type[Warning], str]] = set()

    def run(self) -> None:
        """Evaluate all parts."""
        try:
            while self._send_next():
                self._wait()
                self._take_all([future for future in self.running if future.status != "pending"])
        except BaseException:  # an error, or Ctrl-C: what has not begun need not, and tracebacks would keep the rows
            self.workers.take_back(list(self.running))
            raise

    def _send_next(self) -> bool:
        """Give work to workers that have none; False: all is done."""
        n_workers = self.workers.n_workers() if self.waiting else 0
        while self.waiting and len(self.running) < n_workers and not self.deadline.passed:
            rounds = -(-len(self.waiting) // n_workers)
            part = self.waiting.popleft()
            future = self.workers.submit(part, self.deadline, 1 / rounds)
            self.running[future] = part, self.workers.losses
        while self.waiting and self.deadline.passed:
            for candidate in self.waiting.popleft():
                for fold in self.results.folds:
                    self.results.skip(candidate, fold)
        return bool(self.running)

    def _wait(self) -> None:
        from distributed import CancelledError, wait

        with self.workers.client.as_current(), suppress(CancelledError):
            wait(list(self.running), return_when="FIRST_COMPLETED")

    def _take_all(self, done: list[Future]) -> None:
        from distributed import CancelledError, KilledWorker

        for future in done:
            part, losses = self.running[future]
            try:
                self._take(part, future.result())
                del self.running[future]
            except CancelledError as error:  # the rows were lost with the last worker that had them
                if is_lost(self.workers.client, error):
                    raise
                del self.running[future]
                self.waiting.appendleft(part)
                if losses == self.workers.losses:
                    self.workers.send_again()
            except KilledWorker as error:
                raise RuntimeError(
                    f"{error.allowed_failures + 1} workers were lost while they trained the same part of the search; "
                    "see their logs, and whether they have enough memory for cache_size."
                ) from error

    def _take(self, part: dict[int, Any], found: PartResults) -> None:
        """Keep what was found as if it had been found here."""
        cells = iter(found.cells)
        for candidate in part:
            for fold in self.results.folds:
                self.results.add(candidate, fold, next(cells))
        self.results.skipped += found.skipped
        self.results.missed_tol += found.missed_tol
        if found.cut_short:
            self.deadline.cut()
        for category, text in found.warned:
            if (category, text) not in self.warned:
                self.warned.add((category, text))
                warnings.warn(text, category, stacklevel=2)
