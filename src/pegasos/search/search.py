"""PegasosSearchCV: GridSearchCV's interface, all cells of a grid in one solve."""

from __future__ import annotations

import copy
import time
from numbers import Real

import numpy as np
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _insert_error_scores, _warn_or_raise_about_fit_failures
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_method_params

from pegasos.estimators import devices
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.validation import check_numbers, warn_unconverged
from pegasos.estimators.warm_start import unharmed_by_errors
from pegasos.search.deadline import Deadline
from pegasos.search.progress import SearchTasks, cells_shown
from pegasos.search.results import Fold, Results, pass_rows_on
from pegasos.search.scored_model import OWN
from pegasos.utils.doc_link import DocLink

REFIT_SHARE = 0.2  # of max_time: one fit, but with a kernel matrix of its own


class PegasosSearchCV(DocLink, BaseSearchCV):
    """Exhaustive search over a grid of parameters, every lam, fold and class trained side by side.

    A drop-in for `sklearn.model_selection.GridSearchCV`: the same parameters, attributes and layout of `cv_results_`.
    What it knows of Pegasos makes it fast:

    - values of `lam` or `C`, the classes and the folds are columns of one problem;
    - values of `max_steps` and `max_iter` are read points of one run: the model is read off on the way;
    - kernels (`kernel`, `gamma`, `degree`, `coef0`) are made of one product of the rows;
    - everything else is an outer loop.

    A `Pipeline` that ends in a Pegasos estimator has its transformers fitted on each fold, and its last steps share
    runs; any other estimator is fitted cell by cell.

    Where the estimator ends at the optimum, as it does by default, so does each cell, and a search that misses `tol`
    somewhere warns once. Of the textbook's algorithm, in cyclic order each cell is what GridSearchCV finds; in random
    orders a fold's draws are those of all rows, restricted to its own: other draws, of the same distribution.

    Parameters
    ----------
    estimator : estimator
        A `PegasosClassifier` or `PegasosRegressor`, a Pipeline that ends in one, or any other estimator.
    param_grid : dict or list of dicts
        Names of parameters and lists of values; of several grids each is searched.
    cv : int, splitter or iterable, default=5
        As in GridSearchCV; rows may be in several test sets. A fold whose rows repeat is trained alone, and so is one
        whose rows are out of order if the sampling is cyclic.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. A callable of your own gets a whole fitted estimator, which takes longer to make.
    refit : bool, str or callable, default=True
        As in GridSearchCV. `best_estimator_` is a fit of its own on all rows.
    return_train_score : bool, default=False
    error_score : "raise" or number, default=np.nan
        Score of a cell that cannot be fitted, for instance because its fold has one class only.
    max_time : float, default=None
        Stop after about so many seconds, the refit included. Runs that are not done end with what they have learned,
        and their cells are scored as they are; candidates that are not run at all have nan. A warning says so.
    verbose : int, default=0
        1 shows a progress bar with the cells done and the best score so far; where the output is no terminal, a line
        now and then.
    n_jobs : int, default=None
        Threads to use at most; None: as many as BLAS does. Scorers are called from these threads, one at a time.

    Attributes
    ----------
    cv_results_ : dict
        As in GridSearchCV. ``fit_time`` is the time of a shared run divided evenly over its cells; ``score_time`` is
        the cell's own. Where cells end at `tol`, "mean_gap" is their relative gap (largest of a cell's columns).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in GridSearchCV.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import PegasosClassifier, PegasosSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"lam": [1e-5, 1e-4, 1e-3, 1e-2], "gamma": [0.01, 0.03]}
    >>> search = PegasosSearchCV(PegasosClassifier(kernel="rbf", random_state=0), grid).fit(X / 4, y)
    >>> bool(search.best_score_ > 0.96)
    True
    """

    _parameter_constraints: dict = {
        **{name: allowed for name, allowed in BaseSearchCV._parameter_constraints.items() if name != "pre_dispatch"},
        "param_grid": [dict, list],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
    }

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
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.return_train_score = return_train_score
        self.error_score = error_score
        self.max_time = max_time
        self.verbose = verbose
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    @unharmed_by_errors
    @devices.where_rows_are
    def fit(self, X, y=None, **params):
        """Search the grid, and fit the best on all rows if `refit` says so.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        **params : dict
            Passed to the estimator (`sample_weight`), the scorer and the splitter (`groups`), as GridSearchCV does.

        Returns
        -------
        self
        """
        from pegasos.backends.threads import threads_limited  # Numba is imported when a fit first needs it
        from pegasos.search.dispatch import evaluate, take_device_rows

        started = time.perf_counter()
        check_numbers(self)
        scorers, metric = self._get_scorers()
        X, y = indexable(devices.received(X), devices.on_host(y))
        params = _check_method_params(X, params={name: devices.on_host(value) for name, value in params.items()})
        routed = self._get_routed_params_for_fit(params)
        candidates = self.candidates()
        if not candidates:
            raise ValueError("No fits were performed: the param_grid has no candidates.")
        base = clone(self.estimator)
        estimators = {
            number: for_cells(_fresh(base).set_params(**clone(values, safe=False)))
            for number, values in enumerate(candidates)
        }
        for number, values in enumerate(candidates):
            check_regularisation(estimators[number], values)
        if not take_device_rows(estimators.values(), routed.estimator.fit):
            X = devices.on_host(X)  # scikit-learn's scorers know no others beside targets of the host
        folds = self._folds(X, y, routed)
        deadline = Deadline(self.max_time, started)
        tasks = SearchTasks(self, X, y, params)
        with threads_limited(self.n_jobs):
            with tasks.search(), cells_shown(len(candidates) * len(folds), self.verbose) as on_cell:
                results = Results(
                    scorers, folds, len(candidates), error_score=self.error_score,
                    return_train_score=self.return_train_score, on_cell=on_cell, metric=metric,
                )  # fmt: skip
                share = 1 - REFIT_SHARE if self.refit else 1.0
                self._evaluate(evaluate, estimators, X, y, routed.estimator.fit, results, deadline.within(share))
            self._conclude(candidates, results, scorers, metric)
            if self.refit:
                self._refit(base, X, y, routed.estimator.fit, deadline, tasks)
        tasks.end()
        self._warn_if_cut(results, deadline)
        return self

    def score(self, X, y=None, **params):
        """The score of the best estimator on these rows, as GridSearchCV computes it."""
        params = {name: devices.on_host(value) for name, value in params.items()}
        if type(getattr(self, "best_estimator_", None)) not in OWN:
            return super().score(devices.on_host(X), devices.on_host(y), **params)
        scorers = self.scorer_.values() if isinstance(self.scorer_, dict) else [self.scorer_]
        rows, y, _ = devices.for_score(X, y, None)
        return super().score(rows if pass_rows_on(scorers) else devices.received(X), y, **params)

    def candidates(self) -> list[dict]:
        """The parameters of each candidate."""
        return list(ParameterGrid(self.param_grid))

    def _evaluate(
        self, evaluate, candidates: dict, X, y, fit_params: dict, results: Results, deadline: Deadline
    ) -> None:
        """Have all cells trained and scored by `evaluate`; subclasses may have that done elsewhere."""
        evaluate(candidates, X, y, fit_params, results, deadline)

    def _folds(self, X, y, routed) -> list[Fold]:
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        split = routed.splitter.split
        self.n_splits_ = cv.get_n_splits(X, y, **split)
        splits = list(cv.split(X, y, **split))
        if len(splits) != self.n_splits_:
            raise ValueError(
                f"cv.split and cv.get_n_splits return inconsistent results. Expected {self.n_splits_} splits, got "
                f"{len(splits)}"
            )
        if not splits:
            raise ValueError("No fits were performed: the CV iterator is empty.")
        rows = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))
        return [
            Fold(number, rows[train], rows[test], X, y, routed.scorer.score)
            for number, (train, test) in enumerate(splits)
        ]

    def _conclude(self, candidates, results: Results, scorers, metric: str) -> None:
        """cv_results_ and the best of them."""
        cells = results.cells
        _warn_or_raise_about_fit_failures(cells, self.error_score)
        if callable(self.scoring):
            _insert_error_scores(cells, self.error_score)
            results.name_scores_of_skipped()
        formatted = self._format_results(candidates, self.n_splits_, cells)
        first = cells[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, metric, formatted)
            if not callable(self.refit):
                self.best_score_ = formatted[f"mean_test_{metric}"][self.best_index_]
            self.best_params_ = formatted["params"][self.best_index_]
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        gaps = results.mean_gaps
        if not np.isnan(gaps).all():
            formatted["mean_gap"] = gaps
        self.cv_results_ = formatted

    def _refit(self, base, X, y, fit_params: dict, deadline: Deadline, tasks: SearchTasks) -> None:
        """Fit the best on all rows; in what is left of the time, if that is limited."""
        best = clone(base).set_params(**clone(self.best_params_, safe=False))
        limit = _time_limit_of(best) if self.max_time is not None else None
        if limit is not None:
            best.set_params(**{limit: max(deadline.left, 1e-3)})
        began = time.perf_counter()
        with tasks.refit(best):
            best.fit(X, **fit_params) if y is None else best.fit(X, y, **fit_params)
        self.refit_time_ = time.perf_counter() - began
        if limit is not None:
            if self.refit_time_ >= 0.95 * best.get_params()[limit]:
                deadline.cut()
            best.set_params(**{limit: None})
        self.best_estimator_ = best
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _warn_if_cut(self, results: Results, deadline: Deadline) -> None:
        total = len(results.cells)
        if results.skipped:
            warn_unconverged(
                f"max_time={self.max_time:g} left no time for {results.skipped} of {total} cells: they have no score."
            )
        if deadline.cut_short:
            ended = "max_time" if self.max_time is None else f"max_time={self.max_time:g}"
            warn_unconverged(
                f"{ended} ended some fits early: their models took fewer steps than asked for, and their scores are "
                "those of what they have learned."
            )
        elif results.missed_tol:
            warn_unconverged(
                f"{results.missed_tol} of {total} cells ended with a relative gap above tol: cv_results_['mean_gap'] "
                "tells which. Raise max_iter or tol, or leave the largest C (smallest lam) out."
            )


