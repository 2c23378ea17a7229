"""The problem that all rows of a stream pose, and the part of it that the rows of a window have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.estimators.validation import check_regularisation
from pegasos.io import DataError
from pegasos.problem.columns import Problems, regression
from pegasos.problem.job import zero_objectives
from pegasos.streaming.survey import Look


@dataclass(frozen=True)
class Whole:
    """What the columns of a window owe to the rows of all others.

    Attributes
    ----------
    svm : PegasosClassifier or PegasosRegressor
    about : dict
        Attributes that say what the columns stand for.
    lam, n_rows : ndarray of shape (n_columns,)
        Regularisation, and rows of all windows, of each column.
    zero : ndarray of shape (n_columns,) or None
        Objective of the zero model, where it is known.
    weights : ndarray of shape (n_classes, n_row_sets) or None
        What a row of each class weighs, of mean 1 over all rows of each set; None: all alike.
    offset : float
        What is taken off the targets.
    """

    svm: Any
    about: dict[str, Any]
    lam: np.ndarray
    n_rows: np.ndarray
    zero: np.ndarray | None
    weights: np.ndarray | None = None
    offset: float = 0.0

    def coded(self, y: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The class of each label, or the targets, and which rows are trained on: not those whose class weighs 0."""
        if "classes_" not in self.about:
            return y, np.ones(len(y), bool)
        classes = self.about["classes_"]
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = classes[codes] == y
        if not known.all() and self.svm.class_weight is None:
            raise DataError(f"{name} has the label {y[~known][0]!s}, which was not there before: it changed.")
        return codes, known

    def problems(self, y: np.ndarray, dtype) -> Problems:
        """The columns of the rows of a window, whose classes or targets are y."""
        if "classes_" in self.about:
            weights = None if self.weights is None else self.weights[y]
            found = self.svm._columns(y, len(self.about["classes_"]), weights)
        else:
            found = regression((y[:, None] - self.offset).astype(dtype), self.svm.epsilon)
        return replace(found, lam=self.lam, as_given=True, zero=self.zero)


def whole_of(svm, look: Look, dtype) -> Whole:
    """What all rows together ask for; raises as `fit` would on all of them."""
    return _of_targets(svm, look, dtype) if look.classes is None else _of_classes(svm, look, dtype)


def _of_targets(svm, look: Look, dtype) -> Whole:
    n_rows = np.array([float(look.n_rows)])
    offset = look.mean if svm.fit_intercept == "auto" and svm.kernel != "linear" else 0.0
    problems = svm._regularised(regression(np.zeros((1, 1)), svm.epsilon, n_rows))
    check_regularisation(problems, dtype)
    zero = np.array([look.zero]) if offset == 0.0 else None
    return Whole(svm, {"_targets": None}, problems.lam, n_rows, zero, offset=offset)


def _of_classes(svm, look: Look, dtype) -> Whole:
    """One row for each class that weighs as much as all of its rows: weights and lam follow as they do in `fit`."""
    assert look.classes is not None
    if len(look.classes) < 2:
        svm._classes(look.classes, None)  # says so
    task = svm._task(look.classes, look.counts.astype(np.float64), dtype)
    problems = svm._regularised(task.problems)
    check_regularisation(problems, dtype)
    kept = np.isin(look.classes, task.about["classes_"])
    counts = look.counts[kept, None].astype(np.float64)
    inside = problems.row_sets[kept]
    n_rows = (counts * inside).sum(axis=0)
    weights = None
    if svm.class_weight is not None:
        weights = np.where(inside, problems.weights[kept] / counts, 0.0)
        weights *= n_rows / (weights * counts).sum(axis=0)
    zero = zero_objectives(problems, svm._loss(), lambda: None)
    return Whole(svm, task.about, problems.lam, n_rows[problems.columns[:, 1]], zero, weights)
