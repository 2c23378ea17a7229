"""The duals of LIBSVM's machines as problems of one solve, and the models that their solutions are.

Each is over signed dual variables β, one for each row (two in ν-regression), with f(x) = Σ β K(x, ·) + b. Weights of
rows multiply C; in the ν-machines, and in one-class, they are the bounds themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:  # it needs Numba, which predicting does without
    from pegasos.solver.dual_problem import DualProblem, DualSolution


class RowModel(NamedTuple):
    """f(x) = Σ coefficients K(x, rows) + intercept, and by what the objective of its dual has to be multiplied."""

    rows: np.ndarray
    coefficients: np.ndarray
    intercept: float
    scale: float = 1.0


def c_classification(rows: np.ndarray, signs: np.ndarray, bounds: np.ndarray) -> DualProblem:
    """½ β'Kβ - Σ y β where 0 ≤ y β ≤ bounds and Σ β = 0."""
    order = np.argsort(rows, kind="stable")
    rows, signs, bounds = rows[order], signs[order], bounds[order]
    return _problem(rows, signs, np.minimum(0.0, signs * bounds), np.maximum(0.0, signs * bounds))


def nu_classification(rows: np.ndarray, signs: np.ndarray, weights: np.ndarray, nu: float) -> DualProblem:
    """½ β'Kβ where 0 ≤ y β ≤ weights, and those of each class sum to ±ν Σ weights / 2."""
    order = np.lexsort((rows, -signs))
    rows, signs, weights = rows[order], signs[order], weights[order]
    half, start = nu * weights.sum() / 2, np.zeros(len(rows))
    for sign in (1.0, -1.0):
        own = signs == sign
        start[own] = sign * filled(weights[own], half)
    low, high = np.minimum(0.0, signs * weights), np.maximum(0.0, signs * weights)
    return _problem(
        rows, np.zeros(len(rows)), low, high, segments=(0, np.count_nonzero(signs > 0), len(rows)), start=start
    )


def epsilon_regression(rows: np.ndarray, targets: np.ndarray, bounds: np.ndarray, epsilon: float) -> DualProblem:
    """½ β'Kβ - Σ y β + ε Σ|β| where |β| ≤ bounds and Σ β = 0."""
    return _problem(rows, targets, -bounds, bounds, epsilon=epsilon)


def nu_regression(rows: np.ndarray, targets: np.ndarray, bounds: np.ndarray, nu: float) -> DualProblem:
    """½ (α-α*)'K(α-α*) - Σ y (α-α*) where 0 ≤ α, α* ≤ bounds and Σ α = Σ α* = ν Σ bounds / 2: α first, then -α*."""
    start = filled(bounds, nu * bounds.sum() / 2)
    zeros = np.zeros(len(rows))
    return _problem(
        np.concatenate([rows, rows]),
        np.concatenate([targets, targets]),
        np.concatenate([zeros, -bounds]),
        np.concatenate([bounds, zeros]),
        segments=(0, len(rows), 2 * len(rows)),
        start=np.concatenate([start, -start]),
    )


def one_class(rows: np.ndarray, weights: np.ndarray, nu: float) -> DualProblem:
    """½ β'Kβ where 0 ≤ β ≤ weights and Σ β = ν Σ weights."""
    zeros = np.zeros(len(rows))
    return _problem(rows, zeros, zeros, weights, start=filled(weights, nu * weights.sum()))


def model_of(problem: DualProblem, solution: DualSolution) -> RowModel:
    """The model of a machine whose margin, or whose errors, have a fixed unit."""
    return RowModel(problem.rows, solution.beta, float(np.mean(solution.intercepts)))


def nu_classifier_of(problem: DualProblem, solution: DualSolution) -> RowModel:
    """... of ν-classification: divided by its margin ρ, which makes it one of C-classification with C = 1/ρ."""
    of_positive, of_negative = solution.intercepts
    margin = (of_negative - of_positive) / 2
    with np.errstate(divide="ignore", invalid="ignore"):  # points of both classes at one place have no margin
        intercept = np.divide((of_positive + of_negative) / 2, margin)
        return RowModel(problem.rows, solution.beta / margin, float(intercept), 1.0 / float(margin) ** 2)


def nu_regressor_of(problem: DualProblem, solution: DualSolution) -> RowModel:
    """... of ν-regression: α - α*."""
    n_rows = len(problem.rows) // 2
    both = solution.beta[:n_rows] + solution.beta[n_rows:]
    return RowModel(problem.rows[:n_rows], both, float(np.mean(solution.intercepts)))


def filled(bounds: np.ndarray, total: float) -> np.ndarray:
    """Values within 0 and the bounds that sum to a total, the first ones at their bounds."""
    before = np.concatenate([[0.0], np.cumsum(bounds)[:-1]])
    return np.clip(total - before, 0.0, bounds)


def _problem(rows, linear, low, high, **more) -> DualProblem:
    from pegasos.solver.dual_problem import DualProblem

    return DualProblem(rows, linear, low, high, **{"segments": (0, len(rows)), **more})
