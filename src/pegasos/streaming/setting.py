"""How the rows of a window meet an estimator: its kernel and landmarks, its columns, and what becomes of its model."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from pegasos.estimators import validation
from pegasos.estimators.recipe import FeatureMap
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.warm_start import Memory, without_rows
from pegasos.problem.job import Job
from pegasos.rows import squares_of
from pegasos.solver.solve import Solution
from pegasos.streaming.survey import Look
from pegasos.streaming.whole import whole_of
from pegasos.streaming.windows import Window


class Setting:
    """What is the same for all windows of a stream; the first window decides what `look` could not.

    Attributes
    ----------
    svm : PegasosClassifier or PegasosRegressor
    whole : Whole
        The problem that all rows pose.
    schedule : Schedule
    loss : Loss
    met : bool
        Whether the first window was met.
    """

    def __init__(self, svm, look: Look):
        self.svm, self.look, self.recipe = svm, look, recipe_of(svm)
        self.whole = whole_of(svm, look, np.dtype(look.dtype))
        self.schedule, self.loss = self.recipe.schedule(), self.recipe.loss
        self.met = False
        self.features: Any = None  # a `FeatureMap`
        self.row: Any = None  # one row of the first window, for its shape and type
        self.classes: np.ndarray = np.empty(0, np.intp)  # of the rows of the first window

    @property
    def n_columns(self) -> int:
        """Columns of the problem."""
        return len(self.whole.lam)

    @property
    def of_classes(self) -> bool:
        """Whether labels are classes, not numbers."""
        return "classes_" in self.whole.attributes

    def meet(self, window: Window, memory: Memory | None) -> None:
        """Meet the first window of the first pass: it decides on the width of a kernel, and on landmarks.

        A `memory` to go on from has its landmarks.
        """
        svm = self.svm
        validate_data(svm, window.X[:1], accept_sparse="csr", dtype=[np.float64, np.float32])
        kernel, self.met = self.recipe.kernel(window.X, None), True
        self.features = FeatureMap(kernel, self.recipe.bias)
        self.recipe.definite(window.X, kernel)  # warns of kernel values that underflow
        landmarks = None
        if memory is not None:
            memory.check_resumes(self.resume_key, "warm_start")
            landmarks = memory.landmarks
        if landmarks is None:
            landmarks = self.recipe.landmarks(window.X, kernel, self.schedule.seed)
        self.features = replace(self.features, landmarks=landmarks)
        self.row, self.classes = window.X[:1].copy(), window.y if self.of_classes else self.classes
        validation.check_magnitudes(window.X, self._squares(window.X), kernel, self.recipe.bias)

    def job(self, window: Window) -> Job:
        """The rows of a window, and their part of the problem."""
        X, squares = window.X, self._squares(window.X)
        validation.check_magnitudes(X, squares, self.features.kernel, self.features.bias, hints=False)
        rows = self.recipe.rows(X, replace(self.features, squares=squares), replace(self.schedule, max_passes=1))
        return Job(rows, self.whole.problems(window.y), self.schedule, loss=self.loss)

    def _squares(self, X) -> np.ndarray | None:
        return squares_of(X) if self.features.kernel.from_features else None

    @property
    def resume_key(self) -> dict[str, Any]:
        """What cannot change from one fit to the next that goes on from it."""
        return self.recipe.resume_key(self.features, self.whole.attributes)

    @property
    def _offset(self) -> Any:
        return 0.0 if self.of_classes else self.whole.offset

    def _attributes(self, model: np.ndarray) -> dict[str, Any]:
        """What predicting needs of a model."""
        model = model.astype(self.row.dtype, copy=False)
        found = self.recipe.model_attributes(model, self.row, self.features, self._offset)
        return found | self.whole.attributes

    def predictor(self, model: np.ndarray) -> Callable[[Window], tuple[np.ndarray, np.ndarray]]:
        """A function that gives the targets of a window and what a model predicts."""
        svm = copy(self.svm)
        recipe_of(svm).store(self._attributes(model))
        labels = svm.classes_.take if self.of_classes else lambda y: y
        return lambda window: (labels(window.y), svm.predict(window.X))

    def store(self, solution: Solution) -> None:
        """Let the estimator have what was found."""
        svm = self.svm
        recipe = self.recipe
        recipe.store(self._attributes(solution.model) | recipe.run_attributes(solution))
        if self.features.landmarks is not None and self.of_classes:
            recipe.count_support(svm.classes_[self.classes])
        state = without_rows(solution.state)
        recipe.remember(state, self.resume_key, None, self.features.landmarks, self._offset)
