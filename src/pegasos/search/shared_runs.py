"""Shared runs: the cells of a grid that differ in lam, fold or class are columns of one problem and of one solve."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from pegasos.backends.threads import blas_threads, threads_limited
from pegasos.estimators import devices, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.features import FeatureMap
from pegasos.estimators.solving import passes_of
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.training import PlacedRows
from pegasos.kernels import Kernel
from pegasos.problem.job import Job
from pegasos.problem.schedule import average_of
from pegasos.rules.column import Average, Rule
from pegasos.search import column_plan
from pegasos.search.cell_scoring import CellScoring, RunContext
from pegasos.search.column_plan import FoldColumns, FoldRows, LamColumns, SearchData
from pegasos.search.deadline import Deadline
from pegasos.search.grouping import same
from pegasos.search.kernel_cache import KernelCache
from pegasos.search.results import Fold, Results
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks
from pegasos.solver.read_points import ReadPoints
from pegasos.solver.solve import solve
from pegasos.utils.arrays import on_gpu

MAX_COLUMNS = 1024  # of one batch; more gain nothing
MIN_COLUMNS = 32  # that run together, however little memory is wanted
BYTES_OF_A_VARIABLE = 120.0  # of an active set
COLUMNS_PER_THREAD = 16  # of a run that are worth a thread of their own ...
COLUMNS_PER_THREAD_WITH_MATRIX = 64  # ... and where their steps are products with a kernel matrix


@dataclass
class RunPlan:
    """What one shared run trains: candidates that differ in lam and steps only, on folds that have the same kernel."""

    candidates: dict[int, PegasosBase]
    folds: list[FoldColumns]

    @property
    def estimator(self) -> PegasosBase:
        """Any of the candidates."""
        return next(iter(self.candidates.values()))

    @property
    def kernel(self) -> Kernel:
        """The kernel of all."""
        return self.folds[0].kernel

    @property
    def columns(self) -> list[LamColumns]:
        """All columns in the order of lam: neighbours pull about as many rows, so a block suits a whole batch."""
        columns = [each for fold in self.folds for each in fold.by_lam.values()]
        return sorted(columns, key=lambda each: -each.lam.mean())

    @property
    def cells(self) -> list[tuple[int, Fold]]:
        """All cells: candidate and fold."""
        return [cell for each in self.columns for cell in each.cells]

    def takes(self, fold: FoldColumns) -> bool:
        """Whether the columns of another fold can run with these."""
        first = self.folds[0]
        return (
            same(first.kernel, fold.kernel)
            and first.targets.problems.group == fold.targets.problems.group
            and first.landmarks is fold.landmarks  # each fold has its own, of its training rows
        )


def evaluate_together(
    groups: list[dict[int, PegasosBase]], data: SearchData, folds: list[FoldRows], results: Results, deadline: Deadline
) -> None:
    """Train and score all candidates on all folds; those of one group differ in lam and steps only."""
    plans = [plan for candidates in groups for plan in _run_plans(candidates, data, folds, results)]
    plans.sort(key=lambda plan: repr(plan.kernel))  # runs that share a kernel matrix follow each other
    left = sum(len(plan.columns) for plan in plans)
    for number, plan in enumerate(plans):
        left_here, left = left, left - len(plan.columns)
        if deadline.passed:
            for candidate, fold in plan.cells:
                results.skip(candidate, fold)
            continue
        more_kernels = any(not same(later.kernel, plan.kernel) for later in plans[number + 1 :])
        try:
            with devices.precision(plan.estimator.device):
                SharedRun(plan, data, results, deadline, more_kernels).train(left_here)
        except Exception as error:  # whatever a kernel function or the data make of it
            if error is results.scoring_error:
                raise
            for candidate, fold in plan.cells:
                if not results.has(candidate, fold):
                    results.add_failure(candidate, fold, error)
    data.clear_kernel_caches()


def _run_plans(
    candidates: dict[int, PegasosBase], data: SearchData, folds: list[FoldRows], results: Results
) -> list[RunPlan]:
    """A run for all folds of equal kernels; cells that cannot be trained get their errors here."""
    estimator = next(iter(candidates.values()))
    schedules = {candidate: recipe_of(each).schedule(seed=0) for candidate, each in candidates.items()}  # for steps
    plans: list[RunPlan] = []
    for rows in folds:
        try:
            columns = column_plan.fold_columns(estimator, data, rows)
        except Exception as error:
            for candidate in candidates:
                results.add_failure(candidate, rows.fold, error)
            continue
        for candidate, each in candidates.items():
            try:
                columns.add(candidate, each, schedules[candidate], data.X.dtype)
            except Exception as error:
                results.add_failure(candidate, rows.fold, error)
        if not columns.by_lam:
            continue
        plan = next((plan for plan in plans if plan.takes(columns)), None)
        if plan is None:
            plans.append(RunPlan(candidates, [columns]))
        else:
            plan.folds.append(columns)
    return plans


class SharedRun:
    """The run of one plan: its rows and schedule, and a solve for each batch of columns that fits into memory."""

    def __init__(self, plan: RunPlan, data: SearchData, results: Results, deadline: Deadline, more_kernels: bool):
        estimator, kernel, X = plan.estimator, plan.kernel, data.X
        self.plan, self.data, self.results, self.deadline = plan, data, results, deadline
        self.estimator, self.recipe = estimator, recipe_of(estimator)
        self.began, self.scoring_before = time.perf_counter(), results.scoring_seconds
        longest = max(int(steps.max()) for each in plan.columns for _, steps in each.read_points)
        self.kernel_cache = data.kernel_cache(estimator, self._multiplications(longest))
        examined = self.kernel_cache.examined
        if data.pairwise:
            validation.check_precomputed(examined)
        squares, largest = self.kernel_cache.sizes if kernel.from_features else (None, None)
        validation.check_magnitudes(examined, squares, kernel, self.recipe.bias, largest=largest)
        self.definite = self.recipe.definite(examined, kernel)
        if not self.definite and self.recipe.begins_anew:
            longest = self._without_tol()
        self.features = FeatureMap(kernel, self.recipe.bias, plan.folds[0].landmarks, squares)
        self.schedule = replace(
            plan.folds[0].schedule, max_steps=longest, max_passes=np.inf, tol=self.recipe.tol,
            certified=self.recipe.tol is not None, count_violations=False,
        )  # fmt: skip
        read_on_the_way = any(len(each.read_points) > 1 for each in plan.columns)
        self.by_row = column_plan.takes_rows_one_by_one(self.recipe, self.X, in_stream=read_on_the_way)
        matrix = None
        draws = longest * (self.schedule.batch or X.shape[0])
        if not kernel.is_precomputed and not self.recipe.explicit and draws > X.shape[0]:
            until = deadline.at(0.5)
            matrix = self.kernel_cache.matrix(kernel, self._cache_bytes(), more=more_kernels, until=until)
        self.share = 1.0  # of the memory that may be used
        self.rows = self._rows(matrix)
        scores_only = results.needs_scores_only(estimator) and data.in_pipeline is None
        self.context = RunContext(plan.candidates, data, self.features, results, scores_only, threading.Event())

    def _without_tol(self) -> int:
        """Have the kernel, which is indefinite, trained by the textbook's passes; the most steps of any column."""
        self.recipe = self.recipe.without_tol()
        passes = passes_of(self.estimator, True)
        for each in self.plan.columns:
            most = np.maximum(1, np.floor(passes * each.of_fold.n_rows)).astype(np.int64)
            each.read_points[:] = [(candidate, np.minimum(steps, most)) for candidate, steps in each.read_points]
        return max(int(steps.max()) for each in self.plan.columns for _, steps in each.read_points)

    @property
    def X(self):
        """The rows on the device."""
        return self.kernel_cache.X

    def _rows(self, matrix) -> Any:
        return self.recipe.rows(
            self.X, self.features, self.schedule, matrix=matrix, keep=False, share=self.share, by_row=self.by_row
        )

    def _cache_bytes(self) -> float:
        return self.recipe.cache_bytes(self.X, self.kernel_cache.bytes_taken())

    def _multiplications(self, longest: int) -> float:
        n_columns = sum(each.n_columns for each in self.plan.columns)
        n_rows, batch = self.data.X.shape[0], self.estimator.batch_size
        draws = longest * (n_rows if batch == "all" else int(batch))
        return devices.multiplications_of(self.estimator, self.data.X, draws, n_columns, self.recipe.tol)

    def train(self, n_left: int) -> None:
        """Train all columns; `n_left` folds at one lam, of this run and later ones, share the time that is left.

        Columns do not need each other, so batches of them run concurrently, each on a thread, and never wait for one
        another: that beats products on all threads with single-threaded steps in between.
        """
        columns = self.plan.columns
        n_columns = sum(each.n_columns for each in columns)
        least = COLUMNS_PER_THREAD_WITH_MATRIX if self.rows.dual else COLUMNS_PER_THREAD
        n_threads = int(np.clip(n_columns // least, 1, min(blas_threads(), len(columns))))
        if on_gpu(self.X) or self.by_row:  # an active set has columns side by side on all threads
            n_threads = 1
        if self.by_row:  # the columns of a fold begin where those of the lam before have ended
            columns.sort(key=lambda each: each.fold.number)
        n_rounds = -(-n_columns // max(n_threads, self._most_columns()))
        waiting = column_plan.column_batches(columns, n_rounds * n_threads)
        while waiting:
            batches, waiting = waiting[:n_threads], waiting[n_threads:]
            n_members = sum(len(batch) for batch in batches)
            self._train_concurrently(batches, self.deadline.share(n_members / n_left))
            n_left -= n_members
        scoring = self.results.scoring_seconds - self.scoring_before
        self.results.add_fit_time(self.plan.cells, max(0.0, time.perf_counter() - self.began - scoring))

    def _train_concurrently(self, batches: list[list[LamColumns]], max_time: float | None) -> None:
        if len(batches) == 1:
            self._train_batch(batches[0], max_time)
            return
        config, n_threads = get_config(), max(1, blas_threads() // len(batches))  # each thread has its own

        def train(batch: list[LamColumns]) -> None:
            with config_context(**config), threads_limited(n_threads):
                self._train_batch(batch, max_time)

        with ThreadPoolExecutor(len(batches), thread_name_prefix="pegasos") as pool:
            try:
                for _ in pool.map(train, batches):
                    pass
            except BaseException:  # an error, or Ctrl-C while waiting: the other batches need not go on
                self.context.stopped.set()
                raise

    def _most_columns(self) -> int:
        """Columns whose state fits into what the kernel matrices leave of the cache; copies are made now and then."""
        rows, rule = self.rows, self.recipe.rule
        states = {Average.LAST: 1, Average.WINDOW: 3}.get(average_of(rule, self.estimator.average), 2)
        by_row = rows.matrix is not None if rows.dual else rule == Rule.SDCA or self.schedule.certified
        folds, train_too = [fold.rows for fold in self.plan.folds], "train" in self.results.sides
        scores = max(len(fold.test) + len(fold.scored["train"]) * train_too for fold in folds)
        each = 2.0 * (states * rows.n_state + by_row * rows.n_rows + scores) * rows.dtype.itemsize
        each += self.by_row * BYTES_OF_A_VARIABLE * rows.n_rows
        room = self._cache_bytes() - self.kernel_cache.bytes_taken()
        return int(np.clip(room / each, MIN_COLUMNS, MAX_COLUMNS * blas_threads()))

    def _train_batch(self, batch: list[LamColumns], max_time: float | None) -> None:
        """Train a batch; where a GPU has not enough memory for all, one half after the other."""
        left = [each for each in batch if any(not self.results.has(*cell) for cell in each.cells)]
        if not left:  # an earlier attempt came far enough
            return
        try:
            self._solve(left, max_time)
            return
        except MemoryError:
            asked = devices.asked_for(self.estimator, self.data.X)
            if not on_gpu(self.X) or (len(left) == 1 and self.share < devices.SMALLEST_SHARE and asked):
                raise
        halves = [left[: len(left) // 2], left[len(left) // 2 :]]
        if len(left) == 1:
            self._spare_memory()
            halves = [left]
        devices.free()
        for half in halves:
            self._train_batch(half, max_time)

    def _spare_memory(self) -> None:
        """Go on without the matrix and with shorter blocks; at last on the CPU."""
        self.kernel_cache.clear()
        self.share /= 4
        if self.share < devices.SMALLEST_SHARE / 4:
            X = self.data.X
            self.kernel_cache, self.share = KernelCache(PlacedRows(X, X, X)), 1.0
        self.rows = self._rows(None)

    def _solve(self, batch: list[LamColumns], max_time: float | None) -> None:
        if self.estimator.max_time is not None:  # of each fit
            own = self.estimator.max_time * sum(len(each.read_points) for each in batch)
            max_time = own if max_time is None else min(own, max_time)
        rows = self.rows.for_concurrent_solve()
        problems = column_plan.problem_of(batch, self.plan.folds, self.data.X.shape[0])
        schedule = replace(self.schedule, max_time=max_time)
        scoring = CellScoring(self.context, rows, batch)
        method = column_plan.method_of(self.recipe, rows, problems, in_stream=scoring.steps.shape[1] > 1)
        solution = solve(
            Job(rows, problems, schedule, self.recipe.rule, self.recipe.loss, self.definite, method),
            hooks=Hooks(progress=lambda done: self.context.stopped.is_set()),
            clock=Clock(max_time, interruptible=False),
            read_points=ReadPoints(scoring.steps, scoring.reached),
        )
        if solution.timed_out:
            self.deadline.cut()
        if solution.certificate is not None:  # computed for tol only
            self._note_gaps(batch, scoring.member, solution.certificate.relative_gap)

    def _note_gaps(self, batch: list[LamColumns], member: np.ndarray, gaps: np.ndarray) -> None:
        """Keep the largest gap of each cell, known where its columns ended."""
        for number, each in enumerate(batch):
            end, gap = max(steps.max() for _, steps in each.read_points), float(gaps[member == number].max())
            for candidate, steps in each.read_points:
                if steps.max() == end:
                    self.results.add_gap(candidate, each.fold, gap, self.recipe.tol)
