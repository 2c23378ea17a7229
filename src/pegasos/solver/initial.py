"""The state a solve begins with: all zeros, or an earlier state to go on from."""

from __future__ import annotations

import numpy as np

from pegasos.problem.job import Job
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import State, next_turn
from pegasos.solver.certificate import Certifier
from pegasos.solver.resume import resume, still_feasible


def initial_state(job: Job, certifier: Certifier, start: State | None, ends: np.ndarray | None) -> State:
    """The state of all columns before the first step.

    Parameters
    ----------
    job : Job
    certifier : Certifier
    start : State or None
        An earlier state to go on from; it is left as it is.
    ends : ndarray of shape (n_columns,) or None
        Steps after which each column ends, instead of those of the schedule.
    """
    rows, schedule, columns = job.rows, job.schedule, job.column_records()
    if ends is not None:
        columns["limit"] = columns["horizon"] = ends
    columns["window_end"] = next_turn(columns, job.rule)
    none = rows.xp.zeros((0, 0), rows.dtype)
    sums = rows.zeros(job.n_columns)
    counted = (rows.n_rows, job.n_columns) if schedule.count_violations else (0, 0)
    state = State(
        columns=columns,
        sums=sums,
        weighted=none if job.average == Average.LAST else rows.zeros(job.n_columns),
        previous=rows.zeros(job.n_columns) if job.average == Average.WINDOW else none,
        alpha=_coefficients(job, certifier, start, sums, columns),
        violations=rows.xp.zeros(counted, np.int32),
        products=rows.products(job.n_columns) if job.small_steps else none,
        rule=job.rule,
        average=job.average,
    )
    if start is not None:
        resume(state, start, schedule)
        rows.refresh(state)
        unknown = np.isnan(columns["norm_squared"])
        if unknown.any():
            columns["norm_squared"][unknown] = rows.square_norms(state.select(unknown).sums)
        if schedule.certified:
            certifier.note_dual(state)
    return state


def _coefficients(job: Job, certifier: Certifier, start: State | None, sums, columns) -> np.ndarray:
    """Coefficients of the rows: sdca needs them; a certificate does if no whole pass gives a dual point."""
    rows, schedule = job.rows, job.schedule
    if rows.dual:
        return sums[: rows.n_rows]
    known = False
    done = np.zeros(len(columns), np.int64)
    if start is not None and len(start.columns) == len(columns):
        columns["pass_is_feasible"] = still_feasible(columns, start, schedule)
        done, known = start.columns["steps"], schedule.certified and start.alpha.size > 0
    wanted = job.rule == Rule.SDCA or known or certifier.needs_alpha(columns, done)
    return rows.xp.zeros((rows.n_rows, len(columns)) if wanted else (0, 0), rows.dtype)
