"""The harvest of a run: cells are scored as their columns come to their stops."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np

from pegasos.estimators.recipe import EncodedTargets
from pegasos.estimators.targets import recipe_of
from pegasos.rows import Rows
from pegasos.rules.state import State
from pegasos.search.column_plan import Lane, Place
from pegasos.utils.arrays import to_device_of, to_host


class Harvest:
    """Collects the scores of cells as their columns come to their stops, and hands complete cells to the board."""

    def __init__(self, run: Any, rows: Rows, slab: list[Lane], owners: np.ndarray):
        self.run, self.rows, self.slab, self.owners = run, rows, slab, owners
        sizes = [len(lane.lam) for lane in slab]
        self.lane_of = np.repeat(np.arange(len(slab)), sizes)
        self.first = np.cumsum([0, *sizes[:-1]])
        self.fold_of = np.array([lane.strand.place.fold.number for lane in slab])[self.lane_of]
        self.open: dict[tuple[int, int], _Cell] = {}

    def reached(self, state: State, which: np.ndarray) -> None:
        """Columns have come to their stops."""
        if self.run.stopped:
            return
        folds = self.fold_of[state.columns["place"]]
        for fold in np.unique(folds):
            chosen = folds == fold
            self._of_one_fold(state if chosen.all() else state.select(chosen), which[chosen])

    def _of_one_fold(self, state: State, which: np.ndarray) -> None:
        run, places = self.run, state.columns["place"]
        place = self.slab[self.lane_of[places[0]]].strand.place
        index = {"train": place.train, "test": place.test}
        sides = run.board.sides if run.light else ()
        scores: dict[str, Any] = {side: self.rows.model_scores(index[side], state) for side in sides}
        if run.light and self._by_hits(place, state, which, scores):
            return
        scores = {side: to_host(values) for side, values in scores.items()}
        model = None if run.light else to_host(state.model()).astype(run.rows.dtype, copy=False)
        lanes = self.lane_of[places]
        owners = np.where(which, self.owners[places], -1)  # of the stops that the columns stand at
        for lane in np.unique(lanes):
            own = np.flatnonzero(lanes == lane)
            for owner in np.unique(owners[own][owners[own] >= 0]):
                there = own[(owners[own] == owner).any(axis=1)]
                cell = self.open.setdefault((lane, owner), _Cell(len(self.slab[lane].lam)))
                values = {side: of_all[there] for side, of_all in scores.items()}
                if model is not None:
                    values["model"] = model.T[there]
                cell.add(places[there] - self.first[lane], values, state.columns["steps"][there])
                if cell.complete:
                    del self.open[lane, owner]
                    self._complete(self.slab[lane], owner, cell)

    def _by_hits(self, place: Place, state: State, which: np.ndarray, scores: dict[str, Any]) -> bool:
        """Score all cells at once, where the scores are, if the score is the share of right labels and lanes are whole.

        Whether that was done; it is what scikit-learn's scorer would find, a hundred times as fast.
        """
        began, places = time.perf_counter(), state.columns["place"]
        lanes = self.lane_of[places]
        first = self.slab[lanes[0]]
        task, size = first.strand.task, len(first.lam)
        owners = np.where(which, self.owners[places], -1)
        whole = len(places) % size == 0 and (owners.reshape(-1, size, owners.shape[1]) == owners[::size, None]).all()
        together = whole and (lanes.reshape(-1, size) == lanes[::size, None]).all()
        decided = task.problems.scheme in ("ovr", "binary")
        if not together or not decided or not self.run.board.counts_hits(self.run.estimator, place.fold):
            return False
        found = {}
        for side, values in scores.items():
            by_class = values.reshape(-1, size, values.shape[1])
            labels = by_class.argmax(axis=1) if size > 1 else by_class[:, 0] > 0
            truth = to_device_of(place.fold.codes(side, task.attributes["classes_"]), labels)
            found[side] = to_host((labels == truth).sum(axis=1)) / values.shape[1]
        seconds = (time.perf_counter() - began) / max(1, (owners[::size] >= 0).sum())
        for number, (lane, stops) in enumerate(zip(lanes[::size], owners[::size], strict=True)):
            for owner in stops[stops >= 0]:
                candidate = self.slab[lane].stops[owner][0]
                if self.run.board.has(candidate, place.fold):  # from a try that ran out of memory later
                    continue
                right = {side: float(values[number]) for side, values in found.items()}
                self.run.board.scored(candidate, place.fold, right, seconds)
        return True

    def _complete(self, lane: Lane, owner: int, cell: _Cell) -> None:
        run, task, place = self.run, lane.strand.task, lane.strand.place
        candidate = lane.stops[owner][0]
        if run.board.has(candidate, place.fold):
            return
        estimator = copy.copy(run.group.candidates[candidate])
        steps = cell.steps
        found = task.attributes | run.data.about | {"t_": steps, "n_iter_": int(steps.max())}
        if not run.light:
            if run.data.pairwise:
                found["n_features_in_"] = len(place.train)
            recipe = recipe_of(estimator)
            recipe.store(found | self._model_of(cell, task, place.train))
            recipe.count_support(run.data.y[place.train])
            run.board.fitted(candidate, place.fold, run.data.wrap(estimator) if run.data.wrap else estimator)
            return
        recipe_of(estimator).store(found)
        known = []
        for side in run.board.sides:
            scores = cell.values[side].T
            known.append((place.fold.stand_ins[side], (scores + task.offset).astype(scores.dtype, copy=False)))
        estimator._known_scores = tuple(known)
        run.board.fitted(candidate, place.fold, estimator, place.fold.stand_in)

    def _model_of(self, cell: _Cell, task: EncodedTargets, train: np.ndarray) -> dict[str, Any]:
        """What a fit on the training rows alone would leave on the estimator to predict with."""
        run, n_state = self.run, self.run.rows.n_state
        model = cell.values["model"].T
        model = np.vstack([model[train if run.rows.dual else slice(n_state)], model[n_state:]])  # with the constant's
        there = to_device_of(train, run.data.X)
        X = run.data.X[there][:, there] if run.data.pairwise else run.data.X[there]
        found = run.recipe.model_attributes(model, X, run.features, task.offset)
        if run.features.landmarks is not None:  # their places among the training rows, in order
            places = np.argsort(train)[np.searchsorted(np.sort(train), found["support_"])]
            order = np.argsort(places)
            found |= {"support_": places[order], "dual_coef_": found["dual_coef_"][:, order]}
            if not run.data.pairwise:
                found["support_vectors_"] = found["support_vectors_"][order]
        return found


class _Cell:
    """Scores (and models, if they are wanted) of the columns of one cell, one row each."""

    def __init__(self, size: int):
        self.values: dict[str, np.ndarray] = {}
        self.steps = np.zeros(size, np.int64)
        self.missing = size

    def add(self, positions: np.ndarray, values: dict[str, np.ndarray], steps: np.ndarray) -> None:
        """Some of the columns have come to their stops."""
        for name, rows in values.items():
            room = self.values.setdefault(name, np.empty((len(self.steps), rows.shape[1]), rows.dtype))
            room[positions] = rows
        self.steps[positions] = steps
        self.missing -= len(positions)

    @property
    def complete(self) -> bool:
        """Whether all columns are there."""
        return self.missing == 0
