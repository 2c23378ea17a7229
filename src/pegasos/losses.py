"""Losses: four scalar functions each, chosen by an `IntEnum`.

With ``f`` the score of a row, ``y`` its target and ``s`` its weight (normalised to mean 1 within the column)::

    value(loss, y, f)                    the loss of one row
    pull(loss, y, f)                     minus its sub-gradient in f: how hard the row pulls the model
    coordinate(loss, beta, y, f, q, s)   the dual variable that maximises the dual here; q = K(x, x) / (lam n)
    dual_term(loss, beta, y, s)          the row's part of the dual objective

Only the hinge loss is here; another loss is one more branch in each function and nothing else.
The functions compile into the CPU loops and run as plain Python in tests.
"""

from enum import IntEnum

from numba.extending import register_jitable


class Loss(IntEnum):
    """The losses the solver knows."""

    HINGE = 0


@register_jitable
def value(loss, y, f):
    """Loss of one row of target `y` at score `f`."""
    return max(0.0, 1.0 - y * f)


@register_jitable
def pull(loss, y, f):
    """Minus the sub-gradient at `f`. The hinge pulls by `y` while the margin is strictly below 1."""
    if y * f < 1.0:
        return float(y)
    return 0.0


@register_jitable
def coordinate(loss, beta, y, f, q, s):
    """Maximise the dual in one coordinate; `beta` is its present value, `q` the curvature."""
    if q <= 0.0:
        return s if y * f < 1.0 else 0.0
    return min(max(beta + (1.0 - y * f) / q, 0.0), s)


@register_jitable
def dual_term(loss, beta, y, s):
    """Part of one row in the dual objective."""
    return beta
