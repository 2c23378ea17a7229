"""Dual coordinate ascent on columns that stream by a matrix which stays in the cache.

For problems of some hundred rows. The matrix is the kernel matrix, or the rows themselves where their features are few.
With a kernel matrix a column's scores of all rows are kept: to look at a row costs no product, a row of the matrix is
added only where its variable moves, and scores of rows that are not the column's own come for nothing. One column after
the other is taken to its gap, so that all that a step touches is the matrix and three vectors.
"""

import numpy as np

from pegasos.backends.cpu.descent import STILL, shuffle
from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.utils.jit_part import jit_part

LEAST = 1e-13  # gap that is as good as none
NARROWING = 0.5  # of the estimated gap at which all rows are looked at, after a look that was not the last


@jit(fastmath=SUMS)
def gram_columns(
    numbers, matrix, squares, targets, weights, labelings, row_sets, factors, epsilon, goals, of_objective, limits,
    seed, alpha, sums, steps, violations, objective, dual, *, loss, kept,
):  # fmt: skip
    """Take columns to their gap, or to so many steps; the certificate is that of the last look at all rows.

    A look at all rows comes first, so without any step to take this only certifies.

    Parameters
    ----------
    numbers : ndarray of int
        The columns to take.
    matrix : ndarray of shape (n_rows, n_rows) or (n_rows, n_features)
        Kernel values, the constant feature's included; or the rows, the constant feature their last.
    squares : ndarray of shape (n_rows,)
        K(x, x) of the rows.
    targets, weights : ndarray of shape (n_labelings, n_rows) and (n_row_sets, n_rows)
    labelings, row_sets : ndarray of int, shape (n_columns,)
    factors : ndarray of shape (n_columns, 2)
        1 / (lam n) and 1 / n of each column: w = factor · S.
    goals, of_objective
        A gap is small enough if it is below the column's goal and below `of_objective` times its objective.
    limits, steps : ndarray of int64, shape (n_columns,)
        Steps at which a column ends, and those it has taken.
    alpha : ndarray of shape (n_columns, n_rows)
        Coefficients.
    sums : ndarray of shape (n_columns, n_rows) or (n_columns, n_features)
        <S, x> of all rows if scores are `kept`, S itself otherwise.
    violations : ndarray of int32, shape (n_columns, n_rows) or (0, 0)
        How often each coefficient has changed, where that is counted.
    objective, dual : ndarray of shape (n_columns,)
        Written.
    """
    width = matrix.shape[1]
    order, random = np.empty(matrix.shape[0], np.int64), np.empty(1, np.uint64)
    for k in range(numbers.size):
        p = numbers[k]
        y, s, a, f = targets[labelings[p]], weights[row_sets[p]], alpha[p], sums[p]
        scale, share, limit, met = factors[p, 0], factors[p, 1], limits[p], steps[p]
        random[0] = seed
        n_own, expected, looking = 0, np.inf, True
        n_active, held_from, highest = 0, np.inf, dual[p]
        while looking:
            n_own = own_rows(s, order)
            losses, terms, inner = look(order, n_own, matrix, y, s, a, f, scale, epsilon, loss, kept)
            regulariser = 0.5 * scale * share * inner
            objective[p] = losses * share + regulariser
            highest = max(highest, terms * share - regulariser)
            gap = objective[p] - highest
            wanted = min(goals[p], max(of_objective * objective[p], LEAST))
            looking = gap > wanted and met < limit
            if looking:
                expected = wanted if expected == np.inf else min(NARROWING * expected, wanted)
                n_active, held_from, estimate = n_own, np.inf, np.inf
                while n_active > 0 and estimate > expected and met < limit:
                    met += n_active
                    shuffle(order, n_active, random)
                    largest, total, place = 0.0, 0.0, 0
                    while place < n_active:
                        i = order[place]
                        side = loss.side(y[i])
                        before, score, weight = a[i], scale * product_with(f, matrix, i, kept), float(s[i])
                        beta = side * before
                        pressure = loss.pressure(beta, y[i], score, weight, epsilon)
                        if pressure < -held_from:
                            n_active -= 1
                            order[place] = order[n_active]
                            order[n_active] = i
                            continue
                        place += 1
                        total += weight * loss.value(y[i], score, epsilon) - loss.dual_term(beta, y[i], weight, epsilon)
                        total += before * score
                        if pressure > STILL:
                            largest = max(largest, pressure)
                            moved = loss.coordinate(beta, y[i], score, scale * squares[i], weight, epsilon)
                            if moved != beta:
                                a[i] = side * moved
                                change = side * (moved - beta)
                                row = matrix[i]
                                for j in range(width):
                                    f[j] += change * row[j]
                                if violations.shape[0] > 0:
                                    violations[p, i] += 1
                    held_from = largest if largest > 0.0 else np.inf
                    estimate = total * share
        steps[p], dual[p] = met, highest


@jit_part
def own_rows(weights, order):
    """Put a column's own rows into `order`; how many there are."""
    count = 0
    for i in range(weights.size):
        if weights[i] > 0:
            order[count] = i
            count += 1
    return count


@jit_part
def product_with(sums, matrix, i, kept):
    """<S, x> of a row."""
    total = 0.0
    if kept:
        total = sums[i]
    else:
        for j in range(matrix.shape[1]):
            total += sums[j] * matrix[i, j]
    return total


@jit_part
def look(order, n_own, matrix, y, s, a, f, scale, epsilon, loss, kept):
    """Σ s·loss, Σ dual terms and Σ a·<S, x> over a column's own rows."""
    losses, terms, inner = 0.0, 0.0, 0.0
    for place in range(n_own):
        i = order[place]
        weight, product = float(s[i]), product_with(f, matrix, i, kept)
        losses += weight * loss.value(y[i], scale * product, epsilon)
        terms += loss.dual_term(loss.side(y[i]) * a[i], y[i], weight, epsilon)
        inner += a[i] * product
    return losses, terms, inner
