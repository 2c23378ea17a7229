"""The start vector of the steps of Pegasos: w₁, which the first step tests rows against and then forgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pegasos.estimators.recipe import Recipe
    from pegasos.problem.columns import Problems
    from pegasos.rules.state import State

ROUNDING = 1e-6  # of the radius of the ball


class StartVector(NamedTuple):
    """What `fit` was given as ``coef_init`` and ``intercept_init``."""

    coef: Any
    intercept: Any

    @classmethod
    def given(cls, estimator, coef, intercept) -> StartVector | None:
        """The start vector, or None where none was given; ValueError where the estimator has no use for one."""
        if coef is None and intercept is None:
            return None
        if coef is None:
            raise ValueError("intercept_init needs coef_init: the start vector is made of both.")
        if estimator.solver != "pegasos" or estimator.kernel != "linear" or estimator.n_landmarks is not None:
            raise ValueError(
                "coef_init is the start vector of the steps of Pegasos on the rows' own features: it needs "
                "solver='pegasos' and kernel='linear'."
            )
        if estimator.warm_start:
            raise ValueError("coef_init does not go with warm_start=True, which goes on from the last fit.")
        return cls(coef, intercept)

    def state(self, recipe: Recipe, problems: Problems, n_features: int, dtype) -> State:
        """The state before the first step of each column."""
        from pegasos.problem.job import zero_objectives
        from pegasos.rules.state import State

        n_columns = problems.n_columns
        coef, bias = self._checked("coef_init", self.coef, (n_columns, n_features)), recipe.bias
        if bias:
            given = np.zeros(n_columns) if self.intercept is None else self.intercept
            intercept = self._checked("intercept_init", given, (n_columns,))
            coef = np.column_stack([coef, intercept / bias])
        elif self.intercept is not None:
            raise ValueError("intercept_init is given, but fit_intercept says that there is no intercept.")
        norms = np.linalg.norm(coef, axis=1)
        zero = zero_objectives(problems, recipe.loss, lambda: problems.normalised_weights(np.float64))
        radius = np.sqrt(zero / problems.lam)
        far = norms > (1 + ROUNDING) * radius
        if far.any():
            raise ValueError(
                f"coef_init has the norm {norms[far][0]:.4g}, outside the ball of radius {radius[far][0]:.4g} (the "
                "root of the zero model's objective over lam) in which the optimum lies."
            )
        return State.from_weights(coef.T.astype(dtype), problems.lam, steps=0)

    @staticmethod
    def _checked(name: str, values, shape: tuple[int, ...]) -> np.ndarray:
        found = np.asarray(values, np.float64)
        if shape[0] == 1 and found.shape == shape[1:]:
            found = found[None] if found.ndim else found.reshape(1)
        if found.shape != shape:
            raise ValueError(f"{name} has shape {found.shape}, not {shape}.")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} has entries that are nan or infinite.")
        return found
