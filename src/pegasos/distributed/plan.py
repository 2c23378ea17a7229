"""The plan of a fit: what the rows of one worker owe to those of all others.

Each column minimises ``lam/2 ||w||² + Σ s·loss / n`` over its n rows on all workers, with weights s of mean 1 over all
of them. A worker knows its own rows; the plan tells it the rest: the classes, what a row of each weighs, lam·n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pegasos.distributed import survey
from pegasos.distributed.survey import Look
from pegasos.estimators.validation import check_regularisation
from pegasos.kernels import Kernel, LinearKernel
from pegasos.kernels.nystroem import Landmarks
from pegasos.losses.scalar import Loss
from pegasos.problem.columns import Problems, regression


@dataclass(frozen=True)
class Plan:
    """What is the same for all workers.

    Attributes
    ----------
    columns : callable
        Makes the columns, ``Problems``, of coded targets and weights.
    lam, n_rows : ndarray of shape (n_columns,)
        Regularisation of each column, and its rows on all workers.
    loss : Loss
    group : int
        Columns side by side that are one problem.
    classes : ndarray or None
        The labels in order; None for regression.
    weights : ndarray of shape (n_classes, n_row_sets) or float or None
        What to multiply the weight of a row of each class by, so that the mean over all workers is 1; None: no row has
        a weight.
    offset : ndarray
        What is taken off the targets.
    about : dict
        Fitted attributes that say what the columns stand for.
    n_features : int
    dtype : dtype
    bias : float
        The constant feature.
    kernel : Kernel
    landmarks : Landmarks or None
    cache_bytes : float
        For features of landmarks that are kept.
    """

    columns: Callable[..., Problems]
    lam: np.ndarray
    n_rows: np.ndarray
    loss: Loss
    group: int
    classes: np.ndarray | None
    weights: Any
    offset: np.ndarray
    about: dict[str, Any]
    n_features: int
    dtype: np.dtype
    bias: float
    kernel: Kernel = field(default_factory=LinearKernel)
    landmarks: Landmarks | None = None
    cache_bytes: float = 0.0

    @property
    def n_columns(self) -> int:
        """Columns of the problem."""
        return len(self.lam)

    @property
    def n_state(self) -> int:
        """Numbers of the model of one column."""
        width = self.n_features if self.landmarks is None else self.landmarks.n_features
        return width + (self.bias > 0)

    @property
    def per_row(self) -> np.ndarray:
        """lam·n of each column: w = Σ coefficient·x / (lam·n)."""
        return self.lam * self.n_rows

    def problems(self, y: np.ndarray, weights: np.ndarray | None) -> Problems:
        """The columns of some rows, with weights as all workers together see them; lam is left to whoever solves."""
        factors = self.weights
        if self.classes is None:
            targets = (y.astype(np.float64).reshape(len(y), -1) - self.offset).astype(self.dtype)
            found = self.columns(targets, weights=None if weights is None else weights * factors)
        else:
            codes, known = self._coded(y)
            if factors is not None:
                weights = np.ones(len(y)) if weights is None else weights
                factors = factors[codes] * np.where(known, weights, 0.0)[:, None]
            found = self.columns(codes, len(self.classes), factors)
        return replace(found, as_given=True)

    def _coded(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class of each label, and whether it is one: labels of rows of weight 0 may be none."""
        assert self.classes is not None
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        known = self.classes[codes] == y
        if self.weights is None and not known.all():
            raise ValueError(f"y holds the label {y[~known][0]!r}, which was not there at the first look: it changed.")
        return codes, known

    def rows(self, X):
        """The rows as the solver meets them."""
        from pegasos.rows import DenseRows, LandmarkRows, SparseRows

        if self.landmarks is not None:
            if float(X.shape[0]) * self.landmarks.n_features * self.dtype.itemsize <= self.cache_bytes:
                return DenseRows(self.landmarks.features(X), self.bias)
            return LandmarkRows(X, self.landmarks, self.bias, bounded=self.kernel.stationary)
        return SparseRows(X, self.bias) if hasattr(X, "indptr") else DenseRows(np.ascontiguousarray(X), self.bias)


def plan_of(svm, looks: list[Look], weighted: bool) -> Plan:
    """What all partitions together ask for; raises as `fit` of the local estimator would on all rows."""
    dtype = survey.dtype_of(looks)
    found = _of_classes(svm, looks, weighted, dtype) if svm._of_classes else _of_targets(svm, looks, weighted, dtype)
    return Plan(
        loss=svm._loss(), n_features=next(one.n_features for one in looks if one.n_rows), dtype=dtype,
        bias=svm._bias(), cache_bytes=svm._cache_bytes() / 2, **found,
    )  # fmt: skip


def _of_classes(svm, looks: list[Look], weighted: bool, dtype) -> dict[str, Any]:
    """One row for each class that weighs as much as all of its rows: weights and lam follow as they do in `fit`."""
    labels, counts, totals = survey.classes_of(looks)
    if len(labels) < 2:
        svm._classes(labels, None)  # says so
    task = svm._task(labels, totals, dtype)
    problems = svm._regularised(task.problems)
    check_regularisation(problems, dtype)
    kept = np.isin(labels, task.about["classes_"])
    inside = problems.row_sets[kept]
    n_rows = counts[kept] @ inside
    weights = None
    if weighted or svm.class_weight is not None:
        weights = np.where(inside, problems.weights[kept] / totals[kept, None], 0.0)
        weights = weights * (n_rows / (totals[kept] @ weights))
    return dict(
        columns=partial(_columns, svm.multi_class), lam=problems.lam, n_rows=n_rows[problems.columns[:, 1]],
        group=problems.group, classes=task.about["classes_"], weights=weights, offset=np.zeros(problems.n_columns),
        about=task.about,
    )  # fmt: skip


def _of_targets(svm, looks: list[Look], weighted: bool, dtype) -> dict[str, Any]:
    filled = [found for found in looks if found.n_rows]
    total, n_used = sum(found.weight for found in filled), sum(found.n_used for found in filled)
    shape = filled[0].targets
    n_targets = int(np.prod(shape, dtype=int))
    offset = np.zeros(n_targets)
    if svm.fit_intercept == "auto" and svm.kernel != "linear":
        offset = np.sum([found.total for found in filled], axis=0) / total
    problems = svm._regularised(regression(np.zeros((1, n_targets)), svm.epsilon, np.array([total])))
    check_regularisation(problems, dtype)
    return dict(
        columns=partial(regression, epsilon=svm.epsilon), lam=problems.lam, n_rows=np.full(n_targets, float(n_used)),
        group=1, classes=None, weights=n_used / total if weighted else None, offset=offset,
        about={"_targets": n_targets if shape else None},
    )  # fmt: skip


def _columns(multi_class: str, codes: np.ndarray, n_classes: int, weights) -> Problems:
    """The columns of a scheme; a function of its own, since an estimator may hold what cannot be sent to a worker."""
    from pegasos.estimators import PegasosClassifier

    return PegasosClassifier(multi_class=multi_class)._columns(codes, n_classes, weights)
