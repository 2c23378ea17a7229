"""Linear Pegasos: the two-step form with projection and batches, and the cyclic form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np


def pegasos(X, y, lam: float, draws, *, start=None, project: bool = False) -> Iterator[np.ndarray]:
    """Yield w_1, w_2, …, w_(T+1) of Pegasos as Sumukh S tells it (figure 1), labels y of ±1.

    `draws` has the rows A_t of each step: shape (T,), or (T, k) for batches of k rows. A constant feature of 1 in X is
    the bias. The objective is λ/2‖w‖² + mean of max(0, 1 − y⟨w, x⟩).
    """
    # INPUT: S, λ, T, k
    draws = np.asarray(draws)
    A = draws.reshape(len(draws), -1)
    # INITIALIZE: choose w_1 with ‖w_1‖ ≤ 1/√λ
    w = np.zeros(X.shape[1]) if start is None else np.asarray(start, float)
    if np.linalg.norm(w) > (1 + 1e-12) / np.sqrt(lam):
        raise ValueError(f"The start vector has the norm {np.linalg.norm(w):.4g}, above 1/√λ = {1 / np.sqrt(lam):.4g}.")
    yield w
    # FOR t = 1, 2, …, T
    for t in range(1, len(A) + 1):
        # choose A_t ⊆ S with |A_t| = k
        rows = A[t - 1]
        # A_t⁺ = {(x, y) ∈ A_t : y⟨w_t, x⟩ < 1}
        violating = [i for i in rows if y[i] * (X[i] @ w) < 1]
        # η_t = 1/(λt)
        eta = 1 / (lam * t)
        # w_(t+½) = (1 − η_t λ) w_t + η_t/k Σ over A_t⁺ of y x
        half = (1 - eta * lam) * w
        for i in violating:
            half = half + eta / len(rows) * y[i] * X[i]
        # w_(t+1) = min{1, (1/√λ)/‖w_(t+½)‖} w_(t+½)
        w, norm = half, np.linalg.norm(half)
        if project and norm > 1 / np.sqrt(lam):
            w = 1 / np.sqrt(lam) / norm * half
        yield w
    # OUTPUT: w_(T+1), the last one


def last_of(iterates: Iterable[np.ndarray]) -> np.ndarray:
    """The last iterate, w_(T+1)."""
    for w in iterates:
        last = w
    return last


def average_of(iterates: Iterable[np.ndarray]) -> np.ndarray:
    """The mean of w_1, …, w_T: with the start vector and without w_(T+1), as Mirone and Stratos write it."""
    total: np.ndarray | float = 0.0
    count, waiting = 0, None
    for w in iterates:
        if waiting is not None:
            total, count = total + waiting, count + 1
        waiting = w
    return np.asarray(total / count)


def pegasos_cyclic(data, y, lam: float = 0.05, passes: int = 20) -> np.ndarray:
    """Pegasos as S. Chen tells it (algorithm 1): passes in the order of the rows, and t is never set back."""
    w = np.zeros(data.shape[1])  # 2
    t = 0  # 3
    for _ in range(passes):  # 4
        for j in range(len(data)):  # 5
            t = t + 1  # 6
            eta = 1 / (t * lam)  # 7
            if y[j] * (w @ data[j]) < 1:  # 8
                w = (1 - eta * lam) * w + eta * y[j] * data[j]  # 9
            else:  # 10
                w = (1 - eta * lam) * w  # 11
            # 12, 13, 14: end if, end for, end for
    return w  # 15
