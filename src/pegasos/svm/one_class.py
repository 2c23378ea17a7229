"""OneClassSVM."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, validate_data

from pegasos.estimators.validation import check_numbers
from pegasos.estimators.warm_start import offered_if, unharmed_by_errors
from pegasos.kernels import LinearKernel, canonical
from pegasos.svm import formulations, layout
from pegasos.svm.base import KernelMachine, without
from pegasos.svm.one_class_online import OnlineState
from pegasos.svm.training import TrainingRows, checked_weights


def _missing_for_partial_fit(machine) -> str | None:
    """What a machine lacks to learn online; None: nothing."""
    if machine.kernel == "linear" or machine.n_landmarks is not None:
        return None
    return f"it needs kernel='linear' or n_landmarks, got kernel={machine.kernel!r}; its model is made of all rows."


class OneClassSVM(OutlierMixin, KernelMachine):
    """Detection of outliers, with the parameters and attributes of `sklearn.svm.OneClassSVM`.

    Minimises ``½ ||w||² - r ν Σ sample_weight + Σ sample_weight max(0, r - w·φ(x))``: a share `nu` of the rows, about,
    have a score below the offset r. With ``kernel="linear"`` or `n_landmarks` it also learns online, by `partial_fit`.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two sets of rows and returns the matrix of kernel values.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features * X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        The violation of the optimality conditions at which the fit ends, as LIBSVM measures it.
    nu : float, default=0.5
        At most this share of the rows are outliers, and at least this share has a coefficient; in (0, 1].
    shrinking : bool, default=True
        Whether rows at their bounds are set aside while the others are worked on.
    cache_size : float, default=200
        Megabytes for kernel values.
    verbose : bool, default=False
        Whether to show a progress bar; where the output is no terminal, lines.
    max_iter : int, default=-1
        Most steps of the solver; -1: no limit.
    max_time : float, default=None
        Stop after so many seconds.
    n_jobs : int, default=None
        Threads of a fit; -1: all cores. None: as many as BLAS would use.
    n_landmarks : int, default=None
        Nyström: so many rows are chosen as landmarks, and the model is made of them alone. Memory grows with the rows,
        predicting costs so many kernel values a row, and `partial_fit` works.
    landmarks : {"uniform", "k-means++"}, default="uniform"
        How landmarks are chosen.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks, and of the order of rows in `partial_fit`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, offset_
        As those of `sklearn.svm.OneClassSVM`. With `n_landmarks` the landmarks take the place of support vectors; after
        `partial_fit` of a linear kernel the one support vector is the weights, and `support_` is empty.
    fit_status_, n_iter_, shape_fit_
        As those of `sklearn.svm.OneClassSVM`.
    objective_, dual_gap_ : ndarray of shape (1,)
        The objective, and a bound on its distance from the optimum; nan for indefinite kernels.
    relative_gap_ : ndarray of shape (1,)
        The gap as a fraction of what ½ ||w||² can be at most.
    converged_ : ndarray of bool, shape (1,)
        Whether the fit ended at `tol`.

    Examples
    --------
    >>> from pegasos.svm import OneClassSVM
    >>> OneClassSVM(gamma="auto").fit([[0], [0.44], [0.45], [0.46], [1]]).predict([[0.45], [2.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict = {
        **without("C", "class_weight", "epsilon", "probability"),
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "landmarks": [StrOptions({"uniform", "k-means++"})],
    }

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, nu=0.5, shrinking=True, cache_size=200,
        verbose=False, max_iter=-1, max_time=None, n_jobs=None, n_landmarks=None, landmarks="uniform",
        random_state=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Fit the machine to the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            What a row that is an outlier costs; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        self._check_landmarks()
        return super().fit(X, np.ones(_num_samples(X)), sample_weight=sample_weight)

    _landmarks: Any = None
    _online: Any = None

    def _check_landmarks(self) -> None:
        if self.n_landmarks is not None and (callable(self.kernel) or self.kernel in ("linear", "precomputed")):
            raise ValueError(
                f"n_landmarks={self.n_landmarks} is for 'rbf', 'poly' and 'sigmoid'; got kernel={self.kernel!r}."
            )

    def _problems(self, y, weights):
        rows = weights.nonzero()[0]
        return [formulations.one_class(rows, weights[rows], self.nu)]

    def _train(self, rows, y, weights, started):
        self._landmarks = None
        self._no_rows, features = rows.rows[:0], rows
        if self.n_landmarks is not None:
            self._choose(rows, weights)
            features = TrainingRows(self._landmarks.features(rows.rows), LinearKernel())
        model = super()._train(features, y, weights, started)
        self._online = None
        self.offset_ = -self._intercept_
        if _missing_for_partial_fit(self) is None:
            unit, sums = self.nu * weights.sum(), self._sums_of(features, model)
            self._online = OnlineState.from_model(sums / unit, -model.intercept / unit, features.rows, weights)

    def _store_model(self, rows, model):
        if self._landmarks is None:
            super()._store_model(rows, model)
        else:
            self._store_weights(self._sums_of(rows, model), model.intercept)

    @staticmethod
    def _sums_of(rows: TrainingRows, model: formulations.RowModel) -> np.ndarray:
        """The weights of the features of rows under a linear kernel."""
        kept = model.coefficients.nonzero()[0]
        return model.coefficients[kept] @ rows.rows[model.rows[kept]]

    def _go_on_from(self, online: OnlineState | None) -> None:
        """What a file does not have, for a machine that was read from one; `online` is what it has."""
        self._online, self._landmarks = online, None
        self._no_rows = self.support_vectors_[:0]
        if online is not None and self.n_landmarks is not None:
            from pegasos.kernels.nystroem import of_rows

            self._landmarks = of_rows(self.support_vectors_, self._kernel, self.support_)
        self.offset_ = -self._intercept_

    def _choose(self, rows: TrainingRows, weights: np.ndarray) -> None:
        """Choose landmarks among the rows of positive weight."""
        from pegasos.kernels.nystroem import choose

        seed, among = self._random.randint(np.iinfo(np.int32).max), weights.nonzero()[0]
        self._landmarks = choose(rows.rows, rows.kernel, self.n_landmarks, self.landmarks, seed, among)

    def _store_weights(self, sums: np.ndarray, intercept: float) -> None:
        """The fitted attributes of a model that is these weights of features, or of landmarks' features."""
        landmarks = self._landmarks
        if landmarks is None:
            index, vectors, coefficients = np.empty(0, np.int32), sums[None], np.ones((1, 1))
            if self._sparse:
                vectors = layout.as_sparse(vectors, self._no_rows)
        else:
            index, vectors = landmarks.index.astype(np.int32), landmarks.rows
            coefficients = landmarks.coefficients(sums[:, None]).T
        self.__dict__.pop("compression_", None)
        self.support_, self.support_vectors_ = index, vectors
        self._n_support = np.array([vectors.shape[0]], np.int32)
        self.dual_coef_ = layout.as_sparse(coefficients, vectors) if self._sparse else coefficients
        self._dual_coef_ = self.dual_coef_
        self.intercept_, self._intercept_ = np.array([intercept]), np.array([intercept])
        self._probA = self._probB = np.empty(0)

    # --- online -----------------------------------------------------------------------------------------------------

    @offered_if(_missing_for_partial_fit)
    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    def partial_fit(self, X, y=None, sample_weight=None):
        """Go on learning with one step for each of these rows, in random order; exists for linear models.

        The objective is that of `fit` divided by ν Σ weights, which is not known: scores are of another scale than
        those of `fit`, and go on from them. Landmarks, and ``gamma="scale"``, are those of the first rows. There is
        no certificate, since earlier rows are gone.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Used as given; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        check_numbers(self)
        self._check_landmarks()
        self._random = check_random_state(self.random_state)
        begins = getattr(self, "_online", None) is None
        sparse = issparse(X)
        if not begins and sparse and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, order="C", accept_large_sparse=False, reset=begins
        )
        X = canonical(X)
        weights = checked_weights(sample_weight, X.shape[0])
        if begins:
            self._sparse, self._no_rows = sparse, X[:0]
            rows = self._training_rows(X)
            rows.check_finite()
            self._landmarks = None
            if self.n_landmarks is not None:
                self._choose(rows, weights)
        found = X if self._landmarks is None else self._landmarks.features(X)
        state = OnlineState.empty(found.shape[1]) if begins else self._online.copy()
        used = weights.nonzero()[0]
        state.learn(found, weights, self.nu, self._random.permutation(used))
        del self._random
        for name in ("objective_", "dual_gap_", "relative_gap_", "converged_", "fit_status_"):
            if hasattr(self, name):
                delattr(self, name)
        sums, offset = state.model()
        self._store_weights(sums, -offset)
        self._online, self.offset_, self.n_iter_ = state, np.array([offset]), state.steps
        self.shape_fit_ = X.shape
        return self

    # --- predicting -------------------------------------------------------------------------------------------------

    def decision_function(self, X):
        """Scores less the offset: positive for inliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X).ravel()

    def score_samples(self, X):
        """Scores of the rows of X, the offset not taken off.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """1 for inliers, -1 for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        return np.where(self.decision_function(X) > 0, 1, -1).astype(np.intp)
