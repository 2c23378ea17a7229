"""Training kernel machines: rows with their kernel, the solve of all duals at once, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from pegasos.backends.threads import threads_limited
from pegasos.estimators.predict import scores_in_parts
from pegasos.estimators.progress import progress_shown
from pegasos.estimators.validation import warn_unconverged
from pegasos.kernels import Kernel, scale_gamma, squared_norms
from pegasos.svm.formulations import RowModel

NOT_FINITE = (
    "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be"
    " preprocessed."
)
LARGEST = float(np.finfo(np.float32).max)  # of the kernel values that the solver keeps
SAMPLE = 200  # rows whose kernel matrix is looked at
INDEFINITE = 1e-6  # a negative eigenvalue as a part of the largest; kernel values are rounded to float32


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit, or their kernel matrix, and the kernel."""

    rows: Any
    kernel: Kernel

    @cached_property
    def largest(self) -> float:
        """The largest K(x, x)."""
        return float(np.max(self.kernel.diagonal(self.rows), initial=0.0))

    @cached_property
    def definite(self) -> bool:
        """Whether the kernel is positive semi-definite, as far as its class, or a sample of its values, says."""
        if self.kernel.definite is not None:
            return self.kernel.definite
        places = np.unique(np.linspace(0, self.rows.shape[0] - 1, SAMPLE).astype(int))
        values = self.kernel(self.rows[places], places if self.kernel.is_precomputed else self.rows[places])
        eigenvalues = eigvalsh(values)
        return bool(eigenvalues[0] >= -INDEFINITE * np.abs(eigenvalues).max())

    def check_finite(self) -> None:
        """Raise ValueError where kernel values overflow."""
        squares = None
        if self.kernel.from_features:
            squares = squared_norms(self.rows)
            if not (squares < LARGEST**2).all():
                raise ValueError(NOT_FINITE)
        if not (np.abs(self.kernel.diagonal(self.rows, squares)) < LARGEST).all():
            raise ValueError(NOT_FINITE)


def checked_gamma(gamma, X) -> float:
    """The number that `gamma` stands for on these rows."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return gamma
    with np.errstate(over="ignore", invalid="ignore"):
        found = scale_gamma(X)
    if not 0 < found < np.inf:
        raise ValueError(NOT_FINITE)
    return found


def checked_weights(sample_weight, n_rows: int) -> np.ndarray:
    """Weights in float64, 0 for rows that are left out; at least one row is not."""
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weights.shape} vs {n_rows} rows; give one weight a row."
        )
    if not np.isfinite(weights).all():
        raise ValueError("Input sample_weight contains NaN or infinity.")
    weights = np.maximum(weights, 0.0)
    if not weights.any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return weights


def solved(machine, rows: TrainingRows, problems: list, started: float) -> list:
    """The solutions of all problems, over one cache of kernel values."""
    from pegasos.rows.row_cache import DENSE_FROM, KernelRowCache  # here: Numba is imported when a fit first needs it
    from pegasos.solver.clock import Clock
    from pegasos.solver.dual_problem import Stop
    from pegasos.solver.dual_run import solve_duals
    from pegasos.solver.monitor import Hooks

    rows.check_finite()
    most_steps = np.inf if machine.max_iter == -1 else machine.max_iter
    stop = Stop(machine.tol, most_steps=most_steps, shrinking=bool(machine.shrinking))
    clock = Clock(machine.max_time, started)
    with (
        threads_limited(machine.n_jobs),
        progress_shown(type(machine).__name__, machine.verbose) as (record, progress),
    ):
        X = rows.rows  # CSR rows that the cache would multiply as dense ones take the way of dense ones from the start
        if hasattr(X, "indptr") and X.nnz >= DENSE_FROM * float(X.shape[0]) * X.shape[1]:
            X = X.toarray()
        cache = KernelRowCache(X, rows.kernel, 1e6 * machine.cache_size)
        solutions = solve_duals(problems, cache, stop, clock, Hooks(record, progress))
        if record is not None:
            record(
                {
                    "step": max(solution.steps for solution in solutions),
                    "objective": float(np.mean([solution.primal for solution in solutions])),
                    "gap": float(max(solution.gap for solution in solutions)),
                    "seconds": clock.seconds,
                }
            )
    _warn_if_cut(clock, solutions)
    return solutions


def _warn_if_cut(clock, solutions: list) -> None:
    """Warn where Ctrl-C or the time limit ended the solve."""
    if clock.interrupted or clock.timed_out:
        what = "Interrupted" if clock.interrupted else "max_time ended the fit"
        worst = max(solution.violation for solution in solutions)
        message = f"{what}: the model is the one reached; it violates the conditions of an optimum by {worst:.3g}."
        warn_unconverged(message)


def held_out_scores(rows: TrainingRows, model: RowModel, held_out: np.ndarray) -> np.ndarray:
    """Scores of some rows of the fit that a model was not trained on."""
    kept = np.flatnonzero(model.coefficients)
    support = model.rows[kept]
    if rows.kernel.is_precomputed:
        return rows.rows[np.ix_(held_out, support)] @ model.coefficients[kept] + model.intercept
    scores = scores_in_parts(rows.kernel, rows.rows[held_out], rows.rows[support], model.coefficients[kept, None])
    return scores.ravel() + model.intercept


def outcome_of(rows: TrainingRows, problems: list, scales: list[float], solutions: list) -> dict[str, Any]:
    """The fitted attributes that say how the duals ended; `scales` multiply objectives."""
    gaps = np.array([max(solution.gap, 0.0) if rows.definite else np.nan for solution in solutions])
    units = np.array([_unit(problem, rows.largest) for problem in problems])
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(units > 0, gaps / units, gaps)
    return {
        "fit_status_": int(not all(solution.converged for solution in solutions)),
        "objective_": np.array([solution.primal for solution in solutions]) * scales,
        "dual_gap_": gaps * scales,
        "relative_gap_": relative,
        "converged_": np.array([solution.converged for solution in solutions]),
    }


def _unit(problem, largest: float) -> float:
    """What a gap is a fraction of: the objective of the zero model, if C bounds the duals.

    Where sums of them are given, what ½ ||w||² can be at most for kernel values up to the `largest`, or what the spread
    of the targets costs.
    """
    if problem.start is None:
        if not np.isfinite(problem.high).all():
            return np.inf
        above = np.maximum(problem.linear - problem.epsilon, 0.0) @ problem.high
        return float(above + np.minimum(problem.linear + problem.epsilon, 0.0) @ problem.low)
    sizes = np.abs(problem.start)
    if problem.linear.any():
        return float(sizes @ np.abs(problem.linear - problem.linear.mean()))
    return 0.5 * largest * float(sizes.sum()) ** 2
