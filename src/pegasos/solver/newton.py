"""Newton's method on the primal, for linear models with few features: all columns from the same readings of the rows.

Each column minimises ``lam/2 ||w||² + mean weighted loss``. One iteration takes a Gram matrix of the rows whose loss is
curved at their score, weighted by the curvature (Chapelle, Neural Computation 2007), one reading of the rows that gives
the scores along the direction together with loss and gradient at its end, and, where a step of length 1 is not good
enough, a line search over the kept scores, which reads no row. Few rows change sides from one iteration to the next, so
that the Gram matrix of losses made of parabolas and lines follows them instead of being computed anew.

A loss with a kink is smoothed over a width that shrinks with the gap: the parabola beside the kink has a Newton step,
and what the smoothing costs is part of the gap. With b_i = s_i·pull_i at the scores as dual point,
``gap = ||g||²/(2 lam) + mean(s·width·|pull|(1 - |pull|))`` for the gradient g of the smoothed objective: every
iteration has its certificate without a further look at any row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from pegasos.backends import cpu
from pegasos.backends.cpu.expansion import LOSS, SLACK
from pegasos.backends.cpu.newton import (
    BETTER,
    FALLS,
    GOOD_SLOPE,
    NARROWER,
    NEAR,
    ROUNDING,
    SEARCH_SLOPE,
    SEARCH_STEPS,
    STALLS,
    WIDER,
)  # fmt: skip
from pegasos.backends.threads import WORTH_A_THREAD, share_out
from pegasos.solver.exact import ExactRun, ExactSolver, enough
from pegasos.solver.expansion import Expansion, Trial
from pegasos.solver.small_columns import SmallColumns, first_widths


@dataclass
class Iterate:
    """Where columns stand: models (P, features + 1), gradients and values of their smoothed objectives, sums."""

    models: np.ndarray
    gradients: np.ndarray
    objectives: np.ndarray
    sums: np.ndarray

    def take(self, other: Iterate, places: np.ndarray) -> None:
        """The columns `places` as in another one."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[places] = theirs[places]


@dataclass
class Batch:
    """Columns that are solved side by side, as many as fit into memory.

    Attributes
    ----------
    chosen : ndarray of int
        Which columns of the job they are.
    expansion : Expansion
    at : Iterate
    places : ndarray of int
        Those that are not done.
    single : ndarray of bool
        Columns whose Gram matrix may be in float32.
    best_gap, lowest : ndarray
        The smallest gap so far, and the smoothed objective one iteration ago.
    stalled : ndarray of int
        Iterations since either was better.
    """

    chosen: np.ndarray
    expansion: Expansion
    at: Iterate
    places: np.ndarray
    single: np.ndarray
    best_gap: np.ndarray
    lowest: np.ndarray
    stalled: np.ndarray


