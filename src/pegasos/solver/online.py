"""Learning online: one pass over the rows at hand, going on from the rows before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pegasos.losses.scalar import Loss
from pegasos.problem.columns import Problems
from pegasos.problem.schedule import Schedule, equal_row_sets
from pegasos.rows import Rows
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from pegasos.solver.solve import Hooks, solve


def one_pass(
    rows: Rows,
    problems: Problems,
    schedule: Schedule,
    loss: Loss,
    before: State | None,
    *,
    limits: np.ndarray | None = None,
    watcher: Hooks | None = None,
) -> State:
    """The state after one pass over `rows` (pegasos). Weights are used as given: their mean is not known.

    Columns without a row here stay as they are. The rows that a last batch falls short of are a batch of their own.
    `limits` are steps at which columns are finished, those before counted; a `watcher` may end the pass early.
    """
    problems = replace(problems, as_given=True)
    schedule = replace(schedule, max_steps=np.inf, max_passes=1, max_time=None, tol=None, certified=False, endless=True)
    if before is None:
        before = solve(rows, problems, Rule.PEGASOS, replace(schedule, max_steps=0), loss=loss).state  # no step
    schedule = replace(schedule, seed=schedule.seed + int(before.columns["steps"].max()))  # another order each time
    whole = before.select(np.ones(problems.n_columns, bool))  # a copy: an error loses nothing
    whole.columns["place"] = np.arange(problems.n_columns)
    for keep, batches in _parts(problems, schedule.batch):
        chosen = problems if keep.all() else problems.alone(keep)
        part = replace(whole.select(keep), position=None)
        for batch, count in batches:
            most = count if limits is None else np.clip(limits[keep] - part.columns["steps"], 0, count)
            steps = replace(schedule, batch=batch, max_steps=most)
            part = solve(
                rows, chosen, Rule.PEGASOS, steps, loss=loss, state=part, callback=watcher, interruptible=False
            ).state
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
    for group in equal_row_sets(problems):
        whole, rest = divmod(int(n_rows[group][0]), batch)
        yield group, [(batch, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)
