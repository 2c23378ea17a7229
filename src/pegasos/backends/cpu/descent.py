"""Dual coordinate descent on one column of a linear model, with shrinking: its passes, and its exact look at all rows.

Hsieh, Chang, Lin, Keerthi & Sundararajan (ICML 2008). All scalars of the column stay in registers and its weights side
by side; rows are met in random order, and those that a bound of their dual variable holds are set aside. The sum of
the parts that rows have in the duality gap, each as it is met, tells when an exact look is worth a pass.

Keyword-only parameters are constants of the compiled loop: the `loss`, and whether rows are `sparse`: then `values` are
the entries of CSR rows, else a matrix, and `indptr` and `indices` are empty.
"""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.backends.cpu.prefetch import LINE, prefetch
from pegasos.utils.jit_part import jit_part

AHEAD = 2  # rows between asking for a row and needing it
STILL = 1e-12  # pressure below which a dual variable is left as it is
STIR, TO_LOW, TO_HIGH = np.uint64(6364136223846793005), np.uint64(1442695040888963407), np.uint64(32)


@jit(fastmath=SUMS)
def descend(
    order, n_active, n_passes, n_steps, held_from, goal, random, indptr, indices, values, squares, bias, targets,
    weights, alpha, sums, scale, epsilon, *, loss, sparse,
):  # fmt: skip
    """Take passes over the rows ``order[:n_active]``; those that leave are put behind them.

    A row leaves when a bound holds its dual variable with more than `held_from`, the largest pressure on any variable
    in the pass before. Ends after `n_passes` or so many steps, when the gap, as the rows show it when they are met, is
    at most `goal`, or when no row is left.

    Returns
    -------
    n_active, n_passes, n_steps, held_from, gap
        Rows left, passes and steps taken, and the largest pressure and the gap of the last pass.
    """
    passes, steps, gap = 0, 0, np.inf
    while passes < n_passes and steps < n_steps and n_active > 0 and gap > goal:
        steps += n_active
        shuffle(order, n_active, random)
        largest, gap, place = 0.0, 0.0, 0
        while place < n_active:
            i = order[place]
            ask_for(order, place + AHEAD, n_active, indptr, indices, values, sparse)
            y, s, a = targets[i], float(weights[i]), alpha[i]
            side = loss.side(y)
            beta = side * a
            f = scale * inner(sums, i, indptr, indices, values, bias, sparse)
            pressure = loss.pressure(beta, y, f, s, epsilon)
            if pressure < -held_from:
                n_active -= 1
                order[place] = order[n_active]
                order[n_active] = i
                continue
            place += 1
            gap += s * loss.value(y, f, epsilon) - loss.dual_term(beta, y, s, epsilon) + a * f
            if pressure > STILL:
                largest = max(largest, pressure)
                moved = loss.coordinate(beta, y, f, scale * squares[i], s, epsilon)
                if moved != beta:
                    alpha[i] = side * moved
                    add_row(sums, side * (moved - beta), i, indptr, indices, values, bias, sparse)
        held_from = largest if largest > 0.0 else np.inf
        passes += 1
    return n_active, passes, steps, held_from, gap


@jit(fastmath=SUMS)
def pegasos_pass(
    order, random, lam, indptr, indices, values, bias, targets, weights, alpha, sums, epsilon, *, loss, sparse,
):  # fmt: skip
    """Take one pass of Pegasos from w = 0 over all rows: their pulls are a feasible dual point, and S its model."""
    shuffle(order, order.size, random)
    for place in range(order.size):
        i = order[place]
        ask_for(order, place + AHEAD, order.size, indptr, indices, values, sparse)
        f = inner(sums, i, indptr, indices, values, bias, sparse) / (lam * max(place, 1))
        pull = weights[i] * loss.pull(targets[i], f, epsilon)
        if pull != 0.0:
            alpha[i] = pull
            add_row(sums, pull, i, indptr, indices, values, bias, sparse)


@jit(fastmath=SUMS)
def look_at_rows(
    order, rows, held_from, indptr, indices, values, bias, targets, weights, alpha, sums, scale, epsilon, *, loss,
    sparse,
):  # fmt: skip
    """Σ s·loss and Σ dual terms over the `rows`; those that no bound holds come first in `order`.

    Returns
    -------
    n_active, losses, dual_terms
    """
    losses, dual_terms, n_active, end = 0.0, 0.0, 0, rows.size
    for place in range(rows.size):
        i = rows[place]
        y, s = targets[i], float(weights[i])
        beta = loss.side(y) * alpha[i]
        f = scale * inner(sums, i, indptr, indices, values, bias, sparse)
        losses += s * loss.value(y, f, epsilon)
        dual_terms += loss.dual_term(beta, y, s, epsilon)
        if loss.pressure(beta, y, f, s, epsilon) < -held_from:
            end -= 1
            order[end] = i
        else:
            order[n_active] = i
            n_active += 1
    return n_active, losses, dual_terms


@jit()
def sum_of_dual_terms(rows, targets, weights, alpha, epsilon, *, loss):
    """Σ dual terms over the `rows`: what of the dual objective no row has to be read for."""
    total = 0.0
    for place in range(rows.size):
        i = rows[place]
        y = targets[i]
        total += loss.dual_term(loss.side(y) * alpha[i], y, float(weights[i]), epsilon)
    return total


@jit_part
def shuffle(order, n_active, random):
    """Put the first rows of `order` into a random order (Fisher and Yates; numbers by a linear congruence)."""
    state = random[0]
    for last in range(n_active - 1, 0, -1):
        state = state * STIR + TO_LOW
        other = np.intp(((state >> TO_HIGH) * np.uint64(last + 1)) >> TO_HIGH)
        i = order[last]
        order[last] = order[other]
        order[other] = i
    random[0] = state


@jit_part
def ask_for(order, place, n_active, indptr, indices, values, sparse):
    """Have the CSR row that is met at a place fetched, if there is one."""
    if sparse and place < n_active:
        i = order[place]
        for j in range(indptr[i], indptr[i + 1], LINE // indices.itemsize):
            prefetch(indices, np.intp(j))
        for j in range(indptr[i], indptr[i + 1], LINE // values.itemsize):
            prefetch(values, np.intp(j))


@jit_part
def inner(sums, i, indptr, indices, values, bias, sparse):
    """<S, x> of a row; the constant feature is the last number of S."""
    total = 0.0
    if sparse:
        for j in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            total += values[j] * sums[np.uintp(indices[j])]
    else:
        for j in range(values.shape[1]):
            total += values[i, j] * sums[j]
    if bias > 0.0:
        total += bias * sums[sums.size - 1]
    return total


@jit_part
def add_row(sums, pull, i, indptr, indices, values, bias, sparse):
    """S += pull·x of a row."""
    if sparse:
        for j in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            sums[np.uintp(indices[j])] += pull * values[j]
    else:
        for j in range(values.shape[1]):
            sums[j] += pull * values[i, j]
    if bias > 0.0:
        sums[sums.size - 1] += pull * bias
