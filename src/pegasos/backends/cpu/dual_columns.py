"""What is done between steps of `pegasos.backends.cpu.active_set`: gaps, intercepts, variables set aside and back."""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit
from pegasos.utils.jit_part import jit_part

CHUNK = 1024  # variables whose slopes stay in the cache while many kernel rows are added


@jit(fastmath=SUMS)
def gap_at(segments, intercepts, up, down, beta, low, high, ridge, epsilon):
    """Σ loss, and the gap, of the active variables: all terms of the gap are positive, and 0 at the optimum."""
    losses, gap = 0.0, 0.0
    for s in range(segments.shape[0]):
        for t in range(segments[s, 0], segments[s, 1]):
            u = smooth_of(up[t], down[t], beta[t], epsilon) - ridge[t] * beta[t] + intercepts[s]
            loss, _ = loss_of(u, low[t], high[t], ridge[t], epsilon)
            losses += loss
            gap += loss + beta[t] * u + epsilon * abs(beta[t]) + 0.5 * ridge[t] * beta[t] * beta[t]
    return losses, gap


@jit(fastmath=SUMS)
def best_intercept(first, end, total, lowest, highest, n_halvings, up, down, beta, low, high, ridge, epsilon):
    """The intercept of a segment at which Σ loss + intercept · total is least, by halving an interval around it."""
    for _ in range(n_halvings):
        middle = 0.5 * (lowest + highest)
        pull = 0.0  # minus the derivative of the losses
        for t in range(first, end):
            u = smooth_of(up[t], down[t], beta[t], epsilon) - ridge[t] * beta[t] + middle
            _, one = loss_of(u, low[t], high[t], ridge[t], epsilon)
            pull += one
        if pull > total:  # the losses still fall
            lowest = middle
        else:
            highest = middle
    return 0.5 * (lowest + highest)


@jit()
def set_aside(segments, limits, member, rows, up, down, beta, low, high, diagonal, ridge, kept):
    """Take variables out that cannot move now: neither slope goes beyond the `limits` (least, most) of its segment.

    Those that stay move together, in order; the values of the others go to `kept`, at their numbers in `member`.
    """
    place = 0
    for s in range(segments.shape[0]):
        first, least, most = place, limits[s, 0], limits[s, 1]
        for t in range(segments[s, 0], segments[s, 1]):
            if up[t] > most and down[t] < least:
                kept[member[t]] = beta[t]
                continue
            member[place], rows[place], up[place], down[place] = member[t], rows[t], up[t], down[t]
            beta[place], low[place], high[place] = beta[t], low[t], high[t]
            diagonal[place], ridge[place] = diagonal[t], ridge[t]
            place += 1
        segments[s, 0], segments[s, 1] = first, place


@jit(fastmath=SUMS)
def add_kernel_rows(slopes, columns, slots, coefficients, cached):
    """slopes += Σ coefficient · K(row, column), of the kernel rows in these slots."""
    for start in range(0, columns.size, CHUNK):
        stop = min(start + CHUNK, columns.size)
        first = np.uintp(columns[start])
        side_by_side = True
        for t in range(start + 1, stop):  # of several segments: the first and the last alone do not tell
            side_by_side &= columns[t] == columns[t - 1] + 1
        for k in range(slots.size):
            row, coefficient = cached[slots[k]], coefficients[k]
            if side_by_side:
                begin = np.uintp(start)
                for l in range(np.uintp(stop - start)):
                    slopes[begin + l] += coefficient * row[first + l]
            else:
                for t in range(np.uintp(start), np.uintp(stop)):
                    slopes[t] += coefficient * row[np.uintp(columns[t])]


@jit_part
def smooth_of(up, down, value, epsilon):
    """The slope of the smooth part of the objective, from both of a variable."""
    if up < np.inf:
        smooth = up - (epsilon if value >= 0.0 else -epsilon)
    else:
        smooth = down - (epsilon if value > 0.0 else -epsilon)
    return smooth


@jit_part
def loss_of(u, low, high, ridge, epsilon):
    """The loss whose dual variable has these bounds, and minus its derivative, at u = score + intercept - p."""
    side, bound, beyond = 1.0, high, -u - epsilon
    if u > 0.0:
        side, bound, beyond = -1.0, -low, u - epsilon
    loss, x = 0.0, 0.0
    if beyond > 0.0 and bound > 0.0:
        x = bound if ridge == 0.0 else min(bound, beyond / ridge)
        loss = x * beyond - 0.5 * ridge * x * x
    return loss, side * x
