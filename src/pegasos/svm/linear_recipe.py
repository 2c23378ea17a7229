"""What the parameters of LinearSVC and LinearSVR ask of the solvers of linear models.

``½ ||w||² + C Σ s ℓ`` is 1/lam times the ``lam/2 ||w||² + Σ s ℓ / Σ s`` of our columns, for lam = 1 / (C Σ s).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from pegasos.estimators import PegasosClassifier, PegasosRegressor, validation
from pegasos.estimators.recipe import EncodedTargets, Recipe
from pegasos.estimators.targets import ClassifierRecipe, RegressorRecipe

SHARED = ("C", "tol", "fit_intercept", "intercept_scaling", "max_time", "n_jobs", "random_state", "verbose")
DUALS = {  # the values of `dual` that scikit-learn has for a penalty and a loss; the last one is that of "auto" here
    ("l2", "hinge"): (True,),
    ("l2", "squared_hinge"): (True, False),
    ("l1", "squared_hinge"): (False,),
    ("l2", "epsilon_insensitive"): (True,),
    ("l2", "squared_epsilon_insensitive"): (True, False),
}
UNCONVERGED = "Liblinear failed to converge, increase the number of iterations."  # what filters of users look for


def dual_of(dual, penalty: str, loss: str) -> bool | None:
    """The parameter `dual`, None where any solver will do; raises where scikit-learn knows no such combination."""
    known = DUALS.get((penalty, loss), ())
    if not known or (dual != "auto" and bool(dual) not in known):
        what = f"penalty='{penalty}' and loss='{loss}'"
        unknown = f"{what} are not supported when dual={dual}" if known else f"{what} is not supported"
        raise ValueError(
            f"Unsupported set of arguments: The combination of {unknown}, Parameters: penalty={penalty!r},"
            f" loss={loss!r}, dual={dual!r}"
        )
    return True if dual is True and len(known) > 1 else None


@cache
def _named(kind: type, name: str) -> Any:
    """A class of estimators under another name, which errors and progress show."""
    return type(name, (kind,), {})


class _Linear(Recipe):
    """The parts that classification and regression share."""

    kind: Any

    def __init__(self, machine, *, dual: bool | None, **parameters):
        self.machine = machine
        shared = {name: getattr(machine, name) for name in SHARED}
        if dual:
            shared |= {"solver": "dcd", "average": False}
        estimator = _named(self.kind, type(machine).__name__)(**shared, max_iter=max(1, machine.max_iter), **parameters)
        estimator.n_features_in_ = machine.n_features_in_
        super().__init__(estimator)
        self.lam, self.n_iter = np.empty(0), 0

    def targets(self, y) -> np.ndarray:
        """Checked targets as they are encoded."""
        return y

    def regularised(self, problems):
        """The columns with lam = 1 / (C Σ weights), which is kept."""
        problems = super().regularised(problems)
        self.lam, self._n_rows = problems.lam, problems.n_rows
        return problems

    def run_attributes(self, solution) -> dict[str, Any]:
        """What there is to know about a solve; passes are counted."""
        found = super().run_attributes(solution)
        self.n_iter = int(np.ceil(solution.steps / np.maximum(self._n_rows, 1)).max())
        return found

    def warn_if_missed(self, solution) -> None:
        """Warn as scikit-learn does, and say how far the result is from the optimum."""
        gap = solution.certificate.relative_gap.max()
        if not gap <= self.tol:
            known = "The relative gap is not known." if np.isnan(gap) else f"The relative gap is at most {gap:.3g}."
            validation.warn_unconverged(f"{UNCONVERGED} {known}")


class LinearClassifierRecipe(_Linear, ClassifierRecipe):
    """What a LinearSVC's parameters ask for."""

    kind = PegasosClassifier

    def encoded(self, y, sample_weight, dtype, offset=None) -> EncodedTargets:
        """Columns for the classes of the labels y; a class's weight counts in its own column."""
        classes, codes, weights = self.classes(y, sample_weight)
        problems = self.columns(codes, len(classes), weights)
        if self.machine.class_weight is not None:
            factors = class_weights(self.machine.class_weight, classes, codes, weights)
            everywhere = problems.scheme != "ovr"
            columns = np.zeros(1, np.intp) if everywhere else np.arange(len(classes))
            own = everywhere | (codes[:, None] == columns)
            each = np.where(own, factors[codes][:, None], 1.0) * (1.0 if weights is None else weights[:, None])
            problems = replace(problems, weights=each, row_sets=each > 0)
            if not everywhere:
                problems = replace(problems, columns=np.column_stack([columns, columns]))
        return EncodedTargets(problems, {"classes_": classes, "_scheme": problems.scheme})


class LinearRegressorRecipe(_Linear, RegressorRecipe):
    """What a LinearSVR's parameters ask for."""

    kind = PegasosRegressor

    def __init__(self, machine, **parameters):
        super().__init__(machine, epsilon=machine.epsilon, **parameters)

    def targets(self, y) -> np.ndarray:
        """Targets in float64."""
        y = np.asarray(y, np.float64)
        validation.check_targets(y, y.dtype)
        return y


def class_weights(class_weight, classes: np.ndarray, codes: np.ndarray, weights) -> np.ndarray:
    """The weight of each class; "balanced" by the weights of the rows, as scikit-learn has it here."""
    if class_weight != "balanced":
        return compute_class_weight(class_weight, classes=classes, y=classes[codes])
    totals = np.bincount(codes, weights, minlength=len(classes))
    return totals.sum() / (len(classes) * totals)
