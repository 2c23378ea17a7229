"""Which family of solvers takes a fit to its optimum."""

from __future__ import annotations

from pegasos.losses import Loss
from pegasos.problem.columns import Problems
from pegasos.rows import DenseRows, KernelRows, Rows, SparseRows
from pegasos.solver.small_columns import are_small

NEWTON_UP_TO = 300  # features: beyond, a Hessian of each column costs more than passes of descent
TINY = 5e5  # rows times squared features: up to there Newton's method is fast enough for losses with a kink, too
LINEAR_SOLVERS = ("dcd", "newton")


def takes_linear_solvers(rows: Rows, loss: Loss) -> bool:
    """Whether columns can be solved one by one: a model linear in features that are at hand, and no groups."""
    return type(rows) in (DenseRows, SparseRows) and not loss.grouped


def takes_active_set(loss: Loss) -> bool:
    """Whether an active set takes kernel columns to their optimum sooner than passes over all rows do.

    It does wherever rows may have no coefficient. Times of "sdca" over times of "smo", both without an intercept and to
    the same gap, on two cores: iris 2.1, breast cancer 1.3 (C = 100: 19), digits 1.9, USPS 3.5, MNIST 6000 rows 2.0,
    covtype 15 000 rows 2.7 (C = 10: 3.0), a9a 15 000 rows 3.4, 50 000 × 20 2.3, MNIST 20 000 rows, 8 against the rest,
    24; 100 classes of 3000 rows 1.2, 435 pairs of classes 10, labels at random 1.0 to 1.3, regression 1.9 to 3.9. It
    was below 1 on one of 37 tasks: 0.5 on sparse rows at random, where each row is a support vector.
    """
    return loss.keeps_zero and not loss.grouped


def method_for(solver: str, rows: Rows, problems: Problems, loss: Loss, *, in_stream: bool = False) -> str:
    """The `Job.method` for the parameter `solver`; `in_stream`: only a stream of draws can do what is asked."""
    if isinstance(rows, KernelRows) and rows.by_row:
        return "smo"
    if in_stream or solver in ("pegasos", "sdca") or not takes_linear_solvers(rows, loss):
        return "stream"
    if solver in LINEAR_SOLVERS:
        return solver
    if rows.n_state > NEWTON_UP_TO:
        return "dcd"
    few = not loss.has_kink or rows.n_rows * rows.n_state**2 <= TINY
    return "newton" if few and are_small(rows, loss) else "relay"
