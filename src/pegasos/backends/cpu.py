"""CPU verbs: Numba loops over arrays and scalars, compiled once and cached on disk.

`block_steps`, `direct_steps` and `row_steps` run the same scalar functions of `pegasos.step`. They differ in how scores
are obtained (a matrix product corrected by the Gram matrix; an inner product per dense row and column; a gather per CSR
row for all columns) and in how pulls reach the state.

Arrays shared by the verbs::

    columns     (P,)   records of `state.COLUMN`: constants and scalar state of each column
    labelings   (n, L) targets; `columns[p].labeling` names one
    weights     (n, M) row weights, mean 1 over the rows of a row set, 0 outside it; `columns[p].row_set` names one
    alpha       (n, P) what each row has added to S so far, (0, 0) when nobody needs it
    violations  (n, P) how often each row pulled, (0, 0) when nobody asks
"""

import numpy as np
from numba import njit

from pegasos.losses import value
from pegasos.step import Rule, account, close_step, folded, open_step, pull_of

# Lets sums run in SIMD lanes; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
DIRECT_CHUNK = 64  # rows that stay in the cache while column after column meets them


@njit(cache=True, nogil=True, fastmath=SUMS)
def block_steps(
    first, last, columns, scores, gram, known, matrix, bias, index, labelings, weights, alpha, violations,
    pulls, weighted, folds, k, rule, loss, average, project,
):  # fmt: skip
    """Take all steps of a block in the columns first..last-1, one column after another.

    `scores` (P, B) are <S, x> at the block's start and are corrected in place by `gram` (B, B), which is needed on and
    right of its diagonal. A row of it that is not `known` is read from the kernel `matrix` when the row first pulls:
    few rows do. `pulls` and `weighted` (P, B) receive what the rows add to S and U (`weighted` is (0, 0) without an
    average), `folds` (P, 2) the factor on the old S and the multiple of it that U loses. `alpha` is that of the
    block's start; sdca adds what the same row pulled earlier in the block.
    """
    n_draws = index.size
    earlier = earlier_draws(index) if rule == Rule.SDCA else index
    for p in range(first, last):
        column = columns[p]
        folds[p, 0] = 1.0
        folds[p, 1] = 0.0
        for start in range(0, n_draws, k):
            if column.steps >= column.limit:
                break
            if weights[index[start], column.row_set] == 0.0:
                continue
            scale = open_step(column, rule, average)
            for b in range(start, start + k):
                i = index[b]
                coefficient = 0.0
                if rule == Rule.SDCA:
                    coefficient = alpha[i, p]
                    same = earlier[b]
                    while same >= 0:
                        coefficient += pulls[p, same]
                        same = earlier[same]
                y = labelings[i, column.labeling]
                s = weights[i, column.row_set]
                pulls[p, b] = pull_of(column, rule, loss, y, s, scale * scores[p, b], coefficient, gram[b, b])
            for b in range(start, start + k):
                v = pulls[p, b]
                if v == 0.0:
                    continue
                i = index[b]
                if not known[b]:
                    known[b] = True
                    for later in range(b + 1, n_draws):
                        gram[b, later] = matrix[i, index[later]] + bias * bias
                account(column, v, labelings[i, column.labeling], scores[p, b], gram[b, b])
                if weighted.size:
                    weighted[p, b] = v * column.average
                for later in range(b + 1, n_draws):
                    scores[p, later] += v * gram[b, later]
                if violations.size:
                    violations[i, p] += 1
            if close_step(column, project):
                fold_block(column, p, start + k, scores, pulls, weighted, folds)


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
    first, last, columns, sums, weighted_sums, products, index, values, squares, bias, labelings, weights, alpha,
    violations, k, rule, loss, average, project,
):  # fmt: skip
    """Take all steps of `index` in the columns first..last-1, each by itself; return how many rows pulled.

    Dense rows: `values` is X, a score is an inner product with the column's sums, and a pull is added to them. Kernels:
    `values` is the kernel matrix, a score is read off `products` (all <S, x>), and a pull spreads a row of the matrix
    over them. A row costs only the columns it belongs to, and for kernels only those in which it pulls.
    `sums` or `products` are in Fortran order: a column lies side by side and stays in the cache for a chunk of rows.
    """
    kernel = products.size > 0
    constant = sums.shape[0] - 1
    found, pulls = np.zeros(k), np.zeros(k)
    chunk = max(1, DIRECT_CHUNK // k) * k
    members = np.empty(chunk, np.int64)
    n_pulls = 0
    for begin in range(0, index.size, chunk):
        for p in range(first, last):
            column = columns[p]
            n_members = 0
            for b in range(begin, min(begin + chunk, index.size)):  # without a branch: no one foresees who belongs
                members[n_members] = index[b]
                n_members += weights[index[b], column.row_set] != 0
            for start in range(0, n_members, k):
                if column.steps >= column.limit:
                    break
                scale = open_step(column, rule, average)
                for b in range(k):
                    i = members[start + b]
                    found[b] = products[i, p] if kernel else dense_product(values, i, sums, p)
                    if bias > 0.0:
                        found[b] += bias * sums[constant, p]
                    coefficient = alpha[i, p] if rule == Rule.SDCA else 0.0
                    y = labelings[i, column.labeling]
                    s = weights[i, column.row_set]
                    pulls[b] = pull_of(column, rule, loss, y, s, scale * found[b], coefficient, squares[i])
                for b in range(k):
                    v = pulls[b]
                    if v == 0.0:
                        continue
                    n_pulls += 1
                    i = members[start + b]
                    if k > 1:  # rows of the batch that pulled before this one have changed its product
                        found[b] = products[i, p] if kernel else dense_product(values, i, sums, p)
                        if bias > 0.0:
                            found[b] += bias * sums[constant, p]
                    account(column, v, labelings[i, column.labeling], found[b], squares[i])
                    if alpha.size:  # for kernels these are the sums
                        alpha[i, p] += v
                    if kernel:
                        add_dense(values, i, products, p, v)
                        if violations.size:
                            violations[i, p] += 1
                    else:
                        add_dense(values, i, sums, p, v)
                    if bias > 0.0:
                        sums[constant, p] += bias * v
                    if weighted_sums.size:
                        if kernel:
                            weighted_sums[i, p] += v * column.average
                        else:
                            add_dense(values, i, weighted_sums, p, v * column.average)
                        if bias > 0.0:
                            weighted_sums[constant, p] += bias * v * column.average
                if close_step(column, project):
                    for i in range(products.shape[0]):
                        products[i, p] *= column.shrink
                    fold_column(column, p, sums, weighted_sums, alpha[:0] if kernel else alpha)
    return n_pulls


@njit(cache=True, nogil=True, fastmath=SUMS)
def dense_product(values, i, sums, p):
    """Inner product of row `i` with a column of `sums`, over the row's length."""
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


@njit(cache=True, nogil=True, fastmath=SUMS)
def row_steps(
    columns, sums, weighted_sums, index, indptr, indices, data, squares, bias, labelings, weights, alpha,
    k, rule, loss, average, project,
):  # fmt: skip
    """Take all steps of `index` over CSR rows, one row after another, all columns of a row together.

    `sums` is (features, P), so that one index gathers P contiguous numbers; `bias` > 0 adds a last row of the state
    for the constant feature. `squares` are the rows' squared norms with it.
    """
    n_columns = columns.size
    products = np.zeros(n_columns, sums.dtype)
    scales = np.zeros(n_columns)
    moved = np.zeros(n_columns, np.bool_)
    pulls = np.zeros((k, n_columns), sums.dtype)
    for start in range(0, index.size, k):
        for b in range(k):
            i = index[start + b]
            gather(products, sums, indptr[i], indptr[i + 1], indices, data, bias)
            for p in range(n_columns):
                column = columns[p]
                s = weights[i, column.row_set]
                pulls[b, p] = 0.0
                moved[p] = s != 0.0 and column.steps < column.limit
                if not moved[p]:
                    continue
                if b == 0:
                    scales[p] = open_step(column, rule, average)
                y = labelings[i, column.labeling]
                coefficient = alpha[i, p] if rule == Rule.SDCA else 0.0
                pulls[b, p] = pull_of(column, rule, loss, y, s, scales[p] * products[p], coefficient, squares[i])
        for b in range(k):
            i = index[start + b]
            if not pulls[b].any():
                continue
            if k > 1:  # rows of the batch that pulled before this one have changed its product
                gather(products, sums, indptr[i], indptr[i + 1], indices, data, bias)
            for p in range(n_columns):
                v = pulls[b, p]
                if v != 0.0:
                    account(columns[p], v, labelings[i, columns[p].labeling], products[p], squares[i])
                if alpha.size:
                    alpha[i, p] += v
            scatter(sums, pulls[b], indptr[i], indptr[i + 1], indices, data, bias)
            if weighted_sums.size:
                for p in range(n_columns):
                    pulls[b, p] *= columns[p].average
                scatter(weighted_sums, pulls[b], indptr[i], indptr[i + 1], indices, data, bias)
        for p in range(n_columns):
            if moved[p] and close_step(columns[p], project):
                fold_column(columns[p], p, sums, weighted_sums, alpha)


@njit(cache=True, nogil=True, fastmath=SUMS)
def gather(products, sums, first, last, indices, data, bias):
    """products = <S, x> of one CSR row in every column."""
    n_columns = products.size
    constant = sums.shape[0] - 1
    for p in range(n_columns):
        products[p] = bias * sums[constant, p] if bias > 0.0 else 0.0
    for j in range(first, last):
        for p in range(n_columns):
            products[p] += data[j] * sums[indices[j], p]


@njit(cache=True, nogil=True, fastmath=SUMS)
def scatter(sums, pulls, first, last, indices, data, bias):
    """S += pull * x of one CSR row in every column."""
    n_columns = pulls.size
    for j in range(first, last):
        for p in range(n_columns):
            sums[indices[j], p] += data[j] * pulls[p]
    if bias > 0.0:
        for p in range(n_columns):
            sums[sums.shape[0] - 1, p] += bias * pulls[p]


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


@njit(cache=True, nogil=True)
def open_columns(columns, scales, average):
    """Begin one step of every unfinished column (large batches; pegasos only)."""
    for p in range(columns.size):
        if columns[p].steps < columns[p].limit:
            scales[p] = open_step(columns[p], Rule.PEGASOS, average)


@njit(cache=True, nogil=True)
def batch_pulls(columns, scales, scores, index, labelings, weights, pulls, loss):
    """Pulls of the rows `index`, all against the same model (large batches; pegasos only)."""
    for p in range(columns.size):
        column = columns[p]
        for b in range(index.size):
            i = index[b]
            s = weights[i, column.row_set]
            y = labelings[i, column.labeling]
            pulls[p, b] = 0.0
            if s != 0.0 and column.steps < column.limit:
                pulls[p, b] = pull_of(column, Rule.PEGASOS, loss, y, s, scales[p] * scores[p, b], 0.0, 0.0)


@njit(cache=True, nogil=True)
def batch_account(columns, pulls, index, labelings, before, after):
    """Follow ||S||² and the dual mass over a batch: <S, x> `before` and `after` its pulls suffice."""
    for p in range(columns.size):
        column = columns[p]
        for b in range(index.size):
            v = pulls[p, b]
            if v != 0.0:
                column.square += v * (before[p, b] + after[p, b])
                column.mass += v * labelings[index[b], column.labeling]


@njit(cache=True, nogil=True)
def close_columns(columns, project, sums, weighted_sums, alpha):
    """End one step of every unfinished column (large batches; pegasos only); whether any state was folded."""
    any_fold = False
    for p in range(columns.size):
        if columns[p].steps < columns[p].limit and close_step(columns[p], project):
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


@njit(cache=True, nogil=True)
def add_losses(totals, columns, scores, index, labelings, weights, loss):
    """totals[p] += Σ s·loss over the rows `index`, in float64; `scores` (P, B) are those of the model itself."""
    for p in range(columns.size):
        column = columns[p]
        for b in range(index.size):
            s = weights[index[b], column.row_set]
            if s != 0.0:
                totals[p] += s * value(loss, labelings[index[b], column.labeling], float(scores[p, b]))


@njit(cache=True, nogil=True)
def direct_losses(first, last, totals, columns, model, X, bias, labelings, weights, loss):
    """The same over all dense rows, each score by its own inner product: only columns that a row belongs to cost."""
    for begin in range(0, X.shape[0], DIRECT_CHUNK):
        for p in range(first, last):
            column = columns[p]
            constant = bias * model[X.shape[1], p] if bias > 0.0 else 0.0
            for i in range(begin, min(begin + DIRECT_CHUNK, X.shape[0])):
                s = weights[i, column.row_set]
                if s != 0:
                    score = dense_product(X, i, model, p) + constant
                    totals[p] += s * value(loss, labelings[i, column.labeling], score)


@njit(cache=True, nogil=True)
def clip_dual(columns, factors, alpha, labelings, weights, masses):
    """Scale `alpha` to a dual point, clip it into its box in place, and return Σ beta of each column in `masses`."""
    for i in range(alpha.shape[0]):
        for p in range(columns.size):
            y = labelings[i, columns[p].labeling]
            beta = min(max(y * alpha[i, p] * factors[p], 0.0), weights[i, columns[p].row_set])
            alpha[i, p] = y * beta
            masses[p] += beta
