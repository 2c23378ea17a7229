"""The loops over single rows and small batches.

`block_steps`, `direct_steps` and `sparse.row_steps` run the same scalar functions of `pegasos.rules.step`. They differ
in how scores are obtained (a matrix product corrected by the Gram matrix; an inner product per dense row and column; a
gather per CSR row for all columns) and in how pulls reach the state.

Keyword-only parameters are constants of the compiled loop: `rule`, `loss`, `project`, whether steps are `single` ones
(of one row in one column: no arrays for groups and batches), and whether a `kernel` matrix is at hand.
"""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.backends.cpu.prefetch import LINE, prefetch
from pegasos.rules.column import Rule
from pegasos.rules.step import account, close_step, dual_sign, folded, open_step, pull_of, pulls_of
from pegasos.utils.jit_part import jit_part

DIRECT_CHUNK = 64  # rows that stay in the cache while column after column meets them


@jit(fastmath=SUMS)
def block_steps(
    first, last, size, columns, scores, gram, known, matrix, bias, index, earlier, labelings, weights, alpha,
    violations, pulls, weighted, folds, k, average, scratch, *, rule, loss, project, single,
):  # fmt: skip
    """Take the steps of the draws first..last-1 of a block, one group of columns after another.

    `scores` (P, B) are <S, x> at the block's start and are corrected in place by `gram` (B, B), which is needed on and
    right of its diagonal. A row of it that is not `known` is read from the kernel `matrix` when the row first pulls:
    few rows do. `pulls` and `weighted` (P, B) receive what the rows add to S and U (`weighted` is (0, 0) without an
    average), `folds` (P, 2) the factor on the old S and the multiple of it that U loses. `alpha` is that of the
    block's start; sdca adds what the same row pulled earlier in the block, `earlier_draws`. `scratch` (4, size) is for
    the numbers of one row in a group, (0, 0) for `single` steps: loops that make arrays take far longer to compile.
    """
    if not single:
        scales, f, held, found = scratch[0], scratch[1], scratch[2], scratch[3]
    for lead in range(0, columns.size, size):
        leader = columns[lead]
        for p in range(lead, lead + size):
            folds[p, 0] = 1.0
            folds[p, 1] = 0.0
        for start in range(first, last, k):
            if leader.steps >= leader.limit:
                break
            i = index[start]
            s = float(weights[i, leader.row_set])
            if s == 0.0:
                continue
            if single:
                held = own_coefficient(alpha, pulls, earlier, i, start, lead, rule)
                score, y = open_step(leader, rule, average) * scores[lead, start], labelings[i, leader.labeling]
                pulls[lead, start] = pull_of(leader, rule, loss, y, s, score, held, gram[start, start])
                add_to_block(
                    i, start, last, lead, 0, leader, scores, gram, known, matrix, bias, index, y, violations, pulls,
                    weighted, loss,
                )  # fmt: skip
            else:
                for r in range(size):
                    scales[r] = open_step(columns[lead + r], rule, average)
                for b in range(start, start + k):
                    i = index[b]
                    y, s = labelings[i, leader.labeling], float(weights[i, leader.row_set])
                    if loss.grouped:
                        for r in range(size):
                            f[r] = scales[r] * scores[lead + r, b]
                            held[r] = own_coefficient(alpha, pulls, earlier, i, b, lead + r, rule)
                        pulls_of(leader, rule, loss, y, s, f, held, gram[b, b], found)
                        for r in range(size):
                            pulls[lead + r, b] = found[r]
                    else:  # sdca has no batches
                        score = scales[0] * scores[lead, b]
                        pulls[lead, b] = pull_of(leader, rule, loss, y, s, score, 0.0, gram[b, b])
                for b in range(start, start + k):
                    i = index[b]
                    for r in range(size):
                        add_to_block(
                            i, b, last, lead + r, r, columns[lead + r], scores, gram, known, matrix, bias, index,
                            labelings[i, leader.labeling], violations, pulls, weighted, loss,
                        )  # fmt: skip
            if close_step(columns, lead, size, rule, project):
                for p in range(lead, lead + size):
                    fold_block(columns[p], p, start + k, scores, pulls, weighted, folds)


@jit_part
def add_to_block(
    i, b, last, p, place, column, scores, gram, known, matrix, bias, index, y, violations, pulls, weighted, loss,
):  # fmt: skip
    """Let one column know of the pull of row `i`, draw `b` of a block, and with it the later draws up to `last`."""
    v = pulls[p, b]
    if v != 0.0:
        if not known[b]:
            known[b] = True
            read_gram(gram, matrix, bias, index, i, b, last)
        account(column, v, dual_sign(loss, y, place), scores[p, b], gram[b, b])
        if weighted.size:
            weighted[p, b] = v * column.average
        correct_scores(scores, gram, p, b, last, v)
        if violations.size:
            violations[i, p] += 1


