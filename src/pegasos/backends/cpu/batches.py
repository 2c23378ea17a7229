"""Steps of many rows each, whose products the caller makes (pegasos and online gradient descent only)."""

import numpy as np
from numba import njit

from pegasos.backends.cpu.steps import fold_column
from pegasos.rules.step import close_step, mark_of, open_step, pulls_of


@njit(cache=True, nogil=True)
def open_columns(columns, scales, rule, average):
    """Begin one step of every unfinished column."""
    for p in range(columns.size):
        if columns[p].steps < columns[p].limit:
            scales[p] = open_step(columns[p], rule, average)


@njit(cache=True, nogil=True)
def batch_pulls(size, columns, scales, scores, index, labelings, weights, pulls, rule, loss):
    """Pulls of the rows `index`, all against the same model."""
    f, held, found = np.zeros(size), np.zeros(size), np.zeros(size)
    for lead in range(0, columns.size, size):
        leader = columns[lead]
        for b in range(index.size):
            i = index[b]
            s = float(weights[i, leader.row_set])
            found[:] = 0.0
            if s != 0.0 and leader.steps < leader.limit:
                for r in range(size):
                    f[r] = scales[lead + r] * scores[lead + r, b]
                pulls_of(leader, rule, loss, labelings[i, leader.labeling], s, f, held, 0.0, found)
            for r in range(size):
                pulls[lead + r, b] = found[r]


@njit(cache=True, nogil=True)
def batch_account(size, columns, pulls, index, labelings, before, after, loss):
    """Follow ||S||² and the dual mass over a batch: <S, x> `before` and `after` its pulls suffice."""
    for p in range(columns.size):
        column = columns[p]
        for b in range(index.size):
            v = pulls[p, b]
            if v != 0.0:
                column.norm_squared += v * (before[p, b] + after[p, b])
                column.dual_linear += v * mark_of(loss, labelings[index[b], column.labeling], p % size)


@njit(cache=True, nogil=True)
def close_columns(size, columns, rule, project, sums, weighted_sums, alpha):
    """End one step of every unfinished column; whether any state was folded."""
    any_fold = False
    for lead in range(0, columns.size, size):
        if columns[lead].steps < columns[lead].limit and close_step(columns, lead, size, rule, project):
            for p in range(lead, lead + size):
                fold_column(columns[p], p, sums, weighted_sums, alpha)
            any_fold = True
    return any_fold


@njit(cache=True, nogil=True)
def scatter_rows(target, index, pulls):
    """target[index] += pulls.T; rows may repeat."""
    for b in range(index.size):
        for p in range(target.shape[1]):
            target[index[b], p] += pulls[p, b]


@njit(cache=True, nogil=True)
def count_violations(violations, index, pulls):
    """Count each row that pulls."""
    for b in range(index.size):
        for p in range(violations.shape[1]):
            if pulls[p, b] != 0.0:
                violations[index[b], p] += 1
