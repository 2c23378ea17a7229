"""Setting: the training problem of a stream, which every window has a part in, and the model that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from pegasos.estimators import validation
from pegasos.estimators.features import FeatureMap
from pegasos.estimators.recipe import Recipe
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.totals import shared_problem
from pegasos.estimators.warm_start import Memory, without_rows
from pegasos.kernels import squared_norms
from pegasos.problem.job import Job
from pegasos.solver.stream import Solution
from pegasos.streaming.survey import StreamSurvey
from pegasos.streaming.windows import Window


class Setting:
    """What is the same for all windows of a stream.

    Attributes
    ----------
    recipe : Recipe
    problem : SharedProblem
        The problem that all rows pose.
    schedule : Schedule
    features : FeatureMap or None
        Kernel and landmarks; None until `choose_features` has seen the first window.
    """

    def __init__(self, recipe: Recipe, survey: StreamSurvey):
        self.recipe = recipe
        self.problem = shared_problem(recipe, survey.totals, np.dtype(survey.dtype), weighted=False)
        self.schedule = recipe.schedule()
        self.features: Any = None
        self._row: Any = None  # one row of the first window, for its shape and type
        self._first_codes: np.ndarray = np.empty(0, np.intp)  # classes of the rows of the first window

    @property
    def of_classes(self) -> bool:
        """Whether labels are classes, not numbers."""
        return self.problem.classes is not None

    def choose_features(self, window: Window, memory: Memory | None) -> None:
        """Let the first window decide on the width of a kernel and on landmarks; those of a `memory` stay."""
        recipe = self.recipe
        validate_data(recipe.estimator, window.X[:1], accept_sparse="csr", dtype=[np.float64, np.float32])
        kernel = recipe.kernel(window.X, None)
        self.features = FeatureMap(kernel, recipe.bias)
        recipe.definite(window.X, kernel)  # warns of kernel values that underflow
        landmarks = None
        if memory is not None:
            memory.check_resumes(self.resume_key, "warm_start")
            landmarks = memory.landmarks
        if landmarks is None:
            landmarks = recipe.landmarks(window.X, kernel, self.schedule.seed)
        self.features = replace(self.features, landmarks=landmarks)
        self._row = window.X[:1].copy()
        if self.of_classes:
            self._first_codes = window.y
        validation.check_magnitudes(window.X, self._squares(window.X), kernel, recipe.bias)

    def job(self, window: Window) -> Job:
        """The rows of a window, and their part in the problem."""
        X, squares = window.X, self._squares(window.X)
        validation.check_magnitudes(X, squares, self.features.kernel, self.features.bias, hints=False)
        rows = self.recipe.rows(X, replace(self.features, squares=squares), replace(self.schedule, max_passes=1))
        return Job(rows, self.problem.problems(window.y), self.schedule, loss=self.recipe.loss)

    def _squares(self, X) -> np.ndarray | None:
        return squared_norms(X) if self.features.kernel.from_features else None

    @property
    def resume_key(self) -> dict[str, Any]:
        """What cannot change from one fit to the next that goes on from it."""
        return self.recipe.resume_key(self.features, self.problem.attributes)

    @property
    def _offset(self) -> Any:
        return 0.0 if self.of_classes else self.problem.offset

    def _attributes(self, model: np.ndarray) -> dict[str, Any]:
        """The fitted attributes that predicting needs."""
        model = model.astype(self._row.dtype, copy=False)
        found = self.recipe.model_attributes(model, self._row, self.features, self._offset)
        return found | self.problem.attributes

    def predictor(self, model: np.ndarray) -> Callable[[Window], tuple[np.ndarray, np.ndarray]]:
        """A function that gives the targets of a window and what a model predicts."""
        svm = copy(self.recipe.estimator)
        recipe_of(svm, incremental=True).store(self._attributes(model))
        labels = svm.classes_.take if self.of_classes else lambda y: y
        return lambda window: (labels(window.y), svm.predict(window.X))

    def store(self, solution: Solution) -> None:
        """Give the estimator its fitted attributes, and what a later fit needs to go on from this one."""
        recipe, landmarks = self.recipe, self.features.landmarks
        recipe.store(self._attributes(solution.model) | recipe.run_attributes(solution))
        if landmarks is not None and self.of_classes:
            recipe.count_support(recipe.estimator.classes_[self._first_codes])
        recipe.remember(without_rows(solution.state), self.resume_key, None, landmarks, self._offset)
