"""GridSearchCV and RandomizedSearchCV by scikit-learn's names and signatures."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils._param_validation import Interval

from pegasos.search import PegasosSearchCV
from pegasos.search.dispatch import sharing

INHERITED = {name: allowed for name, allowed in PegasosSearchCV._parameter_constraints.items() if name != "param_grid"}


class SharedSearch(PegasosSearchCV):
    """A search that is handed to scikit-learn where none of its candidates shares runs."""

    pre_dispatch: Any

    def fit(self, X, y=None, **params):
        """Search, and fit the best on all rows if `refit` says so; see `pegasos.PegasosSearchCV.fit`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        **params : dict
            Passed to the estimator, the scorer and the splitter.

        Returns
        -------
        self
        """
        if sharing(self.estimator, {}) is None and not self._candidates_share():
            return BaseSearchCV.fit(self, X, y, **params)
        return super().fit(X, y, **params)

    def _candidates_share(self) -> bool:
        """Whether a candidate shares runs though the estimator does not: a grid can put one into a pipeline."""
        if not hasattr(self.estimator, "steps"):
            return False
        try:
            return any(
                sharing(clone(self.estimator).set_params(**clone(values, safe=False)), {}) is not None
                for values in self._looked_at()
            )
        except (TypeError, ValueError):  # scikit-learn says what is wrong
            return False

    def _looked_at(self) -> list[dict]:
        """Candidates as far as they can be known before the search."""
        return self.candidates()

    def _run_search(self, evaluate_candidates) -> None:
        """What scikit-learn's own search calls."""
        evaluate_candidates(self.candidates())


class GridSearchCV(SharedSearch):
    """`sklearn.model_selection.GridSearchCV` with all lam, folds and classes of a grid trained side by side.

    The parameters are scikit-learn's, and `max_time`; see `pegasos.PegasosSearchCV` for what is shared and how. A
    search over other estimators is handed to scikit-learn, where `n_jobs` are processes.

    Parameters
    ----------
    estimator, param_grid, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn. `n_jobs` are threads; None: as many as BLAS uses.
    max_time : float, default=None
        As in `pegasos.PegasosSearchCV`; not for other estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import GridSearchCV
    >>> search = GridSearchCV(PegasosClassifier(kernel="rbf"), {"C": [0.1, 1, 10], "gamma": [0.1, 1]})
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.95)
    True
    """

    _parameter_constraints: dict = {**PegasosSearchCV._parameter_constraints, "pre_dispatch": [Integral, str]}

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
        max_time=None,
    ):
        super().__init__(
            estimator, param_grid, cv=cv, scoring=scoring, refit=refit, return_train_score=return_train_score,
            error_score=error_score, max_time=max_time, verbose=verbose, n_jobs=n_jobs,
        )  # fmt: skip
        self.pre_dispatch = pre_dispatch


class RandomizedSearchCV(SharedSearch):
    """`sklearn.model_selection.RandomizedSearchCV` with all lam, folds and classes trained side by side.

    The candidates are those that scikit-learn draws for the same `random_state`. Values of `lam` and `C` are columns of
    one run, which share its reading of the rows; every other value has a run of its own.

    Parameters
    ----------
    estimator, param_distributions, n_iter, scoring, n_jobs, refit, cv, verbose, pre_dispatch, random_state
        As in scikit-learn. `n_jobs` are threads; None: as many as BLAS uses.
    error_score, return_train_score
        As in scikit-learn.
    max_time : float, default=None
        As in `pegasos.PegasosSearchCV`; not for other estimators.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import RandomizedSearchCV
    >>> spread = {"C": loguniform(0.01, 100)}
    >>> search = RandomizedSearchCV(PegasosClassifier(kernel="rbf"), spread, n_iter=5, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.95)
    True
    """

    _parameter_constraints: dict = {
        **INHERITED,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "pre_dispatch": [Integral, str],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
        max_time=None,
    ):
        super().__init__(
            estimator, None, cv=cv, scoring=scoring, refit=refit, return_train_score=return_train_score,
            error_score=error_score, max_time=max_time, verbose=verbose, n_jobs=n_jobs,
        )  # fmt: skip
        del self.param_grid  # which is no parameter of this search
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.pre_dispatch = pre_dispatch
        self.random_state = random_state

    def candidates(self) -> list[dict]:
        """The parameters of each candidate, drawn anew."""
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))

    def _looked_at(self) -> list[dict]:
        """Lists of values only: distributions are drawn from once."""
        spaces = self.param_distributions if isinstance(self.param_distributions, list) else [self.param_distributions]
        return [
            {name: value}
            for space in spaces
            for name, values in space.items()
            if isinstance(values, list | tuple)
            for value in values
        ]
