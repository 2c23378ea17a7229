"""Descent, and Newton's method for the columns that it does not bring to their optimum soon.

A pass of descent is the cheapest way to come near an optimum, but with little regularisation it can take any number of
them, where Newton's method takes some dozens of iterations whatever the regularisation. A column therefore descends
for about as long as Newton's method would take, and goes on with that: it is never much slower than the better of both.
What both should take is known in advance, roughly; where descent should be far slower, a few passes tell whether it is,
since it soon ends on rows that a plane separates, whatever the regularisation.
"""

from __future__ import annotations

import numpy as np

from pegasos.losses import Loss
from pegasos.rows import Rows, SparseRows
from pegasos.solver.descent import DescentSolver
from pegasos.solver.exact import ROUNDING, ExactRun, ExactSolver
from pegasos.solver.newton import NewtonSolver
from pegasos.solver.small_columns import are_small

# Measured on 569 × 30 to 50 000 × 50 dense rows and 20 000 × 200 CSR rows of 10 entries, with q = K(x, x)/(lam n) from
# 0.3 to 300; nanoseconds.
STEP, STEP_NUMBER, STEP_ENTRY, STEP_ROOT = (
    15.0,
    0.2,
    1.0,
    150.0,
)  # of descent: itself, a number of a dense or CSR row
ROW, SMALL_ROW, ROW_NUMBER, ROW_ROOT = 40.0, 15.0, 0.5, 30.0  # of Newton's method, each row, and each of its numbers
GRAM = {"kink": 0.003, "curved": 0.006, "root": 0.012}  # a product of two features, since most Gram matrices follow ...
SPARSE_GRAM = 0.5  # ... or of two entries of a CSR row
ITERATION, CUBE = 150_000.0, 0.07  # an iteration of all columns that are not small; the cube of the features, of each
PASSES = {"kink": (4.0, 2.0), "curved": (5.0, 2.0), "root": (4.0, 0.8)}  # of descent to the optimum: first + second · q
ITERATIONS = {"kink": (10.0, 100.0), "curved": (6.0, 0.0), "root": (6.0, 0.0)}  # first + second · √(features / rows)
FAR_SLOWER = {"kink": 2.0, "curved": 1.0, "root": 1.0}  # times what Newton's method takes: then descent is on trial ...
TRIAL, TRIAL_PASSES = 0.1, 3.0  # ... for so much of the passes that Newton's method is worth, and at least so many
CAUTION = 2.0  # gaps fall fastest in the first passes
SMALL_SLOWER = 0.5  # times as much of small columns, for which Newton's method is the surer way
SHARE = 0.5  # of the passes that a fit may take: what descent takes at most


class RelaySolver(ExactSolver):
    """Two solvers, one after the other; the second begins at the models where the first ends."""

    def begin(self, run: ExactRun) -> None:
        """Descent begins."""
        columns, job = run.state.columns, run.job
        pulls = job.rows.squares.mean() / (columns["lam"] * columns["n_rows"])
        passes, trial = passes_of_descent(job.rows, job.loss, pulls)
        most = SHARE * (columns["limit"] - run.first_steps)
        ends = lambda passes: run.first_steps + np.floor(np.minimum(passes * columns["n_rows"], most)).astype(np.int64)
        self._descent_ends, self._later_ends, self._trial = ends(trial), ends(passes), trial < passes
        self._now: ExactSolver = DescentSolver(self.hooks, self.clock)
        self._now.begin(run)

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """Some passes of the columns that still descend; where there are none, some iterations of the others."""
        if isinstance(self._now, DescentSolver):
            running = run.running
            descending = running[(run.state.columns["steps"] < self._descent_ends)[running]]
            if descending.size:
                self._now.descend(run, descending, most_passes, self._descent_ends)
                self._judge(run, self._now, descending)
                return
            self.certify_stale(run)
            if not len(run.running):  # the look has shown that they are done
                return
            self._go_on_with_newton(run)
        self._now.stretch(run, most_passes)

    def _judge(self, run: ExactRun, descent: DescentSolver, columns: np.ndarray) -> None:
        """Columns whose trial has ended go on descending if their gaps fall fast enough to be small in time."""
        steps, n_rows = run.state.columns["steps"], run.state.columns["n_rows"]
        judged = columns[self._trial[columns] & (steps >= self._descent_ends)[columns]]
        for column in judged:
            start, goal = run.state.columns["zero_objective"][column] or 1.0, descent.wanted(run, column)
            taken = (steps - run.first_steps)[column] / n_rows[column]
            fall = np.log(max(descent.gap(run, column), ROUNDING * start) / start) / max(
                taken, 1.0
            )  # of the gap, a pass
            left = (self._later_ends - steps)[column] / n_rows[column]
            if fall < 0.0 and CAUTION * np.log(goal / start) / fall - taken <= left:
                self._descent_ends[column] = self._later_ends[column]
        self._trial[judged] = False

    def _go_on_with_newton(self, run: ExactRun) -> None:
        self._now = NewtonSolver(self.hooks, self.clock, keeps_widths=bool(run.first_steps.any()))
        self._now.begin(run)

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Measure the gap of some columns as they stand."""
        self._now.certify(run, columns)

    def look_multiplications(self, run: ExactRun) -> float:
        """As the solver at work has it."""
        return self._now.look_multiplications(run)

    def conclude(self, run: ExactRun) -> None:
        """Keep the dual points."""
        self._now.conclude(run)


def passes_of_descent(rows: Rows, loss: Loss, pulls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many passes each column is to descend before Newton's method, and after how many it is looked at first.

    Parameters
    ----------
    rows : Rows
    loss : Loss
    pulls : ndarray of shape (n_columns,)
        How far a row pulls its own score in one step, K(x, x) / (lam n), on average.
    """
    kind = "kink" if loss.has_kink else "root" if loss.curvature is None else "curved"
    sparse, width, size, root = isinstance(rows, SparseRows), rows.width, float(rows.n_state), kind == "root"
    small = are_small(rows, loss)
    step = STEP + (STEP_ENTRY if sparse else STEP_NUMBER) * width + STEP_ROOT * root
    row = (SMALL_ROW if small else ROW) + ROW_NUMBER * width + ROW_ROOT * root
    row += min(GRAM[kind] * size**2, SPARSE_GRAM * width**2 if sparse else np.inf)
    once = CUBE * size**3 + (0.0 if small else ITERATION / len(pulls))
    iterations = ITERATIONS[kind][0] + ITERATIONS[kind][1] * np.sqrt(size / rows.n_rows)
    newton = np.ceil(iterations * (once / rows.n_rows + row) / step)  # in passes of descent
    first, more = PASSES[kind]
    slow = first + more * pulls > FAR_SLOWER[kind] * newton * (SMALL_SLOWER if small else 1.0)
    return np.full(len(pulls), newton), np.where(slow, min(newton, max(TRIAL_PASSES, np.ceil(TRIAL * newton))), newton)
