"""Projected online gradient descent with step sizes rate/√t: the baseline of the convergence study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def gradient_descent(X, y, draws, rate: float, radius: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the weights and the rows' coefficients, w = Σ aᵢxᵢ, after each step w ← Π(w + rate/√t · y x) on the hinge.

    Π is the projection on the ball of `radius`, y are ±1, and `draws` are the rows of the steps. The arrays are reused.
    """
    w, a = np.zeros(X.shape[1]), np.zeros(len(X))
    for t, i in enumerate(draws, start=1):
        if y[i] * (X[i] @ w) < 1:
            step = rate / np.sqrt(t) * y[i]
            w += step * X[i]
            a[i] += step
            norm = np.linalg.norm(w)
            if norm > radius:
                w *= radius / norm
                a *= radius / norm
        yield w, a


def rate_and_radius(X, lam: float) -> tuple[float, float]:
    """The radius of the ball that holds the optimum, 1/√lam, and the step size that crosses it in one step."""
    radius = 1 / np.sqrt(lam)
    longest = np.linalg.norm(X, axis=1).max()
    return radius / (longest or 1.0), radius


def objective_and_gap(X, y, lam: float, w, a) -> tuple[float, float]:
    """The objective of w, and its distance from the dual objective of the coefficients moved into their domain.

    The distance bounds how far w is above the optimum; the dual objective of 0 is 0, so the bound needs no other.
    """
    beta = np.clip(lam * len(y) * y * a, 0.0, 1.0)
    dual = beta.mean() - lam / 2 * np.sum(((beta * y) @ X / (lam * len(y))) ** 2)
    objective = lam / 2 * (w @ w) + np.maximum(0.0, 1 - y * (X @ w)).mean()
    return float(objective), float(objective - max(dual, 0.0))
