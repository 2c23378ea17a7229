"""Cells, each a candidate on a fold, trained together and scored one by one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection._validation import _insert_error_scores, _warn_or_raise_about_fit_failures
from sklearn.utils import Bunch, indexable

from pegasos.backends.threads import threads_limited
from pegasos.estimators import devices
from pegasos.estimators.validation import warn_unconverged
from pegasos.search.deadline import Deadline
from pegasos.search.dispatch import evaluate, sharing, take_device_rows
from pegasos.search.progress import cells_shown
from pegasos.search.results import Fold, Results
from pegasos.search.search import for_cells


@dataclass(frozen=True)
class GivenRows:
    """GivenRows and targets as given, and what else `fit` and the scorer are given."""

    X: Any
    y: Any
    routed: Bunch

    def folds(self, splits: Iterable[tuple]) -> list[Fold]:
        """Folds of these splits; an error if there is none."""
        numbers = np.arange(self.X.shape[0] if hasattr(self.X, "shape") else len(self.X))
        found = [
            Fold(number, numbers[train], numbers[test], self.X, self.y, self.routed.scorer.score)
            for number, (train, test) in enumerate(splits)
        ]
        if not found:
            raise ValueError("No fits were performed: cv gives no splits.")
        return found


def shares(estimator, params: dict | None) -> bool:
    """Whether fits of an estimator with these parameters share runs; else scikit-learn does better."""
    return sharing(estimator, {} if params is None else params) is not None


def given(X, y) -> tuple[Any, Any]:
    """GivenRows and targets that can be cut into folds, the targets on the host."""
    return tuple(indexable(devices.received(X), devices.on_host(y)))


@dataclass(frozen=True)
class Asked:
    """What is asked of a function of model selection.

    Attributes
    ----------
    name : str
        The function.
    scorer : callable
    error_score, return_train_score, return_estimator, n_jobs, verbose
        As in scikit-learn's `cross_validate`.
    scoring : Any
        What the user gave for a scorer, where its kind decides about scores of fits that failed.
    """

    name: str
    scorer: Any
    error_score: Any = np.nan
    return_train_score: bool = False
    return_estimator: bool = False
    n_jobs: int | None = None
    verbose: int = 0
    scoring: Any = None


def evaluated(candidates: list, rows: GivenRows, results: Results, asked: Asked) -> list[dict]:
    """Train and score the candidates on the folds of `results`: a dict for each cell, as `_fit_and_score` gives it.

    The results of a candidate lie side by side.
    """
    estimators = {number: for_cells(clone(each)) for number, each in enumerate(candidates)}
    X = rows.X if take_device_rows(estimators.values(), rows.routed.estimator.fit) else devices.on_host(rows.X)
    deadline, n_cells = Deadline(None, time.perf_counter()), len(results.cells)
    with threads_limited(asked.n_jobs), cells_shown(n_cells, asked.verbose, asked.name) as results.on_cell:
        evaluate(estimators, X, rows.y, rows.routed.estimator.fit, results, deadline)
    if results.missed_tol:
        warn_missed(results.missed_tol, n_cells)
    return results.cells


def warn_missed(n_missed: int, n_fits: int) -> None:
    """Warn of fits that did not end at `tol`."""
    warn_unconverged(
        f"{n_missed} of {n_fits} fits ended with a relative gap above tol. Raise max_iter or tol, or lower C (raise "
        "lam)."
    )


def scored(candidates: list, rows: GivenRows, splits: Iterable[tuple], asked: Asked) -> list[dict]:
    """`evaluated`, with warnings or an error about fits that failed, as scikit-learn has them."""
    folds = rows.folds(splits)
    kind = KeptEstimators if asked.return_estimator else Results
    results = kind(
        asked.scorer, folds, len(candidates), error_score=asked.error_score,
        return_train_score=asked.return_train_score, on_cell=lambda done, best: None, metric="score",
    )  # fmt: skip
    cells = evaluated(candidates, rows, results, asked)
    _warn_or_raise_about_fit_failures(cells, asked.error_score)
    if callable(asked.scoring):
        _insert_error_scores(cells, asked.error_score)
    if asked.return_estimator:
        for number, cell in enumerate(cells):
            cell.setdefault("estimator", clone(candidates[number // len(folds)]))
    return cells


class KeptEstimators(Results):
    """Results with the fitted estimator of each cell."""

    def needs_scores_only(self, estimator) -> bool:
        """Models are wanted, too."""
        return False

    def score(self, candidate, fold, estimator, rows=None) -> None:
        """Score an estimator, and keep it."""
        super().score(candidate, fold, estimator, rows)
        self.cells[candidate * len(self.folds) + fold.number]["estimator"] = estimator
