"""Steps of Pegasos over CSR rows on one column alone: its scalars stay in registers, which its record's do not."""

import numpy as np

from pegasos.backends.cpu.descent import add_row, ask_for, inner
from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.rules.column import Average
from pegasos.utils.jit_part import jit_part

AHEAD = 3  # draws between asking for a row and needing it


@jit(fastmath=SUMS)
def column_steps(
    columns, sums, weighted_sums, index, indptr, indices, data, squares, bias, labelings, weights, alpha, *, loss,
    average,
):  # fmt: skip
    """Take all steps of `index` in the only one of `columns`, one row a step, as `row_steps` does without projection.

    `sums` and `weighted_sums` (features,) are S and U, `alpha` (n,) what each row has added to S.
    """
    column = columns[0]
    row_set, labeling, epsilon = column.row_set, column.labeling, column.epsilon
    lam, offset, share, limit = column.lam, column.step_offset, column.share / column.shrink, column.limit
    shrink, steps, mean, norm_squared, linear = (
        column.shrink, column.steps, column.average, column.norm_squared, column.dual_linear
    )  # fmt: skip
    average_start, window_start = column.average_start, column.window_start
    for place in range(index.size):
        i = index[place]
        ask_for(index, place + AHEAD, index.size, indptr, indices, data, True)
        s = float(weights[i, row_set])
        if s == 0.0 or steps >= limit:
            continue
        scale = 0.0 if steps == 0 else shrink / (lam * (steps + offset))
        if average == Average.UNIFORM:
            mean += scale
        elif average == Average.WEIGHTED:
            if steps > average_start:
                mean += steps * scale
        elif average == Average.WINDOW and steps > window_start:
            mean += scale
        product = inner(sums, i, indptr, indices, data, bias, True)
        y = labelings[i, labeling]
        strength = loss.pull(y, scale * product, epsilon)
        steps += 1
        if strength == 0.0:
            continue
        pull = s * strength * share
        norm_squared += pull * (2.0 * product + pull * squares[i])
        linear += pull * float(y)
        if alpha.size:
            alpha[i] += pull
        if average == Average.LAST:
            add_row(sums, pull, i, indptr, indices, data, bias, True)
        else:
            add_to_both(sums, weighted_sums, pull, pull * mean, i, indptr, indices, data, bias)
    column.steps, column.average = steps, mean
    column.norm_squared, column.dual_linear = norm_squared, linear


@jit_part
def add_to_both(sums, weighted_sums, pull, weighted, i, indptr, indices, data, bias):
    """S += pull·x and U += weighted·x of a row, from one reading of it."""
    for j in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
        feature, value = np.uintp(indices[j]), data[j]
        sums[feature] += pull * value
        weighted_sums[feature] += weighted * value
    if bias > 0.0:
        sums[sums.size - 1] += pull * bias
        weighted_sums[sums.size - 1] += weighted * bias
