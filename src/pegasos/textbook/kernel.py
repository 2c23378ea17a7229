"""Kernel Pegasos in its three forms, which are one algorithm: counts, a list of support pairs, and vectorised.

The documents test the drawn row with 1/(λt) on the counts of t − 1 steps. What w_t amounts to is 1/(λ(t−1)), and 0 at
the first step, which therefore always counts: this is what `exact=True` does, and False what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def gaussian(a, b, width: float = 0.25) -> float:
    """exp(−‖a − b‖²/(2γ)) with the width γ: Mirone's equation (13), Cerizza's equation (4)."""
    return float(np.exp(-(np.linalg.norm(a - b, ord=2) ** 2) / (2 * width)))


def gaussian_as_coded(a, b, gamma: float = 0.25) -> float:
    """What Mirone's `gauss_k` computes in its place: the sum of absolute differences, and −γ/2 for −1/(2γ)."""
    return float(np.exp((-1 / 2 * gamma) * (np.linalg.norm(a - b, ord=1) ** 2)))


def violation_counts(X, y, lam: float, draws, kernel: Callable = np.dot, *, exact: bool = True) -> np.ndarray:
    """The counts α of Stratos, equation (2): w_(T+1) = 1/(λT) Σ α_i y_i φ(x_i).

    α_i counts the steps at which row i was drawn and violated its margin.
    """
    # Initialize α = 0
    alpha = np.zeros(len(X), int)
    # For t = 1, …, T, draw i_t and set α_(i_t) ← α_(i_t) + 1 if y (1/(λ(t−1)) Σ_j α_j y_j K(x_j, x)) < 1
    for t, i in enumerate(np.ravel(draws), start=1):
        total = sum(alpha[j] * y[j] * kernel(X[j], X[i]) for j in np.flatnonzero(alpha))
        steps = t - 1 if exact else t
        if not steps or y[i] * total / (lam * steps) < 1:
            alpha[i] += 1
    return alpha


def support_list(
    X, y, lam: float, draws, kernel: Callable = gaussian, *, exact: bool = True
) -> list[tuple[float, np.ndarray]]:
    """The list S of Mirone's `train_pegasos`: the pairs (y_t, x_t) that violated their margin, in order.

    A row that violates twice is in the list twice. The score of x is Σ over S of y_s K(x_s, x), times 1/(λT).
    """
    t = 1
    S: list[tuple[float, np.ndarray]] = []
    for i in np.ravel(draws):
        x_t, y_t = X[i], y[i]
        g_list = [y_s * kernel(x_s, x_t) for y_s, x_s in S]
        steps = t - 1 if exact else t
        g = sum(g_list) / (lam * steps) if steps else 0.0
        if y_t * g < 1:
            S.append((y_t, x_t))
        t += 1
    return S


def kernel_pegasos(K, y, lam: float, draws, *, exact: bool = True) -> np.ndarray:
    """The counts α_(T+1) of Cerizza's algorithm 1 with its vectorised test, from the kernel matrix K of all rows."""
    y = np.asarray(y, float)
    alpha = np.zeros(len(y))  # α_1 ← (0, …, 0)
    signed = alpha * y  # α ⊙ y, kept so that a step costs one product
    for t, s in enumerate(np.ravel(draws), start=1):  # for t = 1 to T, s uniformly at random from the m rows
        steps = t - 1 if exact else t
        if not steps or y[s] / (lam * steps) * (signed @ K[s]) < 1:  # y_s 1/(λt) (α ⊙ y)ᵀ K_s < 1
            alpha[s] += 1  # α_(t+1)[s] = α_t[s] + 1
            signed[s] += y[s]
    return alpha  # return α_(T+1)


def score_of(pairs: Sequence[tuple[float, np.ndarray]], x, kernel: Callable = gaussian) -> float:
    """Σ over the support pairs of y_s K(x_s, x); its sign is the prediction (`pred_pegasos`)."""
    return float(sum(y_s * kernel(x_s, x) for y_s, x_s in pairs))
