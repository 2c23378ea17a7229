"""Learning online: one pass over the rows at hand, going on from the rows before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pegasos.problem.columns import Problems
from pegasos.problem.job import Job
from pegasos.rules.state import State
from pegasos.solver.stream import StreamSolver


def one_pass(solver: StreamSolver, job: Job, before: State | None, *, limits: np.ndarray | None = None) -> State:
    """The state after one pass of Pegasos over the rows of a job, which are some of all that will come.

    Weights are used as given: their mean over all rows is not known. Columns without a row here stay as they are. The
    rows that a last batch falls short of are a batch of their own.

    Parameters
    ----------
    solver : StreamSolver
        The same for all passes; a hook of it may end a pass early.
    job : Job
    before : State or None
        The state after the rows before; None: there were none.
    limits : ndarray, optional
        Steps at which columns are finished, those of earlier passes counted.
    """
    problems = replace(job.problems, as_given=True)
    schedule = replace(
        job.schedule, max_steps=np.inf, max_passes=1, max_time=None, tol=None, certified=False, endless=True
    )
    if before is None:
        before = solver.init(replace(job, problems=problems, schedule=replace(schedule, max_steps=0))).state.to_host()
    schedule = replace(schedule, seed=schedule.seed + int(before.columns["steps"].max()))  # another order each time
    whole = before.select(np.ones(problems.n_columns, bool))  # a copy: an error loses nothing
    whole.columns["place"] = np.arange(problems.n_columns)
    for keep, batches in _parts(problems, schedule.batch):
        chosen = problems if keep.all() else problems.alone(keep)
        part = replace(whole.select(keep), position=None)
        for batch, count in batches:
            most = count if limits is None else np.clip(limits[keep] - part.columns["steps"], 0, count)
            steps = replace(schedule, batch=batch, max_steps=most)
            part = solver.state_after(replace(job, problems=chosen, schedule=steps), part)
        if keep.all():
            whole = part
        else:
            part.columns["place"] = np.flatnonzero(keep)
            whole.store(part)
    return replace(whole, position=None)


def _parts(problems: Problems, batch: int | None):
    """Yield which columns take how many steps of which batch sizes."""
    n_rows = problems.n_rows
    if batch is None or batch == 1:
        if n_rows.any():
            yield n_rows > 0, [(batch, np.inf)]
        return
    for group in problems.equal_row_sets():
        whole, rest = divmod(int(n_rows[group][0]), batch)
        yield group, [(batch, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)
