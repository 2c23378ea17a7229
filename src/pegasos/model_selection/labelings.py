"""Many versions of the targets over the same rows, each with its own folds, as the columns of wide jobs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_method_params

from pegasos.model_selection.wide import WideFits, accuracy
from pegasos.problem.columns import Problems
from pegasos.rules.state import State
from pegasos.search.results import Results
from pegasos.search.scored_model import OWN, scored_model
from pegasos.utils.arrays import on_gpu


def takes_many_targets(estimator, X, fit_params: dict, results: Results) -> bool:
    """Whether versions of the targets can be columns of one job and be scored by what their columns say."""
    return (
        type(estimator) in OWN
        and not on_gpu(X)
        and not estimator.device.startswith("cuda")
        and set(fit_params) <= {"sample_weight"}
        and getattr(estimator, "class_weight", None) is None
        and estimator.n_landmarks is None
        and estimator.batch_size == 1
        and estimator.max_time is None
        and np.ndim(results.folds[0].y) == 1
        and results.needs_scores_only(estimator)
    )


class ManyTargets(WideFits):
    """Scores of an estimator on the folds of many versions of its targets.

    Parameters
    ----------
    estimator : PegasosClassifier or PegasosRegressor
    X, y : array-like
        Rows, and the targets that all versions are permutations of.
    fit_params, score_params : dict
        What `fit` and the scorer are given.
    results : Results
        Knows the scorer; its first fold tells the kind of score.
    """

    def __init__(self, estimator, X, y, fit_params: dict, score_params: dict, results: Results):
        super().__init__(estimator, X, y, fit_params.get("sample_weight"))
        self.X_given, self.score_params, self.results = X, score_params, results
        self.codes = self.y
        if self.classifies:
            self.classes = np.unique(self.y[self.used])
            self.codes = np.searchsorted(self.classes, self.y)
        self.by_accuracy = results.scored_by_accuracy(estimator, results.folds[0])

    @property
    def n_columns(self) -> int:
        """Columns of each fit."""
        if not self.classifies:
            return 1
        n_classes = len(self.classes)
        if self.estimator.multi_class == "crammer_singer":
            return n_classes
        if n_classes == 2:
            return 1
        return n_classes * (n_classes - 1) // 2 if self.estimator.multi_class == "ovo" else n_classes

    def are_like_the_first(self, places: np.ndarray, inside: np.ndarray) -> bool:
        """Whether every training set has all classes, as the columns take for granted."""
        if not self.classifies:
            return bool((inside & self.used).any(axis=2).all())
        codes, inside = self.codes[places], inside & self.used
        return len(self.classes) > 1 and all(
            (inside & (codes == code)[:, None]).any(axis=2).all() for code in range(len(self.classes))
        )

    def scores(self, places: np.ndarray, inside: np.ndarray, tested: np.ndarray) -> np.ndarray:
        """The score of each version of the targets on each of its folds, shape (n_versions, n_splits).

        Parameters
        ----------
        places : ndarray of int, shape (n_versions, n_rows)
            The row whose target each row has.
        inside, tested : ndarray of bool, shape (n_versions or 1, n_splits, n_rows)
            Rows that each fold is trained and tested on; one for all versions, or one each.
        """
        found = np.empty((len(places), inside.shape[1]))
        ones = np.ones(self.n_rows) if self.weights is None else self.weights
        sets = inside.reshape(-1, self.n_rows)
        groups, which = self.kernels(len(sets), lambda number: sets[number] * ones)
        of_cell = np.broadcast_to(which.reshape(inside.shape[:2]), found.shape)
        cells = [np.nonzero(of_cell == number) for number in range(len(groups))]
        for number, (kernel, (versions, folds)) in enumerate(zip(groups, cells, strict=True)):
            problems, offsets = self._problems(places, inside, versions, folds)
            rows, solution = self.solved(kernel, problems, more=number + 1 < len(groups))
            state = solution.state
            values = rows.model_scores(np.arange(self.n_rows), state).reshape(len(versions), -1, self.n_rows)
            tests = tested[versions if len(tested) > 1 else np.zeros_like(versions), folds]
            if self.by_accuracy and problems.scheme in ("ovr", "binary"):
                found[versions, folds] = accuracy(values, self.codes[places[versions]], tests)
            else:
                attributes = self._attributes(problems, state)
                for cell in range(len(versions)):
                    score = self._score(values[cell].T + offsets[cell], places[versions[cell]], tests[cell], attributes)
                    found[versions[cell], folds[cell]] = score
        return found

    # --- columns ------------------------------------------------------------------------------------------------

    def _problems(self, places, inside, versions, folds) -> tuple[Problems, np.ndarray]:
        """The columns of some cells, side by side, and what was taken off the targets of each."""
        sets = inside[versions if len(inside) > 1 else np.zeros_like(versions), folds] & self.used
        if not self.classifies:
            return self._regressions(places, sets, versions)
        needed, labeling_of = np.unique(versions, return_inverse=True)
        codes, n_classes = self.codes[places[needed]], len(self.classes)
        scheme, group, set_of = self.estimator.multi_class, 1, np.arange(len(versions))[:, None]
        if scheme == "crammer_singer":
            labelings, group = codes[:, None], n_classes
            labeling_of = np.repeat(labeling_of.reshape(-1, 1), n_classes, axis=1)
        elif n_classes == 2:
            scheme, labelings = "binary", np.where(codes == 1, 1, -1)[:, None]
            labeling_of = labeling_of.reshape(-1, 1)
        elif scheme == "ovr":
            labelings = np.where(codes[:, None] == np.arange(n_classes)[:, None], 1, -1)
            labeling_of = labeling_of.reshape(-1, 1) * n_classes + np.arange(n_classes)
        else:
            pairs = np.array(list(combinations(range(n_classes), 2)))
            labelings = np.where(codes[:, None] == np.arange(1, n_classes)[:, None], 1, -1)
            own = self.codes[places[versions]][:, None]
            sets = (sets[:, None] & ((own == pairs[:, :1]) | (own == pairs[:, 1:]))).reshape(-1, self.n_rows)
            labeling_of = labeling_of.reshape(-1, 1) * (n_classes - 1) + pairs[:, 1] - 1
            set_of = np.arange(len(sets)).reshape(len(versions), -1)
        kind = np.int8 if n_classes <= 127 else np.int32
        columns = np.column_stack([labeling_of.ravel(), np.broadcast_to(set_of, labeling_of.shape).ravel()])
        problems = self._made(labelings.reshape(-1, self.n_rows).astype(kind), sets, columns, n_classes, scheme)
        return replace(problems, group=group), np.zeros((len(versions), 1))

    def _regressions(self, places, sets, versions) -> tuple[Problems, np.ndarray]:
        targets, offsets = self.y[places[versions]], np.zeros((len(versions), 1))
        if self.recipe.centred:
            weights = sets.astype(float) if self.weights is None else sets * self.weights
            offsets = ((targets * weights).sum(axis=1) / weights.sum(axis=1))[:, None]
        columns = np.column_stack([np.arange(len(versions))] * 2)
        problems = self._made((targets - offsets).astype(self.dtype), sets, columns, 1, "regression")
        return replace(problems, epsilon=float(self.estimator.epsilon)), offsets

    def _made(self, labelings, sets, columns, n_classes: int, scheme: str) -> Problems:
        """Columns of labelings and row sets that lie side by side."""
        weights = None if self.weights is None else self.weights[:, None]
        lam = np.full(len(columns), np.nan)
        labelings, sets = np.ascontiguousarray(labelings.T), np.ascontiguousarray(sets.T)
        problems = Problems(labelings, sets, columns.astype(np.intp), lam, weights, n_classes, scheme)
        return self.recipe.regularised(problems)

    # --- scores -------------------------------------------------------------------------------------------------

    def _attributes(self, problems: Problems, state: State) -> dict[str, Any]:
        """Fitted attributes that predictions from scores need."""
        found = {"t_": state.columns["steps"][: self.n_columns], "n_iter_": int(state.columns["steps"].max())}
        found |= self.data.input_attributes
        if self.classifies:
            return found | {"classes_": self.classes, "_scheme": problems.scheme}
        return found | {"_targets": None}

    def _score(self, values: np.ndarray, places: np.ndarray, tested: np.ndarray, attributes: dict) -> float:
        """The score of one cell by the scorer."""
        test = np.flatnonzero(tested)
        placeholder = np.empty((len(test), 0))
        model = scored_model(self.estimator, attributes, [(placeholder, values[test].astype(self.dtype))])
        params = _check_method_params(self.X_given, params=self.score_params, indices=test)
        return self.results.scorers(model, placeholder, self.y[places][test], **params)
