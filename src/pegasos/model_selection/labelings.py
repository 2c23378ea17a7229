"""Many versions of the targets over the same rows, each with its own folds, as the columns of wide jobs."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import _check_method_params

from pegasos.estimators import validation
from pegasos.estimators.recipe import FeatureMap
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import kernel_class, make_kernel
from pegasos.problem.columns import Problems
from pegasos.problem.job import Job
from pegasos.rows import KernelRows, KernelStorage
from pegasos.rules.state import State
from pegasos.search.column_plan import SearchData, method_of
from pegasos.search.results import Results
from pegasos.search.scored_model import OWN, scored_model
from pegasos.solver.clock import Clock
from pegasos.solver.gram import MOST_ROWS
from pegasos.solver.solve import solve
from pegasos.utils.arrays import on_gpu

BYTES_PER_ENTRY = 64  # of a column and a row: coefficients, sums, scores, row sets
CACHE_SHARE = 0.25  # of the cache that the columns of one job may take


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


class ManyTargets:
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
        self.X_given, self.score_params, self.results = X, score_params, results
        self.estimator = clone(estimator)
        validation.check_parameters(self.estimator)
        validation.check_supported(self.estimator)
        validation.check_combinations(self.estimator)
        self.recipe: Any = recipe_of(self.estimator)
        recipe = self.recipe
        X, self.y = recipe.checked(X, y)
        self.weights = validation.check_weights(fit_params.get("sample_weight"), X)
        self.schedule = replace(recipe.schedule(), count_violations=False)
        self.n_rows, self.dtype, self.classifies = X.shape[0], X.dtype, is_classifier(estimator)
        pairwise = estimator.kernel == "precomputed"
        self.data = SearchData(X, self.y, self.weights, {"n_features_in_": X.shape[1]}, pairwise=pairwise)
        self.used = np.ones(self.n_rows, bool) if self.weights is None else self.weights > 0
        self.codes = self.y
        if self.classifies:
            self.classes = np.unique(self.y[self.used])
            self.codes = np.searchsorted(self.classes, self.y)
        self.by_fold = estimator.gamma == "scale" and kernel_class(estimator.kernel).uses("gamma")
        self.by_accuracy = results.scored_by_accuracy(estimator, results.folds[0])
        self.missed_tol = 0

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

    def at_once(self, n_splits: int) -> int:
        """Versions of the targets that one job takes."""
        each = BYTES_PER_ENTRY * self.n_rows * n_splits * self.n_columns
        return max(1, int(CACHE_SHARE * self.recipe.cache_bytes() / each))

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
        groups = self._kernels(inside)
        if len(groups) == 1:
            versions, folds = np.indices(found.shape).reshape(2, -1)
            cells: list = [(versions, folds)]
        else:
            which = np.broadcast_to(self._kernel_of, found.shape)
            cells = [np.nonzero(which == number) for number in range(len(groups))]
        for number, (kernel, (versions, folds)) in enumerate(zip(groups, cells, strict=True)):
            problems, offsets = self._problems(places, inside, versions, folds)
            rows, state = self._solved(kernel, problems, more=number + 1 < len(groups))
            values = rows.model_scores(np.arange(self.n_rows), state).reshape(len(versions), -1, self.n_rows)
            tests = tested[versions if len(tested) > 1 else np.zeros_like(versions), folds]
            if self.by_accuracy and problems.scheme in ("ovr", "binary"):
                found[versions, folds] = self._accuracy(values, self.codes[places[versions]], tests)
            else:
                attributes = self._attributes(problems, state)
                for cell in range(len(versions)):
                    score = self._score(values[cell].T + offsets[cell], places[versions[cell]], tests[cell], attributes)
                    found[versions[cell], folds[cell]] = score
        return found

    # --- columns ------------------------------------------------------------------------------------------------

    def _kernels(self, inside: np.ndarray) -> list:
        """The kernels of all folds; `_kernel_of` says which is whose."""
        if not self.by_fold:
            return [self.recipe.kernel(self.data.X, self.weights)]
        kernels: dict[float, int] = {}
        found: list = []
        self._kernel_of = np.empty(inside.shape[:2], int)
        for version, fold in np.ndindex(self._kernel_of.shape):
            rows = np.flatnonzero(inside[version, fold])
            kernel: Any = self.recipe.kernel(self.data.X[rows], None if self.weights is None else self.weights[rows])
            if kernel.gamma not in kernels:
                kernels[kernel.gamma] = len(found)
                found.append(kernel)
            self._kernel_of[version, fold] = kernels[kernel.gamma]
        return found

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

    # --- solving ------------------------------------------------------------------------------------------------

    def _solved(self, kernel, problems: Problems, more: bool) -> tuple[Any, State]:
        """The rows, and the state of all columns at their end."""
        recipe, X, schedule = self.recipe, self.data.X, self.schedule
        validation.check_regularisation(problems, self.dtype)
        cache = self.data.kernel_cache(self.estimator, 0.0)
        if self.data.pairwise:
            validation.check_precomputed(cache.examined)
        squares, largest = cache.sizes if kernel.from_features else (None, None)
        validation.check_magnitudes(cache.examined, squares, kernel, recipe.bias, largest=largest)
        definite = recipe.definite(cache.examined, kernel)
        if not definite and recipe.begins_anew:
            recipe = recipe.without_tol()
            schedule = replace(recipe.schedule(schedule.seed), count_violations=False)
        schedule = replace(schedule, certified=recipe.tol is not None)
        features = FeatureMap(kernel, recipe.bias, None, squares)
        rows = None
        if recipe.begins_anew and kernel.is_linear and self.n_rows <= MOST_ROWS and X.shape[1] >= self.n_rows // 4:
            rows = self._rows_by_inner_products(cache)
        if rows is None:
            matrix = None
            if not (kernel.is_precomputed or recipe.explicit):
                matrix = cache.matrix(kernel, recipe.cache_bytes(), more=more)
            rows = recipe.rows(cache.X, features, schedule, matrix=matrix, keep=False)
        method = method_of(recipe, rows, problems)
        job = Job(rows, problems, schedule, recipe.rule, recipe.loss, definite, method)
        solution = solve(job, clock=Clock(None, time.perf_counter(), interruptible=False))
        if recipe.tol is not None and solution.certificate is not None:
            self.missed_tol += int(np.count_nonzero(solution.certificate.relative_gap > recipe.tol))
        return rows, solution.state

    def _rows_by_inner_products(self, cache) -> KernelRows:
        """Rows of a linear model by their inner products, which are fewer than their features."""
        linear = make_kernel("linear", None, gamma=1.0, degree=3, coef0=0.0)
        products = cache.X @ cache.X.T
        products = products.toarray() if hasattr(products, "toarray") else products
        return KernelRows(cache.X, linear, self.recipe.bias, cache.squares, KernelStorage(matrix=products))

    # --- scores -------------------------------------------------------------------------------------------------

    def _accuracy(self, values: np.ndarray, codes: np.ndarray, tests: np.ndarray) -> np.ndarray:
        """The share of right labels among the tested rows of each cell."""
        predicted = values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0] > 0
        return np.count_nonzero((predicted == codes) & tests, axis=1) / np.count_nonzero(tests, axis=1)

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
