"""One step of one column, as scalar functions: the algorithm that every loop shares.

A column's model is ``w = scale * S`` with S the running sum of pulls, and::

    scale = shrink / (lam * steps)      pegasos; shrink is the product of all projection factors so far
    scale = 1 / (lam * n_rows)          sdca

so there is nothing to rescale when lam or the step count change. A loop over rows calls, for each batch of a column,

    scale = open_step(column)               the present iterate enters the average
    v = pull_of(column, ...)                for each row of the batch, all against the model at the batch's start
    account(column, v, ...)                 for each row that pulls: the norm and the dual mass follow
    close_step(column)                      the step is counted, the model projected

and adds ``v * x`` to S and ``v * column.average * x`` to U. The weighted sum of all iterates is then
``average * S - U`` (see `state.State.model`), so that averaging costs one more sum and no pass over the state.

`column` is a record of `state.COLUMN`.
"""

from enum import IntEnum
from math import sqrt

from numba.extending import register_jitable

from pegasos.losses import coordinate, pull

# Below this product of shrink factors the state is rescaled: an average adds early, large scales to late, small ones
# and would lose as many digits as the factor has zeros.
FOLD_BELOW = 1e-2


class Rule(IntEnum):
    """How a row changes the model."""

    PEGASOS = 0
    SDCA = 1


class Average(IntEnum):
    """Which iterates the reported model is made of. WINDOW serves `suffix`, and every average under sdca."""

    LAST = 0
    UNIFORM = 1
    WEIGHTED = 2
    WINDOW = 3


@register_jitable
def scale_of(column, rule):
    """The factor between the running sum and the model."""
    if rule == Rule.SDCA:
        return 1.0 / (column.lam * column.n_rows)
    if column.steps == 0:
        return 0.0
    return column.shrink / (column.lam * column.steps)


@register_jitable
def weight_of(column, average):
    """Weight that the present iterate has in the average."""
    if average == Average.UNIFORM:
        return 1.0
    if average == Average.WEIGHTED:
        return float(column.steps)
    if average == Average.WINDOW and column.steps > column.window:
        return 1.0
    return 0.0


@register_jitable
def open_step(column, rule, average):
    """Let the present iterate into the average; return its scale."""
    scale = scale_of(column, rule)
    column.average += weight_of(column, average) * scale
    return scale


@register_jitable
def pull_of(column, rule, loss, y, s, f, coefficient, self_product):
    """What the row adds to S, in multiples of itself; `f` is its score, `coefficient` what it added so far (sdca)."""
    if rule == Rule.SDCA:
        beta = y * coefficient
        q = self_product / (column.lam * column.n_rows)
        return y * (coordinate(loss, beta, y, f, q, s) - beta)
    strength = pull(loss, y, f)
    if strength == 0.0:  # most rows: spare them the division
        return 0.0
    return s * strength * column.share / column.shrink


@register_jitable
def account(column, v, y, product, self_product):
    """Follow ||S||² and Σ y·v exactly; `product` is <S, x> with all earlier pulls in S."""
    column.square += v * (2.0 * product + v * self_product)
    column.mass += v * y


@register_jitable
def close_step(column, project):
    """Count the step and project; True when the caller has to fold `shrink` into the state."""
    column.steps += 1
    if not project:
        return False
    norm = column.shrink / (column.lam * column.steps) * sqrt(max(column.square, 0.0))
    if norm > column.radius:
        column.shrink *= column.radius / norm
    return column.shrink < FOLD_BELOW


@register_jitable
def folded(column):
    """Forget `shrink` once the caller has multiplied S by it and moved ``average * S`` into U."""
    column.square *= column.shrink * column.shrink
    column.mass *= column.shrink
    column.shrink = 1.0
    column.average = 0.0
