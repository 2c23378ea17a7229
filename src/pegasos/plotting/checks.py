"""Checks of what displays are given, in sentences that name the thing."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def fitted(estimator: Any, attribute: str | None = None) -> Any:
    """The estimator that has learned: the last step of a pipeline, the best of a search, or itself."""
    check_is_fitted(estimator)
    if hasattr(estimator, "best_estimator_"):
        return fitted(estimator.best_estimator_, attribute)
    if isinstance(estimator, Pipeline):
        return fitted(estimator.steps[-1][1], attribute)
    if attribute is not None and not hasattr(estimator, attribute):
        raise ValueError(f"{type(estimator).__name__} has no {attribute}, which this figure is drawn from.")
    return estimator


def same_length(name: str, values: Sized, other_name: str, others: Sized) -> None:
    """Raise ValueError unless both have as many entries."""
    if len(values) != len(others):
        raise ValueError(f"{name} has {len(values)} entries, but {other_name} has {len(others)}.")


def matrix(name: str, values: Any, rows: int, columns: int) -> np.ndarray:
    """Values as a matrix of floats of this shape; None is missing."""
    found = np.array(values, dtype=float)
    if found.shape != (rows, columns):
        raise ValueError(
            f"{name} has shape {found.shape}, but there are {rows} row labels and {columns} column labels."
        )
    return found


def one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise ValueError unless the value is one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")
