"""What the estimators share: parameters → kernel, rows and schedule; kernel scores; what a later version brings."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions

from pegasos.kernels import NAMES, Kernel, spread

DEFAULT_CACHE_MB = 2000
DEFAULT_PASSES = 20
DEFAULT_PASSES_WITH_TOL = 1000
BYTES_PER_PREDICTION = 64e6


class NotYet(NotImplementedError, AttributeError):
    """A method that a later version brings: absent for `hasattr`, clear for whoever calls it."""


class PegasosBase(BaseEstimator):
    """Parameters that all estimators have, and what follows from them."""

    _parameter_constraints: dict = {
        "kernel": [StrOptions(set(NAMES)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "solver": [StrOptions({"pegasos", "sdca"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_passes": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "sampling": [StrOptions({"shuffle", "replacement", "cyclic"})],
        "average": [StrOptions({"uniform", "suffix", "weighted"}), Options(bool, {False})],
        "project": ["boolean"],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "cache_size": [Interval(Real, 0, None, closed="left"), None],
        "device": [StrOptions({"auto", "cpu", "cuda"})],
        "checkpoint": [str, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _resolved_kernel(self, X, weights) -> Kernel:
        name = "callable" if callable(self.kernel) else self.kernel
        gamma = self.gamma
        if gamma == "auto":
            gamma = 1.0 / X.shape[1]
        elif gamma == "scale":
            variance = spread(X, weights) if name in ("rbf", "poly", "sigmoid", "laplacian") else 0.0
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        function = self.kernel if name == "callable" else None
        return Kernel(name, float(gamma), self.degree, self.coef0, function, dict(self.kernel_params or {}))

    def _bias(self) -> float:
        wanted = self.kernel == "linear" if self.fit_intercept == "auto" else self.fit_intercept
        return float(self.intercept_scaling) if wanted else 0.0

    def _rule(self):
        from pegasos.step import Rule

        return Rule.SDCA if self.solver == "sdca" else Rule.PEGASOS

    def _schedule(self, problems):
        from pegasos.solver import Schedule

        n_rows = int(problems.n_rows.min())
        if self.batch_size != "all" and self.batch_size > n_rows:
            of = " of the smallest pair" if problems.scheme == "ovo" else ""
            raise ValueError(f"batch_size={self.batch_size} is more than the {n_rows} rows{of} to train on.")
        passes = self.max_passes
        if passes is None:
            default = DEFAULT_PASSES if self.tol is None else DEFAULT_PASSES_WITH_TOL
            passes = default if self.max_iter is None else np.inf
        return Schedule(
            sampling=self.sampling,
            seed=check_random_state(self.random_state).randint(np.iinfo(np.int32).max),
            batch=None if self.batch_size == "all" else int(self.batch_size),
            max_steps=np.inf if self.max_iter is None else self.max_iter,
            max_passes=passes,
            tol=self.tol,
            max_time=self.max_time,
            average=self.average,
            project=bool(self.project),
            count_violations=self.kernel != "linear",
        )

    def _rows(self, X, squares, kernel, bias, schedule):
        from pegasos.rows import DenseRows, KernelRows, SparseRows

        if kernel.name == "linear":
            return (SparseRows if hasattr(X, "indptr") else DenseRows)(X, bias, squares)
        cache_bytes = 1e6 * (DEFAULT_CACHE_MB if self.cache_size is None else self.cache_size)
        draws = min(schedule.max_steps, schedule.max_passes * X.shape[0]) * (schedule.batch or X.shape[0])
        return KernelRows(X, kernel, bias, cache_bytes, draws, squares)

    def _callback(self):
        if not self.verbose:
            return None
        return lambda record: print(
            f"[{type(self).__name__}] step {record['step']}: mean objective {record['objective']:.6g}, "
            f"largest gap {record['gap']:.3g}, {record['seconds']:.1f} s"
        )

    def _warn_if_missed(self, solution) -> None:
        if solution.timed_out and solution.steps.min() == 0:
            warnings.warn("max_time ended the fit before every column took a step.", ConvergenceWarning, stacklevel=3)
        found = solution.certificate
        if self.tol is not None and (worst := (found.gap / found.zero).max()) > self.tol:
            warnings.warn(
                f"The gap reached {worst:.3g}, above tol={self.tol:g}, after {self.n_iter_} steps. Increase max_passes "
                "or max_iter, raise lam (lower C), or use solver='sdca'.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _kernel_scores(self, X) -> np.ndarray:
        scores = np.zeros((X.shape[0], len(self.dual_coef_)), self.dual_coef_.dtype)
        if not self.support_.size:
            return scores
        at_once = int(np.clip(BYTES_PER_PREDICTION / (self.support_.size * scores.itemsize), 1, 4096))
        for first in range(0, X.shape[0], at_once):
            rows = slice(first, first + at_once)
            scores[rows] = self._kernel(X[rows], self.support_vectors_) @ self.dual_coef_.T
        return scores

    @property
    def partial_fit(self):
        """Online learning; comes in a later version."""
        raise NotYet("partial_fit is not implemented yet; it comes in a later version.")

    @property
    def save(self):
        """Model files; come in a later version."""
        raise NotYet("save is not implemented yet; it comes in a later version. Use joblib.dump meanwhile.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
