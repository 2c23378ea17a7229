"""The rounds: local steps on all workers, their combination, and the duality gap across the cluster after each.

CoCoA+ (Ma et al., ICML 2015) adds the changes of K workers up, each computed as if it counted sigma = K times; then the
dual objective D never falls. K is needed only where the changes of all workers point the same way. How far they do is
known afterwards: ``overlap = ||Σ change||² / Σ ||change||²`` lies between 0 and K, and adding up is safe for every
sigma at or above it. So a first, careful round has sigma = K, and each further one the overlap of the round before, at
least 1. Where that turns out too little, not the whole change is taken but the part g of it that a lower bound of D is
highest at, and the next round is a careful one again:

    D(g) ≥ (1-g)·T(a) + g·T(a') - lam/2 ||w + g·change||²,

with T the mean dual term, which is concave. 0 ≤ g ≤ 1 never lowers D either, and does no worse than averaging the
changes (g = 1/K), whatever sigma was. This takes a third to two thirds of the rounds; see docs/scale.md.

P - D bounds the distance from the optimum, P the objective of the best model so far: any model, any dual point. Where
the changes of a round cancel each other (an overlap below 1), the workers have corrected the same thing in turn, and
the model swings to and fro: then the mean of the last two models is judged instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.distributed import local_solver
from pegasos.distributed.local_solver import Found, Order
from pegasos.distributed.plan import Plan
from pegasos.distributed.workers import Interrupted, Workers, WorkersLost
from pegasos.solver.certificate import Certificate
from pegasos.solver.clock import Clock


@dataclass(frozen=True)
class Limits:
    """When to stop, and how much to do in between.

    Attributes
    ----------
    tol : float
        The gap to reach, as a fraction of the zero model's objective.
    max_rounds : int
    local_passes : float
        Passes of each worker over its rows in one round.
    seed : int
    adaptive : bool
        Whether sigma follows the overlap; else it is K, as in the literature.
    """

    tol: float = 1e-2
    max_rounds: int = 1000
    local_passes: float = 1.0
    seed: int = 0
    adaptive: bool = True


@dataclass
class Outcome:
    """What the rounds have found.

    `recoveries` counts how often workers were lost and replaced.
    """

    model: np.ndarray
    certificate: Certificate
    steps: np.ndarray
    history: list[dict] = field(default_factory=list)
    rounds: int = 0
    recoveries: int = 0
    timed_out: bool = False
    interrupted: bool = False


class Rounds:
    """One fit: the common model, the best one so far, and what is known of both.

    Parameters
    ----------
    workers : Workers
        With their local solvers in place.
    plan : Plan
    limits : Limits
    clock : Clock
    watch : callable, optional
        Called with the record of each round, and a function that makes the model; True ends the rounds.
    """

    def __init__(
        self, workers: Workers, plan: Plan, limits: Limits, clock: Clock,
        watch: Callable[[dict, Callable[[], np.ndarray]], Any] | None = None,
    ):  # fmt: skip
        self.workers, self.plan, self.limits, self.clock, self.watch = workers, plan, limits, clock, watch
        n_columns = plan.n_columns
        self.w = self.previous = np.zeros((plan.n_state, n_columns))
        self.best = np.zeros((plan.n_state, n_columns), plan.dtype)
        self.judged, self.swings = self.best.copy(), np.zeros(n_columns, bool)
        self.objective, self.dual = np.full(n_columns, np.inf), np.zeros(n_columns)
        self.zero = np.zeros(n_columns)
        self.active = np.ones(n_columns, bool)
        self.taken = np.ones(n_columns)
        self.sigma = np.full(n_columns, float(workers.n_solvers))
        self.steps = np.zeros(n_columns, np.int64)
        self.rounds = self.asked = self.recoveries = 0
        self.history: list[dict] = []
        self.stopped = False

    def run(self) -> Outcome:
        """Rounds until all columns are within `tol`, or something else ends them."""
        try:
            while not self._is_done():
                self._until_within()
                if self._prove() or self.stopped or self.rounds >= self.limits.max_rounds or self.clock.is_up():
                    break
                self.rounds += 1  # rounding has hidden a little of the gap: the last changes count, and rounds go on
        except Interrupted:
            self.rounds = self.history[-1]["round"] if self.history else 0  # changes of a later one are not judged
            if self.rounds == 0:  # there is no model yet
                raise KeyboardInterrupt from None
        return Outcome(
            self.best, self._certificate(), self.steps, self.history, self.rounds, self.recoveries,
            self.clock.timed_out, self.clock.interrupted,
        )  # fmt: skip

    def _certificate(self) -> Certificate:
        return Certificate(self.objective, self.dual, self.zero)

    def _within(self) -> np.ndarray:
        return self._certificate().relative_gap <= self.limits.tol

    def _is_done(self) -> bool:
        return not self.active.any()

    # --- one round -------------------------------------------------------------------------------------------------

    def _until_within(self) -> None:
        """Rounds until the sums that come with them say that all columns are within `tol`."""
        while True:
            last = self.rounds >= self.limits.max_rounds or self.clock.is_up() or self.stopped
            found = self._ask(0.0 if last else self.limits.local_passes)
            self._judge(found)
            if last:
                return
            self._combine(found)
            self.active &= ~self._within()
            if self._is_done():
                return
            self.rounds += 1

    def _ask(self, passes: float) -> Found:
        """What all workers find at the common model, and after so many passes."""
        while True:
            order = self._order(passes)
            try:
                found = self.workers.total(local_solver.advance, order, lambda: self.clock.interrupted)
                self.taken = np.ones(self.plan.n_columns)
                return found
            except WorkersLost:
                self._recover()

    def _order(self, passes: float = 0.0) -> Order:
        """The next order; the model that is judged is kept here."""
        active, swings = self.active, self.swings & self.active
        self.asked += 1
        model = self.w.astype(self.plan.dtype)
        self.judged = np.where(swings, ((self.w + self.previous) / 2).astype(self.plan.dtype), model)
        return Order(
            self.asked, active, model[:, active], self.judged[:, active] if swings.any() else None, self.taken,
            self.sigma[active], passes, self.limits.seed,
        )  # fmt: skip

    def _judge(self, found: Found) -> None:
        """The gap of the model that the workers were given."""
        shared, active, model = self.plan.shared, self.active, self.judged
        objective = shared.lam / 2 * self._grouped(_squares(model)) + self._grouped(found.losses) / shared.n_rows
        dual = self._grouped(found.duals) / shared.n_rows - shared.lam / 2 * self._grouped(_squares(self.w))
        if self.rounds == 0 and not self.history:
            self.zero = objective.copy()
        better = active & (objective < self.objective)
        self.objective[better], self.best[:, better] = objective[better], model[:, better]
        self.dual[active] = np.maximum(self.dual, dual)[active]
        self._record()

    def _combine(self, found: Found) -> None:
        """Add the changes of all workers up, or the part of them that raises the dual objective most."""
        plan, active = self.plan, self.active
        change = np.zeros_like(self.w)
        change[:, active] = found.change
        together = self._grouped(_squares(change))
        apart = np.zeros(plan.n_columns)
        apart[active] = found.squares
        overlap = together / np.maximum(self._grouped(apart), np.finfo(float).tiny)
        gain = self._grouped(found.duals_after - found.duals) / plan.shared.n_rows
        slope = gain - plan.shared.lam * self._grouped(np.einsum("ij,ij->j", self.w, change))
        part = np.clip(slope / np.maximum(plan.shared.lam * together, np.finfo(float).tiny), 0.0, 1.0)
        safe = overlap <= self.sigma * (1 + 1e-9)
        self.taken = np.where(safe | ~active, 1.0, part)
        self.previous, self.swings = self.w, overlap < 1
        self.w = self.w + change * self.taken
        if self.limits.adaptive:
            most = self.workers.n_solvers
            self.sigma = np.where(safe, np.clip(overlap, 1.0, most), most)
        self.steps += found.steps

    # --- what is proven -----------------------------------------------------------------------------------------------

    def _prove(self) -> bool:
        """The dual objective of the coefficients themselves, summed up anew; whether all columns are within `tol`.

        Sums that have followed the rounds carry their rounding. The gap comes with the round after the one that has
        reached it, so there are changes that nobody has judged: most often their model is the better one. Columns that
        turn out not to be within go on.
        """
        unjudged = self._is_done()
        self._add_up()
        if unjudged:
            self.active[:] = True
            self._judge(self._ask(0.0))
        self.active = ~self._within()
        self._record()
        return self._is_done()

    def _add_up(self) -> None:
        """The common model and its dual objective from the coefficients, which may have lost some."""
        shared = self.plan.shared
        while True:
            try:
                found = self.workers.total(local_solver.add_up, self._order(), lambda: self.clock.interrupted)
                break
            except WorkersLost:
                self._replace_workers()
        self.taken, self.swings = np.ones(shared.n_columns), np.zeros(shared.n_columns, bool)
        self.w = found.sums / shared.per_row
        self.dual = self._grouped(found.duals) / shared.n_rows - shared.lam / 2 * self._grouped(_squares(self.w))

    def _recover(self) -> None:
        """Workers are gone: replace them, and go on from the coefficients that are left."""
        self._replace_workers()
        self._add_up()

    def _replace_workers(self) -> None:
        self.recoveries += 1
        self.taken = np.zeros(self.plan.n_columns)  # changes of a round that was not completed do not count
        self.sigma[:] = self.workers.n_solvers
        self.workers.recover()

    def _record(self) -> None:
        certificate = self._certificate()
        record = {
            "round": self.rounds,
            "step": int(self.steps.max()),
            "objective": float(self.objective.mean()),
            "gap": float(certificate.gap.max()),
            "seconds": self.clock.seconds,
            "bytes": self._bytes(),
        }
        if self.history and self.history[-1]["round"] == self.rounds:  # proven, or looked at again after a loss
            self.history[-1] = record | {"bytes": self.history[-1]["bytes"]}
            return
        self.history.append(record)
        if self.watch is not None:
            self.stopped |= self.watch(record, self.best.copy) is True

    def _bytes(self) -> int:
        """Bytes of models sent to all workers and of changes that come back, in one round."""
        arrays = 3 if (self.swings & self.active).any() else 2
        return arrays * self.workers.n_solvers * self.judged[:, self.active].nbytes

    def _grouped(self, parts: np.ndarray) -> np.ndarray:
        """The sum over each group of columns, for each of its columns."""
        size = self.plan.shared.group
        return parts if size == 1 else np.repeat(parts.reshape(-1, size).sum(axis=1), size)


def _squares(model: np.ndarray) -> np.ndarray:
    """||w||² of each column, in float64."""
    return np.einsum("ij,ij->j", model, model, dtype=np.float64)
