"""What the exact solvers of explicit features share: columns that end one by one, each at its own certificate.

A subclass says how columns come nearer to their optimum (`begin`, `stretch`) and how far they are (`certify`); clock,
callbacks, the rule for stopping and the solution are here. The state is that of sdca: S is the sum of the rows, each
times its coefficient, and w = S / (lam n).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.problem.job import Job
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks, Monitor
from pegasos.solver.read_points import ReadPoints
from pegasos.solver.resume import check_continues
from pegasos.solver.snapshot import SnapshotStore
from pegasos.solver.stream import Solution

ROUNDING = 1e-13  # the gap that is as good as none, for fits without a tol
LOOK_RESERVE = 1.5  # times what a look at all rows should take: the time kept free for the last one


@dataclass
class ExactRun:
    """A job on the way: `state` holds all columns.

    Attributes
    ----------
    sums, alpha : ndarray of shape (n_columns, n_state) and (n_columns, n_rows)
        The arrays of the state, a column's numbers side by side.
    objective, dual : ndarray of shape (n_columns,)
        As last certified, when `steps` were as in `certified_at`.
    converged : ndarray of bool, shape (n_columns,)
        Columns whose gap is small enough.
    own : Any
        What the solver keeps for itself.
    """

    job: Job
    state: State
    sums: np.ndarray
    alpha: np.ndarray
    first_steps: np.ndarray
    monitor: Monitor
    objective: np.ndarray
    dual: np.ndarray
    certified_at: np.ndarray
    converged: np.ndarray
    passes: int = 0
    next_check: int = 1
    own: Any = field(default=None)

    @property
    def has_begun(self) -> bool:
        """Whether any column has taken a step."""
        return bool((self.state.columns["steps"] > self.first_steps).any())

    @property
    def running(self) -> np.ndarray:
        """Numbers of the columns that are not done."""
        return np.flatnonzero(~self.converged & ~self.state.finished)

    def model(self) -> np.ndarray:
        """The model of all columns as they stand."""
        return self.state.model().astype(self.job.rows.dtype, copy=False)

    def note(self, column: int, objective: float, dual: float) -> None:
        """Keep what a look at all rows of a column has proved, and whether that is enough."""
        record, tol = self.state.columns[column], self.job.schedule.tol
        self.objective[column] = objective
        self.dual[column] = max(dual, self.dual[column], 0.0)
        self.certified_at[column] = record["steps"]
        self.converged[column] = objective - self.dual[column] <= enough(objective, record["zero_objective"], tol)


def enough(objective: float, zero_objective: float, tol: float | None) -> float:
    """The gap at which a column is done: `tol` of its objective, and of the zero model's, which may be far above it."""
    zero = zero_objective if zero_objective > 0 else 1.0
    return ROUNDING * zero if tol is None else tol * min(zero, max(objective, ROUNDING * zero))


