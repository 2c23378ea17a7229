"""Checks before drawing: packages that have to be installed, and the arguments of displays."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from importlib import import_module
from typing import Any

import numpy as np

MISSING = "reports need matplotlib and jinja2: pip install 'pegasos[report]'"


class MissingExtra(ImportError):
    """A package that only figures and reports need is not installed.

    Examples
    --------
    >>> from pegasos.plotting import MissingExtra
    >>> issubclass(MissingExtra, ImportError)
    True
    """


def require(*modules: str) -> None:
    """Raise MissingExtra unless all of these modules can be imported."""
    for name in modules:
        try:
            import_module(name)
        except ImportError as error:
            raise MissingExtra(MISSING) from error


def fitted(estimator: Any, attribute: str | None = None) -> Any:
    """The fitted estimator itself, the last step of a pipeline, or that of the best estimator of a search.

    ValueError where it has no such attribute.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

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
