"""The plan of a fit: what all workers are told.

Each column minimises ``lam/2 ||w||² + Σ s·loss / n`` over its n rows on all workers, with weights s of mean 1 over all
of them. A worker knows its own rows; the plan tells it the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.distributed import survey
from pegasos.distributed.survey import Look
from pegasos.estimators.recipe import FEATURES_SHARE, FeatureMap, explicit_rows
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.totals import ClassTotals, SharedProblem, TargetTotals, shared_problem
from pegasos.losses import Loss
from pegasos.problem.columns import Problems


@dataclass(frozen=True)
class Plan:
    """What is the same for all workers.

    Attributes
    ----------
    shared : SharedProblem
        The columns.
    loss : Loss
    n_features : int
    features : FeatureMap
    most_bytes : float
        For features of landmarks that are kept.
    """

    shared: SharedProblem
    loss: Loss
    n_features: int
    features: FeatureMap
    most_bytes: float = 0.0

    @property
    def dtype(self) -> np.dtype:
        """The type of the features."""
        return self.shared.dtype

    @property
    def n_columns(self) -> int:
        """Columns of the problem."""
        return self.shared.n_columns

    @property
    def n_state(self) -> int:
        """Numbers of the model of one column."""
        landmarks = self.features.landmarks
        width = self.n_features if landmarks is None else landmarks.n_features
        return width + (self.features.bias > 0)

    def problems(self, y: np.ndarray, weights: np.ndarray | None) -> Problems:
        """The columns of some rows, with weights as all workers together see them; lam is left to whoever solves."""
        codes, known = self.shared.coded(y)
        if self.shared.weights is None and not known.all():
            raise ValueError(f"y holds the label {y[~known][0]!r}, which was not there at the first look: it changed.")
        if weights is not None:
            weights = np.where(known, weights, 0.0)
        elif not known.all():
            weights = known.astype(np.float64)
        return self.shared.problems(codes, weights)

    def rows(self, X):
        """The rows as the solver meets them."""
        return explicit_rows(X, self.features, most_bytes=self.most_bytes, sdca=True)


def plan_of(svm, looks: list[Look], weighted: bool) -> Plan:
    """What all partitions together ask for; raises as `fit` of the local estimator would on all rows."""
    recipe, dtype = recipe_of(svm), survey.dtype_of(looks)
    filled = [found for found in looks if found.n_rows]
    totals: ClassTotals | TargetTotals
    if svm._of_classes:
        totals = ClassTotals(*survey.classes_of(looks))
    else:
        weight = sum(found.weight for found in filled)
        mean = np.sum([found.total for found in filled], axis=0) / weight
        totals = TargetTotals(sum(found.n_used for found in filled), weight, mean, filled[0].targets)
    shared = shared_problem(recipe, totals, dtype, weighted=weighted)
    most_bytes = FEATURES_SHARE * recipe.cache_bytes()
    features = FeatureMap(recipe.kernel_with(1.0), recipe.bias)
    return Plan(shared, recipe.loss, filled[0].n_features, features, most_bytes)