class NewtonSolver(ExactSolver):
    """Newton's method for dense and CSR rows under a linear model; an iteration counts as a pass.

    Parameters
    ----------
    hooks, clock, read_points, snapshots
        As in `ExactSolver`.
    keeps_widths : bool
        Whether models to begin with are those of an earlier fit by this method, which ended at narrow widths.
    """

    def __init__(self, hooks=None, clock=None, *, keeps_widths: bool = True, **others):
        super().__init__(hooks, clock, **others)
        self._keeps_widths = keeps_widths

    def begin(self, run: ExactRun) -> None:
        """The first columns, at the models they start from."""
        self._columns = SmallColumns.of(run, self._keeps_widths)
        if self._columns is None:
            self._enter(run)

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """So many iterations of the columns at hand; one where there is no limit."""
        if self._columns is not None:
            self._columns.stretch(run, most_passes)
            return
        for _ in range(1 if most_passes == np.inf else int(most_passes)):
            if not run.own.places.size:
                self._leave(run)
                if not len(run.running):
                    return
                self._enter(run)
            if run.own.places.size and not self._iterate(run, run.own):
                return

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Nothing to be done: each iteration has measured the gaps where it ended."""
        if self._columns is not None:  # before the first one
            self._columns.look(run, columns)

    def look_multiplications(self, run: ExactRun) -> float:
        """None."""
        return 0.0

    def conclude(self, run: ExactRun) -> None:
        """Keep the dual points of the columns at hand."""
        if self._columns is None:
            self._leave(run)

    # --- columns come and go --------------------------------------------------------------------------------------

    def _enter(self, run: ExactRun) -> None:
        """Look at the rows at the models that the next columns start from."""
        job, n_state = run.job, run.sums.shape[1]
        chosen = run.running[: Expansion.columns_at_once(job)]
        columns = run.state.columns[chosen]
        expansion = Expansion(job, columns)
        if job.loss.has_kink:
            expansion.widths[:] = first_widths(job, columns)
        models, places = np.zeros((len(chosen), expansion.n_features + 1)), np.arange(len(chosen))
        models[:, :n_state] = run.sums[chosen] / (columns["lam"] * columns["n_rows"])[:, None]
        begins = bool(models.any())
        trial = expansion.trial(places, models if begins else None)
        if begins:
            expansion.step(places, np.ones(len(places)))
        at = _iterate_of(expansion, trial, models)
        if begins and self._keeps_widths and job.loss.has_kink:
            _first_widths(expansion, at)
        run.own = Batch(
            chosen, expansion, at, places, np.ones(len(chosen), bool),
            np.full(len(chosen), np.inf), np.full(len(chosen), np.inf), np.zeros(len(chosen), int),
        )  # fmt: skip
        self._note(run, run.own)

    def _leave(self, run: ExactRun) -> None:
        """Keep the dual points of the columns at hand."""
        for p, column in enumerate(run.own.chosen):
            if not run.job.loss.has_kink:
                run.own.expansion.coefficients(p, run.alpha[column])
        run.own.chosen = run.own.chosen[:0]

    # --- one iteration --------------------------------------------------------------------------------------------

    def _iterate(self, run: ExactRun, batch: Batch) -> bool:
        """One step of the columns that are not done; whether there was time for it."""
        expansion, at, places = batch.expansion, batch.at, batch.places
        go_on = lambda part: not (self.clock.interrupted or self.clock.seconds > self.clock.max_time)
        if not expansion.follow(places, at.sums, batch.single, go_on):
            return False
        directions = _directions(expansion, at, places)
        slopes = np.einsum("pj,pj->p", at.gradients, directions)
        ahead = _iterate_of(expansion, expansion.trial(places, directions), at.models + directions)
        ends = np.einsum("pj,pj->p", ahead.gradients, directions)
        good = np.abs(ends) <= GOOD_SLOPE * np.abs(slopes)
        good &= ahead.objectives <= at.objectives + ROUNDING * np.abs(at.objectives)
        lengths, searched = np.ones(len(good)), places[~good[places]]
        if searched.size:
            lengths = _search(expansion, at, searched, directions, slopes)
        expansion.step(places, lengths)
        at.take(ahead, places[good[places]])
        if searched.size:
            models = at.models + lengths[:, None] * directions
            at.take(_iterate_of(expansion, expansion.trial(searched, None), models), searched)
        columns, moved = run.state.columns, batch.chosen[places]
        columns["steps"][moved] = np.minimum(columns["steps"] + columns["n_rows"], columns["limit"])[moved]
        self._note(run, batch)
        return True

    # --- what is known --------------------------------------------------------------------------------------------

    def _note(self, run: ExactRun, batch: Batch) -> None:
        """Objectives and gaps of the columns at hand; those within `tol` are done, and widths shrink."""
        expansion, at, places, columns = batch.expansion, batch.at, batch.places, batch.expansion.columns
        n_state, records, tol = run.sums.shape[1], run.state.columns, run.job.schedule.tol
        objectives = expansion.objectives(at.sums[:, LOSS], at.models)
        by_slope, by_width = _gaps(expansion, at)
        gaps, aims = by_slope + by_width, np.zeros(len(objectives))
        for p in places:
            column = batch.chosen[p]
            run.sums[column] = at.models[p, :n_state] * (columns["lam"][p] * columns["n_rows"][p])
            before = run.dual[column]
            run.note(column, objectives[p], objectives[p] - gaps[p])
            if run.job.loss.has_kink and run.dual[column] > before:  # a later point need not be as good
                expansion.coefficients(p, run.alpha[column])
            aims[p] = enough(objectives[p], columns["zero_objective"][p], tol)
        gaps[places] = (run.objective - run.dual)[batch.chosen[places]]
        self._note_stalls(run, batch, gaps)
        ended = run.converged | (records["steps"] >= records["limit"])
        batch.places = places[~ended[batch.chosen[places]]]
        if run.job.loss.has_kink and batch.places.size:
            _narrow(batch, aims, by_slope, by_width)

    def _note_stalls(self, run: ExactRun, batch: Batch, gaps: np.ndarray) -> None:
        """A column that comes no nearer goes on with Gram matrices in float64, or ends."""
        objectives, lowest = batch.at.objectives, batch.lowest
        fallen = np.isinf(lowest) | (objectives + FALLS * np.abs(objectives) < lowest)
        batch.stalled = np.where(fallen | (gaps < BETTER * batch.best_gap), 0, batch.stalled + 1)
        batch.best_gap, batch.lowest = np.minimum(batch.best_gap, gaps), objectives.copy()
        for p in batch.places[batch.stalled[batch.places] >= STALLS]:
            if batch.single[p]:
                batch.single[p], batch.stalled[p], batch.expansion.grams[p] = False, 0, None
            else:
                record = run.state.columns[batch.chosen[p]]
                record["limit"] = record["steps"]


def _iterate_of(expansion: Expansion, trial: Trial, models: np.ndarray) -> Iterate:
    return Iterate(models, *expansion.smoothed(trial, models), trial.sums)


def _gaps(expansion: Expansion, at: Iterate) -> tuple[np.ndarray, np.ndarray]:
    """What the gap is made of: by the slope of the smoothed objective, and by the smoothing."""
    columns = expansion.columns
    by_slope = np.einsum("pj,pj->p", at.gradients, at.gradients) / (2 * columns["lam"])
    return by_slope, at.sums[:, SLACK] / columns["n_rows"]


def _first_widths(expansion: Expansion, at: Iterate) -> None:
    """Shrink the widths of columns while their gaps fall by that: an earlier fit may have ended at narrow ones.

    Far from the optimum they would fall, too, but from there narrow widths mean thousands of short steps.
    """
    wide, places, gaps = expansion.widths.copy(), np.arange(len(at.models)), np.add(*_gaps(expansion, at))
    while places.size:
        before = expansion.widths[places].copy()
        expansion.widths[places] *= NARROWER
        now = _iterate_of(expansion, expansion.trial(places, None), at.models)
        after = np.add(*_gaps(expansion, now))
        better = (after < gaps)[places]
        expansion.widths[places[~better]] = before[~better]
        if not better.all():  # their curvatures are those of the narrower width
            expansion.trial(places[~better], None)
        places = places[better]
        at.take(now, places)
        gaps = np.minimum(gaps, after)
    far = np.flatnonzero(gaps > NEAR * expansion.columns["zero_objective"])
    if far.size:
        expansion.widths[far] = wide[far]
        at.take(_iterate_of(expansion, expansion.trial(far, None), at.models), far)


def _directions(expansion: Expansion, at: Iterate, places: np.ndarray) -> np.ndarray:
    """Newton's directions of the columns `places`; 0 for the others."""
    directions, size = np.zeros_like(at.models), expansion.size

    def solve(p: int) -> None:
        directions[p, :size] = -solution_of(expansion.hessian(p), at.gradients[p, :size])

    work = float(size) ** 3 / 3 * len(places)
    share_out(solve, places, threads=None if work > WORTH_A_THREAD else 1)
    return directions


