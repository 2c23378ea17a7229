"""Columns of few rows and features by Newton's method: each in one call, since calls would take longer than numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.threads import in_parallel
from pegasos.losses import Loss
from pegasos.problem.job import Job
from pegasos.problem.schedule import readable
from pegasos.rows import Rows, SparseRows
from pegasos.solver.exact import ROUNDING, ExactRun

MOST_PRODUCTS = 5e7  # rows times squared features: beyond that, products of matrices are faster ...
MOST_NEW_PRODUCTS = 2e6  # ... and of losses whose Gram matrix changes as a whole in each iteration
MOST_FEATURES = 128
AT_ONCE = 100  # iterations between two looks at the clock
FEW_ROWS = 0.5  # of all rows: columns of fewer get a copy of theirs
FIRST_WIDTH = 2.0  # of a margin's kink: scores of 0 lie on the parabola


def are_small(rows: Rows, loss: Loss) -> bool:
    """Whether columns of these rows are small enough."""
    size = rows.n_state + (rows.bias > 0)
    most = MOST_NEW_PRODUCTS if loss.curvature is None else MOST_PRODUCTS
    return size <= MOST_FEATURES and rows.n_rows * size**2 <= most


def first_widths(job: Job, columns: np.ndarray) -> np.ndarray:
    """The widths of parabolas in the place of kinks, where columns begin."""
    zero = columns["zero_objective"]
    return FIRST_WIDTH * (np.where(zero > 0, zero, 1.0) if job.loss.task == "regression" else np.ones(len(columns)))


@dataclass
class SmallColumns:
    """The rows of a job as the loop takes them.

    Attributes
    ----------
    widths : ndarray
        Of the parabola in the place of a kink, for each column.
    begins : ndarray of bool
        Columns that are to begin at the model of an earlier fit.
    """

    job: Job
    widths: np.ndarray
    begins: np.ndarray
    entries: tuple
    targets: np.ndarray
    weights: np.ndarray
    sparse: bool

    @staticmethod
    def of(run: ExactRun, keeps_widths: bool) -> SmallColumns | None:
        """Those of a job whose columns are small enough; None for others."""
        job = run.job
        rows = job.rows
        if not are_small(rows, job.loss):
            return None
        sparse, none = isinstance(rows, SparseRows), np.empty(0, np.int32)
        entries = (rows.X.indptr, rows.X.indices, rows.X.data) if sparse else (none, none, rows.X)
        targets, weights = np.ascontiguousarray(job.labelings.T), np.ascontiguousarray(job.weights.T)
        widths = first_widths(job, run.state.columns)
        return SmallColumns(
            job, widths, np.logical_and(run.sums.any(axis=1), keeps_widths), entries, targets, weights, sparse
        )

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """At most so many iterations of each running column."""
        self._iterate(run, run.running, int(min(most_passes, AT_ONCE)))

    def look(self, run: ExactRun, columns: np.ndarray) -> None:
        """The gaps of some columns as they stand."""
        self._iterate(run, columns, 0)

    def _entries_of(self, own: np.ndarray) -> tuple:
        """Some of the rows."""
        X = self.job.rows.X[own]
        return (X.indptr, X.indices, X.data) if self.sparse else (*self.entries[:2], X)

    def _iterate(self, run: ExactRun, columns: np.ndarray, most: int) -> None:
        rows = self.job.rows
        work = most * len(columns) * float(rows.n_rows) * rows.n_state
        in_parallel(lambda first, last: self._some(run, columns[first:last], most), len(columns), work)

    def _some(self, run: ExactRun, columns: np.ndarray, most: int) -> None:
        rows, tol, records = self.job.rows, self.job.schedule.tol, readable(run.state.columns)
        for column in columns:
            record = records[column]
            scale, n_rows = record["lam"] * record["n_rows"], int(record["n_rows"])
            model, left = run.sums[column] / scale, int(record["limit"] - record["steps"])
            targets, weights = self.targets[record["labeling"]], self.weights[record["row_set"]]
            entries, alpha, own = self.entries, run.alpha[column], None
            if n_rows < FEW_ROWS * rows.n_rows:
                own = np.flatnonzero(weights)
                entries, targets, weights, alpha = self._entries_of(own), targets[own], weights[own], alpha[own]
            taken, objective, dual, self.widths[column], ended = cpu.newton_column(
                min(most, -(-left // n_rows)), ROUNDING if tol is None else tol, record, self.widths[column],
                self.begins[column], *entries, rows.bias, targets, weights, model, run.dual[column], alpha,
                loss=self.job.loss, sparse=self.sparse,
            )  # fmt: skip
            if own is not None:
                run.alpha[column, own] = alpha
            self.begins[column] = self.begins[column] and not most
            run.sums[column] = model * scale
            run.state.columns["steps"][column] += min(left, taken * n_rows)
            run.note(column, objective, dual)
            if ended:
                run.state.columns["limit"][column] = run.state.columns["steps"][column]
