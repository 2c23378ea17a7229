"""Descent, and Newton's method for the columns that it does not bring to their optimum soon.

A pass of descent is the cheapest way to come near an optimum, but with little regularisation it can take any number of
them, where Newton's method takes some dozens of iterations whatever the regularisation. A column therefore descends
for about as long as Newton's method would take, and goes on with that: it is never much slower than the better of both.
"""

from __future__ import annotations

import numpy as np

from pegasos.solver.descent import DescentSolver
from pegasos.solver.exact import ExactRun, ExactSolver
from pegasos.solver.newton import NewtonSolver

# Newton's method takes as long as so many passes of descent: 800 (569 rows of 30 features, C = 1000), 450 (3000 × 300),
# 350 (1797 × 64), 45 (20 000 × 20), 25 (50 000 × 54), 18 (60 000 × 200; 100 000 × 50).
PASSES = 15  # of descent ...
STEPS = 200_000  # ... and at least so many steps
SHARE = 0.5  # of the passes that a fit may take: what descent takes at most


class RelaySolver(ExactSolver):
    """Two solvers, one after the other; the second begins at the models where the first ends."""

    def begin(self, run: ExactRun) -> None:
        """Descent begins."""
        columns = run.state.columns
        most = SHARE * (columns["limit"] - run.first_steps)
        steps = np.minimum(np.maximum(PASSES * columns["n_rows"], STEPS), most)
        self._descent_ends = run.first_steps + np.floor(steps).astype(np.int64)  # a column stops at whole steps
        self._now: ExactSolver = DescentSolver(self.hooks, self.clock)
        self._now.begin(run)

    def stretch(self, run: ExactRun, most_passes: float) -> None:
        """Some passes of the columns that still descend; where there are none, some iterations of the others."""
        if isinstance(self._now, DescentSolver):
            running = run.running
            descending = running[(run.state.columns["steps"] < self._descent_ends)[running]]
            if descending.size:
                self._now.descend(run, descending, most_passes, self._descent_ends)
                return
            self.certify_stale(run)
            self._now = NewtonSolver(self.hooks, self.clock)
            run.of_objective = self._now.of_objective
            self._now.begin(run)
        self._now.stretch(run, most_passes)

    def certify(self, run: ExactRun, columns: np.ndarray) -> None:
        """Measure the gap of some columns as they stand."""
        self._now.certify(run, columns)

    def look_multiplications(self, run: ExactRun) -> float:
        """As the solver at work has it."""
        return self._now.look_multiplications(run)

    def conclude(self, run: ExactRun) -> None:
        """Keep the dual points."""
        self._now.conclude(run)
