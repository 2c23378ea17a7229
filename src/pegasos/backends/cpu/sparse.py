"""The loops over CSR rows: a row meets all its columns at once, since one index finds the numbers of all of them.

Indices are cast to unsigned integers, which spares the test for negative ones at each entry.
"""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.backends.cpu.prefetch import LINE, prefetch
from pegasos.backends.cpu.steps import fold_alpha, fold_column
from pegasos.rules.column import Rule
from pegasos.rules.step import account, close_step, dual_sign, enter_average, pull_of, pulls_of, scale_of
from pegasos.utils.jit_part import jit_part

AHEAD = 3  # draws between asking for a row and needing it
FEW = 4  # as many columns at most have their pulls added one by one


@jit(fastmath=SUMS)
def row_steps(
    size, columns, sums, weighted_sums, index, indptr, indices, data, squares, bias, labelings, weights, alpha, k,
    average, *, rule, loss, project,
):  # fmt: skip
    """Take all steps of `index` over CSR rows, one row after another, all columns of a row together.

    `sums` is (features, P), so that one index gathers P contiguous numbers; `bias` > 0 adds a last row of the state
    for the constant feature. `squares` are the rows' squared norms with it.
    """
    n_columns = columns.size
    products = np.empty(n_columns, sums.dtype)
    scales, f, held, found = np.empty(n_columns), np.empty(size), np.empty(size), np.empty(size)
    moved = np.empty(n_columns, np.bool_)
    pulls = np.empty((k, n_columns), sums.dtype)
    n_pulls = np.empty(k, np.intp)
    if rule == Rule.SDCA:  # whose scales do not change: no division for each step
        for p in range(n_columns):
            scales[p] = scale_of(columns[p], rule)
    for start in range(0, index.size, k):
        for b in range(k):
            i = index[start + b]
            ask_for(index, start + b + AHEAD, indptr, indices, data)
            gather(products, sums, indptr[i], indptr[i + 1], indices, data, bias)
            n_pulls[b] = 0
            for lead in range(0, n_columns, size):
                leader = columns[lead]
                s = float(weights[i, leader.row_set])
                moved[lead] = s != 0.0 and leader.steps < leader.limit
                if not moved[lead]:
                    for p in range(lead, lead + size):
                        pulls[b, p] = 0.0
                    continue
                y = labelings[i, leader.labeling]
                for p in range(lead, lead + size):
                    if b == 0:
                        if rule != Rule.SDCA:
                            scales[p] = scale_of(columns[p], rule)
                        enter_average(columns[p], average, scales[p])
                    f[p - lead] = scales[p] * products[p]
                    if rule == Rule.SDCA:
                        held[p - lead] = alpha[i, p]
                if not loss.grouped:
                    pulls[b, lead] = pull_of(leader, rule, loss, y, s, f[0], held[0], squares[i])
                    n_pulls[b] += pulls[b, lead] != 0.0
                    continue
                pulls_of(leader, rule, loss, y, s, f, held, squares[i], found)
                for r in range(size):
                    pulls[b, lead + r] = found[r]
                    n_pulls[b] += pulls[b, lead + r] != 0.0
        for b in range(k):
            i = index[start + b]
            if n_pulls[b] == 0:
                continue
            if k > 1:  # rows of the batch that pulled before this one have changed its product
                gather(products, sums, indptr[i], indptr[i + 1], indices, data, bias)
            for p in range(n_columns):
                v = pulls[b, p]
                if v == 0.0:
                    continue
                sign = dual_sign(loss, labelings[i, columns[p].labeling], p % size)
                account(columns[p], v, sign, products[p], squares[i])
                if alpha.size:
                    alpha[i, p] += v
            apply(columns, sums, weighted_sums, pulls[b], n_pulls[b], indptr[i], indptr[i + 1], indices, data, bias)
        close(size, columns, moved, sums, weighted_sums, alpha, rule, project)


@jit_part
def apply(columns, sums, weighted_sums, pulls, n_pulls, first, last, indices, data, bias):
    """S += pull * x of one CSR row, and U likewise; `pulls` are changed."""
    scatter(sums, pulls, n_pulls, first, last, indices, data, bias)
    if weighted_sums.size:
        for p in range(columns.size):
            pulls[p] *= columns[p].average
        scatter(weighted_sums, pulls, n_pulls, first, last, indices, data, bias)


@jit_part
def close(size, columns, moved, sums, weighted_sums, alpha, rule, project):
    """Count the step of every group that took it."""
    for lead in range(0, columns.size, size):
        if not moved[lead]:
            continue
        if close_step(columns, lead, size, rule, project):
            for p in range(lead, lead + size):
                fold_alpha(columns[p], p, alpha)
                fold_column(columns[p], p, sums, weighted_sums)


@jit_part
def ask_for(index, place, indptr, indices, data):
    """Have the row that is drawn at a place fetched, if there is one."""
    if place < index.size:
        i = index[place]
        for j in range(indptr[i], indptr[i + 1], LINE // indices.itemsize):
            prefetch(indices, np.intp(j))
        for j in range(indptr[i], indptr[i + 1], LINE // data.itemsize):
            prefetch(data, np.intp(j))


@jit_part
def gather(products, sums, first, last, indices, data, bias):
    """products = <S, x> of one CSR row in every column."""
    n_columns = products.size
    constant = sums.shape[0] - 1
    if n_columns == 1:
        total = sums.dtype.type(0.0)
        for j in range(np.uintp(first), np.uintp(last)):
            total += data[j] * sums[np.uintp(indices[j]), 0]
        products[0] = total + bias * sums[constant, 0] if bias > 0.0 else total
        return
    for p in range(n_columns):
        products[p] = bias * sums[constant, p] if bias > 0.0 else 0.0
    for j in range(np.uintp(first), np.uintp(last)):
        x, numbers = data[j], sums[np.uintp(indices[j])]
        for p in range(n_columns):
            products[p] += x * numbers[p]


@jit_part
def scatter(sums, pulls, n_pulls, first, last, indices, data, bias):
    """S += pull * x of one CSR row in every column, `n_pulls` of which are not zero."""
    n_columns = pulls.size
    if n_pulls > FEW:
        for j in range(np.uintp(first), np.uintp(last)):
            x, numbers = data[j], sums[np.uintp(indices[j])]
            for p in range(n_columns):
                numbers[p] += x * pulls[p]
    else:
        for p in range(n_columns):
            pull = pulls[p]
            if pull != 0.0:
                for j in range(np.uintp(first), np.uintp(last)):
                    sums[np.uintp(indices[j]), p] += data[j] * pull
    if bias > 0.0:
        for p in range(n_columns):
            sums[sums.shape[0] - 1, p] += bias * pulls[p]


@jit(fastmath=SUMS)
def row_losses(
    first, last, f, products, totals, columns, model, indptr, indices, data, bias, labelings, weights, *, loss
):  # fmt: skip
    """totals[p] += Σ s·loss over the CSR rows first..last-1; the loss of a group counts in its first column.

    `f` and `products` are room for the scores of a row in a group and in all columns.
    """
    size, n_columns = f.size, columns.size
    for i in range(first, last):
        gather(products, model, indptr[i], indptr[i + 1], indices, data, bias)
        for lead in range(0, n_columns, size):
            leader = columns[lead]
            s = float(weights[i, leader.row_set])
            if s != 0.0:
                y = labelings[i, leader.labeling]
                if loss.grouped:
                    for r in range(size):
                        f[r] = products[lead + r]
                    totals[lead] += s * loss.value(f, int(y))
                else:
                    totals[lead] += s * loss.value(y, np.float64(products[lead]), leader.epsilon)
