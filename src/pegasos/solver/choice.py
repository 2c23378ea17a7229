"""Which family of solvers takes a fit to its optimum."""

from __future__ import annotations

from pegasos.losses import Loss
from pegasos.problem.columns import Problems
from pegasos.rows import DenseRows, KernelRows, Rows, SparseRows

NEWTON_UP_TO = 300  # features: beyond, a Hessian of each column costs more than passes of descent
LINEAR_SOLVERS = ("dcd", "newton")


def takes_linear_solvers(rows: Rows, loss: Loss) -> bool:
    """Whether columns can be solved one by one: a model linear in features that are at hand, and no groups."""
    return type(rows) in (DenseRows, SparseRows) and not loss.grouped


def takes_active_set(loss: Loss, n_columns: int) -> bool:
    """Whether an active set takes kernel columns to their optimum sooner than passes over all rows do."""
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
    return "relay" if loss.has_kink else "newton"
