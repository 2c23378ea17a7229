"""The schedule of a solve: what to do, in which order and for how long, and the column records it begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.problems import Problems
from pegasos.state import COLUMN
from pegasos.step import Average, Rule


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
        Steps of each column, and passes over its rows; the sooner ends.
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
    """

    sampling: str = "shuffle"
    seed: int = 0
    batch: int | None = 1
    max_steps: float = np.inf
    max_passes: float = 20
    tol: float | None = None
    max_time: float | None = None
    average: str | bool = False
    project: bool = False
    block: int | None = None
    certified: bool = True
    count_violations: bool = False


def average_of(rule: Rule, average) -> Average:
    """The kind of average that the steps keep."""
    if average is False:
        return Average.LAST
    if rule == Rule.SDCA:
        return Average.WINDOW
    return {"uniform": Average.UNIFORM, "weighted": Average.WEIGHTED, "suffix": Average.WINDOW}[average]


def column_records(problems: Problems, schedule: Schedule) -> np.ndarray:
    """A record of `state.COLUMN` for each column, before its first step."""
    columns = np.zeros(problems.n_columns, COLUMN)
    n_rows = problems.n_rows
    batch = n_rows if schedule.batch is None else np.full(len(n_rows), schedule.batch)
    columns["place"] = np.arange(problems.n_columns)
    columns["labeling"], columns["row_set"] = problems.columns.T
    columns["lam"] = problems.lam
    columns["n_rows"] = n_rows
    columns["share"] = 1.0 / batch
    columns["radius"] = 1.0 / np.sqrt(problems.lam)
    steps = np.minimum(schedule.max_steps, np.maximum(1, np.floor(schedule.max_passes * n_rows / batch)))
    columns["limit"] = np.minimum(steps, 2.0**62).astype(np.int64)
    columns["shrink"] = 1.0
    columns["best_dual"] = -np.inf
    return columns


def equal_row_sets(problems: Problems) -> list[np.ndarray]:
    """Masks of the columns that share their rows."""
    _, kinds = np.unique(problems.row_sets, axis=1, return_inverse=True)
    kinds = kinds.ravel()[problems.columns[:, 1]]
    return [kinds == kind for kind in np.unique(kinds)]
