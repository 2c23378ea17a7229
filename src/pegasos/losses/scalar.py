"""Losses: scalar functions, chosen by an `IntEnum`.

With ``f`` the score of a row, ``y`` its target and ``s`` its weight (normalised to mean 1 within the column)::

    value(loss, y, f, epsilon)                    the loss of one row
    pull(loss, y, f, epsilon)                     minus its sub-gradient in f: how hard the row pulls the model
    coordinate(loss, beta, y, f, q, s, epsilon)   the dual variable that maximises the dual; q = K(x, x) / (lam n)
    dual_term(loss, beta, y, s, epsilon)          the row's part of the dual objective
    feasible(loss, beta, s)                       the dual variable moved into its domain

A row's coefficient in the model is ``side(loss, y) * beta``. `epsilon` is used by the ε-insensitive loss alone.
Crammer–Singer is one loss over the scores of all classes and has its functions in `pegasos.losses.crammer_singer`.
The functions compile into the CPU loops and run as plain Python in tests.
"""

from enum import IntEnum
from math import exp, log, log1p

from numba.extending import register_jitable

NO_PULL_BEYOND = 60.0  # margins at which log_loss pulls less than 1e-26: nothing but denormal numbers to come
NEWTON_STEPS = 60
NEWTON_PRECISION = 1e-14


class Loss(IntEnum):
    """The losses the solver knows."""

    HINGE = 0
    SQUARED_HINGE = 1
    LOG_LOSS = 2
    EPSILON_INSENSITIVE = 3
    CRAMMER_SINGER = 4


# Dual terms that add up without knowing each row's variable: the sum of all pulls tells them.
LINEAR_DUALS = (Loss.HINGE, Loss.CRAMMER_SINGER)


@register_jitable
def side(loss, y):
    """The sign between a row's dual variable and its coefficient."""
    if loss == Loss.EPSILON_INSENSITIVE:
        return 1.0
    return float(y)


@register_jitable
def value(loss, y, f, epsilon):
    """Loss of one row of target `y` at score `f`."""
    if loss == Loss.EPSILON_INSENSITIVE:
        return max(0.0, abs(y - f) - epsilon)
    margin = y * f
    if loss == Loss.LOG_LOSS:
        return log1p(exp(-margin)) if margin > 0.0 else log1p(exp(margin)) - margin
    short = max(0.0, 1.0 - margin)
    return short * short if loss == Loss.SQUARED_HINGE else short


@register_jitable
def pull(loss, y, f, epsilon):
    """Minus the sub-gradient at `f`. The hinge pulls by `y` while the margin is strictly below 1."""
    if loss == Loss.EPSILON_INSENSITIVE:
        short = y - f
        if abs(short) <= epsilon:
            return 0.0
        return 1.0 if short > 0.0 else -1.0
    margin = y * f
    if loss == Loss.LOG_LOSS:
        return y * logistic(-margin) if margin < NO_PULL_BEYOND else 0.0
    if margin < 1.0:
        return 2.0 * y * (1.0 - margin) if loss == Loss.SQUARED_HINGE else float(y)
    return 0.0


@register_jitable
def coordinate(loss, beta, y, f, q, s, epsilon):
    """Maximise the dual in one coordinate; `beta` is its present value, `q` the curvature."""
    if loss == Loss.EPSILON_INSENSITIVE:
        return _insensitive_coordinate(beta, y - f, q, s, epsilon)
    if loss == Loss.LOG_LOSS:
        return _logistic_coordinate(beta, y * f, max(q, 0.0), s)
    if loss == Loss.SQUARED_HINGE:
        return max(0.0, beta + (1.0 - y * f - beta / (2.0 * s)) / (max(q, 0.0) + 1.0 / (2.0 * s)))
    if q <= 0.0:
        return s if y * f < 1.0 else 0.0
    return min(max(beta + (1.0 - y * f) / q, 0.0), s)


@register_jitable
def _insensitive_coordinate(beta, short, q, s, epsilon):
    """`short` is y - f: soft-thresholded at epsilon, within the box."""
    if q <= 0.0:
        if abs(short) <= epsilon:
            return 0.0
        return s if short > 0.0 else -s
    aim = beta * q + short
    if abs(aim) <= epsilon:
        return 0.0
    aim = (aim - epsilon if aim > 0.0 else aim + epsilon) / q
    return min(max(aim, -s), s)


@register_jitable
def _logistic_coordinate(beta, margin, q, s):
    """The root b of log((s-b)/b) = margin + (b-beta) q, by Newton's method within a bracket.

    In u = log(b/(s-b)) the equation is u + margin + (s·logistic(u) - beta) q = 0: increasing, with slope at least 1,
    and without the singular ends that b has.
    """
    low, high = -margin - (s - beta) * q, -margin + beta * q
    u = min(max(0.0, low), high)
    for _ in range(NEWTON_STEPS):
        p = logistic(u)
        excess = u + margin + (s * p - beta) * q
        if excess > 0.0:
            high = u
        else:
            low = u
        after = u - excess / (1.0 + q * s * p * (1.0 - p))
        if not low <= after <= high:
            after = 0.5 * (low + high)
        done = abs(after - u) <= NEWTON_PRECISION * (1.0 + abs(u))
        u = after
        if done:
            break
    return s * logistic(u)


@register_jitable
def logistic(u):
    """1 / (1 + exp(-u)) without overflow."""
    if u >= 0.0:
        return 1.0 / (1.0 + exp(-u))
    e = exp(u)
    return e / (1.0 + e)


@register_jitable
def dual_term(loss, beta, y, s, epsilon):
    """Part of one row in the dual objective; `beta` has to be feasible."""
    if loss == Loss.EPSILON_INSENSITIVE:
        return y * beta - epsilon * abs(beta)
    if loss == Loss.LOG_LOSS:
        p = beta / s
        if p <= 0.0 or p >= 1.0:
            return 0.0
        return -s * (p * log(p) + (1.0 - p) * log1p(-p))
    if loss == Loss.SQUARED_HINGE:
        return beta - beta * beta / (4.0 * s)
    return beta


@register_jitable
def feasible(loss, beta, s):
    """The nearest dual variable in the loss's domain."""
    if loss == Loss.EPSILON_INSENSITIVE:
        return min(max(beta, -s), s)
    if loss == Loss.SQUARED_HINGE:
        return max(beta, 0.0)
    return min(max(beta, 0.0), s)
