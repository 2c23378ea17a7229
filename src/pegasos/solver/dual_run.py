"""`solve_duals`: the duals of kernel machines to their optimum, all columns over one cache of kernel rows.

Each column moves the variables that violate its conditions most (`pegasos.backends.cpu.active_set`) until a kernel row
is missing. Then the missing rows of all columns, and those of the strongest violators that have none, are computed in
one product. Variables at a bound that cannot move are set aside, and looked at again before the end.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pegasos.backends.cpu import dual_columns
from pegasos.backends.threads import share_out, threads_limited
from pegasos.rows.row_cache import KernelRowCache
from pegasos.solver.clock import Clock
from pegasos.solver.dual_column import SAFETY, DualColumn, Status
from pegasos.solver.dual_problem import Bounds, DualProblem, DualSolution, Stop
from pegasos.solver.monitor import Hooks

WORTH_THREADS = 2e4  # variables that move in all columns
WORTH_ALL_ROWS = 3  # variables a row, beyond which all rows of a small matrix are computed at once
SHARE_OF_A_COLUMN = 1 / 8  # of the rows: what a column uses again and again; more columns would drive them out
VARIABLES_AT_ONCE = 4096  # whose slopes one thread computes anew
WIDEST_GOAL, GOAL_OF_GAP = 0.1, 30.0  # the first violation to reach, as parts of that at the start and of the gap
LEAST_PART, MOST_PART = 0.1, 0.5  # what the violation to reach falls to while the gap is too wide
BYTES_A_COLUMN, BYTES_A_VARIABLE = 10_000, 250  # of what a column keeps on its way, roughly
BYTES_OF_A_PART = 64_000_000  # of the columns that are on their way side by side, where there are very many
TINY = 1e-300
LEAST_GOAL = 1e-11  # the violation that is as good as none, as a part of the largest linear term


def solve_duals(
    problems: Sequence[DualProblem], kernel_rows: KernelRowCache, stop: Stop | None = None,
    clock: Clock | None = None, hooks: Hooks | None = None,
) -> list[DualSolution]:  # fmt: skip
    """Solve some columns.

    Parameters
    ----------
    problems : sequence of DualProblem
    kernel_rows : KernelRowCache
    stop : Stop, optional
    clock : Clock, optional
        Time limit and Ctrl-C; the columns end where they are.
    hooks : Hooks, optional
        `progress` is called with the part of the columns that are done; True ends the steps.
    """
    clock, stop = Clock(None) if clock is None else clock, Stop() if stop is None else stop
    progress = None if hooks is None else hooks.progress
    parts = [problems] if clock.limited or stop.wanted_gap is not None else _parts(problems)
    found: list[DualSolution] = []
    with threads_limited(), clock.watching_interrupts():
        stopped = False
        for part in parts:
            run, before = DualRun(part, kernel_rows, stop), len(found)
            run.begin()
            while run.running and not stopped and not clock.is_up():
                run.advance()
                done = (before + run.part_done * len(part)) / max(1, len(problems))
                stopped = progress is not None and progress(done) is True
            run.finish()
            found += run.solutions()
    return found


def _parts(problems: Sequence[DualProblem]) -> list[Sequence[DualProblem]]:
    """The columns cut so that what each keeps while it moves fits into memory."""
    ends = np.cumsum([BYTES_A_COLUMN + BYTES_A_VARIABLE * len(problem.rows) for problem in problems]) // BYTES_OF_A_PART
    edges = np.flatnonzero(np.diff(ends)) + 1
    return [problems[first:last] for first, last in pairwise([0, *edges, len(problems)])]


class DualRun:
    """Columns on the way.

    Parameters
    ----------
    problems : sequence of DualProblem
    cache : KernelRowCache
    stop : Stop
    predecessors : sequence of int, optional
        For each column the one at whose end it begins, of the same rows and linear terms; -1: none.
    """

    def __init__(
        self, problems: Sequence[DualProblem], cache: KernelRowCache, stop: Stop,
        predecessors: Sequence[int] | None = None,
    ):  # fmt: skip
        self.cache, self.stop = cache, stop
        self.columns = [DualColumn(problem, cache.diagonal) for problem in problems]
        self.converged = [False] * len(self.columns)
        self.successors: dict[int, int] = {}
        full = cache.capacity >= cache.n_rows
        self._at_once = None if full else max(1, int(cache.capacity / (SHARE_OF_A_COLUMN * cache.n_rows)))
        for number, column in enumerate(self.columns):
            column.most_steps = column.limit = stop.most_steps
            column.shrinks = stop.shrinking
            if predecessors is not None and predecessors[number] >= 0:
                self.successors[predecessors[number]] = number
                column.status = Status.TURN

    @property
    def running(self) -> list[int]:
        """Numbers of the columns that are not done."""
        return [number for number, column in enumerate(self.columns) if not column.done]

    @property
    def ready(self) -> list[int]:
        """Numbers of the columns that can take steps, those that had to wait for leave and have it now, too."""
        for column in self.columns:
            if column.status == Status.LEAVE and column.steps < column.most_steps:
                column.status = Status.STEPS
        found = [number for number, column in enumerate(self.columns) if column.status == Status.STEPS]
        return found[: self._at_once]

    @property
    def part_done(self) -> float:
        """The part of the columns that are done."""
        return 1.0 - len(self.running) / max(1, len(self.columns))

    def begin(self) -> None:
        """Find the slopes at the start."""
        columns = [column for column in self.columns if column.status == Status.STEPS]
        if sum(column.n_variables for column in columns) >= WORTH_ALL_ROWS * self.cache.n_rows:
            self.cache.complete()
        self._complete([column for column in columns if column.beta.any()])
        for number in [number for number, column in enumerate(self.columns) if column.status == Status.STEPS]:
            self._begin(number)

    def advance(self) -> None:
        """Let each column go on until it misses a row or a look at it is due, and give all what they wait for."""
        ready, cache = self.ready, self.cache
        cache.now += 2

        def steps(number: int) -> None:
            self.columns[number].advance(cache, self._wanted_gap(number))

        at_work = sum(self.columns[number].n_active for number in ready)
        share_out(steps, ready, threads=None if at_work >= WORTH_THREADS else 1)
        self._fetch([self.columns[number] for number in ready if self.columns[number].status == Status.ROW])
        self._look([number for number in ready if self.columns[number].status == Status.LOOK])

    def finish(self) -> None:
        """Measure columns that were stopped on the way."""
        cut = self.running
        for number, bounds in zip(cut, self.measure(cut), strict=True):
            self.columns[number].bounds = bounds

    def measure(self, numbers: Sequence[int]) -> list[Bounds]:
        """Look at all variables of columns as they stand, which go on as if nobody had looked."""
        found = []
        self._complete([self.columns[number] for number in numbers if not self.columns[number].done])
        for number in numbers:
            column = self.columns[number]
            if not column.done:
                column = copy.copy(column)
                column.activate()
            found.append(column.bounds if column.done else column.measure(self._wanted_gap(number)))
        return found

    def solutions(self) -> list[DualSolution]:
        """Where the columns are, all of which have been measured."""
        return [
            DualSolution(
                column.beta.copy(), column.bounds.intercepts, column.bounds.objective, column.bounds.gap,
                column.bounds.violation, column.steps, converged, column.scores,
            )
            for column, converged in zip(self.columns, self.converged, strict=True)
        ]  # fmt: skip

    # --- what columns wait for --------------------------------------------------------------------------------------

    def _fetch(self, waiting: list[DualColumn]) -> None:
        """Compute the rows that columns wait for, and with them those of the strongest violators."""
        if not waiting:
            return
        wanted = np.unique([column.wanted for column in waiting])
        room = -len(wanted) % self.cache.block
        others = np.empty(0, np.intp)
        if room:
            asked = waiting[:room]
            each = -(-room // len(asked)) + 1
            found = [column.strongest_missing(self.cache, each) for column in asked]
            ranks = np.concatenate([np.arange(len(rows)) for rows in found])
            rows = np.concatenate(found)[np.argsort(ranks, kind="stable")]
            _, first = np.unique(rows, return_index=True)
            rows = rows[np.sort(first)]
            others = rows[~np.isin(rows, wanted)]
        self.cache.fetch(wanted, others)
        for column in waiting:
            column.status = Status.STEPS

    def _look(self, numbers: list[int]) -> None:
        """Look at all variables of some columns: they are done, or go on with all of them."""
        partial = [number for number in numbers if self.columns[number].n_active < self.columns[number].n_variables]
        self._complete([self.columns[number] for number in partial])
        for number in numbers:
            column = self.columns[number]
            if number in partial:
                column.activate()
            self._judge(number, column)

    def _judge(self, number: int, column: DualColumn) -> None:
        before = column.bounds
        bounds = column.bounds = column.measure(self._wanted_gap(number))
        stop, done = self.stop, self._is_enough(number, bounds)
        exhausted = column.steps >= column.limit or bounds.violation <= column.floor
        stuck = column.steps == column.steps_at_look and bounds.violation > column.goal
        column.steps_at_look = column.steps
        if done or exhausted or (stuck and bounds.violation >= before.violation):
            self._end(number, bool(done or bounds.violation <= column.floor))
            return
        column.status = Status.STEPS
        if stop.wanted_gap is not None and bounds.violation <= column.goal:
            part = SAFETY * self._wanted_gap(number) / max(bounds.gap, TINY)
            column.goal = max(min(max(part, LEAST_PART), MOST_PART) * bounds.violation, column.floor)

    def _is_enough(self, number: int, bounds: Bounds) -> bool:
        stop = self.stop
        if stop.wanted_gap is not None and bounds.gap <= stop.wanted_gap(number, bounds.primal):
            return True
        return stop.violation is not None and bounds.violation <= stop.violation

    def _end(self, number: int, converged: bool) -> None:
        """A column is done, and another one may begin where it ended."""
        column = self.columns[number]
        column.status, self.converged[number] = Status.DONE, converged
        column.release()
        following = self.successors.get(number)
        if following is not None:
            self.columns[following].begin_from(column)
            self._begin(following)

    def _begin(self, number: int) -> None:
        """Let all variables move until violations are so small that a first look at all of them is due."""
        stop, column = self.stop, self.columns[number]
        column.status = Status.STEPS
        column.activate()
        column.bounds = Bounds(0.0, np.inf, np.inf, np.zeros(0))
        bounds = column.measure(self._wanted_gap(number) if column.beta.any() else np.inf)  # 0 is seldom good enough
        column.floor = LEAST_GOAL * max(1.0, float(np.abs(column.linear).max(initial=0.0)))
        if stop.wanted_gap is None:
            assert stop.violation is not None
            column.goal = stop.violation
        else:
            part = min(WIDEST_GOAL, GOAL_OF_GAP * self._wanted_gap(number) / max(bounds.gap, TINY))
            column.goal = max(part * bounds.violation, column.floor)
        if self._is_enough(number, bounds):
            column.bounds = bounds
            self._end(number, True)

    def _wanted_gap(self, number: int) -> float:
        if self.stop.wanted_gap is None:
            return -np.inf
        bounds: Bounds = self.columns[number].bounds
        return self.stop.wanted_gap(number, bounds.primal)

    def _complete(self, columns: list[DualColumn]) -> None:
        """Compute the slopes of the variables that do not move."""
        cache, jobs = self.cache, []
        for column in columns:
            if column.n_active:
                column.gather()
            aside = column.set_aside_variables() if column.n_active else np.arange(column.n_variables)
            column.smooth[aside] = column.ridge[aside] * column.beta[aside] - column.linear[aside]
            jobs.append((column, aside, np.ascontiguousarray(column.rows[aside]), column.coefficients(cache.n_rows)))
        if not jobs:
            return
        support = np.flatnonzero(np.any([coefficients != 0 for *_, coefficients in jobs], axis=0))
        at_once = max(self.cache.block, self.cache.capacity // 2)
        for first in range(0, len(support), at_once):
            rows = support[first : first + at_once]
            cache.now += 2
            cache.last_use[cache.slots[rows[cache.slots[rows] >= 0]]] = cache.now
            cache.fetch(cache.missing(rows))
            self._add(jobs, rows)

    def _add(self, jobs: list, rows: np.ndarray) -> None:
        """Add what these kernel rows are to the slopes."""
        cache, parts = self.cache, []
        for column, aside, aside_rows, coefficients in jobs:
            own = rows[coefficients[rows] != 0]
            for first in range(0, len(aside), VARIABLES_AT_ONCE):
                some = slice(first, first + VARIABLES_AT_ONCE)
                parts.append((column, aside[some], aside_rows[some], cache.slots[own], coefficients[own]))

        def add(part) -> None:
            column, aside, aside_rows, slots, coefficients = part
            slopes = column.smooth[aside]
            dual_columns.add_kernel_rows(slopes, aside_rows, slots, coefficients, cache.cached)
            column.smooth[aside] = slopes

        work = sum(len(part[1]) * len(part[3]) for part in parts)
        share_out(add, parts, threads=None if work >= 1e6 else 1)
