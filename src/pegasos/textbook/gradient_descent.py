"""Online gradient descent with projection, the baseline of the convergence study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def online_gradient_descent(X, y, draws, rate: float, radius: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield w_(t+1) and its coefficients, w = Σ a_i x_i, after each step of Mirone's section 2, on the hinge loss.

    `draws` are the rows of the steps, `rate` is η, `radius` is U, y are ±1. The arrays are reused from step to step.
    """
    w, a = np.zeros(X.shape[1]), np.zeros(len(X))  # w_1 = 0
    for t, i in enumerate(np.ravel(draws), start=1):
        # 1. w'_(t+1) = w_t − η/√t ∇l_t(w_t); the gradient of the hinge is −y x below the margin and 0 above it
        if y[i] * (X[i] @ w) < 1:
            step = rate / np.sqrt(t) * y[i]
            w += step * X[i]
            a[i] += step
            # 2. w_(t+1) = the point of the ball ‖w‖ ≤ U that is nearest to w'_(t+1)
            norm = np.linalg.norm(w)
            if norm > radius:
                w *= radius / norm
                a *= radius / norm
        yield w, a


def rate_and_radius(X, lam: float) -> tuple[float, float]:
    """The radius of the ball that holds the optimum, 1/√λ, and the step size that crosses it in one step."""
    radius = 1 / np.sqrt(lam)
    longest = np.linalg.norm(X, axis=1).max()
    return radius / (longest or 1.0), radius
