"""One column of the dual of a kernel machine, when it is done, and where it ended, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class DualProblem:
    """One column of the dual of a kernel machine.

    Minimise ½ Σ βᵢβⱼK(rowsᵢ, rowsⱼ) - Σ linearᵢβᵢ + ε Σ|βᵢ| + ½ Σ ridgeᵢβᵢ² over low ≤ β ≤ high, where the sum of β
    over each segment stays what it is at the start.

    Attributes
    ----------
    rows : ndarray of intp, shape (n,)
        The row of each variable, rising within each segment; those of different segments may be the same.
    linear, low, high : ndarray of float64, shape (n,)
    epsilon : float
    ridge : ndarray of float64, shape (n,), or None
        None: 0.
    segments : sequence of int or None
        Where segments begin, and the end of the last one: ``(0, n)`` keeps one sum. None: no sum is kept.
    start : ndarray of float64, shape (n,), or None
        Feasible values to begin with; None: 0.
    """

    rows: np.ndarray
    linear: np.ndarray
    low: np.ndarray
    high: np.ndarray
    epsilon: float = 0.0
    ridge: np.ndarray | None = None
    segments: tuple[int, ...] | None = None
    start: np.ndarray | None = None


class Bounds(NamedTuple):
    """What a look at all variables of a column has found.

    `objective` is what is minimised; minus that is the dual objective, and the primal lies `gap` above it.
    """

    objective: float
    gap: float
    violation: float
    intercepts: np.ndarray

    @property
    def primal(self) -> float:
        """The primal objective of the scores and the intercepts."""
        return self.gap - self.objective


@dataclass(frozen=True)
class Stop:
    """When a column is done; of several conditions the first that holds ends it.

    Attributes
    ----------
    violation : float or None
        Largest violation of the conditions of an optimum, m(α) - M(α) in the words of LIBSVM.
    wanted_gap : callable or None
        ``wanted_gap(column, primal)`` is the gap at which the column of this number is done.
    most_steps : float
    shrinking : bool
        Whether variables that cannot move are set aside until the others have come to an end.
    """

    violation: float | None = 1e-3
    wanted_gap: Callable[[int, float], float] | None = None
    most_steps: float = np.inf
    shrinking: bool = True


@dataclass
class DualSolution:
    """Where a column ended.

    Attributes
    ----------
    beta : ndarray of float64
    intercepts : ndarray of shape (n_segments,)
        What the score of a segment's rows is off by, Kβ + intercept being the model's; one 0 where no sum is kept.
    objective : float
        What `DualProblem` minimises.
    gap : float
        How far the primal objective lies above minus `objective`: the optimum is between.
    violation : float
        Of the conditions of an optimum.
    steps : int
    converged : bool
    scores : ndarray of float64
        Kβ of each variable's row.
    """

    beta: np.ndarray
    intercepts: np.ndarray
    objective: float
    gap: float
    violation: float
    steps: int
    converged: bool
    scores: np.ndarray

    @property
    def primal(self) -> float:
        """The primal objective of the model."""
        return self.gap - self.objective
