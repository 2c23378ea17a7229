"""Descent, and Newton's method for the columns that it does not bring to their optimum soon.

A pass of descent is the cheapest way to come near an optimum, but with little regularisation it can take any number of
them, where Newton's method takes some dozens of iterations whatever the regularisation. What both should take is known
in advance, roughly; a column for which descent should be far slower begins with Newton's method. The others descend for
about as long as Newton's method would take, and go on with that: they are never much slower than the better of both.
"""

from __future__ import annotations

import numpy as np

from pegasos.losses import Loss
from pegasos.rows import Rows, SparseRows
from pegasos.solver.descent import DescentSolver
from pegasos.solver.exact import ExactRun, ExactSolver
from pegasos.solver.newton import NewtonSolver

# Measured on 569 × 30 to 50 000 × 50 dense rows and 20 000 × 200 CSR rows of 10 entries, with q = K(x, x)/(lam n) from
# 0.3 to 300; nanoseconds.
STEP, STEP_NUMBER, STEP_ENTRY, STEP_ROOT = (
    15.0,
    0.2,
    1.0,
    150.0,
)  # of descent: itself, each number of a dense or CSR row
ROW, ROW_NUMBER, ROW_ROOT, GRAM = 40.0, 0.5, 30.0, 0.006  # of Newton's method, a row; GRAM: a product of two features
SPARSE_GRAM = 0.5  # ... of two entries, where the Gram matrix is made entry by entry
ITERATION = 150_000.0  # of all columns
PASSES = {"kink": (4.0, 2.0), "curved": (5.0, 2.0), "root": (4.0, 0.8)}  # of descent to the optimum: first + second · q
ITERATIONS = {"kink": 25.0, "curved": 6.0, "root": 6.0}
FAR_SLOWER = {"kink": 4.0, "curved": 1.0, "root": 1.0}  # times what Newton's method takes: then descent is left out
SHARE = 0.5  # of the passes that a fit may take: what descent takes at most


class RelaySolver(ExactSolver):
    """Two solvers, one after the other; the second begins at the models where the first ends."""

    def begin(self, run: ExactRun) -> None:
        """Descent begins, unless no column is to descend."""
        columns, job = run.state.columns, run.job
        pulls = job.rows.squares.mean() / (columns["lam"] * columns["n_rows"])
        passes = passes_of_descent(job.rows, job.loss, pulls)
        steps = np.minimum(passes * columns["n_rows"], SHARE * (columns["limit"] - run.first_steps))
        self._descent_ends = run.first_steps + np.floor(steps).astype(np.int64)  # a column stops at whole steps
        self._now: ExactSolver = DescentSolver(self.hooks, self.clock)
        if passes.any():
            self._now.begin(run)
        else:
            self._go_on_with_newton(run)

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """Some passes of the columns that still descend; where there are none, some iterations of the others."""
        if isinstance(self._now, DescentSolver):
            running = run.running
            descending = running[(run.state.columns["steps"] < self._descent_ends)[running]]
            if descending.size:
                self._now.descend(run, descending, most_passes, self._descent_ends)
                return
            self.certify_stale(run)
            if not len(run.running):  # the look has shown that they are done
                return
            self._go_on_with_newton(run)
        self._now.stretch(run, most_passes)

    def _go_on_with_newton(self, run: ExactRun) -> None:
        self._now = NewtonSolver(self.hooks, self.clock)
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


def passes_of_descent(rows: Rows, loss: Loss, pulls: np.ndarray) -> np.ndarray:
    """How many passes each column is to descend before Newton's method; 0: it begins with that.

    Parameters
    ----------
    rows : Rows
    loss : Loss
    pulls : ndarray of shape (n_columns,)
        How far a row pulls its own score in one step, K(x, x) / (lam n), on average.
    """
    kind = "kink" if loss.has_kink else "root" if loss.curvature is None else "curved"
    sparse, width, size, root = isinstance(rows, SparseRows), rows.width, float(rows.n_state), kind == "root"
    step = STEP + (STEP_ENTRY if sparse else STEP_NUMBER) * width + STEP_ROOT * root
    gram = min(GRAM * size**2, SPARSE_GRAM * width**2) if sparse else GRAM * size**2
    iteration = ITERATION / len(pulls) / rows.n_rows + ROW + ROW_NUMBER * width + ROW_ROOT * root + gram
    newton = ITERATIONS[kind] * iteration / step  # in passes of descent
    first, more = PASSES[kind]
    return np.where(first + more * pulls > FAR_SLOWER[kind] * newton, 0.0, np.ceil(newton))