def _fresh(base):
    """A clone of a clone; of a Pegasos estimator, whose parameters are not changed in place, a copy will do."""
    own = type(base) in OWN
    return copy.copy(base) if own and not isinstance(base.random_state, np.random.RandomState) else clone(base)


def for_cells(estimator):
    """A candidate as its cells are trained: they are no fits of their own, so a checkpoint is for the refit only."""
    for each in (estimator, *estimator.get_params().values()):
        if isinstance(each, PegasosBase) and each.checkpoint is not None:
            each.set_params(checkpoint=None)
    return estimator


def check_regularisation(estimator, values: dict) -> None:
    """Raise where a candidate has a value of C that plays no part."""
    last = estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
    if isinstance(last, PegasosBase) and last.lam is not None and any(name.split("__")[-1] == "C" for name in values):
        raise ValueError(f"The grid has values of C, which play no part while lam={last.lam!r}; set lam=None.")


def _time_limit_of(estimator) -> str | None:
    """The parameter that limits the time of a fit, if there is one and it is not set."""
    last = ""
    if type(estimator) is Pipeline:
        last, estimator = f"{estimator.steps[-1][0]}__", estimator.steps[-1][1]
    return f"{last}max_time" if isinstance(estimator, PegasosBase) and estimator.max_time is None else None