class ExactSolver:
    """A solver whose columns end at a gap; see `pegasos.solver.solve.Solver`.

    Parameters
    ----------
    hooks : Hooks, optional
    clock : Clock, optional
        Time limit and Ctrl-C; None: no limit.
    read_points : ReadPoints, optional
        One for each column: its end.
    snapshots : SnapshotStore, optional
        Most of these solvers keep none: fits with a checkpoint go to others.
    """

    keeps_snapshots = False

    def __init__(
        self, hooks: Hooks | None = None, clock: Clock | None = None, *, read_points: ReadPoints | None = None,
        snapshots: SnapshotStore | None = None,
    ):  # fmt: skip
        assert snapshots is None or self.keeps_snapshots
        self.snapshots = snapshots
        self.hooks, self.clock, self.read_points = hooks or Hooks(), clock or Clock(None), read_points
        self._looked = self.clock.seconds

    def begin(self, run: ExactRun) -> None:
        """Set up what the solver keeps for itself, from the state of a run, which is empty or an earlier one."""
        raise NotImplementedError

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """Bring the running columns nearer to their optimum, by so many passes at most.

        `run.note` tells of gaps that were measured on the way.
        """
        raise NotImplementedError

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Measure the gap of some columns as they stand, and `run.note` it."""
        raise NotImplementedError

    def carry_over(self, state: State, start: State) -> None:
        """Fit a state, which has the sums of an earlier one, to its own λ; as it is, dual variables stay feasible."""

    def conclude(self, run: ExactRun) -> None:
        """Bring the state up to date, once all columns have stopped."""

    def write_models(self, run: ExactRun) -> None:
        """Write the models to the state, where they are not kept there."""

    def square_norms(self, run: ExactRun) -> np.ndarray:
        """||S||² of each column."""
        return np.einsum("ij,ij->i", run.sums, run.sums)

    def look_multiplications(self, run: ExactRun) -> float:
        """Multiplications of `certify` for all columns, roughly."""
        return float(run.job.problems.n_rows.sum() * run.job.rows.width)

    # --- init, advance, finish ----------------------------------------------------------------------------------

    def init(self, job: Job, start: State | None = None) -> ExactRun:
        """Begin a job, from nothing or from an earlier state, which is left as it is."""
        n_columns, rows = job.n_columns, job.rows
        columns = job.column_records()
        if self.read_points is not None:
            columns["limit"] = columns["horizon"] = self.read_points.ends
        sums = np.zeros((n_columns, rows.n_state + (rows.bias > 0)))
        alpha = sums[:, : rows.n_rows] if rows.dual else np.zeros((n_columns, rows.n_rows))
        none = np.zeros((0, 0))
        state = State(columns, sums.T, none, none, alpha.T, none, none, Rule.SDCA, Average.LAST)
        if start is not None:
            check_continues(state, start)
            state.sums[...], state.alpha[...] = start.sums, start.alpha
            self.carry_over(state, start)
            columns["steps"] = start.columns["steps"]
            columns["limit"] = np.minimum(columns["limit"] + columns["steps"].astype(np.float64), 2.0**62)
        run = ExactRun(
            job=job, state=state, sums=sums, alpha=alpha, first_steps=columns["steps"].copy(),
            monitor=Monitor(self.clock, self.hooks, columns["zero_objective"]),
            objective=np.full(n_columns, np.nan), dual=np.zeros(n_columns),
            certified_at=np.full(n_columns, -1), converged=np.zeros(n_columns, bool),
        )  # fmt: skip
        self.begin(run)
        return run

    def advance(self, run: ExactRun) -> bool:
        """Bring all columns that are not done nearer to their optimum; False: the job is done."""
        if run.monitor.stopped or self.clock.is_up() or not len(run.running):
            return False
        hooks = self.hooks
        most = 1.0 if hooks.after_pass is not None else np.inf
        if hooks.record is not None:
            most = min(most, max(1, run.next_check - run.passes))
        before, steps_before = self.clock.seconds, run.state.columns["steps"].sum()
        self.stretch(run, most)
        run.passes += 1 if most == np.inf else int(most)
        if self.clock.limited:
            taken = max(1, run.state.columns["steps"].sum() - steps_before) * run.job.rows.width
            self.clock.reserve = LOOK_RESERVE * (self.clock.seconds - before) / taken * self.look_multiplications(run)
        self._call_hooks(run)
        return True

    def finish(self, run: ExactRun) -> Solution:
        """What is to know of all columns, once all have stopped."""
        clock, state, certificate = self.clock, run.state, None
        self.conclude(run)
        if run.job.schedule.certified:
            if not clock.timed_out or clock.worth_certifying:
                self.certify_stale(run)
            certificate = self._certificate(run)
            run.monitor.record(state, certificate)
        self.write_models(run)
        state.columns["limit"][run.converged] = state.columns["steps"][run.converged]
        state.columns["norm_squared"] = self.square_norms(run)
        state.columns["best_dual"] = run.dual
        if self.read_points is not None:
            self.read_points.read_off(state, at_end=True)
        return Solution(state, run.model(), certificate, run.monitor.history, clock.timed_out, clock.interrupted)

    def certify_stale(self, run: ExactRun) -> None:
        """Measure the gaps of columns that have moved since they were last measured."""
        stale = np.flatnonzero(run.certified_at != run.state.columns["steps"])
        if len(stale):
            self.certify(run, stale)

    def _certificate(self, run: ExactRun) -> Certificate:
        current = run.certified_at == run.state.columns["steps"]
        objective, dual = np.where(current, run.objective, np.nan), np.where(current, run.dual, np.nan)
        if not run.job.definite:
            dual = np.full(len(objective), np.nan)
        return Certificate(objective, dual, run.state.columns["zero_objective"].copy())

    def _call_hooks(self, run: ExactRun) -> None:
        hooks, monitor, columns = self.hooks, run.monitor, run.state.columns
        if hooks.record is not None and run.passes >= run.next_check:
            run.next_check = 2 * run.passes
            self.certify_stale(run)
            monitor.record(run.state, self._certificate(run))
        if hooks.progress is not None:
            done = (columns["steps"] - run.first_steps) / np.maximum(columns["limit"] - run.first_steps, 1)
            in_time = self.clock.seconds / self.clock.max_time
            share = float(np.where(run.converged, 1.0, done).mean())
            monitor.stopped |= hooks.progress(max(share, in_time)) is True
        if hooks.after_pass is not None:
            monitor.stopped |= hooks.after_pass(run.passes, run.model) is True