def _search(expansion: Expansion, at: Iterate, places, directions, slopes) -> np.ndarray:
    """Lengths of steps at which objectives have fallen and slopes are small, by Newton's method between bounds."""
    norms = np.column_stack(
        [
            np.einsum("pj,pj->p", left, right) * expansion.columns["lam"]
            for left, right in ((at.models, at.models), (at.models, directions), (directions, directions))
        ]
    )
    goals = np.column_stack([at.objectives + ROUNDING * np.abs(at.objectives), SEARCH_SLOPE * np.abs(slopes)])
    bounds, lengths, places = np.tile([0.0, np.inf], (len(slopes), 1)), np.ones(len(slopes)), places.copy()
    for _ in range(SEARCH_STEPS):
        sums = expansion.along(places, lengths)
        places = places[: cpu.closer_lengths(places, expansion.columns, sums, norms, goals, bounds, lengths)]
        if not places.size:
            return lengths
    lengths[places] = bounds[places, 0]
    return lengths


def _narrow(batch: Batch, aims: np.ndarray, by_slope: np.ndarray, by_width: np.ndarray) -> None:
    """Shrink the widths of columns that are nearly optimal for theirs; their sums and gradients follow."""
    expansion, at, places = batch.expansion, batch.at, batch.places
    ready = places[((by_slope < by_width) & (by_width > aims / 2))[places]]
    if not ready.size:
        return
    factors = np.sqrt(aims[ready] / (4 * by_width[ready]))  # the cost of a width goes with its square
    expansion.widths[ready] *= np.clip(factors, NARROWER, WIDER)
    at.take(_iterate_of(expansion, expansion.trial(ready, None), at.models), ready)
    batch.lowest[ready] = np.inf


def solution_of(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a positive definite system; where rounding has made it indefinite, the diagonal is raised.

    Only the numbers on and below the diagonal are looked at.
    """
    diagonal, raised = matrix.diagonal().copy(), 1e-14
    while True:
        factor, failed = dpotrf(matrix.T, lower=0)  # as LAPACK has it, column after column
        if not failed:
            solution = dpotrs(factor, right, lower=0)[0]
            return solution if np.isfinite(solution).all() else right
        raised *= 100.0
        if not np.isfinite(diagonal).all() or raised > 1e10:
            return right
        matrix.flat[:: len(matrix) + 1] = diagonal * (1.0 + raised) + np.finfo(float).tiny
