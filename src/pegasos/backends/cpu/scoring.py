"""Sums over all rows that a certificate needs: losses of a model, dual terms of a dual point. All in float64."""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.backends.cpu.steps import DIRECT_CHUNK, dense_product
from pegasos.rules.step import dual_of


@jit()
def add_losses(totals, f, columns, scores, index, labelings, weights, *, loss):
    """totals[p] += Σ s·loss over the rows `index`; `scores` (P, B) are those of the model itself.

    The loss of a group counts in its first column; `f` is room for the scores of one.
    """
    size = f.size
    for lead in range(0, columns.size, size):
        leader = columns[lead]
        for b in range(index.size):
            s = float(weights[index[b], leader.row_set])
            if s != 0.0:
                y = labelings[index[b], leader.labeling]
                if loss.grouped:
                    for r in range(size):
                        f[r] = scores[lead + r, b]
                    totals[lead] += s * loss.value(f, int(y))
                else:
                    totals[lead] += s * loss.value(y, np.float64(scores[lead, b]), leader.epsilon)


@jit(fastmath=SUMS)
def direct_losses(first, last, f, totals, columns, model, X, bias, labelings, weights, *, loss):
    """The same over the dense rows first..last-1, each score by its own inner product: only columns that a row belongs
    to cost."""
    size = f.size
    for begin in range(first, last, DIRECT_CHUNK):
        end = begin + DIRECT_CHUNK if begin + DIRECT_CHUNK < last else last
        for lead in range(0, columns.size, size):
            leader = columns[lead]
            for i in range(begin, end):
                s = float(weights[i, leader.row_set])
                if s != 0.0:
                    y = labelings[i, leader.labeling]
                    if loss.grouped:
                        for r in range(size):
                            f[r] = dense_product(X, i, model, lead + r, bias)
                        totals[lead] += s * loss.value(f, int(y))
                    else:
                        totals[lead] += s * loss.value(y, dense_product(X, i, model, lead, bias), leader.epsilon)


@jit()
def dual_terms(beta, columns, factors, alpha, labelings, weights, totals, point, *, loss):
    """totals[p] += Σ dual term of the dual point `factors * alpha`, moved into its domain.

    `point` (n, P) receives the coefficients of that point, unless it is (0, 0). A group counts in its first column;
    `beta` is room for the dual variables of one.
    """
    size = beta.size
    for i in range(alpha.shape[0]):
        for lead in range(0, columns.size, size):
            leader = columns[lead]
            s = float(weights[i, leader.row_set])
            if s == 0.0:
                continue
            y = labelings[i, leader.labeling]
            for r in range(size):
                beta[r] = alpha[i, lead + r] * factors[lead + r]
            totals[lead] += dual_of(loss, y, s, beta, leader.epsilon)
            for r in range(size):
                if point.size:
                    point[i, lead + r] = beta[r]
