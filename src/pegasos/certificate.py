"""The certificate: how far a model is from the optimum, at most.

``gap = P(w) - D(beta)`` with P the objective and D the dual objective, ``mean dual term - lam/2 ||w(beta)||²``. Any
feasible beta bounds any w. Under sdca the dual point is feasible at every step; under pegasos it is at the end of each
whole pass, where D follows from sums that every step keeps (`step.account`), without a pass over the data. With
replacement, or before the first whole pass, the point is clipped into its box and its model computed anew; beta = 0
(D = 0) is the last resort. All sums are in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.threads import in_parallel
from pegasos.losses import Loss, value
from pegasos.problems import Problems
from pegasos.rows import Rows, Way
from pegasos.schedule import Schedule
from pegasos.state import State
from pegasos.step import Rule


@dataclass(frozen=True)
class Certificate:
    """Objective, dual objective and gap of each column; `zero` is the objective of the zero model."""

    objective: np.ndarray
    dual: np.ndarray
    zero: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """Bound on objective - optimum; nan where the kernel gives no bound. Rounding below 0 is shown as 0."""
        return np.maximum(self.objective - self.dual, 0.0)


def certify(
    rows: Rows, problems: Problems, weights: np.ndarray, state: State, loss: Loss, definite: bool, schedule: Schedule
) -> Certificate:
    """Certificate of the model that `state` reports; the best dual objective is kept in its columns."""
    columns = state.columns
    reached = objectives(rows, problems, weights, columns, state.model(), loss)
    zero = np.full(len(columns), float(value(loss, 1.0, 0.0)))
    if not definite:
        return Certificate(reached, np.full(len(columns), np.nan), zero)
    note_dual(state, schedule)
    if state.alpha.size and state.rule == Rule.PEGASOS:
        unknown = ~at_whole_pass(columns, schedule)
        if schedule.batch == 1 and schedule.sampling != "replacement":  # the point of an earlier whole pass will do
            unknown &= columns["steps"] < columns["n_rows"]
        if unknown.any():
            clipped = clipped_dual(rows, problems, weights, state.select(unknown))
            columns["best_dual"][unknown] = np.maximum(columns["best_dual"][unknown], clipped)
    return Certificate(reached, np.maximum(columns["best_dual"], 0.0), zero)


def note_dual(state: State, schedule: Schedule) -> None:
    """Keep the best dual objective; it is known without a pass wherever the dual point is feasible by itself."""
    columns, scales = state.columns, state.scales
    feasible = np.ones(len(columns), bool) if state.rule == Rule.SDCA else at_whole_pass(columns, schedule)
    dual = columns["lam"] * scales * (columns["mass"] - scales * columns["square"] / 2)
    columns["best_dual"] = np.where(feasible, np.maximum(columns["best_dual"], dual), columns["best_dual"])


def at_whole_pass(columns: np.ndarray, schedule: Schedule) -> np.ndarray:
    """Which columns have met each of their rows equally often."""
    if schedule.batch is None:
        return columns["steps"] > 0
    whole = (columns["steps"] > 0) & (columns["steps"] * schedule.batch % columns["n_rows"] == 0)
    return whole & (schedule.sampling != "replacement")


def objectives(rows: Rows, problems: Problems, weights, columns, model: np.ndarray, loss: Loss) -> np.ndarray:
    """lam/2 ||w||² + Σ s·loss / n of each column: one scoring pass."""
    totals, norms = np.zeros(len(columns)), np.zeros(len(columns))
    if rows.way(columns["n_rows"].sum() / rows.n_rows) == Way.DIRECT:
        work = (columns, np.asfortranarray(model), rows.X, rows.bias, problems.labelings, weights, int(loss))
        in_parallel(lambda a, b: cpu.direct_losses(a, b, totals, *work), len(columns), model.size * rows.n_rows)
        return columns["lam"] / 2 * rows.square_norms(model) + totals / columns["n_rows"]
    for block in rows.blocks():
        scores = rows.scores(block, model)
        cpu.add_losses(totals, columns, scores, block.rows, problems.labelings, weights, int(loss))
        if rows.dual:  # ||w||² = Σ a·f, with the scores at hand
            norms += np.einsum("ip,pi->p", model[block.rows], scores, dtype=np.float64)
    if not rows.dual:
        norms = rows.square_norms(model)
    return columns["lam"] / 2 * norms + totals / columns["n_rows"]


def clipped_dual(rows: Rows, problems: Problems, weights, state: State) -> np.ndarray:
    """Dual objective of the present coefficients, clipped into their box."""
    columns = state.columns
    per_row = columns["lam"] * columns["n_rows"]
    alpha, masses = state.alpha.copy(), np.zeros(len(columns))
    cpu.clip_dual(columns, per_row * state.scales, alpha, problems.labelings, weights, masses)
    model = rows.zeros(len(columns))
    for block in rows.blocks():
        rows.add(block, np.ascontiguousarray((alpha[block.rows] / per_row).astype(rows.dtype).T), model)
    return masses / columns["n_rows"] - columns["lam"] / 2 * rows.square_norms(model)
