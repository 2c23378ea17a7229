"""`solve` with the parts of a job as arguments, which reads better in tests."""

from pegasos.losses import Loss
from pegasos.problem.job import Job
from pegasos.solver import solve as solver
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks


def solve(
    rows, problems, rule, schedule, *, loss=Loss.HINGE, definite=True, state=None, callback=None, interruptible=True,
    read_points=None,
):  # fmt: skip
    """The solution of one job; `callback` is called with each record, or is a `Hooks`."""
    hooks = callback if isinstance(callback, Hooks) or callback is None else Hooks(record=callback)
    job = Job(rows, problems, schedule, rule, loss, definite)
    clock = Clock(schedule.max_time, interruptible=interruptible)
    return solver.solve(job, start=state, hooks=hooks, clock=clock, read_points=read_points)
