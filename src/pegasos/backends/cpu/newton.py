"""Newton's method on one column of few rows and features, all iterations in one call: nothing but arithmetic.

The same steps as `pegasos.solver.newton` takes, which tells what they are; here products of matrices and calls of
Python would take longer than the numbers. An iteration takes some microseconds.
"""

import numpy as np

from pegasos.backends.cpu.descent import add_row, inner
from pegasos.backends.cpu.expansion import closer_length
from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.utils.jit_part import jit_part

GOOD_SLOPE = 0.5  # of the slope at the start: a step of length 1 that leaves no more is taken as it is ...
SEARCH_SLOPE = 0.1  # ... and a search ends at a point that leaves no more
SEARCH_STEPS = 40
ROUNDING = 1e-12  # of an objective
NARROWER = 0.35  # a width times so much at least
WIDER = 0.7  # ... and at most
NEAR = 0.1  # of the objective of zero: a gap from which an earlier fit is gone on from with narrow widths
STALLS = 3  # iterations without a better gap or objective: then a column goes on in float64, or ends
BETTER = 0.9  # a gap that is so much of the best one
FALLS = 1e-9  # of an objective: a fall that counts
DEPENDENT = 1e-14  # of a feature's square: the part of it that others do not make up, below which it stays where it is
LEAST_OBJECTIVE = 1e-13  # of zero's: smaller ones are rounding


@jit(fastmath=SUMS)
def newton_column(
    most, tol, column, width, begins, indptr, indices, values, bias, targets, weights, model, dual, alpha, *, loss,
    sparse,
):  # fmt: skip
    """Take at most so many iterations, to a gap of `tol` of the objective and of the zero model's; `model` moves.

    `width` is that of the parabolas in the place of kinks; where the column `begins` at the model of an earlier fit,
    one is looked for that is as narrow. `dual` is a lower bound that is known; a higher one is left in `alpha` (n,).

    Returns
    -------
    iterations, objective, dual, width, ended
        `ended`: rounding lets the column come no nearer.
    """
    n_rows, size, lam, kinks = targets.size, model.size, column.lam, loss.has_kink
    scores, products, held, pulls = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
    gram, factor, row = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
    gradient, direction = np.zeros(size), np.zeros(size)
    for i in range(n_rows):
        if weights[i] != 0:
            scores[i] = inner(model, i, indptr, indices, values, bias, sparse)
    best_gap, lowest, stalled, iterations, ended = np.inf, np.inf, 0, 0, False
    probing, probed, first_width = kinks and begins, np.inf, width
    zero = column.zero_objective if column.zero_objective > 0.0 else 1.0
    while True:
        total, smooth, slack = 0.0, 0.0, 0.0
        gradient[:] = 0.0
        if loss.curvature is None:
            gram[:] = 0.0
            held[:] = 0.0
        for i in range(n_rows):
            s = float(weights[i])
            if s == 0.0:
                continue
            value, pull, curvature = loss.expansion(targets[i], scores[i], column.epsilon, width)
            smooth += s * value
            if kinks:
                strength = abs(pull)
                total += s * width * strength * (1.0 - 0.5 * strength)
                slack += s * width * strength * (1.0 - strength)
                curvature = 1.0 if curvature > 0.0 else 0.0
            pulls[i] = s * pull
            if pull != 0.0:
                add_row(gradient, -s * pull, i, indptr, indices, values, bias, sparse)
            if curvature != held[i]:
                add_products(gram, s * (curvature - held[i]), row, i, indptr, indices, values, bias, sparse)
                held[i] = curvature
        square, steepness = 0.0, 0.0
        for j in range(size):
            gradient[j] = gradient[j] / column.n_rows + lam * model[j]
            square += model[j] * model[j]
            steepness += gradient[j] * gradient[j]
        objective = (smooth + total) / column.n_rows + 0.5 * lam * square
        smooth = smooth / column.n_rows + 0.5 * lam * square
        by_slope, by_width = steepness / (2.0 * lam), slack / column.n_rows
        if objective - by_slope - by_width > dual:
            dual = objective - by_slope - by_width
            for i in range(n_rows):  # an assignment of slices would take more than a second to compile
                alpha[i] = pulls[i]
        aim = tol * min(zero, max(objective, LEAST_OBJECTIVE * zero))
        if objective - dual <= aim or iterations >= most:
            break
        if probing:
            if by_slope + by_width < probed:
                probed = by_slope + by_width
                width *= NARROWER
                continue
            probing = False
            width = width / NARROWER if probed <= NEAR * zero else first_width
            continue
        if smooth + FALLS * abs(smooth) < lowest or objective - dual < BETTER * best_gap:
            stalled = 0
        else:
            stalled += 1
        best_gap, lowest = min(objective - dual, best_gap), smooth
        if stalled >= STALLS:
            ended = True
            break
        if kinks and by_slope < by_width and by_width > 0.5 * aim:
            width *= min(max(np.sqrt(aim / (4.0 * by_width)), NARROWER), WIDER)
            lowest = np.inf
            continue
        newton_direction(factor, gram, 1.0 / (column.n_rows * (width if kinks else 1.0)), lam, gradient, direction)
        for i in range(n_rows):
            if weights[i] != 0:
                products[i] = inner(direction, i, indptr, indices, values, bias, sparse)
        length = searched_length(
            column, width, smooth, square, targets, weights, model, gradient, direction, scores, products, loss
        )
        for j in range(size):
            model[j] += length * direction[j]
        for i in range(n_rows):
            scores[i] += length * products[i]
        iterations += 1
    return iterations, objective, dual, width, ended