@jit_part
def own_coefficient(alpha, pulls, earlier, i, b, p, rule):
    """What row `i`, draw `b` of a block, has added to S of a column, earlier in the block, too; sdca alone asks."""
    if rule != Rule.SDCA:
        return 0.0
    total = float(alpha[i, p])
    same = earlier[b]
    while same >= 0:
        total += pulls[p, same]
        same = earlier[same]
    return total


@jit_part
def read_gram(gram, matrix, bias, index, i, b, last):
    """Read inner products of a draw with later ones from the kernel matrix."""
    for later in range(b + 1, last):
        gram[b, later] = matrix[i, index[later]] + bias * bias


@jit_part
def correct_scores(scores, gram, p, b, last, v):
    """Let later scores know of a pull."""
    for later in range(b + 1, last):
        scores[p, later] += v * gram[b, later]


@jit_part
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


@jit(fastmath=SUMS)
def direct_steps(
    first, last, size, columns, sums, weighted_sums, products, index, values, squares, bias, labelings, weights, alpha,
    violations, k, average, members, scratch, *, rule, loss, project, single, kernel,
):  # fmt: skip
    """Take all steps of `index` in the columns first..last-1, each by itself; return how many rows pulled.

    Dense rows: `values` is X, a score is an inner product with the column's sums, and a pull is added to them. Kernels:
    `values` is the kernel matrix, a score is read off `products` (all <S, x>), and a pull spreads a row of the matrix
    over them. A row costs only the columns it belongs to, and for kernels only those in which it pulls.
    `sums` or `products` are in Fortran order: a column lies side by side and stays in the cache for a chunk of rows.
    `members` has room for the rows of a chunk, `scratch` (2k + 4, size) for numbers of a batch in a group (0, 0 if
    `single`), as `direct_room` makes them.
    """
    if not single:
        scales, f, held, own = scratch[2 * k], scratch[2 * k + 1], scratch[2 * k + 2], scratch[2 * k + 3]
        found, pulls = scratch[:k], scratch[k : 2 * k]
    chunk, n_pulls = members.size, 0
    for begin in range(0, index.size, chunk):
        end = begin + chunk if begin + chunk < index.size else index.size
        if not kernel:
            for b in range(end, end + chunk if end + chunk < index.size else index.size):
                ask_for_row(index[b], values, squares, labelings, weights, alpha)
        for lead in range(first, last, size):
            leader = columns[lead]
            n_members = 0
            for b in range(begin, end):  # without a branch: no one foresees who belongs
                members[n_members] = index[b]
                n_members += weights[index[b], leader.row_set] != 0
            for start in range(0, n_members, k):
                if leader.steps >= leader.limit:
                    break
                if single:
                    i = members[start]
                    y, s = labelings[i, leader.labeling], float(weights[i, leader.row_set])
                    scale = open_step(leader, rule, average)
                    product = score_of(values, i, products, sums, lead, bias, kernel)
                    coefficient = alpha[i, lead] if rule == Rule.SDCA else 0.0
                    v = pull_of(leader, rule, loss, y, s, scale * product, coefficient, squares[i])
                    if v != 0.0:
                        n_pulls += 1
                        account(leader, v, dual_sign(loss, y, 0), product, squares[i])
                        add_directly(
                            i, lead, v, v * leader.average, values, products, sums, weighted_sums, alpha, violations,
                            bias, kernel,
                        )  # fmt: skip
                else:
                    for r in range(size):
                        scales[r] = open_step(columns[lead + r], rule, average)
                    for b in range(k):
                        i = members[start + b]
                        y, s = labelings[i, leader.labeling], float(weights[i, leader.row_set])
                        if loss.grouped:
                            for r in range(size):
                                found[b, r] = score_of(values, i, products, sums, lead + r, bias, kernel)
                                f[r] = scales[r] * found[b, r]
                                held[r] = alpha[i, lead + r] if rule == Rule.SDCA else 0.0
                            pulls_of(leader, rule, loss, y, s, f, held, squares[i], own)
                            for r in range(size):
                                pulls[b, r] = own[r]
                        else:  # without the group's arrays, which cost more than the step; sdca has no batches
                            found[b, 0] = score_of(values, i, products, sums, lead, bias, kernel)
                            score = scales[0] * found[b, 0]
                            pulls[b, 0] = pull_of(leader, rule, loss, y, s, score, 0.0, squares[i])
                    for b in range(k):
                        i = members[start + b]
                        for r in range(size):
                            p, v = lead + r, pulls[b, r]
                            if v != 0.0:
                                n_pulls += 1
                                if k > 1:  # rows of the batch that pulled before this one have changed its product
                                    found[b, r] = score_of(values, i, products, sums, p, bias, kernel)
                                sign = dual_sign(loss, labelings[i, leader.labeling], r)
                                account(columns[p], v, sign, found[b, r], squares[i])
                                add_directly(
                                    i, p, v, v * columns[p].average, values, products, sums, weighted_sums, alpha,
                                    violations, bias, kernel,
                                )  # fmt: skip
                if close_step(columns, lead, size, rule, project):
                    for p in range(lead, lead + size):
                        for i in range(products.shape[0]):
                            products[i, p] *= columns[p].shrink
                        if not kernel:  # whose alpha is part of the sums
                            fold_alpha(columns[p], p, alpha)
                        fold_column(columns[p], p, sums, weighted_sums)
    return n_pulls


