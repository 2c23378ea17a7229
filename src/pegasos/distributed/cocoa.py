"""CoCoA+: rounds of local steps on all workers, the sum of their changes, and the duality gap across the cluster.

CoCoA+ (Ma et al., ICML 2015) adds up the changes of K workers, each computed as if it counted sigma' = K times; then
the dual objective D never falls. K is needed only where the changes of all workers point the same way. How far they do
is known afterwards: ``overlap = ||Σ change||² / Σ ||change||²`` lies between 0 and K, and adding up is safe for every
sigma' at or above it. So the first round has sigma' = K, and each further one the overlap of the round before, at
least 1. Where that turns out too small, only a fraction g of the change is added, that at which a lower bound of D is
highest, and the next round has sigma' = K again:

    D(g) ≥ (1-g)·T(a) + g·T(a') - lam/2 ||w + g·change||²,

with T the mean dual term, which is concave. 0 ≤ g ≤ 1 never lowers D either, and does no worse than averaging the
changes (g = 1/K), whatever sigma' was. This takes a third to two thirds of the rounds; see docs/scale.md.

P - D bounds the distance from the optimum, with P the objective of the best model so far: any model and any dual point
give a bound. Where the changes of a round cancel each other (an overlap below 1), all workers have corrected the same
error and the model oscillates: then the mean of the last two models is evaluated instead of the last.

Where the gap does not halve within a few rounds, rows change workers (`exchange`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.distributed import local_solver
from pegasos.distributed.exchange import DealRequest, times_to_mix
from pegasos.distributed.local_solver import Plan, RoundRequest, RoundResult, seed_of
from pegasos.distributed.workers import Interrupted, Workers, WorkersLost
from pegasos.solver.certificate import Certificate
from pegasos.solver.clock import Clock
from pegasos.solver.exact import enough

TINY = np.finfo(float).tiny
SLOW_AFTER = 4  # rounds in which the gap has to halve: else rows are dealt out anew
DEALER = 2**20  # for the seed of dealing, where those of local solvers have their number


@dataclass(frozen=True)
class CocoaSettings:
    """When the rounds stop, and what each of them does.

    Attributes
    ----------
    tol : float
        The gap to reach, as a fraction of the objective, and of the zero model's.
    max_rounds : int
    local_passes : float
        Passes of each worker over its rows in one round.
    seed : int
    adaptive : bool
        Whether sigma' follows the overlap; else it is K, as in the literature.
    mix_first, may_mix : bool
        Whether rows are dealt out anew before the first round; and later, where rounds have become slow.
    """

    tol: float = 1e-2
    max_rounds: int = 1000
    local_passes: float = 1.0
    seed: int = 0
    adaptive: bool = True
    mix_first: bool = False
    may_mix: bool = True


@dataclass
class CocoaResult:
    """The model that the rounds have reached, its certificate, and how they went.

    `recoveries` counts how often workers were lost and replaced, `deals` how often rows were dealt out anew.
    """

    model: np.ndarray
    certificate: Certificate
    steps: np.ndarray
    history: list[dict] = field(default_factory=list)
    rounds: int = 0
    recoveries: int = 0
    deals: int = 0
    timed_out: bool = False
    interrupted: bool = False


class CocoaSolver:
    """One fit by rounds of CoCoA+: the common model, the best one so far, and the bounds known of both.

    Parameters
    ----------
    workers : Workers
        With their local solvers in place.
    plan : Plan
    settings : CocoaSettings
    clock : Clock
    callback : callable, optional
        Called with the record of each round, and a function that makes the model; True ends the rounds.

    Attributes
    ----------
    checkpoint : CocoaCheckpoint or None
        Written between two rounds when it is due.
    """

    def __init__(
        self, workers: Workers, plan: Plan, settings: CocoaSettings, clock: Clock,
        callback: Callable[[dict, Callable[[], np.ndarray]], Any] | None = None,
    ):  # fmt: skip
        self.workers, self.plan, self.settings, self.clock, self.callback = workers, plan, settings, clock, callback
        n_columns = plan.n_columns
        self.w = self.previous = np.zeros((plan.n_state, n_columns))
        self.best = np.zeros((plan.n_state, n_columns), plan.dtype)
        self.evaluated, self.oscillates = self.best.copy(), np.zeros(n_columns, bool)
        self.objective, self.dual = np.full(n_columns, np.inf), np.zeros(n_columns)
        self.zero = np.zeros(n_columns)  # objective of the zero model
        self.active = np.ones(n_columns, bool)
        self.step_size = np.ones(n_columns)  # the fraction of the last change that was added
        self.sigma = np.full(n_columns, float(workers.n_solvers))
        self.steps = np.zeros(n_columns, np.int64)
        self.rounds = self.n_requests = self.recoveries = self.deals = 0
        self.gaps: list[float] = []  # the largest of each round since rows were last dealt out
        self.history: list[dict] = []
        self.stopped = False
        self.checkpoint: Any = None

    def run(self) -> CocoaResult:
        """Take rounds until all columns are within `tol`, or the limits, the callback or Ctrl-C end them."""
        try:
            if self.settings.mix_first:
                for _ in range(times_to_mix(self.workers.n_solvers)):
                    self._deal()
            while self.active.any():
                self._rounds_until_within()
                if self._prove() or self._at_limit():
                    break
                self.rounds += 1  # rounding has hidden a little of the gap: the last changes count, and rounds go on
            if self.checkpoint is not None and self.clock.timed_out:
                self.checkpoint.save(self)
        except Interrupted:
            self.rounds = self.history[-1]["round"] if self.history else 0  # later changes are not evaluated
            if self.rounds == 0:  # there is no model yet
                raise KeyboardInterrupt from None
        return CocoaResult(
            self.best, self._certificate(), self.steps, self.history, self.rounds, self.recoveries, self.deals,
            self.clock.timed_out, self.clock.interrupted,
        )  # fmt: skip

    def _certificate(self) -> Certificate:
        return Certificate(self.objective, self.dual, self.zero)

    def _within(self) -> np.ndarray:
        certificate = self._certificate()
        pairs = zip(certificate.objective, certificate.zero, strict=True)
        return certificate.gap <= [enough(objective, zero, self.settings.tol) for objective, zero in pairs]

    def _at_limit(self) -> bool:
        return self.rounds >= self.settings.max_rounds or self.clock.is_up() or self.stopped

    # --- one round -------------------------------------------------------------------------------------------------

    def _rounds_until_within(self) -> None:
        """Take rounds until the sums that come with them say that all columns are within `tol`."""
        while True:
            last = self._at_limit()
            result = self._round(0.0 if last else self.settings.local_passes)
            self._evaluate(result)
            if last:
                return
            self._aggregate(result)
            self.active &= ~self._within()
            if not self.active.any():
                return
            self.rounds += 1
            if self._is_slow():
                self._deal()
            if self.checkpoint is not None and self.checkpoint.due():
                self.checkpoint.save(self)

    def _is_slow(self) -> bool:
        """Whether the largest gap has not halved in the last few rounds."""
        self.gaps.append(float(self._certificate().gap[self.active].max()))
        slow = len(self.gaps) > SLOW_AFTER and self.gaps[-1] > self.gaps[-1 - SLOW_AFTER] / 2
        return slow and self.settings.may_mix

    def _deal(self) -> None:
        """Deal out the rows anew, with their dual variables; the model stays as it is."""
        self.gaps = []
        request = DealRequest(self.n_requests, self.step_size, seed_of(self.settings.seed, self.n_requests, DEALER))
        try:
            if self.workers.deal(request, lambda: self.clock.interrupted):
                self.deals += 1
                self.step_size = np.ones(self.plan.n_columns)  # what the workers hold now has it
        except WorkersLost:
            self._replace_workers()
            self._sum_model()

    def _round(self, passes: float) -> RoundResult:
        """The losses of all workers at the evaluated model, and their changes after so many passes."""
        while True:
            request = self._request(passes)
            try:
                result = self.workers.total(local_solver.run_round, request, lambda: self.clock.interrupted)
                self.step_size = np.ones(self.plan.n_columns)
                return result
            except WorkersLost:
                self._replace_workers()
                self._sum_model()

    def _request(self, passes: float = 0.0) -> RoundRequest:
        """The next request; the model that it has evaluated is kept here."""
        active, oscillates = self.active, self.oscillates & self.active
        self.n_requests += 1
        model = self.w.astype(self.plan.dtype)
        self.evaluated = np.where(oscillates, ((self.w + self.previous) / 2).astype(self.plan.dtype), model)
        return RoundRequest(
            self.n_requests, active, model[:, active], self.evaluated[:, active] if oscillates.any() else None,
            self.step_size, self.sigma[active], passes, self.settings.seed,
        )  # fmt: skip

    def _evaluate(self, result: RoundResult) -> None:
        """Update objective, dual objective and best model by what the workers say of the evaluated one."""
        shared, active, model = self.plan.shared, self.active, self.evaluated
        objective = shared.lam / 2 * self._grouped(_squares(model)) + self._grouped(result.losses) / shared.n_rows
        dual = self._dual_objective(result.duals)
        if self.rounds == 0 and not self.history:
            self.zero = objective.copy()
        better = active & (objective < self.objective)
        self.objective[better], self.best[:, better] = objective[better], model[:, better]
        self.dual[active] = np.maximum(self.dual, dual)[active]
        self._record()

    def _aggregate(self, result: RoundResult) -> None:
        """Add the changes of all workers to the model, or the fraction of them that raises the dual objective most."""
        plan, active, lam = self.plan, self.active, self.plan.shared.lam
        change = np.zeros_like(self.w)
        change[:, active] = result.change
        change_square = self._grouped(_squares(change))
        worker_squares = np.zeros(plan.n_columns)
        worker_squares[active] = result.change_squares
        overlap = change_square / np.maximum(self._grouped(worker_squares), TINY)
        gain = self._grouped(result.duals_after - result.duals) / plan.shared.n_rows
        slope = gain - lam * self._grouped(np.einsum("ij,ij->j", self.w, change))
        fraction = np.clip(slope / np.maximum(lam * change_square, TINY), 0.0, 1.0)
        safe = overlap <= self.sigma * (1 + 1e-9)
        self.step_size = np.where(safe | ~active, 1.0, fraction)
        self.previous, self.oscillates = self.w, overlap < 1
        self.w = self.w + change * self.step_size
        if self.settings.adaptive:
            n_solvers = self.workers.n_solvers
            self.sigma = np.where(safe, np.clip(overlap, 1.0, n_solvers), n_solvers)
        self.steps += result.steps

    # --- what is proven -----------------------------------------------------------------------------------------------

    def _prove(self) -> bool:
        """Sum the dual objective anew from the dual variables; whether all columns are within `tol`.

        Sums that have followed the rounds carry their rounding. The gap comes with the round after the one that has
        reached it, so the last changes are not evaluated yet: most often their model is the better one. Columns that
        turn out not to be within `tol` become active again.
        """
        unevaluated = not self.active.any()
        self._sum_model()
        if unevaluated:
            self.active[:] = True
            self._evaluate(self._round(0.0))
        self.active = ~self._within()
        self._record()
        return not self.active.any()

    def _sum_model(self) -> None:
        """The common model and its dual objective, summed from the dual variables that the workers have now."""
        shared = self.plan.shared
        while True:
            try:
                found = self.workers.total(local_solver.sum_model, self._request(), lambda: self.clock.interrupted)
                break
            except WorkersLost:
                self._replace_workers()
        self.step_size, self.oscillates = np.ones(shared.n_columns), np.zeros(shared.n_columns, bool)
        self.w = found.sums / shared.per_row
        self.dual = self._dual_objective(found.duals)

    def _replace_workers(self) -> None:
        """Make lost local solvers again; what is left of the dual variables is kept."""
        self.recoveries += 1
        self.step_size = np.zeros(self.plan.n_columns)  # changes of a round that was not completed do not count
        self.sigma[:] = self.workers.n_solvers
        self.workers.recover()

    def _dual_objective(self, duals: np.ndarray) -> np.ndarray:
        """The dual objective at the common model; `duals` are the sums of the dual terms."""
        shared = self.plan.shared
        return self._grouped(duals) / shared.n_rows - shared.lam / 2 * self._grouped(_squares(self.w))

    def _record(self) -> None:
        """Put the present bounds in the history, and show a new record to the callback."""
        certificate = self._certificate()
        record = {
            "round": self.rounds,
            "step": int(self.steps.max()),
            "objective": float(self.objective.mean()),
            "gap": float(certificate.gap.max()),
            "seconds": self.clock.seconds,
            "bytes": self._bytes(),
        }
        if self.history and self.history[-1]["round"] == self.rounds:  # proven, or evaluated again after a loss
            self.history[-1] = record | {"bytes": self.history[-1]["bytes"]}
            return
        self.history.append(record)
        if self.callback is not None:
            self.stopped |= self.callback(record, self.best.copy) is True

    def _bytes(self) -> int:
        """Bytes of models sent to all workers and of changes that come back, in one round."""
        arrays = 3 if (self.oscillates & self.active).any() else 2
        return arrays * self.workers.n_solvers * self.evaluated[:, self.active].nbytes

    def _grouped(self, parts: np.ndarray) -> np.ndarray:
        """The sum over each group of columns, for each of its columns."""
        size = self.plan.shared.group
        return parts if size == 1 else np.repeat(parts.reshape(-1, size).sum(axis=1), size)


def _squares(model: np.ndarray) -> np.ndarray:
    """||w||² of each column, in float64."""
    return np.einsum("ij,ij->j", model, model, dtype=np.float64)
