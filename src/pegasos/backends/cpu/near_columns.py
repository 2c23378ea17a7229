"""Columns of the hinge loss whose rows weigh otherwise than in a column that is solved: resamples of its rows.

Most rows are as far from the margin as they were, and are not looked at until the others have come to their optimum.
Of these some have a dual variable that is free, on the margin; the others' are held by a bound. Where it is known which
are free, one linear system has the optimum: it is solved, variables that leave their box are held, those that are
pulled off a bound are free, and so on (Hintermüller, Ito & Kunisch, SIAM J. Optim. 2002). What makes the systems
definite, and this converge, is a term rho/2 ||b - c||² whose centre c follows the variables b (Rockafellar 1976).
"""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.utils.jit_part import jit_part

LANES = 16  # numbers a row is filled up to a multiple of, for loops without a remainder
NEAR = 2.0  # the margin under the model to begin with up to which a row is looked at from the start
RHO = 0.01  # of the mean of K(x, x), to begin with; more ...
STIFFER, STIFFEST = 3.0, 0.1  # ... where so many moves of the centre have not made the gap smaller
PATIENCE = 12
SYSTEMS = 2
MOST_FREE = 128  # variables in a system
MOST_SYSTEMS = 120  # of a column
SAFETY = 0.7  # of the gap that is wanted: an estimate below it is worth a look at all rows
LATER_SAFETY = 0.95  # ... and below that after a first look
ZERO, FREE, FULL = 0, 1, 2  # where a variable of the box [0, s] is held


@jit(fastmath=SUMS)
def near_columns(
    numbers, rows, squares, targets, weights, labelings, row_sets, factors, tol, alpha, sums, steps, objective, dual,
):  # fmt: skip
    """Take columns from models and dual variables near their optimum to a gap of `tol`; those that fail stay short.

    Parameters
    ----------
    numbers : ndarray of int
        The columns to take.
    rows : ndarray of shape (n_rows, n_features)
        The constant feature among them; features are a multiple of `LANES`.
    squares : ndarray of shape (n_rows,)
        K(x, x) of the rows.
    targets, weights : ndarray of shape (n_labelings, n_rows) and (n_row_sets, n_rows)
    labelings, row_sets : ndarray of int, shape (n_columns,)
    factors : ndarray of shape (n_columns, 2)
        1 / (lam n) and 1 / n of each column: w = factor · S.
    alpha : ndarray of shape (n_columns, n_rows)
        Coefficients to begin with; where the column ends.
    sums : ndarray of shape (n_columns, n_features)
        λn·w of a model to begin with; S where the column ends.
    steps : ndarray of int64, shape (n_columns,)
        Rows that were met are added.
    objective, dual : ndarray of shape (n_columns,)
        Written.
    """
    n_rows, width = rows.shape
    order, member, inside = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)
    held, free = np.empty(n_rows, np.int64), np.empty(MOST_FREE, np.int64)
    b, centre = np.empty(n_rows), np.empty(n_rows)
    factor, step = np.empty((MOST_FREE, MOST_FREE)), np.empty(MOST_FREE)
    for k in range(numbers.size):
        p = numbers[k]
        y, s, a, f, scale, share = (
            targets[labelings[p]], weights[row_sets[p]], alpha[p], sums[p], factors[p, 0], factors[p, 1]
        )  # fmt: skip
        n_own, n, met, losses, total = 0, 0, 0, 0.0, 0.0
        for i in range(n_rows):
            if s[i] > 0:
                order[n_own] = i
                n_own += 1
                short = 1.0 - scale * y[i] * product(f, rows[i], width)
                losses += s[i] * max(short, 0.0)
                inside[i] = short > 1.0 - NEAR
                if inside[i]:
                    member[n] = i
                    b[n] = min(max(y[i] * a[i], 0.0), s[i])
                    held[n] = ZERO if b[n] <= 0.0 else FULL if b[n] >= s[i] else FREE
                    n += 1
        goal = SAFETY * tol * min(1.0, share * (losses + 0.5 * scale * product(f, f, width)))
        a[:] = 0.0
        f[:] = 0.0
        for t in range(n):
            i = member[t]
            total += squares[i]
            centre[t] = b[t]
            add(f, b[t] * y[i], rows[i], width)
        met += n_own
        highest, n_systems, going, failed, part, least, waits = 0.0, 0, True, False, RHO, np.inf, 0
        while going:
            rho, settled, taken = part * scale * total / max(n, 1), False, 0
            while not settled and taken < SYSTEMS and not failed:
                n_free = 0
                for t in range(n):
                    if held[t] == FREE:
                        free[min(n_free, MOST_FREE - 1)] = t
                        n_free += 1
                failed = n_free > MOST_FREE or n_systems >= MOST_SYSTEMS
                if not failed:
                    write_system(free, n_free, member, rows, squares, y, f, b, centre, scale, rho, factor, step)
                    solve_system(factor, step, n_free)
                    for q in range(n_free):
                        t = free[q]
                        b[t] += step[q]
                        add(f, step[q] * y[member[t]], rows[member[t]], width)
                    settled = hold(n, held, member, rows, s, y, f, b, centre, scale, rho)
                    taken += 1
                    n_systems += 1
                    met += n
            gap = 0.0
            for t in range(n):
                i = member[t]
                score = scale * y[i] * product(f, rows[i], width)
                gap += s[i] * max(0.0, 1.0 - score) - b[t] + b[t] * score
                centre[t] = b[t]
            waits = 0 if gap < least else waits + 1
            least = min(gap, least)
            if waits == PATIENCE:
                part, waits = min(STIFFER * part, STIFFEST), 0
            if gap * share <= goal or failed:
                losses, terms = 0.0, 0.0
                for t in range(n):
                    terms += b[t]
                for place in range(n_own):
                    i = order[place]
                    short = 1.0 - scale * y[i] * product(f, rows[i], width)
                    if short > 0.0:
                        losses += s[i] * short
                        if not inside[i]:
                            inside[i], member[n], held[n], b[n], centre[n] = True, i, ZERO, 0.0, 0.0
                            total += squares[i]
                            n += 1
                regulariser = 0.5 * scale * share * product(f, f, width)
                objective[p] = losses * share + regulariser
                highest = max(highest, terms * share - regulariser)
                wanted = tol * min(1.0, objective[p])
                met += n_own
                going = objective[p] - highest > wanted and not failed
                goal = LATER_SAFETY * min(goal, wanted)
        for t in range(n):
            a[member[t]] = b[t] * y[member[t]]
        dual[p] = highest
        steps[p] += met