def direct_room(k: int, size: int, single: bool) -> tuple[np.ndarray, np.ndarray]:
    """`members` and `scratch` of `direct_steps`, for each thread its own."""
    chunk = DIRECT_CHUNK if single else max(1, DIRECT_CHUNK // k) * k
    return np.empty(chunk, np.int64), np.empty((0, 0) if single else (2 * k + 4, size))


@jit_part
def add_directly(
    i, p, v, u, values, products, sums, weighted_sums, alpha, violations, bias, kernel,
):  # fmt: skip
    """Add v times row `i` to S of one column and u times to U, and note the pull; a kernel's S is `alpha`."""
    if alpha.size:
        alpha[i, p] += v
    if violations.size:
        violations[i, p] += 1
    if kernel:
        add_kernel_row(values, i, products, sums, p, bias, v)
        if weighted_sums.size:
            add_number(weighted_sums, i, p, bias, u)
    else:
        add_row(values, i, sums, p, bias, v)
        if weighted_sums.size:
            add_row(values, i, weighted_sums, p, bias, u)


@jit_part
def ask_for_row(i, values, squares, labelings, weights, alpha):
    """Have the beginning of a dense row fetched, and what is known of it; the processor itself goes on from there."""
    width, line = values.shape[1], LINE // values.itemsize
    for j in range(0, width if width < 4 * line else 4 * line, line):
        prefetch(values, i * width + j)
    prefetch(squares, i)
    prefetch(labelings, i * labelings.shape[1])
    prefetch(weights, i * weights.shape[1])
    if alpha.size:
        prefetch(alpha, i * alpha.shape[1])


@jit_part
def score_of(values, i, products, sums, p, bias, kernel):
    """<S, x> of row `i` in one column: read off, or an inner product."""
    if kernel:
        return kept_product(products, i, sums, p, bias)
    return dense_product(values, i, sums, p, bias)


@jit_part
def kept_product(products, i, sums, p, bias):
    """The product of row `i` with a column that is kept, the constant feature included."""
    found = products[i, p]
    if bias > 0.0:
        found += bias * sums[sums.shape[0] - 1, p]
    return found


@jit_part
def dense_product(values, i, sums, p, bias):
    """Inner product of row `i` with a column of `sums`, the constant feature included."""
    total = values[i, 0] * sums[0, p]
    for j in range(1, values.shape[1]):
        total += values[i, j] * sums[j, p]
    if bias > 0.0:
        return total + bias * sums[sums.shape[0] - 1, p]
    return total


@jit_part
def add_row(values, i, sums, p, bias, v):
    """Add v times row `i` to a column of `sums`."""
    pull = sums.dtype.type(v)
    for j in range(values.shape[1]):
        sums[j, p] += pull * values[i, j]
    if bias > 0.0:
        sums[sums.shape[0] - 1, p] += bias * v


@jit_part
def add_kernel_row(values, i, products, sums, p, bias, v):
    """Add v times row `i` of the kernel matrix to a column of `products`; the caller adds to S."""
    pull = products.dtype.type(v)
    for j in range(values.shape[1]):
        products[j, p] += pull * values[i, j]
    if bias > 0.0:
        sums[sums.shape[0] - 1, p] += bias * v


@jit_part
def add_number(sums, i, p, bias, v):
    """Add v times row `i` of a kernel to a column of `sums`, which has a number for each row."""
    sums[i, p] += v
    if bias > 0.0:
        sums[sums.shape[0] - 1, p] += bias * v


@jit_part
def fold_column(column, p, sums, weighted_sums):
    """Multiply S by `shrink` and move average * S into U, in place."""
    for j in range(sums.shape[0]):
        if weighted_sums.size:
            weighted_sums[j, p] -= column.average * sums[j, p]
        sums[j, p] *= column.shrink
    folded(column)


@jit_part
def fold_alpha(column, p, alpha):
    """The same for what the rows have added, where that is not part of S."""
    for i in range(alpha.shape[0]):
        alpha[i, p] *= column.shrink
