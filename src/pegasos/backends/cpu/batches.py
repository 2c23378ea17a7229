"""Steps of many rows each, whose products the caller makes (pegasos only)."""

import numpy as np

from pegasos.backends.cpu.loops import jit
from pegasos.backends.cpu.steps import fold_alpha, fold_column
from pegasos.rules.step import close_step, dual_sign, open_step, pulls_of


@jit()
def open_columns(columns, scales, average, *, rule):
    """Begin one step of every unfinished column."""
    for p in range(columns.size):
        if columns[p].steps < columns[p].limit:
            scales[p] = open_step(columns[p], rule, average)


@jit()
def batch_pulls(size, columns, scales, scores, index, labelings, weights, pulls, *, rule, loss):
    """Pulls of the rows `index`, all against the same model."""
    f, held, found = np.empty(size), np.zeros(size), np.empty(size)
    for lead in range(0, columns.size, size):
        leader = columns[lead]
        for b in range(index.size):
            i = index[b]
            s = float(weights[i, leader.row_set])
            for r in range(size):
                found[r] = 0.0
            if s != 0.0 and leader.steps < leader.limit:
                for r in range(size):
                    f[r] = scales[lead + r] * scores[lead + r, b]
                pulls_of(leader, rule, loss, labelings[i, leader.labeling], s, f, held, 0.0, found)
            for r in range(size):
                pulls[lead + r, b] = found[r]


@jit()
def batch_account(size, columns, pulls, index, labelings, before, after, *, loss):
    """Follow ||S||² and the dual mass over a batch: <S, x> `before` and `after` its pulls suffice."""
    for p in range(columns.size):
        column = columns[p]
        for b in range(index.size):
            v = pulls[p, b]
            if v != 0.0:
                column.norm_squared += v * (before[p, b] + after[p, b])
                column.dual_linear += v * dual_sign(loss, labelings[index[b], column.labeling], p % size)


@jit()
def close_columns(size, columns, sums, weighted_sums, alpha, *, rule, project):
    """End one step of every unfinished column; whether any state was folded."""
    any_fold = False
    for lead in range(0, columns.size, size):
        if columns[lead].steps >= columns[lead].limit:
            continue
        if close_step(columns, lead, size, rule, project):
            for p in range(lead, lead + size):
                fold_alpha(columns[p], p, alpha)
                fold_column(columns[p], p, sums, weighted_sums)
            any_fold = True
    return any_fold


@jit()
def scatter_rows(target, index, pulls):
    """target[index] += pulls.T; rows may repeat."""
    for b in range(index.size):
        for p in range(target.shape[1]):
            target[index[b], p] += pulls[p, b]


@jit()
def count_violations(violations, index, pulls):
    """Count each row that pulls."""
    for b in range(index.size):
        for p in range(violations.shape[1]):
            if pulls[p, b] != 0.0:
                violations[index[b], p] += 1
