"""Newton's method on the primal, for linear models with few features: all columns from the same readings of the rows.

Each column minimises ``lam/2 ||w||² + mean weighted loss``. One iteration takes a Gram matrix of the rows whose loss is
curved at their score, weighted by the curvature (Chapelle, Neural Computation 2007), one reading of the rows that gives
the scores along the direction together with loss and gradient at its end, and, where a step of length 1 is not good
enough, a line search over the kept scores, which reads no row. Few rows change sides from one iteration to the next, so
that the Gram matrix of squared_hinge follows them instead of being computed anew.

A loss with a kink is smoothed over a width that shrinks with the gap: the parabola beside the kink has a Newton step,
and what the smoothing costs is part of the gap. With b_i = s_i·pull_i at the scores as dual point,
``gap = ||g||²/(2 lam) + mean(s·width·|pull|(1 - |pull|))`` for the gradient g of the smoothed objective: every
iteration has its certificate without a further look at any row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from pegasos.backends.cpu.expansion import LOSS, SLACK
from pegasos.backends.threads import WORTH_A_THREAD, share_out
from pegasos.problem.job import Job
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate
from pegasos.solver.clock import Clock
from pegasos.solver.expansion import Expansion, Trial
from pegasos.solver.monitor import Hooks, Monitor
from pegasos.solver.read_points import ReadPoints
from pegasos.solver.snapshot import SnapshotStore
from pegasos.solver.stream import Solution

DEFAULT_TOL = 1e-9
GOOD_SLOPE = 0.5  # of the slope at the start: a step of length 1 that leaves no more is taken as it is ...
SEARCH_SLOPE = 0.1  # ... and a search ends at a point that leaves no more
SEARCH_STEPS = 40
FIRST_WIDTH = 2.0  # of a margin's kink: scores of 0 lie on the parabola
NARROWER = 0.35  # at most by so much at once
STALLS = 3  # iterations without a better gap after which a column goes on in float64, or ends
FALLS = 1e-9  # of an objective: a fall that counts
ROUNDING = 1e-12  # of an objective


@dataclass
class Iterate:
    """Where the columns of a `Batch` stand: models, gradients, and what is known of them."""

    models: np.ndarray  # (P, features + 1), in float64
    gradients: np.ndarray  # of the smoothed objectives
    objectives: np.ndarray  # smoothed
    sums: np.ndarray


@dataclass
class Batch:
    """Columns that are solved side by side, as many as fit into memory."""

    expansion: Expansion
    at: Iterate
    places: np.ndarray  # those that are not finished
    single: np.ndarray  # whose Gram matrix may be in float32
    best_gap: np.ndarray
    lowest: np.ndarray  # smoothed objectives, one iteration ago
    stalled: np.ndarray  # iterations since the best gap


@dataclass
class NewtonRun:
    """A job on the way; `state` has all columns."""

    job: Job
    state: State
    monitor: Monitor
    known: Certificate
    models: np.ndarray  # of all columns, (P, features + 1)
    first_steps: np.ndarray
    groups: list[np.ndarray]
    group: int = -1
    batch: Batch | None = field(default=None)
    passes: int = 0
    alpha: np.ndarray | None = None

    @property
    def has_begun(self) -> bool:
        """Whether any column has taken a step."""
        return bool((self.state.columns["steps"] > self.first_steps).any())

    def model(self) -> np.ndarray:
        """The model of all columns as they stand."""
        rows = self.job.rows
        return self.models[:, : self.state.sums.shape[0]].T.astype(rows.dtype)


class NewtonSolver:
    """Newton's method for dense and CSR rows under a linear model; a pass is an iteration.

    Parameters
    ----------
    hooks : Hooks, optional
    clock : Clock, optional
    read_points, snapshots : None
        Iterations have no steps between them to read models off, and are few: there are no checkpoints.
    """

    def __init__(
        self, hooks: Hooks | None = None, clock: Clock | None = None, *, read_points: ReadPoints | None = None,
        snapshots: SnapshotStore | None = None,
    ):  # fmt: skip
        if read_points is not None or snapshots is not None:
            raise ValueError("Newton's method reads no models off on the way and keeps no checkpoints.")
        self.hooks, self.clock = hooks or Hooks(), clock or Clock(None)

    # --- init, advance, finish ----------------------------------------------------------------------------------

    def init(self, job: Job, start: State | None = None) -> NewtonRun:
        """Begin a job, from nothing or from the model of an earlier state."""
        columns, n_state = job.column_records(), len(job.rows.zeros(0))
        models = np.zeros((job.n_columns, job.rows.X.shape[1] + 1))
        if start is not None:
            if start.sums.shape != (n_state, job.n_columns):
                raise ValueError(
                    f"The state to go on from has the shape {start.sums.shape} (features, columns), and the problem "
                    f"{(n_state, job.n_columns)}."
                )
            models[:, :n_state] = start.model().T
            columns["steps"] = start.columns["steps"]
        columns["limit"] = np.minimum(columns["steps"] + columns["limit"].astype(float), 2.0**62).astype(np.int64)
        none = np.zeros((0, 0), job.rows.dtype)
        sums = np.zeros((n_state, job.n_columns), job.rows.dtype)
        state = State(columns, sums, none, none, none, none, none, Rule.SDCA, Average.LAST)
        at_once = Expansion.columns_at_once(job)
        groups = np.split(np.arange(job.n_columns), range(at_once, job.n_columns, at_once))
        zero = columns["zero_objective"]
        known = Certificate(zero.copy(), np.full(len(zero), -np.inf), zero.copy())
        return NewtonRun(
            job=job, state=state, monitor=Monitor(self.clock, self.hooks, zero), known=known, models=models,
            first_steps=columns["steps"].copy(), groups=groups,
        )  # fmt: skip

    def advance(self, run: NewtonRun) -> bool:
        """Begin with the next columns, or take one iteration of those at hand; False: the job is done."""
        if run.batch is None or not run.batch.places.size:
            self._leave(run)
            if run.group + 1 == len(run.groups) or self._ends(run):
                return False
            self._enter(run)
            return True
        if self._ends(run) or not self._iterate(run, run.batch):
            self._leave(run)
            return False
        run.passes += 1
        self._settle(run)
        return True

    def finish(self, run: NewtonRun) -> Solution:
        """What is to know of all columns, once all have stopped."""
        job, state, clock = run.job, run.state, self.clock
        columns, model = state.columns, run.model()
        scales = columns["lam"] * columns["n_rows"]
        state.sums = (model * scales).astype(job.rows.dtype)
        if run.alpha is not None:
            state.alpha = run.alpha
        columns["norm_squared"] = job.rows.square_norms(state.sums)
        columns["best_dual"] = run.known.dual
        certificate = self._certificate(run) if job.schedule.certified else None
        if certificate is not None:
            run.monitor.record(state, certificate)
        return Solution(state, model, certificate, run.monitor.history, clock.timed_out, clock.interrupted)

    # --- columns come and go --------------------------------------------------------------------------------------

    def _enter(self, run: NewtonRun) -> None:
        """Look at the rows at the models that the next columns start from."""
        run.group += 1
        self.clock.share(len(run.groups) - run.group)
        chosen = run.groups[run.group]
        expansion = Expansion(run.job, run.state.columns[chosen])
        if run.job.loss.has_kink:
            expansion.widths[:] = FIRST_WIDTH * np.where(run.job.loss.task == "regression", run.known.zero[chosen], 1.0)
            expansion.widths[expansion.widths == 0.0] = 1.0
        models, places = run.models[chosen], np.arange(len(chosen))
        begins = models.any()
        trial = expansion.trial(places, models if begins else None)
        if begins:
            expansion.step(places, np.ones(len(places)))
        batch = Batch(
            expansion, self._iterate_of(expansion, trial, models), places, np.ones(len(places), bool),
            np.full(len(places), np.inf), np.full(len(places), np.inf), np.zeros(len(places), int),
        )  # fmt: skip
        run.batch = batch
        self._note(run, batch)

    def _leave(self, run: NewtonRun) -> None:
        """Keep what the columns at hand have reached."""
        batch = run.batch
        if batch is None:
            return
        if run.job.schedule.certified:
            if run.alpha is None:
                run.alpha = np.zeros((run.job.rows.n_rows, run.job.n_columns), run.job.rows.dtype)
            batch.expansion.add_coefficients(run.alpha)
        run.batch = None

    def _ends(self, run: NewtonRun) -> bool:
        return run.monitor.stopped or self.clock.is_up()

    # --- one iteration --------------------------------------------------------------------------------------------

    def _iterate(self, run: NewtonRun, batch: Batch) -> bool:
        """One step of the columns that are not finished; whether there was time for it."""
        expansion, at, places = batch.expansion, batch.at, batch.places
        go_on = lambda part: not (self.clock.interrupted or self.clock.seconds > self.clock.max_time)
        if not expansion.follow(places, at.sums, batch.single, go_on):
            self.clock.timed_out |= not self.clock.interrupted
            return False
        directions = self._directions(run, batch)
        slopes = np.einsum("pj,pj->p", at.gradients, directions)
        trial = expansion.trial(places, directions)
        ahead = self._iterate_of(expansion, trial, at.models + directions)
        ends = np.einsum("pj,pj->p", ahead.gradients, directions)
        rounding = ROUNDING * np.abs(at.objectives)
        good = (np.abs(ends) <= GOOD_SLOPE * np.abs(slopes)) & (ahead.objectives <= at.objectives + rounding)
        lengths = np.ones(len(good))
        searched = places[~good[places]]
        if searched.size:
            lengths = self._search(batch, searched, directions, slopes, ends)
        expansion.step(places, lengths)
        self._move(batch.at, ahead, places[good[places]])
        if searched.size:
            models = at.models + lengths[:, None] * directions
            self._move(batch.at, self._iterate_of(expansion, expansion.trial(searched, None), models), searched)
        return True

    def _iterate_of(self, expansion: Expansion, trial: Trial, models: np.ndarray) -> Iterate:
        columns = expansion.columns
        gradients = columns["lam"][:, None] * models - trial.gradients / columns["n_rows"][:, None]
        return Iterate(models, gradients, expansion.objectives(trial, models), trial.sums)

    def _move(self, at: Iterate, there: Iterate, places: np.ndarray) -> None:
        at.models[places], at.gradients[places] = there.models[places], there.gradients[places]
        at.objectives[places], at.sums[places] = there.objectives[places], there.sums[places]

    def _directions(self, run: NewtonRun, batch: Batch) -> np.ndarray:
        """Newton's directions of the columns at hand; 0 for the others."""
        expansion, at, size = batch.expansion, batch.at, batch.expansion.size
        directions = np.zeros_like(at.models)
        curvature = run.job.loss.curvature

        def solve(p) -> None:
            column = expansion.columns[p]
            factor = 1.0 if curvature is None else curvature
            if run.job.loss.has_kink:
                factor /= expansion.widths[p]
            matrix = expansion.grams[p] * (factor / column["n_rows"])
            matrix.flat[:: size + 1] += column["lam"]
            directions[p, :size] = -solved(matrix, at.gradients[p, :size])

        work = float(size) ** 3 / 3 * len(batch.places)
        share_out(solve, batch.places, threads=None if work > WORTH_A_THREAD else 1)
        return directions

    def _search(self, batch: Batch, places, directions, slopes, ends) -> np.ndarray:
        """Lengths of steps at which the objectives have fallen and their slopes are small, by Newton's method between
        two bounds."""
        expansion, at = batch.expansion, batch.at
        lam, n_rows = expansion.columns["lam"], expansion.columns["n_rows"]
        linear = lam * np.einsum("pj,pj->p", at.models, directions)
        square = lam * np.einsum("pj,pj->p", directions, directions)
        norm = lam / 2 * np.einsum("pj,pj->p", at.models, at.models)
        low, high, lengths = np.zeros(len(lam)), np.full(len(lam), np.inf), np.ones(len(lam))
        rounding = ROUNDING * np.abs(at.objectives)
        for _ in range(SEARCH_STEPS):
            value, slope, bend = expansion.along(places, lengths).T / n_rows
            value += norm + lengths * linear + lengths**2 / 2 * square
            slope, bend = slope + linear + lengths * square, bend + square
            done = (np.abs(slope) <= SEARCH_SLOPE * np.abs(slopes)) & (value <= at.objectives + rounding)
            places = places[~done[places]]
            if not places.size:
                break
            for p in places:
                if slope[p] > 0.0 or value[p] > at.objectives[p] + rounding[p]:
                    high[p] = lengths[p]
                else:
                    low[p] = lengths[p]
                after = lengths[p] - slope[p] / bend[p] if bend[p] > 0.0 else np.inf
                if high[p] == np.inf:
                    after = min(after, 10.0 * lengths[p])
                elif not low[p] < after < high[p]:
                    after = 0.5 * (low[p] + high[p])
                lengths[p] = after
        lengths[places] = low[places]
        return lengths

    # --- what is known --------------------------------------------------------------------------------------------

    def _note(self, run: NewtonRun, batch: Batch) -> None:
        """Objectives and gaps of the columns at hand; those within `tol` are finished, and widths shrink."""
        expansion, at, places = batch.expansion, batch.at, batch.places
        chosen, columns = run.groups[run.group], expansion.columns
        objectives = expansion.objectives(Trial(at.gradients, at.sums), at.models, LOSS)
        by_slope = np.einsum("pj,pj->p", at.gradients, at.gradients) / (2 * columns["lam"])
        by_width = at.sums[:, SLACK] / columns["n_rows"]
        gaps = by_slope + by_width
        mine = chosen[places]
        run.models[mine] = at.models[places]
        run.known.objective[mine] = objectives[places]
        run.known.dual[mine] = np.maximum(run.known.dual[mine], (objectives - gaps)[places])
        gaps[places] = run.known.objective[mine] - run.known.dual[mine]
        tol, zero = run.job.schedule.tol, np.where(columns["zero_objective"] > 0, columns["zero_objective"], 1.0)
        tol = DEFAULT_TOL if tol is None else tol
        aims = np.maximum(tol * np.minimum(zero, objectives), ROUNDING * zero)
        done = gaps <= aims
        self._note_stalls(batch, gaps)
        done |= batch.stalled >= STALLS
        if run.job.loss.has_kink:
            self._narrow(batch, places[~done[places]], aims, by_slope, by_width)
        records = run.state.columns
        records["limit"][mine[done[places]]] = records["steps"][mine[done[places]]]
        batch.places = places[~(records["steps"] >= records["limit"])[mine]]

    def _note_stalls(self, batch: Batch, gaps: np.ndarray) -> None:
        """A column whose gap does not fall any more goes on with Gram matrices in float64."""
        with np.errstate(invalid="ignore"):  # inf - inf
            fallen = batch.at.objectives < batch.lowest - FALLS * np.abs(batch.lowest)
        better = (gaps < 0.9 * batch.best_gap) | fallen | np.isinf(batch.lowest)
        batch.best_gap = np.minimum(batch.best_gap, gaps)
        batch.lowest = batch.at.objectives.copy()
        batch.stalled = np.where(better, 0, batch.stalled + 1)
        for p in batch.places:
            if batch.stalled[p] >= STALLS and batch.single[p]:
                batch.single[p], batch.stalled[p], batch.expansion.grams[p] = False, 0, None

    def _narrow(self, batch: Batch, places, aims, by_slope, by_width) -> None:
        """Shrink the widths of columns that are nearly optimal for theirs; their sums and gradients follow."""
        expansion = batch.expansion
        ready = places[(by_slope < by_width)[places] & (by_width > aims / 2)[places]]
        if not ready.size:
            return
        factors = np.sqrt(aims[ready] / (4 * by_width[ready]))  # the cost of a width goes with its square
        expansion.widths[ready] *= np.clip(factors, NARROWER, 0.7)
        trial = expansion.trial(ready, None)
        self._move(batch.at, self._iterate_of(expansion, trial, batch.at.models), ready)
        batch.lowest[ready] = np.inf

    def _settle(self, run: NewtonRun) -> None:
        """After an iteration: count it, note what it proves, and call the hooks."""
        batch, hooks, monitor, columns = run.batch, self.hooks, run.monitor, run.state.columns
        assert batch is not None
        mine = run.groups[run.group][batch.places]
        columns["steps"][mine] += columns["n_rows"][mine].astype(np.int64)
        self._note(run, batch)
        if hooks.record is not None or run.job.schedule.tol is not None:
            monitor.record(run.state, self._certificate(run))
        if hooks.progress is not None:
            done = (columns["steps"] - run.first_steps) / np.maximum(columns["limit"] - run.first_steps, 1)
            in_time = self.clock.seconds / self.clock.max_time
            monitor.stopped |= hooks.progress(max(float(done.mean()), in_time)) is True
        if hooks.after_pass is not None:
            monitor.stopped |= hooks.after_pass(run.passes, run.model) is True

    def _certificate(self, run: NewtonRun) -> Certificate:
        known = run.known
        return Certificate(known.objective.copy(), np.maximum(known.dual, 0.0), known.zero)


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a positive definite system; where rounding has made it indefinite, the diagonal is raised."""
    diagonal, raised = matrix.diagonal().copy(), 1e-14
    while True:
        try:
            factor = np.linalg.cholesky(matrix)
            break
        except np.linalg.LinAlgError:
            raised *= 100.0
            if not np.isfinite(diagonal).all() or raised > 1e10:
                return right
            matrix.flat[:: len(matrix) + 1] = diagonal * (1.0 + raised) + np.finfo(float).tiny
    return solve_triangular(factor, solve_triangular(factor, right, lower=True), lower=True, trans=1)
