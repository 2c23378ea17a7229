"""Wide jobs: the columns of many fits on the same rows, and their scores."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from pegasos.estimators import validation
from pegasos.estimators.recipe import FeatureMap
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import Kernel, kernel_class, make_kernel
from pegasos.problem.columns import Problems
from pegasos.problem.job import Job
from pegasos.rows import DenseRows, KernelRows, KernelStorage, Rows
from pegasos.rules.state import State
from pegasos.search.column_plan import SearchData, method_of, takes_rows_one_by_one
from pegasos.solver.clock import Clock
from pegasos.solver.gram import MOST_ROWS
from pegasos.solver.near import takes_near_solver
from pegasos.solver.solve import solve
from pegasos.solver.stream import Solution

BYTES_PER_ENTRY = 64  # of a column and a row: coefficients, sums, scores, row sets
ROWS_PER_FEATURE = 3  # up to which linear models are fitted by inner products of rows
MOST_FEATURES = 300  # of rows that stay in the cache
FIRST_PASSES = 30  # of descent, before a linear model is handed to the solver that a single fit has
CACHE_SHARE = 0.25  # of the cache that the columns of one job may take


class WideFits:
    """Many fits of an estimator on the same rows, with other targets or other weights.

    Parameters
    ----------
    estimator : PegasosClassifier or PegasosRegressor
    X, y : array-like
    sample_weight : array-like or None
    """

    def __init__(self, estimator, X, y, sample_weight):
        self.estimator = clone(estimator)
        validation.check_parameters(self.estimator)
        validation.check_supported(self.estimator)
        validation.check_combinations(self.estimator)
        self.recipe: Any = recipe_of(self.estimator)
        X, self.y = self.recipe.checked(X, y)
        self.weights = validation.check_weights(sample_weight, X)
        self.schedule = replace(self.recipe.schedule(), count_violations=False)
        self.n_rows, self.dtype, self.classifies = X.shape[0], X.dtype, is_classifier(estimator)
        pairwise = estimator.kernel == "precomputed"
        self.data = SearchData(X, self.y, self.weights, {"n_features_in_": X.shape[1]}, pairwise=pairwise)
        self.used = np.ones(self.n_rows, bool) if self.weights is None else self.weights > 0
        self.gamma_by_rows = estimator.gamma == "scale" and kernel_class(estimator.kernel).uses("gamma")
        self.missed_tol = 0

    def at_once(self, n_columns: int) -> int:
        """Fits of so many columns that one job takes."""
        each = BYTES_PER_ENTRY * max(self.n_rows, self.data.X.shape[1]) * n_columns
        return max(1, int(CACHE_SHARE * self.recipe.cache_bytes() / each))

    def kernels(self, n_fits: int, weights_of: Callable[[int], np.ndarray]) -> tuple[list[Kernel], np.ndarray]:
        """The kernels of so many fits, whose rows have these weights, and which is whose."""
        if not self.gamma_by_rows:
            return [self.recipe.kernel(self.data.X, self.weights)], np.zeros(n_fits, int)
        known: dict[float, int] = {}
        found: list[Kernel] = []
        which = np.empty(n_fits, int)
        for number in range(n_fits):
            each = weights_of(number)
            rows = np.flatnonzero(each)
            kernel: Any = self.recipe.kernel(self.data.X[rows], np.asarray(each[rows], np.float64))
            if kernel.gamma not in known:
                known[kernel.gamma] = len(found)
                found.append(kernel)
            which[number] = known[kernel.gamma]
        return found, which

    @property
    def by_inner_products(self) -> bool:
        """Whether a linear model is fitted by the inner products of its rows, of which there are few."""
        linear = self.estimator.kernel == "linear" and self.recipe.begins_anew and not self.recipe.loss.grouped
        return linear and self.n_rows <= MOST_ROWS and self.data.X.shape[1] >= self.n_rows / ROWS_PER_FEATURE

    def features(self, kernel: Kernel) -> FeatureMap:
        """The features that a kernel stands for, of rows that arithmetic can hold."""
        cache = self.data.kernel_cache(self.estimator, 0.0)
        squares, largest = cache.sizes if kernel.from_features else (None, None)
        validation.check_magnitudes(cache.examined, squares, kernel, self.recipe.bias, largest=largest)
        return FeatureMap(kernel, self.recipe.bias, None, squares)

    def solved(self, kernel: Kernel, problems: Problems, *, more: bool = False, start: State | None = None):
        """The rows and the solution of all columns; `more` kernels will follow."""
        recipe, schedule = self.recipe, self.schedule
        validation.check_regularisation(problems, self.dtype)
        cache = self.data.kernel_cache(self.estimator, 0.0)
        if self.data.pairwise:
            validation.check_precomputed(cache.examined)
        features = self.features(kernel)
        definite = recipe.definite(cache.examined, kernel)
        if not definite and recipe.begins_anew:
            recipe = recipe.without_tol()
            schedule = replace(recipe.schedule(schedule.seed), count_violations=False)
        schedule = replace(schedule, certified=recipe.tol is not None)
        rows: Rows | None = None
        if self.by_inner_products:
            rows = self._rows_by_inner_products(cache)
        if rows is None:
            matrix = None
            if not (kernel.is_precomputed or recipe.explicit):
                matrix = cache.matrix(kernel, recipe.cache_bytes(), more=more)
            by_row = takes_rows_one_by_one(recipe, cache.X)
            rows = recipe.rows(cache.X, features, schedule, matrix=matrix, keep=False, by_row=by_row)
        clock = Clock(None, time.perf_counter(), interruptible=False)
        method = method_of(recipe, rows, problems)
        few = type(rows) is DenseRows and self.n_rows <= MOST_ROWS and rows.n_state <= MOST_FEATURES
        if few and recipe.begins_anew and recipe.loss.has_kink:  # others take few steps of Newton's method
            first = replace(schedule, max_passes=min(FIRST_PASSES, schedule.max_passes))
            near = start is not None and takes_near_solver(rows, recipe.loss)
            job = Job(rows, problems, first, recipe.rule, recipe.loss, definite, "near" if near else "gram")
            solution = self._with_rest(solve(job, start=start, clock=clock), job, schedule, method)
        else:
            job = Job(rows, problems, schedule, recipe.rule, recipe.loss, definite, method)
            solution = solve(job, start=start, clock=clock)
        if recipe.tol is not None and solution.certificate is not None:
            self.missed_tol += int(np.count_nonzero(solution.certificate.relative_gap > recipe.tol))
        return rows, solution

    def _with_rest(self, solution: Solution, job: Job, schedule, method: str) -> Solution:
        """The solution with its columns that have not come to `tol` solved as a single fit would be, or at last anew.

        From some points Newton's method, which ends where it comes no nearer, does not go on, and does from zero.
        """
        for chosen in (method, "newton"):
            assert solution.certificate is not None
            rest = np.flatnonzero(~(solution.certificate.relative_gap <= (job.schedule.tol or 0.0)))
            if not rest.size:
                break
            again = replace(job, problems=job.problems.alone(rest), schedule=schedule, method=chosen)
            found = solve(again, clock=Clock(None, time.perf_counter(), interruptible=False))
            state, known = solution.state, solution.certificate
            assert found.certificate is not None
            found.state.columns["place"] = rest
            found.state.columns["row_set"] = state.columns["row_set"][rest]
            state.store(found.state)
            known.objective[rest], known.dual[rest] = found.certificate.objective, found.certificate.dual
            solution = replace(solution, model=state.model().astype(self.dtype, copy=False))
        return solution

    def _rows_by_inner_products(self, cache) -> KernelRows:
        """Rows of a linear model by their inner products, which are fewer than their features."""
        linear = make_kernel("linear", None, gamma=1.0, degree=3, coef0=0.0)
        products = cache.X @ cache.X.T
        products = products.toarray() if hasattr(products, "toarray") else products
        return KernelRows(cache.X, linear, self.recipe.bias, cache.squares, KernelStorage(matrix=products))


def accuracy(values: np.ndarray, codes: np.ndarray, tests: np.ndarray) -> np.ndarray:
    """The share of right labels among the tested rows of each fit.

    Parameters
    ----------
    values : ndarray of shape (n_fits, n_columns, n_rows)
        Scores of "binary" or "ovr" columns.
    codes : ndarray of int
        The classes, (n_rows,) or (n_fits, n_rows).
    tests : ndarray of bool, shape (n_fits, n_rows)
    """
    predicted = values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0] > 0
    return np.count_nonzero((predicted == codes) & tests, axis=1) / np.count_nonzero(tests, axis=1)
