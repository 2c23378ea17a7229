"""The objective λ/2‖w‖² + mean loss of linear models, in double precision, the same for ours and the peers."""

import itertools
from typing import Any

import numpy as np

BLOCK = 8192  # rows that are turned into double precision at a time
MARGIN_LOSSES = {  # of the margin y·f
    "hinge": lambda margin: np.maximum(0, 1 - margin),
    "squared_hinge": lambda margin: np.maximum(0, 1 - margin) ** 2,
    "log_loss": lambda margin: np.logaddexp(0, -margin),
}
RESIDUAL_LOSSES = {  # of the residual y − f; without a tube
    "epsilon_insensitive": np.abs,
    "squared_epsilon_insensitive": np.square,
}


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


def objectives(weights: np.ndarray, X: Any, targets: np.ndarray, lam: float, loss: str = "hinge") -> np.ndarray:
    """The objective of each column; the intercept is penalised, as the constant feature of ours is."""
    losses = np.zeros(targets.shape[1])
    for first in range(0, X.shape[0], BLOCK):
        part = slice(first, first + BLOCK)
        scores = X[part].astype(np.float64) @ weights[:, :-1].T + weights[:, -1]
        if loss in MARGIN_LOSSES:
            values = (targets[part] != 0) * MARGIN_LOSSES[loss](targets[part] * scores)
        else:
            values = RESIDUAL_LOSSES[loss](targets[part] - scores)
        losses += values.sum(axis=0)
    n_rows = (targets != 0).sum(axis=0) if loss in MARGIN_LOSSES else len(targets)
    return lam / 2 * (weights**2).sum(axis=1) + losses / n_rows


class LinearObjective:
    """A judge: the mean objective over the columns of a linear model, of classes or of a target."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, scheme: str = "ovr", loss: str = "hinge"):
        self.X, self.lam, self.loss = X, lam, loss
        self.targets = labelings(y, scheme) if loss in MARGIN_LOSSES else y[:, None]

    def __call__(self, model: Any) -> dict:
        weights = weights_of(model, self.targets.shape[1])
        return {"objective": float(objectives(weights, self.X, self.targets, self.lam, self.loss).mean())}
