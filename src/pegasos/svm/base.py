"""What the kernel machines share: parameters, checks of rows, fitted attributes in LIBSVM's layout, scores."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _num_samples, check_consistent_length, column_or_1d, validate_data

from pegasos.backends.threads import blas_limited
from pegasos.estimators.base import Saving
from pegasos.estimators.inputs import check_fitted, is_plain
from pegasos.estimators.predict import looked_up_in_parts, scores_in_parts
from pegasos.estimators.validation import check_numbers, warn_unconverged
from pegasos.estimators.warm_start import unharmed_by_errors
from pegasos.kernels import canonical, lowest_exponent, make_kernel
from pegasos.svm import layout
from pegasos.svm.formulations import RowModel, model_of
from pegasos.svm.training import NOT_FINITE, TrainingRows, checked_gamma, checked_weights, outcome_of, solved

TERMINATED = (
    "Solver terminated early (max_iter={}).  Consider pre-processing your data with StandardScaler or MinMaxScaler."
)
FEW_ROWS = 4  # whose kernel values are summed up class by class
DOUBLE = (np.dtype(np.float64),)
LEAST_VALUE = float(np.exp(lowest_exponent(np.float64)))


class KernelMachine(Saving):
    """A support vector machine by its dual, with an intercept that is not penalised.

    A class says in `_problems` which duals its parameters ask for, and in `_model_of` what their solutions mean.
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "shrinking": ["boolean"],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "random_state": ["random_state"],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    verbose: Any
    support_vectors_: Any
    _dual_coef_: Any
    n_iter_: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # --- fitting ----------------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    @unharmed_by_errors
    def fit(self, X, y, sample_weight=None):
        """Fit the machine to the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For "precomputed" the kernel matrix (n_samples, n_samples); for a callable kernel whatever it takes.
        y : array-like of shape (n_samples,)
            Labels of classes, or targets of regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        check_numbers(self)
        self._random = check_random_state(getattr(self, "random_state", None))
        X, y = self._checked(X, y)
        y = self._validate_targets(y)
        self._warn_of_deprecated()
        weights = self._checked_shapes(X, y, sample_weight)
        self._train(self._training_rows(X), y, weights, started)
        del self._random
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        return self

    def _checked(self, X, y):
        """Rows and targets of a fit."""
        sparse = issparse(X)
        if sparse and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        self._sparse = sparse and not callable(self.kernel)
        if callable(self.kernel):
            check_consistent_length(X, y)
            return X, y
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", accept_sparse="csr", accept_large_sparse=False
        )  # fmt: skip
        return canonical(X), y

    def _validate_targets(self, y):
        """Targets of regression; classifiers find their classes."""
        return column_or_1d(y, warn=True).astype(np.float64, copy=False)

    def _warn_of_deprecated(self) -> None:
        """Warn of parameters that scikit-learn gives up."""

    def _checked_shapes(self, X, y, sample_weight) -> np.ndarray:
        """The weights of the rows, 0 where they are left out; raise where sizes do not fit together."""
        n_rows = _num_samples(X)
        if n_rows != y.shape[0]:
            raise ValueError(
                f"X and y have incompatible shapes.\nX has {n_rows} samples, but y has {y.shape[0]}."
            )  # fmt: skip
        if self.kernel == "precomputed" and n_rows != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return checked_weights(sample_weight, n_rows)

    def _training_rows(self, X) -> TrainingRows:
        """The rows as the solver sees them, with the kernel whose parameters are settled."""
        matrix = callable(self.kernel)
        self._gamma = 0.0 if matrix or self.kernel == "precomputed" else checked_gamma(self.gamma, X)
        self._rows_of_fit = X if matrix else None
        rows = self._computed(X) if matrix else X
        if matrix and rows.shape != (_num_samples(X),) * 2:
            raise ValueError(
                f"The kernel function gave a matrix of shape {rows.shape} for {_num_samples(X)} rows; X.shape[0] "
                "should be equal to X.shape[1] of it, and to the number of rows."
            )
        name = "precomputed" if matrix else self.kernel
        self._kernel = make_kernel(name, gamma=float(self._gamma), degree=self.degree, coef0=self.coef0)
        return TrainingRows(rows, self._kernel)

    def _problems(self, y: np.ndarray, weights: np.ndarray) -> list:
        """The duals, over the rows of positive weight."""
        raise NotImplementedError

    _model_of = staticmethod(model_of)  # what a solution of a problem means

    def _train(self, rows: TrainingRows, y: np.ndarray, weights: np.ndarray, started: float) -> Any:
        """Solve the duals, and set the fitted attributes; what is returned is for classes that go on from it."""
        problems = self._problems(y, weights)
        solutions = solved(self, rows, problems, started)
        models = [self._model_of(problem, solution) for problem, solution in zip(problems, solutions, strict=True)]
        self._store_model(rows, models[0])
        self._store_outcome(rows, problems, models, solutions)
        self.n_iter_ = int(solutions[0].steps)
        return models[0]

    def _store_model(self, rows: TrainingRows, model: RowModel) -> None:
        """The fitted attributes of a machine of one dual."""
        self._store(rows, layout.of_one(model), np.array([model.intercept]))

    def _store(self, rows: TrainingRows, support: layout.Support, intercept: np.ndarray) -> None:
        """The fitted attributes that predictions are made of."""
        if not (np.isfinite(support.coefficients).all() and np.isfinite(intercept).all()):
            raise ValueError(NOT_FINITE)
        coefficients: Any = support.coefficients
        self.__dict__.pop("compression_", None)
        self.support_ = support.rows
        self.support_vectors_ = np.empty((0, 0)) if rows.kernel.is_precomputed else rows.rows[support.rows]
        if self._sparse:
            coefficients = layout.as_sparse(coefficients, rows.rows)
        self._n_support = support.counts
        self.dual_coef_ = self._dual_coef_ = coefficients
        self.intercept_, self._intercept_ = intercept, intercept.copy()
        self._probA = self._probB = np.empty(0)

    def _store_outcome(self, rows: TrainingRows, problems: list, models: list[RowModel], solutions: list) -> None:
        """The fitted attributes that say how it ended, with scikit-learn's warning where `max_iter` ended it."""
        for name, value in outcome_of(rows, problems, [model.scale for model in models], solutions).items():
            setattr(self, name, value)
        reached = self.max_iter != -1 and any(solution.steps >= self.max_iter for solution in solutions)
        if reached and self.fit_status_:
            warn_unconverged(TERMINATED.format(self.max_iter))

    # --- predicting -------------------------------------------------------------------------------------------------

    def _computed(self, X) -> np.ndarray:
        """Values of a callable kernel against the training rows."""
        values = self.kernel(X, self._rows_of_fit)
        return np.asarray(values.toarray() if issparse(values) else values, np.float64, order="C")

    def _validate_for_predict(self, X):
        check_fitted(self, "support_vectors_")
        if not callable(self.kernel) and not is_plain(self, X, DOUBLE):
            X = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, order="C", accept_large_sparse=False, reset=False
            )
        if self._sparse:
            X = canonical(X if issparse(X) else csr_array(X))
        elif issparse(X) and not callable(self.kernel):
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        if self.kernel == "precomputed":
            self._check_width(X)
        counted = self.support_vectors_.shape[0]
        if not self._sparse and self.support_vectors_.size and self._n_support.sum() != counted:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _check_width(self, X) -> None:
        if X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of samples at training"
                " time"
            )

    def _scores(self, X) -> np.ndarray:
        """Scores of the rows of X, one column for each dual; LIBSVM's signs."""
        X = self._validate_for_predict(X)
        if callable(self.kernel):
            X = np.atleast_2d(self._computed(X))
            self._check_width(X)
        coefficients = self._dual_coef_.toarray() if issparse(self._dual_coef_) else self._dual_coef_
        if self._kernel.is_linear:
            weights = self._weights_of(coefficients)
            return safe_sparse_dot(X, weights.T, dense_output=True) + self._intercept_
        return self._sums(lambda some, values: self._sum_of(X, some, values), coefficients)

    def _sums(self, scores_of, coefficients) -> np.ndarray:
        """Scores from kernel sums over some of the support vectors."""
        return scores_of(slice(None), coefficients.T) + self._intercept_

    def _sum_of(self, X, some: slice, coefficients: np.ndarray | None) -> np.ndarray | None:
        """K(X, support vectors[some]) @ coefficients; without these the values themselves, None of many rows."""
        if coefficients is None:
            few = X.shape[0] <= FEW_ROWS and not (self._kernel.is_precomputed or self._sparse)
            return self._few_values(X) if few else None
        if self._kernel.is_precomputed:
            return looked_up_in_parts(X, self.support_[some], coefficients)
        sums = scores_in_parts(self._kernel, X, self.support_vectors_[some], np.ascontiguousarray(coefficients))
        if self._kernel.stationary:  # its values do not underflow, but stay at the least: their sums are to be 0
            sums[np.abs(sums) <= LEAST_VALUE * np.abs(coefficients).sum(axis=0)] = 0.0
        return sums

    def _few_values(self, X) -> np.ndarray:
        """Kernel values of a few dense rows; what does not underflow but stays at the least is to be 0."""
        with blas_limited(1):
            values = self._kernel(X, self.support_vectors_)
        if self._kernel.stationary:
            values[values <= LEAST_VALUE] = 0.0
        return values

    def _weights_of(self, coefficients):
        """Weights of the features of a linear kernel."""
        return safe_sparse_dot(coefficients, self.support_vectors_)

    @property
    def coef_(self):
        """Weights of the features, for ``kernel="linear"`` only; read-only, since predictions do not read it."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        if not hasattr(self, "support_vectors_"):
            raise AttributeError(f"{type(self).__name__} has no coef_ before it is fitted")
        coef = self._weights_of(self.dual_coef_)
        (coef.data if issparse(coef) else coef).flags.writeable = False
        return coef

    @property
    def n_support_(self):
        """Support vectors, of each class where there are classes."""
        if not hasattr(self, "_n_support"):
            raise AttributeError(f"{type(self).__name__} has no n_support_ before it is fitted")
        return self._n_support


def without(*names: str) -> dict:
    """The parameters that kernel machines have, without those of these names."""
    return {name: kinds for name, kinds in KernelMachine._parameter_constraints.items() if name not in names}