@jit_part
def product(sums, row, width):
    """<S, x> of a row."""
    total = 0.0
    for j in range(width):
        total += sums[j] * row[j]
    return total


@jit_part
def add(sums, pull, row, width):
    """S += pull·x."""
    if pull != 0.0:
        for j in range(width):
            sums[j] += pull * row[j]


@jit_part
def write_system(free, n_free, member, rows, squares, y, f, b, centre, scale, rho, factor, step):
    """The matrix on and below the diagonal, and the right side, of the system for the steps of free variables."""
    for q in range(n_free):
        t = free[q]
        i = member[t]
        signed = scale * y[i]
        step[q] = 1.0 + rho * (centre[t] - b[t]) - signed * product(f, rows[i], rows.shape[1])
        for r in range(q):
            factor[q, r] = signed * y[member[free[r]]] * product(rows[i], rows[member[free[r]]], rows.shape[1])
        factor[q, q] = scale * squares[i] + rho


@jit_part
def solve_system(factor, step, size):
    """Cholesky's factor in the place of the matrix, its diagonal inverted; the solution in that of the right side."""
    for q in range(size):
        for r in range(q):
            total = factor[q, r]
            for m in range(r):
                total -= factor[q, m] * factor[r, m]
            factor[q, r] = total * factor[r, r]
        total, right = factor[q, q], step[q]
        for m in range(q):
            total -= factor[q, m] * factor[q, m]
            right -= factor[q, m] * step[m]
        factor[q, q] = 1.0 / np.sqrt(total)
        step[q] = right * factor[q, q]
    for q in range(size - 1, -1, -1):
        step[q] *= factor[q, q]
        for m in range(q):
            step[m] -= factor[q, m] * step[q]


@jit_part
def hold(n, held, member, rows, s, y, f, b, centre, scale, rho):
    """Hold the free variables that have left their box at its bound, free those that are pulled off; whether none."""
    settled = True
    for t in range(n):  # all are looked at where the system has its solution
        i = member[t]
        if held[t] == FREE:
            if b[t] <= 0.0 or b[t] >= s[i]:
                held[t] = ZERO - 1 if b[t] <= 0.0 else FULL + 1
        else:
            pull = 1.0 + rho * (centre[t] - b[t]) - scale * y[i] * product(f, rows[i], rows.shape[1])
            if (held[t] == ZERO and pull > 0.0) or (held[t] == FULL and pull < 0.0):
                held[t] = FREE
                settled = False
    for t in range(n):
        if held[t] < ZERO or held[t] > FULL:
            i, bound = member[t], 0.0 if held[t] < ZERO else float(s[member[t]])
            add(f, (bound - b[t]) * y[i], rows[i], rows.shape[1])
            held[t], b[t], settled = ZERO if held[t] < ZERO else FULL, bound, False
    return settled
