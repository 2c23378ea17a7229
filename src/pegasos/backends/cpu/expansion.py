"""Loops of Newton's method: loss, pull and curvature of all rows at trial models, and sums along a line.

`scores` (P, n) are those of the present model and `products` (P, n) what a direction adds to them, both in float64
whatever the rows are: they are computed once for each direction, so a line search reads no row.
"""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.utils.jit_part import jit_part

CHUNK = 64  # rows that stay in the cache while column after column meets them
LONGER = 10.0  # times the last length, where a search has not yet gone too far
LOSS, SMOOTHED, SLACK, CURVED, CHANGED = range(5)  # places in the sums of a column


@jit(fastmath=SUMS)
def dense_expansion(
    first, last, places, columns, widths, directions, X, bias, labelings, weights, scores, products, curvatures,
    inside, gradients, sums, moves, *, loss,
):  # fmt: skip
    """Look at the dense rows first..last-1 in the columns `places`, one step of length 1 along `directions` away.

    Without `moves` at the present model. `gradients` (P, features + 1) receive Σ s·pull·x, and `sums` (P, 5): the loss;
    its smoothed form; by how much loss and dual term differ from score times pull, zero for a loss without a kink; how
    many rows have a curvature, which `curvatures` (P, n) keep; and for how many that differs from `inside` (P, n).
    """
    n_features = X.shape[1]
    for begin in range(first, last, CHUNK):
        end = begin + CHUNK if begin + CHUNK < last else last
        for q in range(places.size):
            p = places[q]
            column, width = columns[p], widths[p]
            for i in range(begin, end):
                s = float(weights[i, column.row_set])
                if s == 0.0:
                    continue
                f = scores[p, i]
                if moves:
                    product = bias * directions[p, n_features]
                    for j in range(n_features):
                        product += X[i, j] * directions[p, j]
                    products[p, i] = product
                    f += product
                pull = look(i, p, f, s, column, width, labelings, curvatures, inside, sums, loss)
                if pull != 0.0:
                    for j in range(n_features):
                        gradients[p, j] += pull * X[i, j]
                    gradients[p, n_features] += pull * bias


@jit(fastmath=SUMS)
def sparse_expansion(
    first, last, places, columns, widths, directions, indptr, indices, data, bias, labelings, weights, scores, products,
    curvatures, inside, gradients, sums, moves, *, loss,
):  # fmt: skip
    """The same over CSR rows."""
    n_features = directions.shape[1] - 1
    for begin in range(first, last, CHUNK):
        end = begin + CHUNK if begin + CHUNK < last else last
        for q in range(places.size):
            p = places[q]
            column, width = columns[p], widths[p]
            for i in range(begin, end):
                s = float(weights[i, column.row_set])
                if s == 0.0:
                    continue
                f = scores[p, i]
                if moves:
                    product = bias * directions[p, n_features]
                    for entry in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                        product += data[entry] * directions[p, np.uintp(indices[entry])]
                    products[p, i] = product
                    f += product
                pull = look(i, p, f, s, column, width, labelings, curvatures, inside, sums, loss)
                if pull != 0.0:
                    for entry in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                        gradients[p, np.uintp(indices[entry])] += pull * data[entry]
                    gradients[p, n_features] += pull * bias


@jit_part
def look(i, p, f, s, column, width, labelings, curvatures, inside, sums, loss):
    """Count a row with score f in the sums of a column; s times its pull."""
    value, pull, curvature = loss.expansion(labelings[i, column.labeling], f, column.epsilon, width)
    sums[p, SMOOTHED] += s * value
    if loss.has_kink:
        size = abs(pull)
        sums[p, LOSS] += s * (value + width * (size - 0.5 * size * size))
        sums[p, SLACK] += s * width * size * (1.0 - size)
    else:
        sums[p, LOSS] += s * value
    curvatures[p, i] = curvature
    if curvature > 0.0:
        sums[p, CURVED] += 1.0
    if (curvature > 0.0) != inside[p, i]:
        sums[p, CHANGED] += 1.0
    return s * pull


@jit(fastmath=SUMS)
def line_sums(
    first, last, places, columns, widths, lengths, labelings, weights, scores, products, sums, *, loss
):  # fmt: skip
    """sums[p] += Σ s·(smoothed loss, its first and its second derivative along the line) at ``lengths[p]``."""
    for q in range(places.size):
        p = places[q]
        column, width, length = columns[p], widths[p], lengths[p]
        total, slope, bend = 0.0, 0.0, 0.0
        for i in range(first, last):
            s = float(weights[i, column.row_set])
            if s == 0.0:
                continue
            along = products[p, i]
            f = scores[p, i] + length * along
            value, pull, curvature = loss.expansion(labelings[i, column.labeling], f, column.epsilon, width)
            total += s * value
            slope -= s * pull * along
            bend += s * curvature * along * along
        sums[p, 0] += total
        sums[p, 1] += slope
        sums[p, 2] += bend


@jit()
def closer_lengths(places, columns, sums, norms, goals, bounds, lengths):
    """Move the lengths of line searches by Newton's method between bounds (P, 2); those that go on come first.

    `sums` (P, 3) are those of `line_sums` at the lengths, `norms` (P, 3) lam times the inner products of model and
    direction, and `goals` (P, 2) what the objective and the size of the slope are to be at most. Returns how many of
    the `places` go on.
    """
    left = 0
    for q in range(places.size):
        p = places[q]
        n_rows, length = columns[p].n_rows, lengths[p]
        value = sums[p, 0] / n_rows + 0.5 * norms[p, 0] + length * (norms[p, 1] + 0.5 * length * norms[p, 2])
        slope = sums[p, 1] / n_rows + norms[p, 1] + length * norms[p, 2]
        bend = sums[p, 2] / n_rows + norms[p, 2]
        if abs(slope) <= goals[p, 1] and value <= goals[p, 0]:
            continue
        places[left] = p
        left += 1
        bounds[p, 1 if slope > 0.0 or value > goals[p, 0] else 0] = length
        lengths[p] = closer_length(length, slope, bend, bounds[p, 0], bounds[p, 1])
    return left


@jit_part
def closer_length(length, slope, bend, low, high):
    """The next length of a line search: a step of Newton's method, kept between the bounds."""
    after = length - slope / bend if bend > 0.0 else np.inf
    if high == np.inf:
        after = min(after, LONGER * length)
    elif not low < after < high:
        after = 0.5 * (low + high)
    return after


@jit()
def coefficients(column, width, labelings, weights, scores, alpha, *, loss):
    """alpha (n,): what each row adds to S at the dual point that the scores (n,) of a column give."""
    for i in range(alpha.size):
        s = float(weights[i, column.row_set])
        if s == 0.0:
            alpha[i] = 0.0
        else:
            _, pull, _ = loss.expansion(labelings[i, column.labeling], scores[i], column.epsilon, width)
            alpha[i] = s * pull
