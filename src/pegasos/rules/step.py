"""One step of one column, as scalar functions: the algorithm that every loop shares.

A column's model is ``w = scale * S`` with S the running sum of pulls, and::

    scale = shrink / (lam * (steps + step_offset))   pegasos; shrink is the product of all projection factors so far
    scale = 1 / (lam * n_rows)                       sdca

so there is nothing to rescale when lam or the step count change. `step_offset` is 0 but for losses whose pulls are
unbounded. A loop over rows calls, for each batch of a group of columns (one column, or the classes of Crammer–Singer),

    scale = open_step(column)               the present iterate enters the average
    pulls_of(columns, ...)                  for each row of the batch, all against the model at the batch's start
    account(column, v, ...)                 for each row that pulls: the norm and the dual mass follow
    close_step(columns, ...)                the step is counted, the model projected

and adds ``v * x`` to S and ``v * column.average * x`` to U. The weighted sum of all iterates is then
``average * S - U`` (see `rules.state.State.model`), so that averaging costs one more sum and no pass over the state.

`loss_of` and `dual_of` are what a certificate adds up over rows.

`column` is a record of `column.COLUMN`; a group is the columns ``lead .. lead + size - 1``.
"""

from math import sqrt

from pegasos.rules.column import Average, Rule
from pegasos.utils.jit_part import jit_part

# Below this product of shrink factors the state is rescaled: an average adds early, large scales to late, small ones
# and would lose as many digits as the factor has zeros.
FOLD_BELOW = 1e-2


@jit_part
def scale_of(column, rule):
    """The factor between the running sum and the model."""
    if rule == Rule.SDCA:
        return 1.0 / (column.lam * column.n_rows)
    ahead = column.steps + column.step_offset
    if ahead == 0.0:  # before the first step S is 0, or λ times a start vector
        ahead = 1.0
    return column.shrink / (column.lam * ahead)


@jit_part
def weight_of(column, average):
    """Weight that the present iterate has in the average."""
    if average == Average.UNIFORM:
        return 1.0
    if average == Average.WEIGHTED and column.steps > column.average_start:
        return float(column.steps)
    if average == Average.WINDOW and column.steps > column.window_start:
        return 1.0
    return 0.0


@jit_part
def open_step(column, rule, average):
    """Let the present iterate into the average; return its scale."""
    scale = scale_of(column, rule)
    enter_average(column, average, scale)
    return scale


@jit_part
def enter_average(column, average, scale):
    """Let the present iterate, of a scale that is known, into the average."""
    if average != Average.LAST:
        column.average += weight_of(column, average) * scale


@jit_part
def pull_of(column, rule, loss, y, s, f, coefficient, self_product):
    """What the row adds to S, in multiples of itself; `f` is its score, `coefficient` what it added so far (sdca)."""
    if rule == Rule.SDCA:
        if loss.keeps_zero:
            strength = loss.pull(y, f, column.epsilon)
            if strength == 0.0 and coefficient == 0.0:  # most rows: spare them the divisions
                return 0.0
        sign = loss.side(y)
        beta = sign * coefficient
        q = self_product / (column.lam * column.n_rows)
        return sign * (loss.coordinate(beta, y, f, q, s, column.epsilon) - beta)
    strength = loss.pull(y, f, column.epsilon)
    if strength == 0.0:  # most rows: spare them the division
        return 0.0
    return s * strength * pull_weight(column)


@jit_part
def pulls_of(column, rule, loss, y, s, f, coefficients, self_product, pulls):
    """The same for a row in all columns of a group: arrays of one number a column, `column` the first of them.

    Loops that go over single rows call `pull_of` themselves for groups of one column.
    """
    if not loss.grouped:
        pulls[0] = pull_of(column, rule, loss, y, s, f[0], coefficients[0], self_product)
    elif rule == Rule.SDCA:
        q = self_product / (column.lam * column.n_rows)
        loss.coordinates(f, int(y), q, s, coefficients, pulls)
        for r in range(f.size):
            pulls[r] -= coefficients[r]
    else:
        pulling = loss.pulls(f, int(y), pulls)
        if pulling:
            for r in range(f.size):
                pulls[r] *= s * pull_weight(column)


@jit_part
def pull_weight(column):
    """What a pull counts in S: its share of the batch, with the projection factors to come taken out."""
    return column.share / column.shrink


@jit_part
def dual_sign(loss, y, place):
    """What a pull counts in the dual objective: y, or whether the group's column `place` is the row's own class."""
    if loss.grouped:
        return 1.0 if int(y) == place else 0.0
    return float(y)


@jit_part
def account(column, v, sign, product, self_product):
    """Follow ||S||² and Σ sign·v exactly; `product` is <S, x> with all earlier pulls in S."""
    column.norm_squared += v * (2.0 * product + v * self_product)
    column.dual_linear += v * sign


@jit_part
def close_step(columns, lead, size, rule, project):
    """Count the step of a group and project it; True when the caller has to fold `shrink` into the state."""
    for p in range(lead, lead + size):
        columns[p].steps += 1
    if not project:
        return False
    square = 0.0
    for p in range(lead, lead + size):
        square += columns[p].norm_squared
    first = columns[lead]
    norm = scale_of(first, rule) * sqrt(max(square, 0.0))
    if norm > first.radius:
        for p in range(lead, lead + size):
            columns[p].shrink *= first.radius / norm
    return first.shrink < FOLD_BELOW


@jit_part
def folded(column):
    """Forget `shrink` once the caller has multiplied S by it and moved ``average * S`` into U."""
    column.norm_squared *= column.shrink * column.shrink
    column.dual_linear *= column.shrink
    column.shrink = 1.0
    column.average = 0.0


@jit_part
def loss_of(loss, y, f, epsilon):
    """Loss of a row whose scores in the columns of a group, of one or of all classes, are `f`."""
    if loss.grouped:
        return loss.value(f, int(y))
    return loss.value(y, f[0], epsilon)


@jit_part
def dual_of(loss, y, s, beta, epsilon):
    """Dual term of a row with the coefficients `beta` in the columns of a group; they are moved into their domain."""
    if loss.grouped:
        loss.feasible(beta, int(y), s)
        return beta[int(y)]
    sign = loss.side(y)
    moved = loss.feasible(sign * beta[0], s)
    beta[0] = sign * moved
    return loss.dual_term(moved, y, s, epsilon)
