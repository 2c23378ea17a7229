"""Columns that begin near their optimum: the hinge loss over dense rows, whose weights alone are new."""

from __future__ import annotations

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.cpu.near_columns import LANES
from pegasos.backends.threads import in_parallel
from pegasos.losses import Loss
from pegasos.rows import DenseRows, Rows
from pegasos.solver.exact import ROUNDING, ExactRun, ExactSolver

COLUMNS_AT_ONCE = 10_000  # between two looks at the clock
PASSES = 8  # over the rows of a column, roughly


def takes_near_solver(rows: Rows, loss: Loss) -> bool:
    """Whether columns can be taken from near their optimum."""
    return type(rows) is DenseRows and rows.backend is cpu and loss is Loss.HINGE


class NearSolver(ExactSolver):
    """Active sets, from a state with models in its sums and dual variables beside them, which need not agree.

    A column that does not come to `tol` ends short of it; another solver has to take it.
    """

    def begin(self, run: ExactRun) -> None:
        """The rows, filled up with zeros, and what is constant in each column."""
        rows, columns = run.job.rows, run.state.columns
        n_features = run.sums.shape[1]
        self._rows = np.zeros((rows.n_rows, -(-n_features // LANES) * LANES))
        self._rows[:, : rows.n_state] = rows.X
        if rows.bias > 0:
            self._rows[:, rows.n_state] = rows.bias
        self._squares = np.einsum("ij,ij->i", self._rows, self._rows)
        self._targets = np.ascontiguousarray(run.job.labelings.T)
        self._weights = np.ascontiguousarray(run.job.weights.T)
        self._factors = np.column_stack([1.0 / (columns["lam"] * columns["n_rows"]), 1.0 / columns["n_rows"]])

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """Some of the columns that run, to their end."""
        chosen = run.running[:COLUMNS_AT_ONCE]
        columns, tol = run.state.columns, run.job.schedule.tol
        sums, steps = np.zeros((len(run.sums), self._rows.shape[1])), columns["steps"].copy()
        n_features = run.sums.shape[1]
        sums[:, :n_features] = run.sums

        def some(first: int, last: int) -> None:
            cpu.near_columns(
                chosen[first:last], self._rows, self._squares, self._targets, self._weights, columns["labeling"],
                columns["row_set"], self._factors, ROUNDING if tol is None else tol, run.alpha, sums, steps,
                run.objective, run.dual,
            )  # fmt: skip

        in_parallel(some, len(chosen), PASSES * len(chosen) * float(self._rows.size))
        run.sums[chosen] = sums[chosen, :n_features]
        columns["steps"] = steps
        run.certified_at[chosen] = steps[chosen]
        objective, zero = run.objective[chosen], columns["zero_objective"][chosen]
        least = ROUNDING if tol is None else tol * np.minimum(zero, np.maximum(objective, ROUNDING))
        run.converged[chosen] = objective - run.dual[chosen] <= least
        columns["limit"][chosen] = steps[chosen]

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Nothing to be done: each column ends with a look at its rows."""
