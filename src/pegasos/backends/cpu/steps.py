"""The loops over single rows and small batches.

`block_steps`, `direct_steps` and `sparse.row_steps` run the same scalar functions of `pegasos.rules.step`. They differ
in how scores are obtained (a matrix product corrected by the Gram matrix; an inner product per dense row and column; a
gather per CSR row for all columns) and in how pulls reach the state.

`group` is None for groups of one column, so that Numba compiles the loops a second time and without the inner ones,
else the number of columns in a group.
"""

import numpy as np
from numba import njit

from pegasos.backends.cpu.prefetch import LINE, prefetch
from pegasos.rules.column import Rule
from pegasos.rules.step import account, close_step, folded, mark_of, open_step, pull_of, pulls_of

# Lets sums run in SIMD lanes; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
DIRECT_CHUNK = 64  # rows that stay in the cache while column after column meets them


@njit(cache=True, nogil=True, fastmath=SUMS)
def block_steps(
    first, last, group, columns, scores, gram, known, matrix, bias, index, earlier, labelings, weights, alpha,
    violations, pulls, weighted, folds, k, rule, loss, average, project,
):  # fmt: skip
    """Take the steps of the draws first..last-1 of a block, one group of columns after another.

    `scores` (P, B) are <S, x> at the block's start and are corrected in place by `gram` (B, B), which is needed on and
    right of its diagonal. A row of it that is not `known` is read from the kernel `matrix` when the row first pulls:
    few rows do. `pulls` and `weighted` (P, B) receive what the rows add to S and U (`weighted` is (0, 0) without an
    average), `folds` (P, 2) the factor on the old S and the multiple of it that U loses. `alpha` is that of the
    block's start; sdca adds what the same row pulled earlier in the block, `earlier_draws`.
    """
    size = 1
    if group is not None:
        size = group
    scales, f, held, found = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for lead in range(0, columns.size, size):
        leader = columns[lead]
        for p in range(lead, lead + size):
            folds[p, 0] = 1.0
            folds[p, 1] = 0.0
        for start in range(first, last, k):
            if leader.steps >= leader.limit:
                break
            if weights[index[start], leader.row_set] == 0.0:
                continue
            for r in range(size):
                scales[r] = open_step(columns[lead + r], rule, average)
            for b in range(start, start + k):
                i = index[b]
                y = labelings[i, leader.labeling]
                s = float(weights[i, leader.row_set])
                for r in range(size):
                    f[r] = scales[r] * scores[lead + r, b]
                    if rule == Rule.SDCA:
                        held[r] = alpha[i, lead + r]
                        same = earlier[b]
                        while same >= 0:
                            held[r] += pulls[lead + r, same]
                            same = earlier[same]
                if size == 1:
                    pulls[lead, b] = pull_of(leader, rule, loss, y, s, f[0], held[0], gram[b, b])
                    continue
                pulls_of(leader, rule, loss, y, s, f, held, gram[b, b], found)
                for r in range(size):
                    pulls[lead + r, b] = found[r]
            for b in range(start, start + k):
                for r in range(size):
                    p = lead + r
                    v = pulls[p, b]
                    if v == 0.0:
                        continue
                    i = index[b]
                    if not known[b]:
                        known[b] = True
                        for later in range(b + 1, last):
                            gram[b, later] = matrix[i, index[later]] + bias * bias
                    mark = mark_of(loss, labelings[i, leader.labeling], r)
                    account(columns[p], v, mark, scores[p, b], gram[b, b])
                    if weighted.size:
                        weighted[p, b] = v * columns[p].average
                    for later in range(b + 1, last):
                        scores[p, later] += v * gram[b, later]
                    if violations.size:
                        violations[i, p] += 1
            if close_step(columns, lead, size, rule, project):
                for p in range(lead, lead + size):
                    fold_block(columns[p], p, start + k, scores, pulls, weighted, folds)


@njit(cache=True, nogil=True)
def earlier_draws(index):
    """Where the same row was drawn last within the block, -1 where it was not."""
    earlier = np.full(index.size, -1, np.int64)
    for b in range(index.size):
        for e in range(b - 1, -1, -1):
            if index[e] == index[b]:
                earlier[b] = e
                break
    return earlier


@njit(cache=True, nogil=True)
def fold_block(column, p, done, scores, pulls, weighted, folds):
    """Multiply S by `shrink`, the old S through `folds`, and move average * S into U."""
    folds[p, 1] += column.average * folds[p, 0]
    folds[p, 0] *= column.shrink
    for b in range(done):
        if weighted.size:
            weighted[p, b] -= column.average * pulls[p, b]
        pulls[p, b] *= column.shrink
    for b in range(done, scores.shape[1]):
        scores[p, b] *= column.shrink
    folded(column)


