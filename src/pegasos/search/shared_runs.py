"""The cells of a grid in shared runs of the solver: what differs in lam, fold or class is a column of one problem."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from pegasos.backends.threads import blas_limited, blas_threads
from pegasos.estimators import devices, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.recipe import FeatureMap
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import Kernel
from pegasos.problem.job import Job
from pegasos.problem.schedule import average_of
from pegasos.rules.column import Average, Rule
from pegasos.search.cell_scoring import Harvest
from pegasos.search.column_plan import Data, Lane, Place, Strand, columns_of, slabs, stops_of, strand_of
from pegasos.search.deadline import Deadline
from pegasos.search.grouping import same
from pegasos.search.kernel_cache import Matrices
from pegasos.search.results import Board
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks
from pegasos.solver.read_points import ReadPoints
from pegasos.solver.solve import solve
from pegasos.utils.arrays import on_gpu

ON_COLUMNS = ("lam", "C", "max_iter", "max_passes")  # parameters in which the candidates of one run may differ
WIDEST = 1024  # columns of one slab; more gain nothing
NARROWEST = 32  # columns that run together, however little memory is wanted
ABREAST_FROM = 16  # columns of a run that are worth a thread of their own ...
ABREAST_FROM_MATRIX = 64  # ... and where their steps are products with a kernel matrix


@dataclass
class Group:
    """Candidates that differ in `ON_COLUMNS` only, and their folds of one kernel."""

    candidates: dict[int, PegasosBase]
    strands: list[Strand]

    @property
    def estimator(self) -> PegasosBase:
        """Any of the candidates."""
        return next(iter(self.candidates.values()))

    @property
    def kernel(self) -> Kernel:
        """The kernel of all."""
        return self.strands[0].kernel

    @property
    def lanes(self) -> list[Lane]:
        """All lanes in the order of lam: neighbours have about as many rows that pull, which decides how to go on."""
        lanes = [lane for strand in self.strands for lane in strand.lanes.values()]
        return sorted(lanes, key=lambda lane: -lane.lam.mean())

    @property
    def cells(self) -> list[tuple[int, Any]]:
        """All cells: candidate and fold."""
        return [cell for lane in self.lanes for cell in lane.cells]


def evaluate(
    alike: list[dict[int, PegasosBase]], data: Data, places: list[Place], board: Board, deadline: Deadline
) -> None:
    """Train and score all candidates on all folds; `alike` are those that differ in `ON_COLUMNS` only."""
    groups = [group for candidates in alike for group in _groups(candidates, data, places, board)]
    groups.sort(key=lambda group: repr(group.kernel))  # runs that share a kernel matrix follow each other
    left = sum(len(group.lanes) for group in groups)
    for number, group in enumerate(groups):
        left_here, left = left, left - len(group.lanes)
        if deadline.passed:
            for candidate, fold in group.cells:
                board.skip(candidate, fold)
            continue
        others = any(not same(later.kernel, group.kernel) for later in groups[number + 1 :])
        try:
            with devices.precision(group.estimator.device):
                _Run(group, data, board, deadline, others).all_slabs(left_here)
        except Exception as error:  # whatever a kernel function or the data make of it
            if error is board.scoring_error:
                raise
            for candidate, fold in group.cells:
                if not board.has(candidate, fold):
                    board.failed(candidate, fold, error)
    data.forget()


def _groups(candidates: dict[int, PegasosBase], data: Data, places: list[Place], board: Board) -> list[Group]:
    """Folds of equal kernels together; what cannot be trained is reported."""
    strands = []
    estimator = next(iter(candidates.values()))
    schedules = {
        candidate: recipe_of(each).schedule(seed=0) for candidate, each in candidates.items()
    }  # for their steps
    for place in places:
        try:
            strand = strand_of(estimator, data, place)
        except Exception as error:
            for candidate in candidates:
                board.failed(candidate, place.fold, error)
            continue
        for candidate, each in candidates.items():
            try:
                strand.add(candidate, each, schedules[candidate], data.X.dtype)
            except Exception as error:
                board.failed(candidate, place.fold, error)
        if strand.lanes:
            strands.append(strand)
    groups: list[Group] = []
    for strand in strands:
        for group in groups:
            first = group.strands[0]
            alike = same(first.kernel, strand.kernel) and first.task.problems.group == strand.task.problems.group
            if alike and first.landmarks is strand.landmarks:  # each fold has its own, of its training rows
                group.strands.append(strand)
                break
        else:
            groups.append(Group(candidates, [strand]))
    return groups


class _Run:
    """The cells of one group: rows, schedule, and a solve for each slab of columns that fits into memory."""

    def __init__(self, group: Group, data: Data, board: Board, deadline: Deadline, others: bool):
        estimator, kernel, X = group.estimator, group.kernel, data.X
        self.group, self.data, self.board, self.deadline = group, data, board, deadline
        self.estimator, self.recipe = estimator, recipe_of(estimator)
        self.began, self.stopped = time.perf_counter(), False
        self.scoring_before = board.seconds_of_scoring
        longest = max(int(steps.max()) for lane in group.lanes for _, steps in lane.stops)
        self.matrices = data.placed(estimator, self._multiplications(longest))
        self.there, seen = self.matrices.X, self.matrices.seen
        if data.pairwise:
            validation.check_precomputed(seen)
        squares = self.matrices.squares if kernel.from_features else None
        validation.check_magnitudes(seen, squares, kernel, self.recipe.bias)
        self.definite = self.recipe.definite(seen, kernel)
        self.features = FeatureMap(kernel, self.recipe.bias, group.strands[0].landmarks, squares)
        self.schedule = replace(
            group.strands[0].schedule, max_steps=longest, max_passes=np.inf, certified=estimator.tol is not None,
            count_violations=False,
        )  # fmt: skip
        matrix = None
        if (
            not kernel.is_precomputed
            and not self.recipe.explicit
            and longest * (self.schedule.batch or X.shape[0]) > X.shape[0]
        ):
            until = deadline.at(0.5)
            matrix = self.matrices.of(kernel, self._cache_bytes(), more=others, until=until)
        self.share = 1.0
        self.rows = self._rows(matrix)
        self.light = board.only_passes_on(estimator) and data.wrap is None

    def _rows(self, matrix) -> Any:
        return self.recipe.rows(
            self.there, self.features, self.schedule, matrix=matrix, keep=False, share=self.share
        )  # fmt: skip

    def _cache_bytes(self) -> float:
        return self.recipe.cache_bytes(self.there, self.matrices.bytes_taken())

    def _multiplications(self, longest: int) -> float:
        n_columns = sum(len(lane.lam) for lane in self.group.lanes)
        n_rows, batch = self.data.X.shape[0], self.estimator.batch_size
        draws = longest * (n_rows if batch == "all" else int(batch))
        return devices.multiplications_of(self.estimator, self.data.X, draws, n_columns)

    def all_slabs(self, lanes_left: int) -> None:
        """Run all lanes; `lanes_left` in this group and later ones share the time that is left.

        Columns do not need each other, so slabs of them run side by side, one a thread, with nothing to wait for: that
        beats products on all threads with single-threaded steps in between.
        """
        lanes = self.group.lanes
        n_columns = sum(len(lane.lam) for lane in lanes)
        least = ABREAST_FROM_MATRIX if self.rows.dual else ABREAST_FROM
        abreast = 1 if on_gpu(self.there) else int(np.clip(n_columns // least, 1, min(blas_threads(), len(lanes))))
        waves = -(-n_columns // max(abreast, self._most_columns()))
        waiting = slabs(lanes, waves * abreast)
        with blas_limited(blas_threads() // abreast) if abreast > 1 else nullcontext():
            while waiting:
                wave, waiting = waiting[:abreast], waiting[abreast:]
                in_wave = sum(len(slab) for slab in wave)
                self._wave(wave, self.deadline.share(in_wave / lanes_left))
                lanes_left -= in_wave
        scoring = self.board.seconds_of_scoring - self.scoring_before
        self.board.took(self.group.cells, max(0.0, time.perf_counter() - self.began - scoring))

    def _wave(self, wave: list[list[Lane]], max_time: float | None) -> None:
        if len(wave) == 1:
            self._run(wave[0], max_time)
            return
        config = get_config()  # each thread has its own

        def run(slab: list[Lane]) -> None:
            with config_context(**config):
                self._run(slab, max_time)

        with ThreadPoolExecutor(len(wave), thread_name_prefix="pegasos") as pool:
            try:
                for _ in pool.map(run, wave):
                    pass
            except BaseException:  # an error, or Ctrl-C while waiting: the other slabs need not go on
                self.stopped = True
                raise

    def _most_columns(self) -> int:
        """Columns whose state fits into what the kernel matrices leave of the cache; copies are made now and then."""
        rows, places = self.rows, [strand.place for strand in self.group.strands]
        rule = self.recipe.rule
        states = {Average.LAST: 1, Average.WINDOW: 3}.get(average_of(rule, self.estimator.average), 2)
        by_row = rows.matrix is not None if rows.dual else rule == Rule.SDCA or self.schedule.certified
        scores = max(len(place.test) + len(place.train) * ("train" in self.board.sides) for place in places)
        each = 2.0 * (states * rows.n_state + by_row * rows.n_rows + scores) * rows.dtype.itemsize
        room = self._cache_bytes() - self.matrices.bytes_taken()
        return int(np.clip(room / each, NARROWEST, WIDEST * blas_threads()))

    def _run(self, slab: list[Lane], max_time: float | None) -> None:
        """Run the lanes of a slab; where a GPU has not enough memory for all, one half after the other."""
        left = [lane for lane in slab if any(not self.board.has(*cell) for cell in lane.cells)]
        if not left:  # an earlier try came far enough
            return
        try:
            self._solve(left, max_time)
            return
        except MemoryError:
            asked = devices.asked_for(self.estimator, self.data.X)
            if not on_gpu(self.there) or (len(left) == 1 and self.share < devices.SMALLEST_SHARE and asked):
                raise
        halves = [left[: len(left) // 2], left[len(left) // 2 :]]
        if len(left) == 1:
            self._spare_memory()
            halves = [left]
        devices.free()
        for half in halves:
            self._run(half, max_time)

    def _spare_memory(self) -> None:
        """Go on without the matrix and with shorter blocks; at last on the CPU."""
        self.matrices.forget()
        self.share /= 4
        if self.share < devices.SMALLEST_SHARE / 4:
            self.there, self.share, self.matrices = self.data.X, 1.0, Matrices(self.data.X)
        self.rows = self._rows(None)

    def _solve(self, slab: list[Lane], max_time: float | None) -> None:
        if self.estimator.max_time is not None:  # of each fit
            own = self.estimator.max_time * sum(len(lane.stops) for lane in slab)
            max_time = own if max_time is None else min(own, max_time)
        problems = columns_of(slab, self.group.strands, self.data.X.shape[0])
        steps, owners = stops_of(slab)
        rows = self.rows.for_concurrent_solve()
        harvest = Harvest(self, rows, slab, owners)
        job = Job(
            rows, problems, replace(self.schedule, max_time=max_time), self.recipe.rule, self.recipe.loss,
            self.definite,
        )  # fmt: skip
        solution = solve(
            job, hooks=Hooks(progress=lambda done: self.stopped), clock=Clock(max_time, interruptible=False),
            read_points=ReadPoints(steps, harvest.reached),
        )  # fmt: skip
        if solution.timed_out:
            self.deadline.cut()
        if solution.certificate is not None:  # made for tol only
            missed = self._lanes_of(solution.certificate.relative_gap > self.estimator.tol, slab)
            self.board.miss_tol(len(missed))

    def _lanes_of(self, columns: np.ndarray, slab: list[Lane]) -> list[Lane]:
        """Lanes with any of the columns of a mask."""
        parts = np.split(columns, np.cumsum([len(lane.lam) for lane in slab])[:-1])
        return [lane for lane, part in zip(slab, parts, strict=True) if part.any()]
