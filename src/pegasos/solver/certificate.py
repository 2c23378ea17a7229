"""The certificate: how far a model is from the optimum, at most.

``gap = P(w) - D(beta)`` with P the objective and D the dual objective, ``mean dual term - lam/2 ||w(beta)||²``. Any
feasible beta bounds any w. Under sdca the dual point is feasible at every step; under pegasos it is at the end of each
whole pass, where ||w(beta)||² follows from sums that every step keeps (`step.account`), and so do the dual terms of
losses for which they are linear; other losses look at each row's coefficient. With replacement, before the first whole
pass, or where other rows had a part in the model, the point is moved into its domain and its model computed anew;
beta = 0 (D = 0) is the last resort. All sums are in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.api import Rules, SharedArrays
from pegasos.backends.threads import in_parallel, share_out
from pegasos.problem.job import Job
from pegasos.rows import Rows, Way
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import State

PARTS = 16  # of the rows whose losses are summed by themselves


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

    @property
    def relative_gap(self) -> np.ndarray:
        """The gap as a fraction of the zero model's objective, or the gap itself where that is 0."""
        return self.gap / np.where(self.zero > 0, self.zero, 1.0)


@dataclass(frozen=True)
class Certifier:
    """Makes certificates for the states of one job."""

    job: Job

    @property
    def rows(self) -> Rows:
        """The rows of the job."""
        return self.job.rows

    def certify(self, state: State) -> Certificate:
        """Certificate of the model that `state` reports; the best dual objective is kept in its columns."""
        columns = state.columns
        reached = self.objectives(columns, state.model().astype(self.rows.dtype, copy=False))
        if not self.job.definite:
            return Certificate(reached, np.full(len(columns), np.nan), columns["zero_objective"].copy())
        self.note_dual(state, at_end=True)
        if state.alpha.size and state.rule != Rule.SDCA:
            unknown = ~self._at_whole_pass(columns)
            schedule = self.job.schedule
            if schedule.batch == 1 and schedule.meets_all_rows:  # an earlier whole pass will do
                unknown &= (columns["best_dual"] == -np.inf) | ~columns["pass_is_feasible"]
            if unknown.any():
                chosen = state.select(unknown)
                dual = self._dual(chosen, columns_norms=None)
                columns["best_dual"][unknown] = np.maximum(columns["best_dual"][unknown], dual)
        return Certificate(reached, np.maximum(columns["best_dual"], 0.0), columns["zero_objective"].copy())

    def note_dual(self, state: State, *, at_end: bool = False) -> None:
        """Keep the best dual objective; it is known without a pass wherever the dual point is feasible by itself."""
        columns = state.columns
        linear = self.job.loss.dual_is_linear
        if state.rule == Rule.SDCA:  # the dual only rises: where it costs a look at all rows, the last point will do
            feasible = np.full(len(columns), linear or at_end)
        else:
            feasible = self._at_whole_pass(columns)
        if not feasible.any():
            return
        if linear:
            dual = self.linear_dual(state)
        elif not state.alpha.size:
            return
        else:
            chosen = state if feasible.all() else state.select(feasible)
            dual = np.full(len(columns), -np.inf)
            scales = chosen.scales * self._into_domain(chosen.columns)
            dual[feasible] = self._dual(chosen, columns_norms=scales**2 * chosen.columns["norm_squared"])
        columns["best_dual"] = np.where(feasible, np.maximum(columns["best_dual"], dual), columns["best_dual"])

    def linear_dual(self, state: State) -> np.ndarray:
        """The dual objective at the end of whole passes where its terms add up linearly: no row is looked at."""
        columns = state.columns
        scales = state.scales * self._into_domain(columns)
        return self._grouped(columns["lam"] * scales * (columns["dual_linear"] - scales * columns["norm_squared"] / 2))

    def needs_alpha(self, columns: np.ndarray, done: np.ndarray | int = 0) -> bool:
        """Whether a certificate of a primal rule has to know each row's coefficient; `done` steps are not in limits."""
        schedule = self.job.schedule
        if not schedule.certified:
            return False
        one_by_one = schedule.batch == 1 and schedule.meets_all_rows
        by_whole_passes = schedule.batch is None or (
            one_by_one and (columns["limit"] + done >= columns["n_rows"]).all()
        )
        return not self.job.loss.dual_is_linear or not by_whole_passes or not columns["pass_is_feasible"].all()

    def objectives(self, columns: np.ndarray, model: np.ndarray) -> np.ndarray:
        """lam/2 ||w||² + Σ s·loss / n of each column: one scoring pass."""
        return self.objectives_from(columns, *self.losses(columns, model))

    def objectives_from(self, columns: np.ndarray, totals: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """The same from Σ s·loss, which may be over more rows than are at hand, and ||w||²."""
        return self._grouped(columns["lam"] / 2 * norms + totals / columns["n_rows"])

    def losses(self, columns: np.ndarray, model: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ s·loss over the rows at hand, and ||w||², of each column."""
        rows = self.rows
        way = rows.way(columns["n_rows"].sum() / rows.n_rows)
        if way in (Way.DIRECT, Way.SPARSE):
            return self._losses(columns, model, way), rows.square_norms(model)
        return self._losses_by_blocks(columns, model)

    def dual_sums(self, columns: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Σ of the dual terms over the rows at hand, of each column, from the rows' coefficients under sdca."""
        totals, ones, none = np.zeros(len(columns)), np.ones(len(columns)), np.zeros((0, 0), alpha.dtype)
        cpu.dual_terms(totals, self._shared(columns, alpha), ones, none, self.job.loss)
        return totals

    def add_pulls(self, columns: np.ndarray, model: np.ndarray, sums: np.ndarray) -> None:
        """sums += Σ s·pull·x over the rows at hand: minus n times a sub-gradient of the mean loss of a model."""
        rows, columns = self.rows, columns.copy()
        columns["share"], columns["shrink"], columns["limit"] = 1.0, 1.0, columns["steps"] + 1
        rules, shared = Rules(Rule.PEGASOS, self.job.loss, Average.LAST, False), self._shared(columns)
        for block in rows.blocks():
            scores = rows.scores(block, model)
            pulls = np.empty_like(scores)
            cpu.batch_pulls(shared, np.ones(len(columns)), scores, block.rows, pulls, rules)
            rows.add(block, pulls, sums)

    def gap_of_slope(self, columns: np.ndarray, model: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """||g||²/(2 lam) with g a sub-gradient of the objective: strong convexity puts the optimum no further away.

        `sums` are what `add_pulls` has added up over all rows of the columns.
        """
        slope = columns["lam"] * model - sums / columns["n_rows"]
        return self._grouped(self.rows.square_norms(slope) / (2 * columns["lam"]))

    def _losses_by_blocks(self, columns: np.ndarray, model: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ s·loss and ||w||² of each column, by one product for each block of rows."""
        rows, at_once = self.rows, self.rows.at_once
        n_blocks = -(-rows.n_rows // at_once)
        losses, norms = self._zeros(n_blocks, len(columns)), self._zeros(n_blocks, len(columns))
        shared = self._shared(columns)

        def look(number):
            block = rows.block(slice(number * at_once, min((number + 1) * at_once, rows.n_rows)))
            scores = rows.scores(block, model)
            rows.backend.add_losses(losses[number], shared, scores, block.rows, self.job.loss)
            if rows.dual:  # ||w||² = Σ a·f, with the scores at hand
                norms[number] = rows.xp.einsum("ip,pi->p", model[block.rows], scores, dtype=np.float64)

        alone = rows.backend.WAITS_TO_LOOK or rows.for_concurrent_solve() is not rows
        share_out(look, range(n_blocks), threads=1 if alone else None)
        to_host = rows.backend.to_host
        return to_host(losses.sum(axis=0)), to_host(norms.sum(axis=0)) if rows.dual else rows.square_norms(model)

    def _shared(self, columns: np.ndarray, alpha=None) -> SharedArrays:
        """What loops share, where the rows are."""
        columns = self.rows.backend.columns_to_read(columns)
        return SharedArrays(columns, *self.job.on_device, alpha, None, self.job.problems.group)

    def _zeros(self, *shape: int):
        return self.rows.xp.zeros(shape)

    def _losses(self, columns: np.ndarray, model: np.ndarray, way: Way) -> np.ndarray:
        """Σ s·loss of each column, row after row; in a fixed number of parts, so that threads do not change sums."""
        rows, X = self.rows, self.rows.X
        edges = np.linspace(0, rows.n_rows, PARTS + 1).astype(int)
        totals = np.zeros((PARTS, len(columns)))
        given = (rows.bias, self.job.problems.labelings, self.job.weights)
        if way == Way.DIRECT:
            losses: Callable = cpu.direct_losses
            seen: tuple = (np.asfortranarray(model), X)
        else:
            losses, seen = cpu.row_losses, (model, X.indptr, X.indices, X.data)

        def some(first, last):
            f, products = np.empty(self.job.problems.group), np.empty(len(columns), model.dtype)
            for part in range(first, last):
                room = (f,) if way == Way.DIRECT else (f, products)
                where = (edges[part], edges[part + 1], *room)
                losses(*where, totals[part], columns, *seen, *given, loss=self.job.loss)

        in_parallel(some, PARTS, len(columns) * rows.width * rows.n_rows)
        return totals.sum(axis=0)

    def seconds_of_scores(self, model: np.ndarray, at_most: float) -> float:
        """About how long the scores of all rows take, by the fastest of the first few blocks; in about `at_most`."""
        a_row, began = np.inf, time.perf_counter()
        for block in islice(self.rows.blocks(), 5):
            start = time.perf_counter()
            self.rows.backend.to_host(self.rows.scores(block, model)[:1, :1])  # a GPU is done when something comes back
            now = time.perf_counter()
            a_row = min(a_row, (now - start) / len(block.rows))
            if now - began > at_most:
                break
        return a_row * self.rows.n_rows

    def _dual(self, state: State, columns_norms: np.ndarray | None) -> np.ndarray:
        """Dual objective of the present coefficients, moved into their domain.

        `columns_norms` are ||w(beta)||² if known; without them the model of the moved point is computed.
        """
        columns, rows, backend, xp = state.columns, self.rows, self.rows.backend, self.rows.xp
        per_row = columns["lam"] * columns["n_rows"]
        totals = self._zeros(len(columns))
        point = xp.zeros_like(state.alpha, order="C") if columns_norms is None else xp.zeros((0, 0), state.alpha.dtype)
        factors = per_row * state.scales
        if columns_norms is not None:
            factors *= self._into_domain(columns)
        backend.dual_terms(totals, self._shared(columns, state.alpha), backend.to_device(factors), point, self.job.loss)
        if columns_norms is None:
            model, each = rows.zeros(len(columns)), backend.to_device(per_row)
            for block in rows.blocks():
                rows.add(block, xp.ascontiguousarray((point[block.rows] / each).astype(rows.dtype).T), model)
            columns_norms = rows.square_norms(model)
        return self._grouped(backend.to_host(totals) / columns["n_rows"] - columns["lam"] / 2 * columns_norms)

    def _into_domain(self, columns: np.ndarray) -> np.ndarray:
        """What to multiply a dual point by: below 1 where a raised lam has raised earlier pulls beyond their box."""
        if not self.job.loss.dual_is_bounded:  # all that is not negative is feasible
            return np.ones(len(columns))
        return 1.0 / np.maximum(1.0, 1.0 + columns["dual_excess"] / np.maximum(columns["steps"], 1))

    def _at_whole_pass(self, columns: np.ndarray) -> np.ndarray:
        """Which columns have met each of their rows equally often, and no others."""
        begun = (columns["steps"] > 0) & columns["pass_is_feasible"]
        if self.job.schedule.batch is None:
            return begun
        whole = begun & (columns["steps"] * self.job.schedule.batch % columns["n_rows"] == 0)
        return whole & (self.job.schedule.meets_all_rows)

    def _grouped(self, parts: np.ndarray) -> np.ndarray:
        """The sum over each group of columns, for each of its columns."""
        size = self.job.problems.group
        return parts if size == 1 else np.repeat(parts.reshape(-1, size).sum(axis=1), size)
