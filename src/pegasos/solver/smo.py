"""Kernel columns to their optimum by the variables that violate its conditions most; see `pegasos.solver.dual_run`.

A column minimises ½||w||² + Σ cᵢ ℓᵢ, which is its objective over λ: cᵢ is the row's weight over λn. An intercept is not
penalised: the sum of the dual variables is 0. A pass is as many steps as the column has rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pegasos.losses import Loss
from pegasos.rows import KernelRows
from pegasos.rules.state import State
from pegasos.solver.dual_problem import Bounds, DualProblem, Stop
from pegasos.solver.dual_run import DualRun
from pegasos.solver.dual_snapshot import check_packed, packed, unpack
from pegasos.solver.exact import ExactRun, ExactSolver, enough
from pegasos.solver.snapshot import PassCount, Snapshot
from pegasos.solver.snapshot_checks import check_exact_snapshot
from pegasos.solver.stream import Solution

VIOLATION = 1e-3  # at which kernels without a gap are done, as LIBSVM's
MOST_OF_INDEFINITE = 100.0  # of a row's weight: its largest dual variable where a kernel has no gap
LOOK_PER_SUPPORT = 0.5  # of a step: what a row with a coefficient adds to a look at all rows


class SmoSolver(ExactSolver):
    """Active sets of rows seen through a kernel; all columns share a cache of kernel rows."""

    keeps_snapshots = True

    def begin(self, run: ExactRun) -> None:
        """The dual problem of each column; of those that differ in λ alone one begins where the other has ended."""
        job, rows = run.job, run.job.rows
        assert isinstance(rows, KernelRows)
        problems, weights = job.problems, np.asarray(job.weights, np.float64)
        of_set = [np.flatnonzero(each) for each in weights.T]
        self._rows_of = [of_set[each] for each in run.state.columns["row_set"]]
        self._scale = run.state.columns["lam"] * run.state.columns["n_rows"]
        self._lam, self._zero = run.state.columns["lam"].tolist(), run.state.columns["zero_objective"].tolist()
        gap, duals = job.definite, []
        for number, record in enumerate(run.state.columns):
            own = self._rows_of[number]
            targets = problems.labelings[own, record["labeling"]].astype(np.float64)
            sizes = weights[own, record["row_set"]] / self._scale[number]
            start = run.alpha[number, own] / self._scale[number]
            dual = dual_of(job.loss, own, targets, sizes, record["epsilon"], rows.bias > 0, start)
            duals.append(dual if gap else bounded(dual, sizes))
        tol = VIOLATION if job.schedule.tol is None else job.schedule.tol
        self._tol = job.schedule.tol
        stop = Stop(None if gap else tol, self._wanted_gap if gap else None)
        fresh = not run.alpha.any()
        run.own = DualRun(duals, rows.row_cache, stop, self._predecessors(run) if fresh else None)
        limits = run.state.columns["limit"] - run.first_steps
        for column, limit in zip(run.own.columns, limits, strict=True):
            column.most_steps = column.limit = int(limit)
        if self.snapshots is not None and self.snapshots.found is not None:
            self._go_on_from(run, self.snapshots.found)
        else:
            run.own.begin()

    def carry_over(self, state: State, start: State) -> None:
        """Where λ falls the coefficients themselves stay, which is nearer to the new optimum."""
        state.sums *= np.minimum(1.0, state.columns["lam"] / start.columns["lam"])

    def _predecessors(self, run: ExactRun) -> list[int]:
        """For each column the one with the same rows and targets and the next larger λ; -1: none."""
        columns, found = run.state.columns, [-1] * len(run.state.columns)
        last: dict[tuple[int, int], int] = {}
        for number in np.argsort(-columns["lam"], kind="stable"):
            key = (int(columns["labeling"][number]), int(columns["row_set"][number]))
            found[number] = last.get(key, -1)
            last[key] = int(number)
        return found

    def _wanted_gap(self, number: int, primal: float) -> float:
        lam = self._lam[number]
        return enough(lam * primal, self._zero[number], self._tol) / lam

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """One round of steps in all columns, or as many rounds as so many passes take."""
        duals, columns = run.own, run.state.columns
        before = np.array([column.steps for column in duals.columns])
        if most_passes < np.inf:
            for column, n_rows in zip(duals.columns, columns["n_rows"].tolist(), strict=True):
                column.most_steps = int(min(column.limit, column.steps + most_passes * n_rows))
        while True:
            duals.advance()
            if most_passes == np.inf or not duals.ready or self.clock.interrupted or self._out_of_time():
                break
        taken = np.array([column.steps for column in duals.columns]) - before
        columns["steps"] += taken
        for number, column in enumerate(duals.columns):
            if column.done and not run.converged[number]:
                self._note(run, number, column.bounds)
        if self.hooks.after_pass is not None:
            self.write_models(run)
        if self.snapshots is not None and self.snapshots.due():
            self.snapshots.keep(self._snapshot(run))

    def _out_of_time(self) -> bool:
        return self.clock.limited and self.clock.seconds + self.clock.reserve > self.clock.max_time

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Look at all rows of some columns as they stand."""
        for number, bounds in zip(columns, run.own.measure(columns), strict=True):
            self._note(run, int(number), bounds)

    def _note(self, run: ExactRun, number: int, bounds: Bounds) -> None:
        """Keep the bounds of a column that has just been measured."""
        column, lam = run.own.columns[number], run.state.columns["lam"][number]
        column.seen = bounds
        run.note(number, lam * bounds.primal, -lam * bounds.objective)
        if column.done:
            run.converged[number] = run.own.converged[number]
            if not run.converged[number]:  # out of steps, or of digits
                run.state.columns["limit"][number] = run.state.columns["steps"][number]

    def conclude(self, run: ExactRun) -> None:
        """Keep where an early end leaves the columns, for a later run to go on from."""
        if self.snapshots is not None and (run.monitor.stopped or self.clock.timed_out or self.clock.interrupted):
            self.snapshots.keep(self._snapshot(run))

    def finish(self, run: ExactRun) -> Solution:
        """What is to know of all columns; the kernel rows are freed now, not when somebody collects cycles."""
        try:
            return super().finish(run)
        finally:
            run.own = None

    def look_multiplications(self, run: ExactRun) -> float:
        """In the time of steps: what looks at all rows of the columns that are not done add up to."""
        support = [np.count_nonzero(each.values_of_all()) for each in run.own.columns if not each.done]
        return LOOK_PER_SUPPORT * float(sum(support)) * run.job.rows.width

    def square_norms(self, run: ExactRun) -> np.ndarray:
        """||S||² of each column; nan where its scores are not known."""
        current = run.certified_at == run.state.columns["steps"]
        pairs = zip(run.own.columns, current, strict=True)
        return np.array([column.beta @ column.scores if known else np.nan for column, known in pairs]) * self._scale**2

    def write_models(self, run: ExactRun) -> None:
        """Write the dual variables of all columns, and their intercepts, to the state."""
        for number, column in enumerate(run.own.columns):
            run.alpha[number, self._rows_of[number]] = column.values_of_all() * self._scale[number]
            if run.job.rows.bias > 0:
                run.sums[number, -1] = column.present_intercept() * self._scale[number]

    # --- snapshots --------------------------------------------------------------------------------------------------

    def _snapshot(self, run: ExactRun) -> Snapshot:
        """Where the columns stand, to the last bit."""
        return Snapshot(
            whole=run.state, state=None, lap=PassCount(passes=run.passes, next_check=run.next_check),
            stream={"waiting": np.zeros(0, np.int64)}, order=np.zeros(0, np.intp), pull_rate=0.0,
            seconds=self.clock.seconds, first_steps=run.first_steps,
            known=np.array([run.objective, run.dual, run.certified_at, run.converged]),
            history=run.monitor.history, own=packed(run.own),
        )  # fmt: skip

    def _go_on_from(self, run: ExactRun, found: Snapshot) -> None:
        """Stand where the snapshot was taken, if this very job can have left it."""
        assert self.snapshots is not None
        try:
            check_exact_snapshot(found, run.job, run.state)
            check_packed(run.own, found.own, found.whole.columns["steps"] - found.first_steps)
        except ValueError as error:
            raise self.snapshots.refused() from error
        run.state.columns[...] = found.whole.columns
        run.sums[...] = found.whole.sums.T
        run.first_steps[...] = found.first_steps
        run.objective[...], run.dual[...], certified, converged = found.known
        run.certified_at[...], run.converged[...] = certified, converged
        run.passes, run.next_check = found.lap.passes, found.lap.next_check
        run.monitor.history[:] = found.history
        self.clock.started -= found.seconds
        unpack(run.own, found.own)


def dual_of(
    loss: Loss, rows: np.ndarray, targets: np.ndarray, sizes: np.ndarray, epsilon: float, intercept: bool,
    start: np.ndarray,
) -> DualProblem:  # fmt: skip
    """The dual of ½||w||² + Σ sizes · loss over some rows, its variables being the coefficients of the rows."""
    free = np.full(len(rows), np.inf)
    bounds, ridge = (sizes, None) if loss.dual_is_bounded else (free, 0.5 / sizes)
    low, high = -bounds, bounds
    if loss.task == "classification":
        low, high = np.where(targets > 0, 0.0, low), np.where(targets > 0, high, 0.0)
        epsilon = 0.0
    start = np.clip(start, low, high)
    return DualProblem(rows, targets, low, high, float(epsilon), ridge, (0, len(rows)) if intercept else None, start)


def bounded(dual: DualProblem, sizes: np.ndarray) -> DualProblem:
    """The same for a kernel that is not definite: variables without bounds might rise for ever."""
    most = MOST_OF_INDEFINITE * sizes
    return replace(dual, low=np.maximum(dual.low, -most), high=np.minimum(dual.high, most))
