"""`solve`: from a job to a solution, by the solver that the job's method names."""

from __future__ import annotations

from typing import Any, Protocol

from pegasos.problem.job import Job
from pegasos.rules.state import State
from pegasos.solver.clock import Clock
from pegasos.solver.descent import DescentSolver
from pegasos.solver.gram import GramSolver
from pegasos.solver.monitor import Hooks
from pegasos.solver.near import NearSolver
from pegasos.solver.newton import NewtonSolver
from pegasos.solver.read_points import ReadPoints
from pegasos.solver.relay import RelaySolver
from pegasos.solver.resume import with_sums_of_alpha
from pegasos.solver.smo import SmoSolver
from pegasos.solver.snapshot import SnapshotStore
from pegasos.solver.stream import Solution, StreamSolver


class Solver(Protocol):
    """A family of solvers.

    `StreamSolver` takes rows in the order of a stream of draws; one that chooses rows by how much they violate their
    optimality conditions has the same three methods.
    """

    def init(self, job: Job, start: State | None = None) -> Any:
        """Begin a job, from nothing or from an earlier state; what is returned holds the state of all columns."""

    def advance(self, run: Any) -> bool:
        """Take some steps; False: the job is done."""

    def finish(self, run: Any) -> Solution:
        """Conclude: the models, their certificates, and the state to go on from."""


SOLVERS: dict[str, Any] = {  # by the names that `Job.method` has
    "stream": StreamSolver,
    "dcd": DescentSolver,
    "newton": NewtonSolver,
    "relay": RelaySolver,
    "smo": SmoSolver,
    "gram": GramSolver,
    "near": NearSolver,
}
MODEL_APART = ("newton", "near")  # begin at the model in a state's sums, whatever its dual variables make


def solve(
    job: Job, *, start: State | None = None, hooks: Hooks | None = None, clock: Clock | None = None,
    read_points: ReadPoints | None = None, snapshots: SnapshotStore | None = None, begun: bool = False,
) -> Solution:  # fmt: skip
    """Solve all columns of a job.

    Parameters
    ----------
    job : Job
    start : State, optional
        Where to go on: the state of an earlier solution, which is left as it is, or `State.from_weights`. Steps and
        passes of the schedule are taken beyond its own.
    hooks : Hooks, optional
        Callbacks.
    clock : Clock, optional
        What time counts from, and whether Ctrl-C ends the steps and gives the model reached; None: from now, and it
        does.
    read_points, snapshots : optional
        See `StreamSolver`.
    begun : bool
        Whether there is a model of other columns already, which Ctrl-C is not to lose.

    Returns
    -------
    Solution
    """
    clock = Clock(job.schedule.max_time) if clock is None else clock
    solver: Solver = SOLVERS[job.method](hooks, clock, read_points=read_points, snapshots=snapshots)
    with clock.watching_interrupts():
        if start is not None and job.method not in MODEL_APART:
            start = with_sums_of_alpha(start, job.rows)
        run = solver.init(job, start)
        while solver.advance(run):
            pass
        if clock.interrupted and not begun and not run.has_begun:
            raise KeyboardInterrupt
        return solver.finish(run)