@njit(cache=True, nogil=True, fastmath=SUMS)
def direct_steps(
    first, last, group, columns, sums, weighted_sums, products, index, values, squares, bias, labelings, weights, alpha,
    violations, k, rule, loss, average, project,
):  # fmt: skip
    """Take all steps of `index` in the columns first..last-1, each by itself; return how many rows pulled.

    Dense rows: `values` is X, a score is an inner product with the column's sums, and a pull is added to them. Kernels:
    `values` is the kernel matrix, a score is read off `products` (all <S, x>), and a pull spreads a row of the matrix
    over them. A row costs only the columns it belongs to, and for kernels only those in which it pulls.
    `sums` or `products` are in Fortran order: a column lies side by side and stays in the cache for a chunk of rows.
    """
    size = 1
    if group is not None:
        size = group
    kernel = products.size > 0
    found, pulls = np.zeros((k, size)), np.zeros((k, size))
    scales, f, held = np.zeros(size), np.zeros(size), np.zeros(size)
    chunk = max(1, DIRECT_CHUNK // k) * k
    members = np.empty(chunk, np.int64)
    n_pulls = 0
    for begin in range(0, index.size, chunk):
        if not kernel:
            ask_for_rows(index[begin + chunk : begin + 2 * chunk], values, squares, labelings, weights, alpha)
        for lead in range(first, last, size):
            leader = columns[lead]
            n_members = 0
            for b in range(begin, min(begin + chunk, index.size)):  # without a branch: no one foresees who belongs
                members[n_members] = index[b]
                n_members += weights[index[b], leader.row_set] != 0
            for start in range(0, n_members, k):
                if leader.steps >= leader.limit:
                    break
                for r in range(size):
                    scales[r] = open_step(columns[lead + r], rule, average)
                for b in range(k):
                    i = members[start + b]
                    y = labelings[i, leader.labeling]
                    s = float(weights[i, leader.row_set])
                    if size == 1:  # without the group's arrays, which cost more than the step
                        found[b, 0] = products[i, lead] if kernel else dense_product(values, i, sums, lead)
                        if bias > 0.0:
                            found[b, 0] += bias * sums[sums.shape[0] - 1, lead]
                        coefficient = alpha[i, lead] if rule == Rule.SDCA else 0.0
                        score = scales[0] * found[b, 0]
                        pulls[b, 0] = pull_of(leader, rule, loss, y, s, score, coefficient, squares[i])
                        continue
                    for r in range(size):
                        found[b, r] = direct_product(kernel, values, i, products, sums, lead + r, bias)
                        f[r] = scales[r] * found[b, r]
                        if rule == Rule.SDCA:
                            held[r] = alpha[i, lead + r]
                    pulls_of(leader, rule, loss, y, s, f, held, squares[i], pulls[b])
                for b in range(k):
                    i = members[start + b]
                    for r in range(size):
                        v = pulls[b, r]
                        if v == 0.0:
                            continue
                        n_pulls += 1
                        p = lead + r
                        if k > 1:  # rows of the batch that pulled before this one have changed its product
                            found[b, r] = direct_product(kernel, values, i, products, sums, p, bias)
                        mark = mark_of(loss, labelings[i, leader.labeling], r)
                        account(columns[p], v, mark, found[b, r], squares[i])
                        if alpha.size:  # for kernels these are the sums
                            alpha[i, p] += v
                        if violations.size:
                            violations[i, p] += 1
                        direct_add(kernel, values, i, products, sums, weighted_sums, p, bias, v, v * columns[p].average)
                if close_step(columns, lead, size, rule, project):
                    for p in range(lead, lead + size):
                        for i in range(products.shape[0]):
                            products[i, p] *= columns[p].shrink
                        fold_column(columns[p], p, sums, weighted_sums, alpha[:0] if kernel else alpha)
    return n_pulls


@njit(cache=True, nogil=True)
def ask_for_rows(index, values, squares, labelings, weights, alpha):
    """Have the beginnings of dense rows fetched, and what is known of them; the processor itself goes on from there."""
    width = values.shape[1]
    for i in index:
        for j in range(0, min(width, 4 * LINE), LINE):
            prefetch(values, i * width + j)
        prefetch(squares, i)
        prefetch(labelings, i * labelings.shape[1])
        prefetch(weights, i * weights.shape[1])
        if alpha.size:
            prefetch(alpha, i * alpha.shape[1])


@njit(cache=True, nogil=True, fastmath=SUMS)
def direct_product(kernel, values, i, products, sums, p, bias):
    """<S, x> of row `i` in one column: read off, or an inner product."""
    found = products[i, p] if kernel else dense_product(values, i, sums, p)
    if bias > 0.0:
        found += bias * sums[sums.shape[0] - 1, p]
    return found


@njit(cache=True, nogil=True, fastmath=SUMS, inline="always")
def direct_add(kernel, values, i, products, sums, weighted_sums, p, bias, v, u):
    """Add v times row `i` to S of one column and u times to U; a kernel's S is `alpha`, which the caller adds to."""
    constant = sums.shape[0] - 1
    if kernel:
        add_dense(values, i, products, p, v)
    else:
        add_dense(values, i, sums, p, v)
    if bias > 0.0:
        sums[constant, p] += bias * v
    if weighted_sums.size:
        if kernel:
            weighted_sums[i, p] += u
        else:
            add_dense(values, i, weighted_sums, p, u)
        if bias > 0.0:
            weighted_sums[constant, p] += bias * u


@njit(cache=True, nogil=True, fastmath=SUMS)
def dense_product(values, i, sums, p):
    """Inner product of row `i` with a column of `sums`, over the row's length; the caller's `fastmath` holds."""
    total = values[i, 0] * sums[0, p]
    for j in range(1, values.shape[1]):
        total += values[i, j] * sums[j, p]
    return total


@njit(cache=True, nogil=True, fastmath=SUMS)
def add_dense(values, i, sums, p, v):
    """Add v times row `i` to a column of `sums`."""
    pull = sums.dtype.type(v)
    for j in range(values.shape[1]):
        sums[j, p] += pull * values[i, j]


@njit(cache=True, nogil=True)
def fold_column(column, p, sums, weighted_sums, alpha):
    """Multiply S by `shrink` and move average * S into U, in place; `alpha` is empty where it is part of `sums`."""
    for j in range(sums.shape[0]):
        if weighted_sums.size:
            weighted_sums[j, p] -= column.average * sums[j, p]
        sums[j, p] *= column.shrink
    for i in range(alpha.shape[0]):
        alpha[i, p] *= column.shrink
    folded(column)
