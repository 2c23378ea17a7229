"""Loops of Newton's method: rows that have a curvature, gathered for the product that gives their Gram matrix.

The weight of a row is its own where all curvatures are equal; that of a loss like the logistic one is multiplied by
the curvature. Where they are equal, a Gram matrix can follow the rows that enter and leave: `inside` (P, n) are those
whose products it holds.
"""

from enum import IntEnum

import numpy as np

from pegasos.backends.cpu.loops import jit
from pegasos.utils.jit_part import jit_part


class Gather(IntEnum):
    """Which rows are gathered."""

    CURVED = 0
    ENTERING = 1
    LEAVING = 2


@jit()
def dense_gather(first, last, p, X, bias, weights, curvatures, inside, which, equal, target):
    """Fill the rows of `target` with √weight·x of dense rows from `first` on; how many, and where to go on.

    `weights` (n,) are the rows' own, `curvatures` (P, n) those of the loss at their scores; `equal`: all that are not
    zero are the same number.
    """
    filled, i, n_features = 0, first, X.shape[1]
    while i < last and filled < target.shape[0]:
        weight = taken(i, p, weights, curvatures, inside, which, equal)
        if weight > 0.0:
            root = np.sqrt(weight)
            for j in range(n_features):
                target[filled, j] = root * X[i, j]
            if bias > 0.0:
                target[filled, n_features] = root * bias
            filled += 1
        i += 1
    return filled, i


@jit()
def sparse_gather(first, last, p, indptr, indices, data, bias, weights, curvatures, inside, which, equal, target):
    """The same of CSR rows."""
    filled, i, n_features = 0, first, target.shape[1] - (bias > 0.0)
    while i < last and filled < target.shape[0]:
        weight = taken(i, p, weights, curvatures, inside, which, equal)
        if weight > 0.0:
            root = np.sqrt(weight)
            for j in range(n_features):
                target[filled, j] = 0.0
            for entry in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                target[filled, np.uintp(indices[entry])] = root * data[entry]
            if bias > 0.0:
                target[filled, n_features] = root * bias
            filled += 1
        i += 1
    return filled, i


@jit()
def sparse_gram(first, last, p, indptr, indices, data, bias, weights, curvatures, inside, which, equal, gram):
    """gram += weight·x·xᵀ of CSR rows, entry by entry, on and below the diagonal; indices of a row ascend."""
    last_place = gram.shape[0] - 1
    for i in range(first, last):
        weight = taken(i, p, weights, curvatures, inside, which, equal)
        if weight == 0.0:
            continue
        begin, end = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        for one in range(begin, end):
            j, value = np.uintp(indices[one]), weight * data[one]
            for other in range(begin, one + np.uintp(1)):
                gram[j, np.uintp(indices[other])] += value * data[other]
            if bias > 0.0:
                gram[last_place, j] += value * bias
        if bias > 0.0:
            gram[last_place, last_place] += weight * bias * bias


@jit_part
def taken(i, p, weights, curvatures, inside, which, equal):
    """The weight with which a row is gathered, 0 if it is not; `inside` follows."""
    weight, curvature = float(weights[i]), float(curvatures[p, i])
    curved = curvature > 0.0 and weight > 0.0
    if which == Gather.CURVED:
        inside[p, i] = curved
        if not curved:
            weight = 0.0
        elif not equal:
            weight *= curvature
    elif curved == inside[p, i] or curved != (which == Gather.ENTERING):
        weight = 0.0
    else:
        inside[p, i] = curved
    return weight
