"""Scoring the cells of a shared run as their columns come to their read points."""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.estimators.base import PegasosBase
from pegasos.estimators.features import FeatureMap
from pegasos.estimators.recipe import EncodedTargets
from pegasos.estimators.targets import recipe_of
from pegasos.rows import Rows
from pegasos.rules.state import State
from pegasos.search.column_plan import LamColumns, SearchData, read_points_of
from pegasos.search.results import Results
from pegasos.search.scored_model import scored_model
from pegasos.utils.arrays import to_host


@dataclass(frozen=True)
class RunContext:
    """What the scoring of cells needs to know of the run that trains them."""

    candidates: dict[int, PegasosBase]
    data: SearchData
    features: FeatureMap
    results: Results
    scores_only: bool  # scorers see predictions only, so that scores will do and no model has to be made
    stopped: threading.Event  # set when a batch has failed and no cell has to be scored any more

    @property
    def estimator(self) -> PegasosBase:
        """Any of the candidates, which differ in lam and steps only."""
        return next(iter(self.candidates.values()))


class CellScoring:
    """Collects scores or models of the columns of a batch, and has each cell scored when all of its columns are there.

    Parameters
    ----------
    context : RunContext
    rows : Rows
        The rows that the batch is trained on.
    batch : list of LamColumns
    """

    def __init__(self, context: RunContext, rows: Rows, batch: list[LamColumns]):
        self.context, self.rows, self.batch = context, rows, batch
        self.steps, self.numbers = read_points_of(batch)
        sizes = [each.n_columns for each in batch]
        self.member = np.repeat(np.arange(len(batch)), sizes)  # of the batch, for each column
        self.first = np.cumsum([0, *sizes[:-1]])
        self.fold_of = np.array([each.fold.number for each in batch])[self.member]
        self.open: dict[tuple[int, int], CellColumns] = {}  # by member and number of the read point
        self._there: dict[tuple, tuple[np.ndarray, Any]] = {}  # arrays of folds, and their copies where the rows are

    def reached(self, state: State, which: np.ndarray) -> None:
        """Columns stand at the read points of the mask `which`: what `ReadPoints` calls."""
        if self.context.stopped.is_set():
            return
        folds = self.fold_of[state.columns["place"]]
        for fold in np.unique(folds):
            chosen = folds == fold
            self._score_fold(state if chosen.all() else state.select(chosen), which[chosen])

    def _score_fold(self, state: State, which: np.ndarray) -> None:
        context, places = self.context, state.columns["place"]
        members = self.member[places]
        fold_rows = self.batch[members[0]].of_fold.rows
        scores: dict[str, Any] = {}
        for side in context.results.sides if context.scores_only else ():
            index = self._on_device(("rows", side, fold_rows.fold.number), fold_rows.scored[side])
            scores[side] = self.rows.model_scores(index, state)
        if context.scores_only and self._score_by_accuracy(state, which, scores):
            return
        collected = {side: to_host(values) for side, values in scores.items()}
        if not context.scores_only:
            collected["model"] = to_host(state.model()).astype(self.rows.dtype, copy=False).T
        numbers = np.where(which, self.numbers[places], -1)
        for member in np.unique(members):
            own = np.flatnonzero(members == member)
            for number in np.unique(numbers[own][numbers[own] >= 0]):
                due = own[(numbers[own] == number).any(axis=1)]
                cell = self.open.setdefault((member, number), CellColumns(self.batch[member].n_columns))
                values = {name: of_all[due] for name, of_all in collected.items()}
                cell.add(places[due] - self.first[member], values, state.columns["steps"][due])
                if cell.complete:
                    del self.open[member, number]
                    self._score_cell(self.batch[member], number, cell)

    def _on_device(self, key: tuple, values: np.ndarray) -> Any:
        """An array of a fold where the rows are, taken there once."""
        if key not in self._there or self._there[key][0] is not values:
            self._there[key] = values, self.rows.backend.to_device(values)
        return self._there[key][1]

    def _score_by_accuracy(self, state: State, which: np.ndarray, scores: dict[str, Any]) -> bool:
        """Score all cells of a fold at once, on the device, where the score is accuracy and all their columns are due.

        Returns whether that was done. It is what scikit-learn's scorer would find, a hundred times as fast.
        """
        began, places = time.perf_counter(), state.columns["place"]
        context, members = self.context, self.member[places]
        first = self.batch[members[0]]
        fold, targets, size = first.fold, first.of_fold.targets, first.n_columns
        numbers = np.where(which, self.numbers[places], -1)
        complete = (
            len(places) % size == 0
            and (numbers.reshape(-1, size, numbers.shape[1]) == numbers[::size, None]).all()
            and (members.reshape(-1, size) == members[::size, None]).all()
        )
        largest_wins = targets.problems.scheme in ("ovr", "binary")
        if not complete or not largest_wins or not context.results.scored_by_accuracy(context.estimator, fold):
            return False
        accuracy = {}
        for side, values in scores.items():
            by_class = values.reshape(-1, size, values.shape[1])
            predicted = by_class.argmax(axis=1) if size > 1 else by_class[:, 0] > 0
            codes = fold.class_codes(side, targets.attributes["classes_"])
            truth = self._on_device(("classes", side, fold.number), codes)
            accuracy[side] = to_host((predicted == truth).sum(axis=1)) / values.shape[1]
        seconds = (time.perf_counter() - began) / max(1, (numbers[::size] >= 0).sum())
        for i, (member, due) in enumerate(zip(members[::size], numbers[::size], strict=True)):
            for number in due[due >= 0]:
                candidate = self.batch[member].read_points[number][0]
                if not context.results.has(candidate, fold):  # it has after an attempt that ran out of memory later
                    of_cell = {side: float(values[i]) for side, values in accuracy.items()}
                    context.results.add_scores(candidate, fold, of_cell, seconds)
        return True

    def _score_cell(self, columns: LamColumns, number: int, cell: CellColumns) -> None:
        context, fold, targets = self.context, columns.fold, columns.of_fold.targets
        candidate = columns.read_points[number][0]
        if context.results.has(candidate, fold):
            return
        estimator = context.candidates[candidate]
        steps = {"t_": cell.steps, "n_iter_": int(cell.steps.max())}
        fitted = targets.attributes | context.data.input_attributes | steps
        if context.scores_only:
            scores = []
            for side in context.results.sides:
                values = cell.values[side].T
                scores.append((fold.placeholders[side], (values + targets.offset).astype(values.dtype, copy=False)))
            context.results.score(candidate, fold, scored_model(estimator, fitted, scores), fold.placeholder)
            return
        train = columns.of_fold.rows.train
        if context.data.pairwise:
            fitted["n_features_in_"] = len(train)
        estimator = copy.copy(estimator)
        recipe = recipe_of(estimator)
        recipe.store(fitted | self._model_attributes(cell, targets, train))
        recipe.count_support(context.data.y[train])
        in_pipeline = context.data.in_pipeline
        context.results.score(candidate, fold, in_pipeline(estimator) if in_pipeline else estimator)

    def _model_attributes(self, cell: CellColumns, targets: EncodedTargets, train: np.ndarray) -> dict[str, Any]:
        """What a fit on the training rows alone would leave on the estimator to predict with."""
        data, features, n_state = self.context.data, self.context.features, self.rows.n_state
        model = cell.values["model"].T
        model = np.vstack([model[train if self.rows.dual else slice(n_state)], model[n_state:]])  # with the constant's
        recipe = recipe_of(self.context.estimator)
        found = recipe.model_attributes(model, data.take_X(train), features, targets.offset)
        if features.landmarks is not None:  # their places among the training rows, in order
            places = np.argsort(train)[np.searchsorted(np.sort(train), found["support_"])]
            order = np.argsort(places)
            found |= {"support_": places[order], "dual_coef_": found["dual_coef_"][:, order]}
            if not data.pairwise:
                found["support_vectors_"] = found["support_vectors_"][order]
        return found


class CellColumns:
    """Scores, or models if these are wanted, of the columns of one cell, one row each."""

    def __init__(self, n_columns: int):
        self.values: dict[str, np.ndarray] = {}
        self.steps = np.zeros(n_columns, np.int64)
        self.missing = n_columns

    def add(self, columns: np.ndarray, values: dict[str, np.ndarray], steps: np.ndarray) -> None:
        """Some of the columns have come to their read points after these steps."""
        for name, rows in values.items():
            kept = self.values.setdefault(name, np.empty((len(self.steps), rows.shape[1]), rows.dtype))
            kept[columns] = rows
        self.steps[columns] = steps
        self.missing -= len(columns)

    @property
    def complete(self) -> bool:
        """Whether all columns are there."""
        return self.missing == 0
