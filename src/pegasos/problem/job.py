"""Job: everything that a solver is given, as one value; what follows from it is derived here, once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pegasos.losses import Loss
from pegasos.problem.columns import Problems
from pegasos.problem.schedule import Schedule, average_of, readable
from pegasos.rows import Rows
from pegasos.rules.column import COLUMN, Average, Rule


@dataclass(frozen=True)
class Job:
    """Columns to train, the rows they are trained on, and how.

    Attributes
    ----------
    rows : Rows
    problems : Problems
        The columns: targets, row sets, lam.
    schedule : Schedule
        The order of the draws, and when to stop.
    rule : Rule
        Pegasos or dual coordinate ascent.
    loss : Loss
    definite : bool
        Whether the kernel is positive semi-definite; without that there is no certificate.
    method : str
        The family of solvers, one of `pegasos.solver.solve.SOLVERS`.
    among : ndarray of int or None
        The rows that are drawn among, where these columns are some of many; None: those that some column has.
    """

    rows: Rows
    problems: Problems
    schedule: Schedule
    rule: Rule = Rule.PEGASOS
    loss: Loss = Loss.HINGE
    definite: bool = True
    method: str = "stream"
    among: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "problems", self.problems.written())
        if self.loss.grouped != (self.problems.scheme == "crammer_singer"):
            raise ValueError(f"The columns of scheme {self.problems.scheme!r} do not go with {self.loss.name.upper()}.")

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.problems.n_columns

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the rows, of mean 1 over the rows of each row set and 0 outside it."""
        return np.ascontiguousarray(self.problems.normalised_weights(self.rows.dtype))

    @property
    def labelings(self) -> np.ndarray:
        """The targets of all rows in each labeling."""
        return np.asarray(self.problems.labelings)

    @cached_property
    def used_rows(self) -> np.ndarray:
        """Rows that some column has; the others are as if they were not there."""
        if self.among is not None:
            return self.among
        return np.flatnonzero(self.problems.row_sets.any(axis=1))

    @cached_property
    def columns_per_row(self) -> float:
        """Columns that a used row belongs to, on average."""
        return self.problems.n_rows.sum() / max(1, self.used_rows.size)

    @cached_property
    def average(self) -> Average:
        """The kind of average that the steps keep."""
        return average_of(self.rule, self.schedule.average)

    @property
    def small_steps(self) -> bool:
        """Whether batches are small enough for the stream of draws to be cut into blocks of many steps."""
        batch = self.schedule.batch
        return batch is not None and batch <= self.rows.largest_block_batch

    @cached_property
    def on_device(self) -> tuple[Any, Any]:
        """Labelings and weights on the device of the rows."""
        backend = self.rows.backend
        return backend.to_device(self.problems.labelings), backend.to_device(self.weights)

    @property
    def may_diverge(self) -> bool:
        """Whether steps may lead to ever larger numbers: neither the kernel nor the loss bounds them."""
        return not self.definite and not self.loss.pull_is_bounded

    def groups(self) -> list[np.ndarray]:
        """Masks of the columns that can share a stream: batches of different row sets do not line up."""
        if self.schedule.batch is None or self.schedule.batch == 1:
            return [np.ones(self.n_columns, bool)]
        return self.problems.equal_row_sets()

    def column_records(self) -> np.ndarray:
        """A record of `COLUMN` for each column, before its first step."""
        problems, schedule = self.problems, self.schedule
        columns, n_rows = readable(np.zeros(self.n_columns, COLUMN)), problems.n_rows
        columns["place"] = np.arange(self.n_columns)
        columns["labeling"], columns["row_set"] = problems.columns.T
        columns["lam"] = problems.lam
        columns["n_rows"] = n_rows
        columns["epsilon"] = problems.epsilon
        columns["zero_objective"] = self.zero_objectives()
        columns["share"] = 1.0 / schedule.batches(n_rows)
        columns["radius"] = np.sqrt(columns["zero_objective"] / problems.lam)  # λ||w||² ≤ P(0) at the optimum
        columns["limit"] = schedule.steps(n_rows)
        columns["horizon"] = 2**62 if schedule.endless else columns["limit"]
        columns["shrink"] = 1.0
        columns["pass_is_feasible"] = schedule.batch is None or schedule.meets_all_rows
        columns["best_dual"] = -np.inf
        if not self.loss.pull_is_bounded and self.rule == Rule.PEGASOS:
            columns["step_offset"] = self._largest_curvature()[columns["row_set"]] / problems.lam
        return columns

    def zero_objectives(self) -> np.ndarray:
        """The objective of the zero model in each column."""
        return zero_objectives(self.problems, self.loss, lambda: self.weights)

    def _largest_curvature(self) -> np.ndarray:
        """2 max K(x, x) over each row set; max(2, s) K(x, x) where a row's weight s would make its step overshoot."""
        squares = self.rows.squares
        return np.array([np.max(squares * np.maximum(2.0, part) * (part != 0)) for part in self.weights.T])


def zero_objectives(problems: Problems, loss: Loss, weights) -> np.ndarray:
    """The objective of the zero model in each column; ``weights()`` gives normalised weights if they are needed."""
    if problems.zero is not None:
        return problems.zero
    if loss.task == "classification":
        each = 1.0 if loss.grouped else float(loss.value(1.0, 0.0, 0.0))
        if not problems.as_given:
            return np.full(problems.n_columns, each)
        totals = weights().sum(axis=0, dtype=np.float64)[problems.columns[:, 1]]
        return each * totals / np.maximum(problems.n_rows, 1)
    normalised, zeros = weights(), []
    for labeling, row_set in problems.columns:
        short = np.maximum(np.abs(problems.labelings[:, labeling].astype(np.float64)) - problems.epsilon, 0.0)
        zeros.append(normalised[:, row_set] @ short**loss.power)
    return np.array(zeros) / np.maximum(problems.n_rows, 1)
