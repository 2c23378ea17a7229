"""The objective λ/2‖w‖² + mean hinge of linear models, in double precision, the same for ours and the peers."""

import itertools
from typing import Any

import numpy as np

BLOCK = 8192  # rows that are turned into double precision at a time


def labelings(y: np.ndarray, scheme: str = "ovr") -> np.ndarray:
    """+1, −1 and 0 (not in the problem) for each row and column; of a pair the later class is +1."""
    classes = np.unique(y)
    if scheme == "ovo":
        pairs = itertools.combinations(classes, 2)
        return np.column_stack([(y == second) * 1 - (y == first) * 1 for first, second in pairs])
    positive = classes[1:] if len(classes) == 2 else classes
    return np.column_stack([np.where(y == label, 1, -1) for label in positive])


def weights_of(model: Any, n_columns: int) -> np.ndarray:
    """Coefficients with the intercept last, one row per column."""
    parts = getattr(model, "estimators_", None) or [model]
    coef = np.vstack([np.atleast_2d(part.coef_) for part in parts]).astype(np.float64)
    if len(coef) != n_columns:
        coef = coef.T  # snapml has the features first
    intercepts = [np.ravel(getattr(part, "intercept_", 0.0)) for part in parts]
    return np.column_stack([coef, np.broadcast_to(np.concatenate(intercepts), n_columns)])


def hinge_objectives(weights: np.ndarray, X: Any, signs: np.ndarray, lam: float) -> np.ndarray:
    """The objective of each column; the intercept is penalised, as the constant feature of ours is."""
    losses = np.zeros(signs.shape[1])
    for first in range(0, X.shape[0], BLOCK):
        part = slice(first, first + BLOCK)
        scores = X[part].astype(np.float64) @ weights[:, :-1].T + weights[:, -1]
        losses += ((signs[part] != 0) * np.maximum(0, 1 - signs[part] * scores)).sum(axis=0)
    return lam / 2 * (weights**2).sum(axis=1) + losses / (signs != 0).sum(axis=0)


class LinearObjective:
    """A judge: the mean objective over the columns of a linear model."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, scheme: str = "ovr"):
        self.X, self.lam, self.signs = X, lam, labelings(y, scheme)

    def __call__(self, model: Any) -> dict:
        weights = weights_of(model, self.signs.shape[1])
        return {"objective": float(hinge_objectives(weights, self.X, self.signs, self.lam).mean())}
