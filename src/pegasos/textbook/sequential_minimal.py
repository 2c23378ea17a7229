"""Sequential minimal optimisation: the dual in steps of two variables, each solved in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Smo:
    """What `smo` ends with: scores of rows are Σ α_i y_i K(x_i, ·) + b.

    `history` has a tuple for each step: the pair, the largest violation of the KKT conditions before it, and the dual
    objective after it.
    """

    alpha: np.ndarray
    b: float
    converged: bool
    history: list[tuple[int, int, float, float]] = field(default_factory=list)


def smo(K, y, C: float, *, tol: float = 1e-3, max_steps: int = 100_000) -> Smo:
    """Maximise Σ α_i − ½ ΣΣ y_i y_j K_ij α_i α_j subject to 0 ≤ α_i ≤ C and Σ y_i α_i = 0 (S. Chen, after J. Platt).

    K is the kernel matrix, y are ±1. A row violates the KKT conditions by how far y f(x) is on the wrong side of 1:
    below it although α < C, or above it although α > 0.
    """
    n = len(y)
    alpha, f = np.zeros(n), np.zeros(n)  # f: Σ α_j y_j K(x_j, x_i), without b
    result = Smo(alpha, 0.0, False)
    for _ in range(max_steps):
        b = intercept(alpha, y, f, C)
        violation = kkt_violations(alpha, y, f + b, C)
        # 1) find the α_1 that violates the Karush–Kuhn–Tucker conditions the most
        i = int(np.argmax(violation))
        worst = float(violation[i])
        if worst <= tol:  # 3) repeat until the KKT conditions are satisfied
            result.converged = True
            break
        # 2) find the α_2 with which the pair gains most, each tried with its best step
        step = best_steps(i, K, alpha, y, f, C)
        error = f - y  # E_j, in which b cancels
        curvature = K[i, i] + np.diag(K) - 2 * K[i]
        gain = step * y * (error[i] - error) - curvature * step**2 / 2
        j = int(np.argmax(gain))
        if gain[j] <= 0:  # no pair gains more than rounding
            break
        # move the pair along y_1 α_1 + y_2 α_2 = k, which stays as it is
        old_i, old_j = alpha[i], alpha[j]
        alpha[j] = within(old_j + step[j], C)
        alpha[i] = within(old_i - y[i] * y[j] * (alpha[j] - old_j), C)
        f += (alpha[j] - old_j) * y[j] * K[j] + (alpha[i] - old_i) * y[i] * K[i]
        result.history.append((i, j, worst, float(alpha.sum() - (alpha * y) @ f / 2)))
    result.b = intercept(alpha, y, f, C)
    return result


def best_steps(i: int, K, alpha, y, f, C: float) -> np.ndarray:
    """For each partner j the change of α_j that maximises the dual over the pair (i, j), within both boxes."""
    same = y == y[i]
    # α_i moves by −y_i y_j times the change of α_j, so both boxes bound it
    low = np.where(same, np.maximum(0, alpha + alpha[i] - C), np.maximum(0, alpha - alpha[i]))
    high = np.where(same, np.minimum(C, alpha + alpha[i]), np.minimum(C, C + alpha - alpha[i]))
    error = f - y
    curvature = np.maximum(K[i, i] + np.diag(K) - 2 * K[i], 1e-12)  # ‖φ(x_i) − φ(x_j)‖²
    return np.clip(alpha + y * (error[i] - error) / curvature, low, high) - alpha


def within(value: float, C: float) -> float:
    """The value within [0, C], and at an end of it where rounding alone keeps it away."""
    return 0.0 if value < 1e-12 * C else C if value > (1 - 1e-12) * C else value


def intercept(alpha, y, f, C: float) -> float:
    """b: where y f(x) = 1 for the rows strictly inside the box; midway between what the others allow."""
    wanted = y - f  # the b with which the row lies on its margin
    rising = ((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0))  # rows that ask for at least their b
    falling = ((y > 0) & (alpha > 0)) | ((y < 0) & (alpha < C))  # rows that ask for at most theirs
    return float((wanted[rising].max() + wanted[falling].min()) / 2)


def kkt_violations(alpha, y, scores, C: float) -> np.ndarray:
    """How far each row is from the Karush–Kuhn–Tucker conditions."""
    margin = y * scores
    return np.maximum(np.where(alpha < C, 1 - margin, 0), np.where(alpha > 0, margin - 1, 0)).clip(min=0)
