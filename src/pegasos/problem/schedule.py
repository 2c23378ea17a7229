"""The schedule of a solve: what to do, in which order and for how long, and the column records it begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import config

from pegasos.losses.scalar import Loss, value
from pegasos.problem.columns import Problems
from pegasos.rows import Rows
from pegasos.rules.column import COLUMN, Average, Rule


@dataclass(frozen=True)
class Schedule:
    """What to do, in which order and for how long.

    Attributes
    ----------
    sampling, seed
        See `sampling.Stream`.
    batch : int or None
        Rows of one step; None: all rows of the column.
    max_steps, max_passes
        Steps of each column, one number for all or one each, and passes over its rows; the sooner ends.
    tol : float or None
        A column is finished when its gap is at most this fraction of the zero model's objective.
    max_time : float or None
        Seconds after which the solve ends with what it has.
    average : {False, "uniform", "suffix", "weighted"}
    project : bool
    block : int or None
        Draws of one look-ahead block; None chooses. The model does not depend on it.
    certified : bool
        Whether a certificate is wanted at the end.
    count_violations : bool
    endless : bool
        More rows may follow: windows of an average double, whatever the end of this solve.
    """

    sampling: str = "shuffle"
    seed: int = 0
    batch: int | None = 1
    max_steps: float | np.ndarray = np.inf
    max_passes: float = 20
    tol: float | None = None
    max_time: float | None = None
    average: str | bool = False
    project: bool = False
    block: int | None = None
    certified: bool = True
    count_violations: bool = False
    endless: bool = False

    def draws(self, n_rows: int) -> float:
        """Draws of all steps of a column with so many rows, roughly."""
        return float(min(np.max(self.max_steps) * (self.batch or n_rows), self.max_passes * n_rows))

    def batches(self, n_rows: np.ndarray) -> np.ndarray:
        """Rows of one step of columns with so many rows."""
        return np.maximum(n_rows, 1) if self.batch is None else np.full(len(n_rows), self.batch)

    def steps(self, n_rows: np.ndarray) -> np.ndarray:
        """Steps of columns with so many rows."""
        by_passes = np.maximum(1, np.floor(self.max_passes * n_rows / self.batches(n_rows)))
        return np.minimum(np.minimum(self.max_steps, by_passes), 2.0**62).astype(np.int64)


def average_of(rule: Rule, average) -> Average:
    """The kind of average that the steps keep."""
    if average is False:
        return Average.LAST
    if rule == Rule.SDCA:
        return Average.WINDOW
    return {"uniform": Average.UNIFORM, "weighted": Average.WEIGHTED, "suffix": Average.WINDOW}[average]


def column_records(rows: Rows, problems: Problems, weights, schedule: Schedule, rule: Rule, loss: Loss) -> np.ndarray:
    """A record of `state.COLUMN` for each column, before its first step; `weights` are the normalised ones."""
    columns = readable(np.zeros(problems.n_columns, COLUMN))
    n_rows = problems.n_rows
    columns["place"] = np.arange(problems.n_columns)
    columns["labeling"], columns["row_set"] = problems.columns.T
    columns["lam"] = problems.lam
    columns["n_rows"] = n_rows
    columns["epsilon"] = problems.epsilon
    columns["zero_objective"] = zero_objectives(problems, weights, loss)
    columns["share"] = 1.0 / schedule.batches(n_rows)
    columns["radius"] = np.sqrt(columns["zero_objective"] / problems.lam)  # λ||w||² ≤ P(0) at the optimum, by duality
    columns["limit"] = schedule.steps(n_rows)
    columns["horizon"] = 2**62 if schedule.endless else columns["limit"]
    columns["shrink"] = 1.0
    columns["pass_is_feasible"] = schedule.batch is None or schedule.sampling != "replacement"
    columns["best_dual"] = -np.inf
    if loss == Loss.SQUARED_HINGE and rule == Rule.PEGASOS:
        columns["step_offset"] = _largest_curvature(rows, weights, columns) / problems.lam
    return columns


def readable(columns: np.ndarray) -> np.ndarray:
    """Column records as the loops read them: interpreted ones read the fields as attributes, too."""
    return columns.view(np.recarray) if config.DISABLE_JIT else columns


def zero_objectives(problems: Problems, weights, loss: Loss) -> np.ndarray:
    """The objective of the zero model in each column."""
    if problems.zero is not None:
        return problems.zero
    if loss != Loss.EPSILON_INSENSITIVE:
        each = 1.0 if loss == Loss.CRAMMER_SINGER else float(value(loss, 1.0, 0.0, 0.0))
        if not problems.as_given:
            return np.full(problems.n_columns, each)
        totals = weights.sum(axis=0, dtype=np.float64)[problems.columns[:, 1]]
        return each * totals / np.maximum(problems.n_rows, 1)
    zeros = []
    for labeling, row_set in problems.columns:
        short = np.maximum(np.abs(problems.labelings[:, labeling].astype(np.float64)) - problems.epsilon, 0.0)
        zeros.append(weights[:, row_set] @ short)
    return np.array(zeros) / np.maximum(problems.n_rows, 1)


def _largest_curvature(rows: Rows, weights, columns) -> np.ndarray:
    """2 max K(x, x), more where a row's weight would make its step overshoot: max(2, s) K(x, x) over each row set."""
    squares = rows.squares
    sets = [np.max(squares * np.maximum(2.0, part) * (part != 0)) for part in weights.T]
    return np.array(sets)[columns["row_set"]]


def equal_row_sets(problems: Problems) -> list[np.ndarray]:
    """Masks of the columns that share their rows."""
    known: dict[bytes, int] = {}
    sets = np.packbits(problems.row_sets, axis=0)
    kinds = np.array([known.setdefault(part.tobytes(), len(known)) for part in sets.T])[problems.columns[:, 1]]
    return [kinds == kind for kind in np.unique(kinds)]
