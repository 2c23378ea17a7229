"""The objective of kernel machines with an intercept that is not penalised, the same for ours and scikit-learn's."""

import itertools
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

BLOCK = 2048  # rows whose kernel values are there at a time


class KernelObjective:
    """A judge: the mean over the columns of ½||w||² + C Σ loss, each over C times its rows.

    `epsilon` is that of a regression; None: pairs of classes, or two classes.
    """

    def __init__(self, X: Any, y: np.ndarray, C: float, epsilon: float | None = None):
        self.X, self.y, self.C, self.epsilon = X, y, C, epsilon

    def __call__(self, model: Any) -> dict:
        """The objective of a fitted model."""
        coefficients, intercepts = columns_of(model)
        gamma = model._gamma if hasattr(model, "_gamma") else model._kernel.gamma
        support = np.asarray(model.support_vectors_, np.float64)
        scores = np.vstack(
            [
                rbf_kernel(self.X[first : first + BLOCK], support, gamma=gamma) @ coefficients.T
                for first in range(0, len(self.y), BLOCK)
            ]
        )
        norms = np.einsum("ps,sp->p", coefficients, scores[model.support_])
        losses, n_rows = self._losses(scores + intercepts)
        return {"objective": float(np.mean((0.5 * norms / self.C + losses) / n_rows))}

    def _losses(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.epsilon is not None:
            losses = np.maximum(0, np.abs(self.y[:, None] - scores) - self.epsilon).sum(axis=0)
            return losses, np.full(1, len(self.y))
        signs = pair_signs(self.y)
        losses = ((signs != 0) * np.maximum(0, 1 - signs * scores)).sum(axis=0)
        return losses, (signs != 0).sum(axis=0)


def pair_signs(y: np.ndarray) -> np.ndarray:
    """+1 for the later class of each pair, -1 for the earlier one, 0 for others."""
    pairs = itertools.combinations(np.unique(y), 2)
    return np.column_stack([(y == second) * 1 - (y == first) * 1 for first, second in pairs])


def columns_of(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """A coefficient of each support vector in each column, and the intercepts; of a pair the later class is +1."""
    coefficients, intercepts = model.dual_coef_, np.asarray(model.intercept_, np.float64)
    sizes = getattr(model, "n_support_", None)
    if hasattr(model, "_kernel") or sizes is None or len(sizes) <= 2:  # ours, a regression, or two classes
        return np.asarray(coefficients, np.float64), intercepts
    edges = np.cumsum([0, *sizes])
    found = np.zeros((len(intercepts), edges[-1]))
    for column, (first, second) in enumerate(itertools.combinations(range(len(sizes)), 2)):
        for own, other in ((first, second - 1), (second, first)):
            some = slice(edges[own], edges[own + 1])
            found[column, some] = -coefficients[other, some]
    return found, -intercepts
