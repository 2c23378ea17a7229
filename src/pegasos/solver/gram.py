"""Many columns over few rows: dual coordinate ascent with the rows' matrix in the cache while columns stream by."""

from __future__ import annotations

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.threads import blas_threads, in_parallel
from pegasos.losses import Loss
from pegasos.rows import KernelRows, Rows
from pegasos.solver.exact import ROUNDING, ExactRun, ExactSolver, enough
from pegasos.solver.stream import Solution

MOST_ROWS = 1000  # whose kernel matrix stays in the caches of one core
STEPS_AT_ONCE = 50_000_000  # of all columns between two looks at the clock, if each takes ...
PASSES = 20  # over its rows


def takes_gram_solver(rows: Rows, loss: Loss) -> bool:
    """Whether a kernel matrix is at hand and small, and columns can be solved one by one.

    Dense rows can be taken, too; but of a linear model with little regularisation other solvers make sure to come to
    the end.
    """
    at_hand = isinstance(rows, KernelRows) and rows.matrix is not None and rows.backend is cpu
    return at_hand and rows.n_rows <= MOST_ROWS and not loss.grouped


class GramSolver(ExactSolver):
    """Dual coordinate ascent with kept scores, one column after another."""

    def begin(self, run: ExactRun) -> None:
        """The matrix, and what is kept of each column, for the coefficients of an earlier state."""
        job, columns = run.job, run.state.columns
        rows = job.rows
        self._kept = isinstance(rows, KernelRows)
        self._squares = rows.squares
        if isinstance(rows, KernelRows):
            self._matrix = np.ascontiguousarray(rows.matrix)
            if rows.bias > 0:
                self._matrix = self._matrix + self._matrix.dtype.type(rows.bias**2)
            self._alpha = np.ascontiguousarray(run.alpha)  # there it may lie beside intercepts
            self._sums = self._alpha @ self._matrix if self._alpha.any() else np.zeros(self._alpha.shape)
        else:
            self._matrix = np.ascontiguousarray(rows.X)
            if rows.bias > 0:
                constant = np.full((rows.n_rows, 1), rows.bias, self._matrix.dtype)
                self._matrix = np.hstack([self._matrix, constant])
            self._alpha, self._sums = run.alpha, run.sums
        self._targets = np.ascontiguousarray(job.labelings.T)
        self._weights = np.ascontiguousarray(job.weights.T)
        self._factors = np.column_stack([1.0 / (columns["lam"] * columns["n_rows"]), 1.0 / columns["n_rows"]])
        zero, which = np.unique(columns["zero_objective"], return_inverse=True)
        tol = job.schedule.tol
        self._goals = np.array([enough(np.inf, each, tol) for each in zero])[which.ravel()]
        self._of_objective = np.inf if tol is None else tol
        counted = run.alpha.shape if job.schedule.count_violations else (0, 0)
        self._violations = np.zeros(counted, np.int32)
        run.state.violations = self._violations.T

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """So many passes of the columns that run, of some of them at a time."""
        running = run.running
        at_once = max(blas_threads(), int(STEPS_AT_ONCE / (PASSES * run.job.rows.n_rows)))
        self._take(run, running if most_passes < np.inf else running[:at_once], most_passes)

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Look at all rows of some columns."""
        self._take(run, columns, 0.0)

    def _take(self, run: ExactRun, numbers: np.ndarray, most_passes: float) -> None:
        job, columns = run.job, run.state.columns
        steps = columns["steps"].copy()
        limits = np.minimum(columns["limit"], np.minimum(steps + most_passes * columns["n_rows"], 2.0**62)).astype(int)

        def some(first: int, last: int) -> None:
            cpu.gram_columns(
                numbers[first:last], self._matrix, self._squares, self._targets, self._weights, columns["labeling"],
                columns["row_set"], self._factors, job.problems.epsilon, self._goals, self._of_objective, limits,
                job.schedule.seed, self._alpha, self._sums, steps, self._violations, run.objective, run.dual,
                loss=job.loss, kept=self._kept,
            )  # fmt: skip

        in_parallel(some, len(numbers), len(numbers) * PASSES * job.rows.n_rows**1.5)
        columns["steps"] = steps
        run.certified_at[numbers] = steps[numbers]
        gap = run.objective[numbers] - run.dual[numbers]
        wanted = np.minimum(self._goals[numbers], np.maximum(self._of_objective * run.objective[numbers], ROUNDING))
        run.converged[numbers] = gap <= wanted
        if self.hooks.after_pass is not None:
            self.write_models(run)

    def write_models(self, run: ExactRun) -> None:
        """Write the coefficients and, with a kernel, the kept scores to the state."""
        rows = run.job.rows
        if not self._kept:
            return
        run.alpha[...] = self._alpha
        products = self._sums
        if rows.bias > 0:
            run.sums[:, -1] = rows.bias * self._alpha.sum(axis=1)
            products = products - rows.bias * run.sums[:, -1:]
        run.state.products = products.T

    def square_norms(self, run: ExactRun) -> np.ndarray:
        """||S||² of each column; with a kernel, of features that are never written down."""
        return np.einsum("ij,ij->i", self._alpha, self._sums) if self._kept else super().square_norms(run)

    def finish(self, run: ExactRun) -> Solution:
        """What is to know of all columns."""
        solution = super().finish(run)
        columns, scale = solution.state.columns, self._factors[:, 0]
        if run.job.loss.dual_is_linear:
            columns["dual_linear"] = columns["n_rows"] * run.dual + scale * columns["norm_squared"] / 2
        return solution
