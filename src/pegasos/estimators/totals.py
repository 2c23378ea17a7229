"""Totals: what all rows of a problem say together, where no one place has them all.

A file is read in chunks and a cluster keeps its rows on workers; a chunk knows its own rows only. From a few totals
over all rows (the classes and how many rows they have, sums of weights, the mean of the targets) follow lam, weights of
mean 1 and the objective of the zero model, just as `fit` finds them on rows in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pegasos.estimators.recipe import Recipe
from pegasos.estimators.targets import SCHEMES, ClassifierRecipe, RegressorRecipe
from pegasos.estimators.validation import check_regularisation
from pegasos.problem.columns import Problems, regression


@dataclass(frozen=True)
class ClassTotals:
    """The classes among the rows of positive weight, how many rows each has, and what these weigh."""

    labels: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class TargetTotals:
    """Targets of regression: rows of positive weight, the sum of their weights, and weighted means.

    `shape` is that of one row's target; `zero` the mean loss of predicting 0, where it is known.
    """

    n_rows: int
    weight: float
    mean: np.ndarray
    shape: tuple[int, ...] = ()
    zero: float | None = None


@dataclass(frozen=True)
class SharedProblem:
    """The columns of all rows, and how some of the rows take part in them.

    Attributes
    ----------
    columns : callable
        Makes the columns of coded targets and weights.
    lam, n_rows : ndarray of shape (n_columns,)
        Regularisation of each column, and its rows among all.
    group : int
        Columns side by side that are one problem.
    attributes : dict
        Fitted attributes that say what the columns stand for.
    dtype : dtype
        Of the features.
    zero : ndarray of shape (n_columns,) or None
        Objective of the zero model over all rows, where it is known.
    classes : ndarray or None
        The labels in order; None for regression.
    weights : ndarray of shape (n_classes, n_row_sets) or float or None
        What to multiply the weight of a row of each class by, so that the mean over all rows is 1; None: no row has
        a weight.
    offset : ndarray of shape (n_columns,)
        What is taken off the targets.
    """

    columns: Callable[..., Problems]
    lam: np.ndarray
    n_rows: np.ndarray
    group: int
    attributes: dict[str, Any]
    dtype: np.dtype
    zero: np.ndarray | None
    classes: np.ndarray | None
    weights: Any
    offset: np.ndarray

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.lam)

    @property
    def per_row(self) -> np.ndarray:
        """lam·n of each column: w = Σ coefficient·x / (lam·n)."""
        return self.lam * self.n_rows

    def coded(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class of each label, and whether it is one of the classes; targets of regression are as they are."""
        if self.classes is None:
            return y, np.ones(len(y), bool)
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return codes, self.classes[codes] == y

    def problems(self, codes: np.ndarray, weights: np.ndarray | None = None) -> Problems:
        """The columns of some rows of these classes or targets; `weights` are the rows' own, 0 leaves a row out."""
        factors = self.weights
        if self.classes is None:
            targets = (codes.astype(np.float64).reshape(len(codes), -1) - self.offset).astype(self.dtype)
            found = self.columns(targets, weights=None if weights is None else weights * factors)
        else:
            if factors is not None:
                factors = factors[codes] if weights is None else factors[codes] * weights[:, None]
            found = self.columns(codes, len(self.classes), factors)
        return replace(found, lam=self.lam, as_given=True, zero=self.zero)


def shared_problem(
    recipe: Recipe, totals: ClassTotals | TargetTotals, dtype: np.dtype, *, weighted: bool
) -> SharedProblem:  # fmt: skip
    """What all rows together ask for; raises as `fit` would on all of them.

    `weighted` says whether the rows have weights of their own.
    """
    if isinstance(totals, ClassTotals):
        assert isinstance(recipe, ClassifierRecipe)
        return _of_classes(recipe, totals, dtype, weighted)
    assert isinstance(recipe, RegressorRecipe)
    return _of_targets(recipe, totals, dtype, weighted)


def _of_classes(recipe: ClassifierRecipe, totals: ClassTotals, dtype, weighted: bool) -> SharedProblem:
    """One row for each class that weighs as much as all of its rows: weights and lam follow as they do in `fit`."""
    from pegasos.problem.job import zero_objectives

    svm, labels = recipe.estimator, totals.labels
    if len(labels) < 2:
        recipe.classes(labels, None)  # raises
    targets = recipe.encoded(labels, totals.weights.astype(np.float64), dtype)
    problems = recipe.regularised(targets.problems)
    check_regularisation(problems, dtype)
    kept = np.isin(labels, targets.attributes["classes_"])
    inside = problems.row_sets[kept]
    own = totals.weights[kept, None].astype(np.float64)
    n_rows = (totals.counts[kept, None].astype(np.float64) * inside).sum(axis=0)
    weights = None
    if weighted or svm.class_weight is not None:
        weights = np.where(inside, problems.weights[kept] / own, 0.0)
        weights *= n_rows / (own[:, 0] @ weights)
    return SharedProblem(
        columns=SCHEMES[svm.multi_class],
        lam=problems.lam,
        n_rows=n_rows[problems.columns[:, 1]],
        group=problems.group,
        attributes=targets.attributes,
        dtype=dtype,
        zero=zero_objectives(problems, recipe.loss, lambda: None),
        classes=targets.attributes["classes_"],
        weights=weights,
        offset=np.zeros(problems.n_columns),
    )


def _of_targets(recipe: RegressorRecipe, totals: TargetTotals, dtype, weighted: bool) -> SharedProblem:
    n_targets = int(np.prod(totals.shape, dtype=int))
    epsilon = recipe.estimator.epsilon
    problems = recipe.regularised(regression(np.zeros((1, n_targets)), epsilon, np.array([float(totals.weight)])))
    check_regularisation(problems, dtype)
    offset = np.asarray(totals.mean, np.float64).reshape(n_targets) if recipe.centred else np.zeros(n_targets)
    known = totals.zero is not None and not offset.any()
    return SharedProblem(
        columns=partial(regression, epsilon=epsilon),
        lam=problems.lam,
        n_rows=np.full(n_targets, float(totals.n_rows)),
        group=1,
        attributes={"_targets": n_targets if totals.shape else None},
        dtype=dtype,
        zero=np.array([totals.zero]) if known else None,
        classes=None,
        weights=totals.n_rows / totals.weight if weighted else None,
        offset=offset,
    )
