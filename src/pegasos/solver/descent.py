"""Linear dual coordinate descent with shrinking: each column by itself, to the gap that is asked for.

Hsieh et al. (ICML 2008), stopped by the duality gap. Within a pass, each row's part in the gap as it is met adds up to
an estimate; only when that is small enough are all rows looked at, those that were set aside, too. The look gives the
certificate, and tells which rows go on.

Where no row can pull far (K(x, x) ≤ lam·n), a first pass of Pegasos pays: its pulls are a feasible dual point nearer to
the optimum than a first pass of descent comes (Shalev-Shwartz & Zhang, JMLR 2013, begin so, too).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.threads import in_parallel
from pegasos.rows import SparseRows
from pegasos.solver.exact import ExactRun, ExactSolver, enough

PEGASOS_UP_TO = (
    0.5  # K(x, x) / (lam n) of the longest row: beyond that a first pass of Pegasos costs more than it saves
)
STRETCH = 3e7  # multiplications of a column between two looks at the clock
SAFETY = 0.7  # how far an estimate that was too low moves the next goal ...
NARROWING = 0.3  # ... and how far at least
NO_ENTRIES = np.empty(0, np.int32)


@dataclass
class ColumnDescent:
    """One column on the way.

    Attributes
    ----------
    rows : ndarray of intp
        Its rows; `order` has the same, the first `n_active` of which are met.
    goal : float
        The estimate of the gap at which a look at all rows is due.
    held_from : float
        How hard a bound has to hold a dual variable for its row to leave.
    gap : float
        As the rows showed it that the last pass met.
    """

    rows: np.ndarray
    order: np.ndarray
    n_active: int
    goal: float
    random: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    scale: float  # w = scale · S
    held_from: float = np.inf
    gap: float = np.inf


@dataclass
class RowArrays:
    """The rows of a job as the loops take them; `entries` are indptr, indices and values."""

    entries: tuple
    squares: np.ndarray
    largest_square: float
    bias: float
    constants: dict[str, Any]


class DescentSolver(ExactSolver):
    """Dual coordinate descent over dense or CSR rows under a linear model; columns are split over threads."""

    def begin(self, run: ExactRun) -> None:
        """The rows of each column, all of them active."""
        job = run.job
        rows = job.rows
        sparse = isinstance(rows, SparseRows)
        entries = (rows.X.indptr, rows.X.indices, rows.X.data) if sparse else (NO_ENTRIES, NO_ENTRIES, rows.X)
        arrays = RowArrays(entries, rows.squares, rows.largest_square, rows.bias, {"loss": job.loss, "sparse": sparse})
        targets, weights = np.ascontiguousarray(job.labelings.T), np.ascontiguousarray(job.weights.T)
        of_set = [np.flatnonzero(each) for each in weights]
        descents = []
        for record in run.state.columns:
            own = of_set[record["row_set"]]
            descents.append(
                ColumnDescent(
                    own, own.copy(), len(own), enough(np.inf, record["zero_objective"], job.schedule.tol),
                    np.array([job.schedule.seed], np.uint64), targets[record["labeling"]],
                    weights[record["row_set"]], 1.0 / (record["lam"] * record["n_rows"]),
                )
            )  # fmt: skip
        run.own = arrays, descents
        self._work = float(rows.width)

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """Some passes of each running column."""
        self.descend(run, run.running, most_passes, run.state.columns["limit"])

    def descend(self, run: ExactRun, columns: np.ndarray, most_passes: float, ends: np.ndarray) -> None:
        """Some passes of these columns, until a column has taken as many steps as `ends` has for it."""

        def some(first: int, last: int) -> None:
            for column in columns[first:last]:
                self._descend(run, column, most_passes, int(ends[column]))

        at_most = len(columns) * min(most_passes, 10.0) * self._work * run.job.rows.n_rows
        in_parallel(some, len(columns), at_most)

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """A look at all rows of some columns."""

        def some(first: int, last: int) -> None:
            for column in columns[first:last]:
                self._look(run, column)

        in_parallel(some, len(columns), len(columns) * self._work * run.job.rows.n_rows)

    def _descend(self, run: ExactRun, column: int, most_passes: float, end: int) -> None:
        """Passes of one column until it has converged, or has had its share of multiplications."""
        arrays, descents = run.own
        each, record = descents[column], run.state.columns[column]
        steps = int(record["steps"])
        most_steps = min(end, steps + max(len(each.rows), int(STRETCH / self._work)))
        passes = 0
        if not steps and self._begins_with_pegasos(run, each):
            cpu.pegasos_pass(
                each.order, each.random, record["lam"], *arrays.entries, arrays.bias, each.targets, each.weights,
                run.alpha[column], run.sums[column], record["epsilon"], **arrays.constants,
            )  # fmt: skip
            steps, passes = len(each.rows), 1
            record["steps"] = steps
        while steps < most_steps and passes < most_passes and not run.converged[column]:
            if not each.n_active:
                each.n_active, each.held_from = len(each.rows), np.inf
                each.order[:] = each.rows
            at_once = int(min(most_passes - passes, 2.0**31))
            each.n_active, taken, met, each.held_from, gap = cpu.descend(
                each.order, each.n_active, at_once, most_steps - steps, each.held_from, each.goal * record["n_rows"],
                each.random, *arrays.entries, arrays.squares, arrays.bias, each.targets, each.weights,
                run.alpha[column], run.sums[column], each.scale, record["epsilon"], **arrays.constants,
            )  # fmt: skip
            steps, passes = min(steps + met, end), passes + taken
            record["steps"] = steps
            each.gap = gap / record["n_rows"]
            if each.gap <= each.goal:
                each.goal = min(each.goal, self._goal_in_sight(run, column))
            if each.gap <= each.goal or not each.n_active:
                self._look(run, column)
                self._set_goal(run, column)

    def _goal_in_sight(self, run: ExactRun, column: int) -> float:
        """The gap at which the column is done, if the last pass has shown it as it is: no row is looked at."""
        each, record, sums = run.own[1][column], run.state.columns[column], run.sums[column]
        terms = cpu.sum_of_dual_terms(
            each.rows, each.targets, each.weights, run.alpha[column], record["epsilon"], loss=run.job.loss
        )
        dual = terms / record["n_rows"] - record["lam"] / 2 * each.scale**2 * (sums @ sums)
        return enough(max(dual, 0.0) + each.gap, record["zero_objective"], run.job.schedule.tol)

    def _begins_with_pegasos(self, run: ExactRun, each: ColumnDescent) -> bool:
        return run.job.loss.pull_is_bounded and run.own[0].largest_square * each.scale <= PEGASOS_UP_TO

    def _look(self, run: ExactRun, column: int) -> None:
        """The gap of one column, and which of its rows go on."""
        arrays, descents = run.own
        each, record = descents[column], run.state.columns[column]
        each.n_active, losses, dual_terms = cpu.look_at_rows(
            each.order, each.rows, each.held_from, *arrays.entries, arrays.bias, each.targets, each.weights,
            run.alpha[column], run.sums[column], each.scale, record["epsilon"], **arrays.constants,
        )  # fmt: skip
        sums, n_rows = run.sums[column], record["n_rows"]
        regulariser = record["lam"] / 2 * each.scale**2 * (sums @ sums)
        run.note(column, losses / n_rows + regulariser, dual_terms / n_rows - regulariser)

    def gap(self, run: ExactRun, column: int) -> float:
        """The gap of a column as its last pass showed it."""
        return run.own[1][column].gap

    def wanted(self, run: ExactRun, column: int) -> float:
        """The gap at which a column is expected to be done."""
        return run.own[1][column].goal

    def _set_goal(self, run: ExactRun, column: int) -> None:
        """What the next estimate of the gap has to be, after a look that was not the last."""
        each, record = run.own[1][column], run.state.columns[column]
        objective, estimate = run.objective[column], each.gap
        gap, wanted = objective - run.dual[column], enough(objective, record["zero_objective"], run.job.schedule.tol)
        each.goal = min(each.goal, wanted)
        if estimate <= each.goal and gap > wanted:
            each.goal = max(SAFETY * estimate * wanted / gap, NARROWING * each.goal)
