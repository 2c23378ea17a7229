"""LinearSVC and LinearSVR, on the solvers of linear models of `PegasosClassifier` and `PegasosRegressor`."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pegasos.estimators import validation
from pegasos.estimators.base import Saving
from pegasos.estimators.inputs import check_fitted, is_plain
from pegasos.estimators.training import train
from pegasos.estimators.warm_start import unharmed_by_errors
from pegasos.kernels import canonical
from pegasos.svm.linear_recipe import LinearClassifierRecipe, LinearRegressorRecipe, dual_of


class LinearMachine(Saving):
    """A linear support vector machine whose intercept is the weight of a constant feature, penalised like the others.

    A class says in `_recipe` what its parameters ask for.
    """

    _parameter_constraints: dict = {
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

    fit_intercept: bool
    max_iter: int

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    def fit(self, X, y, sample_weight=None):
        """Fit the machine to the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of classes, or targets of regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        check_random_state(self.random_state)
        validation.check_numbers(self)
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", accept_sparse="csr", accept_large_sparse=False
        )  # fmt: skip
        recipe = self._recipe(X, y)
        weights = validation.check_weights(sample_weight, X)
        train(recipe, canonical(X), recipe.targets(y), weights, started)
        self._store(recipe)
        return self

    def _recipe(self, X, y) -> Any:
        """What the parameters ask for on these rows and targets, which are checked."""
        raise NotImplementedError

    def _store(self, recipe) -> None:
        """Take over what the recipe's estimator has been fitted to."""
        fitted = recipe.estimator
        self.coef_ = fitted.coef_
        self.intercept_: Any = fitted.intercept_ if self.fit_intercept else 0.0
        self.n_iter_ = recipe.n_iter
        for name in ("objective_", "dual_gap_"):  # of ½ ||w||² + C Σ loss
            setattr(self, name, getattr(fitted, name) / recipe.lam)
        self.relative_gap_, self.converged_ = fitted.relative_gap_, fitted.converged_


class LinearSVC(LinearClassifierMixin, SparseCoefMixin, LinearMachine):
    """Linear support vector classification, with the parameters and attributes of `sklearn.svm.LinearSVC`.

    Each class against the rest minimises ``½ (||w||² + (intercept / intercept_scaling)²) + C Σ sample_weight ℓ``.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        "l1" raises NotImplementedError: that is `sklearn.svm.LinearSVC`'s.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        ``max(0, 1 - yf)`` or its square.
    dual : "auto" or bool, default="auto"
        True: dual coordinate descent. False, or "auto": whichever solver suits the rows and the loss; False is an error
        for "hinge", as in scikit-learn.
    tol : float, default=1e-4
        The relative gap at which a column ends: a bound on how far its objective is above the optimum, as a fraction
        of the zero model's objective.
    C : float, default=1.0
        Weight of the errors.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        Each class against the rest, or all of them in one problem, whatever `loss` and `dual` are.
    fit_intercept : bool, default=True
        Whether to add a constant feature.
    intercept_scaling : float, default=1.0
        Its value; the larger, the less the intercept is penalised.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for the rows of the class in its own column, and of two classes for both; see `PegasosClassifier`
        for weights that hold in every column.
    verbose : int, default=0
        1 shows a progress bar; where the output is no terminal, lines.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows.
    max_iter : int, default=1000
        Passes over the rows, or iterations of Newton's method.
    max_time : float, default=None
        Stop after so many seconds.
    n_jobs : int, default=None
        Threads of a fit; -1: all cores. None: as many as BLAS would use.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,), or 0.0
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Most passes of any column.
    objective_, dual_gap_ : ndarray
        The objective of each column, and a bound on its distance from the optimum.
    relative_gap_ : ndarray
        The gap as a fraction of the zero model's objective.
    converged_ : ndarray of bool
        Whether the column ended at `tol`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVC().fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **LinearMachine._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self, penalty="l2", loss="squared_hinge", *, dual="auto", tol=1e-4, C=1.0, multi_class="ovr",
        fit_intercept=True, intercept_scaling=1, class_weight=None, verbose=0, random_state=None, max_iter=1000,
        max_time=None, n_jobs=None,
    ):  # fmt: skip
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _recipe(self, X, y):
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class:"
                f" {classes[0]!r}"
            )
        grouped = self.multi_class == "crammer_singer"
        dual = True if grouped else dual_of(self.dual, self.penalty, self.loss)
        if self.penalty == "l1" and not grouped:
            raise NotImplementedError(
                "LinearSVC here minimises penalty='l2' only; sklearn.svm.LinearSVC(penalty='l1', dual=False) has the"
                " other."
            )
        loss = "hinge" if grouped else self.loss
        return LinearClassifierRecipe(self, loss=loss, multi_class=self.multi_class, dual=dual)

    def decision_function(self, X):
        """Scores of the rows of X: how far they are from the hyperplane of each class, times the norm of its weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        if "coef_" not in vars(self) or not is_plain(self, X):
            return super().decision_function(X)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Labels of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if "coef_" not in vars(self) or not is_plain(self, X):
            return super().predict(X)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        places = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_.take(places)

    def _store(self, recipe):
        super()._store(recipe)
        self.classes_ = recipe.estimator.classes_
        if self.multi_class == "crammer_singer" and len(self.classes_) == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            if self.fit_intercept:
                self.intercept_ = self.intercept_[1:] - self.intercept_[:1]


class LinearSVR(RegressorMixin, LinearMachine):
    """Linear support vector regression, with the parameters and attributes of `sklearn.svm.LinearSVR`.

    Minimises ``½ (||w||² + (intercept / intercept_scaling)²) + C Σ sample_weight max(0, |y - f| - epsilon)``, or that
    with the square of the error beyond epsilon.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to this are free.
    tol, C : float
        As in `LinearSVC`.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, max_time, n_jobs
        As in `LinearSVC`; ``dual=False`` is an error for "epsilon_insensitive".

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,), or 0.0
    n_iter_ : int
        Passes over the rows.
    objective_, dual_gap_, relative_gap_, converged_ : ndarray of shape (1,)
        As those of `LinearSVC`.
    """

    _parameter_constraints: dict = {
        **LinearMachine._parameter_constraints,
        "epsilon": [Real],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    def __init__(
        self, *, epsilon=0.0, tol=1e-4, C=1.0, loss="epsilon_insensitive", fit_intercept=True, intercept_scaling=1.0,
        dual="auto", verbose=0, random_state=None, max_iter=1000, max_time=None, n_jobs=None,
    ):  # fmt: skip
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _recipe(self, X, y):
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon!r}.")
        return LinearRegressorRecipe(self, loss=self.loss, dual=dual_of(self.dual, "l2", self.loss))

    def _store(self, recipe):
        super()._store(recipe)
        self.coef_ = self.coef_.ravel()

    def predict(self, X):
        """Targets of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_fitted(self, "coef_")
        if not is_plain(self, X):
            X = validate_data(self, X, accept_sparse=["csr", "csc", "coo"], reset=False)
        return safe_sparse_dot(X, self.coef_, dense_output=True) + self.intercept_