@jit_part
def searched_length(
    column, width, smooth, square, targets, weights, model, gradient, direction, scores, products, loss
):  # fmt: skip
    """The length of a step at which the smoothed objective has fallen and its slope is small enough."""
    slope, linear, curve = 0.0, 0.0, 0.0
    for j in range(model.size):
        slope += gradient[j] * direction[j]
        linear += column.lam * model[j] * direction[j]
        curve += column.lam * direction[j] * direction[j]
    length, low, high, part, done = 1.0, 0.0, np.inf, GOOD_SLOPE, False
    highest = smooth + ROUNDING * abs(smooth)
    for _ in range(SEARCH_STEPS):
        total, first, second = 0.0, 0.0, 0.0
        for i in range(targets.size):
            s = float(weights[i])
            if s == 0.0:
                continue
            f = scores[i] + length * products[i]
            value, pull, curvature = loss.expansion(targets[i], f, column.epsilon, width)
            total += s * value
            first -= s * pull * products[i]
            second += s * curvature * products[i] * products[i]
        reached = total / column.n_rows + 0.5 * column.lam * square + length * (linear + 0.5 * length * curve)
        first = first / column.n_rows + linear + length * curve
        second = second / column.n_rows + curve
        done = abs(first) <= part * abs(slope) and reached <= highest
        if done:
            break
        part = SEARCH_SLOPE
        if first > 0.0 or reached > highest:
            high = length
        else:
            low = length
        length = closer_length(length, first, second, low, high)
    return length if done else low


@jit_part
def add_products(gram, weight, row, i, indptr, indices, values, bias, sparse):
    """gram += weight·x·xᵀ of a row, on and below the diagonal; `row` is room for x."""
    row[:] = 0.0
    add_row(row, 1.0, i, indptr, indices, values, bias, sparse)
    for j in range(row.size):
        if row[j] != 0.0:
            product = weight * row[j]
            for k in range(j + 1):
                gram[j, k] += product * row[k]


@jit_part
def newton_direction(factor, gram, scale, lam, gradient, direction):
    """direction = -H⁻¹ gradient for H = scale·gram + lam, by its Cholesky factor; gram on and below the diagonal."""
    size, least = gradient.size, 0.0
    for j in range(size):
        for k in range(j + 1):
            total = scale * gram[j, k]
            if j == k:
                total += lam
                least = DEPENDENT * total
            for m in range(k):
                total -= factor[j, m] * factor[k, m]
            if j > k:
                factor[j, k] = total / factor[k, k]
            elif total > least:
                factor[j, j] = np.sqrt(total)
            else:
                factor[j, j] = np.inf
    for j in range(size):
        total = -gradient[j]
        for k in range(j):
            total -= factor[j, k] * direction[k]
        direction[j] = total / factor[j, j]
    for j in range(size - 1, -1, -1):
        total = direction[j]
        for k in range(j + 1, size):
            total -= factor[k, j] * direction[k]
        direction[j] = total / factor[j, j]
