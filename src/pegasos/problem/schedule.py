"""The schedule of a solve: the order of its draws, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.backends.compiled import interpreted
from pegasos.problem.sampling import INDEPENDENT
from pegasos.rules.column import Average, Rule


@dataclass(frozen=True)
class Schedule:
    """The order of the draws, the limits, and what the steps keep.

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

    @property
    def meets_all_rows(self) -> bool:
        """Whether a pass meets each row once."""
        return self.sampling not in INDEPENDENT

    def draws(self, n_rows: int) -> float:
        """Draws of all steps of a column with so many rows, roughly."""
        return min(float(np.max(self.max_steps)) * (self.batch or n_rows), float(self.max_passes) * n_rows)

    def batches(self, n_rows: np.ndarray) -> np.ndarray:
        """Rows of one step of columns with so many rows."""
        return np.maximum(n_rows, 1) if self.batch is None else np.full(len(n_rows), self.batch)

    def steps(self, n_rows: np.ndarray) -> np.ndarray:
        """Steps of columns with so many rows."""
        by_passes = np.maximum(1, np.floor(float(self.max_passes) * n_rows / self.batches(n_rows)))
        return np.minimum(np.minimum(np.asarray(self.max_steps, np.float64), by_passes), 2.0**62).astype(np.int64)


def average_of(rule: Rule, average) -> Average:
    """The kind of average that the steps keep."""
    if average is False:
        return Average.LAST
    if rule == Rule.SDCA:
        return Average.WINDOW
    return {"uniform": Average.UNIFORM, "weighted": Average.WEIGHTED, "suffix": Average.WINDOW}[average]


def readable(columns: np.ndarray) -> np.ndarray:
    """Column records as the loops read them: interpreted ones read the fields as attributes, too."""
    return columns.view(np.recarray) if interpreted() else columns
