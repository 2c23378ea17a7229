"""`solve_in_parts`: many columns one part after the other, so that what a column keeps of each row fits into memory.

A solver keeps targets, weights and dual variables of all rows for each of its columns; models, which are all that is
left of a part, may be far smaller. A part draws among the rows of all parts, and so each column is what it would be
among all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pegasos.backends.threads import blas_threads
from pegasos.problem.columns import Problems
from pegasos.problem.job import Job
from pegasos.rows import Rows
from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks
from pegasos.solver.solve import solve
from pegasos.solver.stream import Solution

MOST_BYTES = 256e6  # of what the columns of a part keep, where rows need not be shared by many of them
LEAST_BYTES = 1e6  # what fits in any case: few small columns are never cut
FEWEST = 4  # columns of a part for each thread


def columns_at_once(rows: Rows, most_bytes: float) -> int:
    """How many columns are trained together: as many as what they keep of rows and features fits into memory."""
    each = 8.0 * (4 * rows.n_rows + 3 * (rows.n_state + 1))
    return max(FEWEST * blas_threads(), int(most_bytes / each))


def parts_of(rows: Rows, problems: Problems, most_bytes: float) -> list[np.ndarray]:
    """The columns of each part, those of a group together: one part of all where they fit into memory."""
    most_bytes = max(most_bytes, LEAST_BYTES)
    if not rows.dual:  # products with rows cost the same in few columns as in many
        most_bytes = min(most_bytes, MOST_BYTES)
    at_once = problems.n_columns if problems.group > 1 else columns_at_once(rows, most_bytes)
    firsts = range(0, problems.n_columns, at_once)
    return [np.arange(first, min(first + at_once, problems.n_columns)) for first in firsts]


def solve_in_parts(
    job_of: Callable[[Problems, np.ndarray | None], Job], problems: Problems, parts: list[np.ndarray], clock: Clock,
    hooks: Hooks,
) -> Solution:  # fmt: skip
    """Solve the columns of each part; ``job_of(columns, among)`` makes the job of some columns.

    The state of the solution knows no rows. Parts share the time that there is; `hooks.record` is called at the end.
    """
    among = np.flatnonzero(problems.row_sets.any(axis=1))
    found: list[Solution] = []
    model = None
    for number, part in enumerate(parts):
        own = _clock_of(clock, len(parts) - number)
        solution = solve(
            job_of(problems.written(part), among), clock=own, hooks=_hooks_of(hooks, number, len(parts)),
            begun=number > 0,
        )  # fmt: skip
        clock.interrupted |= own.interrupted
        clock.timed_out |= own.timed_out
        if model is None:  # a column's numbers side by side, as its part leaves them
            model = np.empty((problems.n_columns, len(solution.model)), solution.model.dtype)
        model[part] = solution.model.T
        found.append(_without_rows(solution))
    assert model is not None
    return _joined(problems, found, model.T, clock, hooks)


def _clock_of(clock: Clock, n_left: int) -> Clock:
    """The clock of a part: its share of the time that is left."""
    now = clock.seconds
    most = now + (clock.max_time - now) / n_left if clock.limited else None
    own = Clock(most, clock.started, interruptible=clock.interruptible)
    own.interrupted = clock.interrupted
    return own


def _hooks_of(hooks: Hooks, number: int, n_parts: int) -> Hooks:
    """Progress of all parts from that of one."""
    progress = hooks.progress
    if progress is None:
        return Hooks()
    return Hooks(progress=lambda share: progress((number + share) / n_parts))


def _without_rows(solution: Solution) -> Solution:
    state, none = solution.state, np.zeros((0, 0))
    sums = none if state.alpha_in_sums else state.sums
    kept = replace(state, sums=sums, alpha=none, products=none, position=None)
    return replace(solution, state=kept, model=none)


def _joined(problems: Problems, found: list[Solution], model: np.ndarray, clock: Clock, hooks: Hooks) -> Solution:
    states = [solution.state for solution in found]
    beside = lambda name: np.hstack([getattr(state, name) for state in states])
    columns = np.concatenate([state.columns for state in states])
    columns["place"] = np.arange(len(columns))
    columns["labeling"], columns["row_set"] = problems.columns.T
    state = State(
        columns, beside("sums"), beside("weighted"), beside("previous"), states[0].alpha, beside("violations"),
        states[0].products, states[0].rule, states[0].average,
    )  # fmt: skip
    diverged = None
    if any(solution.diverged is not None for solution in found):
        each = [np.zeros(len(one.steps), bool) if one.diverged is None else one.diverged for one in found]
        diverged = np.concatenate(each)
    certificates = [solution.certificate for solution in found if solution.certificate is not None]
    certificate, history = None, []
    if certificates:
        all_of = lambda name: np.concatenate([getattr(one, name) for one in certificates])
        certificate = Certificate(all_of("objective"), all_of("dual"), all_of("zero"))
        objective, gap = float(certificate.objective.mean()), float(certificate.gap.max())
        steps = int(columns["steps"].max(initial=0))
        history = [{"step": steps, "objective": objective, "gap": gap, "seconds": clock.seconds}]
        if hooks.record is not None:
            hooks.record(history[0])
    return Solution(state, model, certificate, history, clock.timed_out, clock.interrupted, diverged)
