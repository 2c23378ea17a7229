"""The local solver: dual coordinate ascent on the rows of one worker, and its part of the certificate.

CoCoA+ (Ma, Smith, Jaggi, Jordan, Richtárik & Takáč, ICML 2015): with w = Σ a·x / (lam·n) over the rows of all workers,
each worker raises the dual objective in its own coefficients a, as if every change of the model by its rows counted
sigma times. With ``S = w·lam·n/sigma`` that is the solver's own sdca: the score of a row is ``<S, x>·sigma/(lam·n)``,
its curvature ``sigma·K(x, x)/(lam·n)``, so a local problem is an ordinary one with ``lam' · n' = lam·n / sigma``.

The coefficients stay here between rounds, in `_duals` and not in Dask's own store: that one may put a value on disk and
read back what it was before a round changed it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.distributed.partitions import Part, n_bytes
from pegasos.distributed.plan import Plan
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from pegasos.solver.certificate import Certifier
from pegasos.solver.stream import StreamSolver

FORGOTTEN_AFTER = 24 * 3600.0  # seconds: coefficients that no round has touched belong to a driver that is gone


@dataclass(frozen=True)
class Order:
    """What a round asks of all local solvers.

    Attributes
    ----------
    round : int
        Number of the round; one that does not follow the last one is refused.
    active : ndarray of bool, shape (n_columns,)
        Columns that go on.
    model : ndarray of shape (n_state, active columns)
        The common model.
    judged : ndarray of the same shape or None
        The model whose losses are wanted; None: the common one.
    taken : ndarray of shape (n_columns,)
        How much of the change of the round before counts, from 0 to 1.
    sigma : ndarray of shape (active columns,)
        How often each change counts.
    passes : float
        Passes over the worker's rows; 0: a look only.
    seed : int
    """

    round: int
    active: np.ndarray
    model: np.ndarray
    judged: np.ndarray | None
    taken: np.ndarray
    sigma: np.ndarray
    passes: float
    seed: int


@dataclass(frozen=True)
class Found:
    """What a round has found, one number a column; adds up over workers.

    Attributes
    ----------
    losses : ndarray
        Σ s·loss of the rows at the model that is judged.
    duals, duals_after : ndarray
        Σ of the dual terms before the steps and after them.
    change : ndarray of shape (n_state, active columns)
        How the steps would change the model: Σ change of coefficient · x / (lam·n).
    squares : ndarray of shape (active columns,)
        ||change||² of each worker by itself.
    steps : ndarray of int
    """

    losses: np.ndarray
    duals: np.ndarray
    duals_after: np.ndarray
    change: np.ndarray
    squares: np.ndarray
    steps: np.ndarray

    def __add__(self, other: Found) -> Found:
        return Found(*[getattr(self, each.name) + getattr(other, each.name) for each in fields(Found)])


@dataclass(frozen=True)
class Sums:
    """The model as the coefficients give it: Σ coefficient·x in float64, and Σ of the dual terms; adds up."""

    sums: np.ndarray
    duals: np.ndarray

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.sums + other.sums, self.duals + other.duals)


class Local:
    """Rows of one worker with their part of the problem; never changed once it is made.

    Parameters
    ----------
    parts : list of Part
    plan : Plan
    number : int
        Which of the local solvers this is.
    """

    def __init__(self, parts: list[Part], plan: Plan, number: int = 0):
        self.plan, self.number = plan, number
        X, y, weights = _side_by_side(parts, plan.dtype)
        self.rows = plan.rows(X)
        self.problems = plan.problems(y, weights).with_lam(1.0)
        self.n_rows = self.problems.n_rows
        self.job = Job(self.rows, self.problems, Schedule(), Rule.SDCA, plan.loss)
        self.records, self.certifier = self.job.column_records(), Certifier(self.job)
        self.solver = StreamSolver()

    def __sizeof__(self) -> int:
        """Bytes, for Dask to know what a worker holds."""
        return n_bytes(self.rows.X) + self.problems.labelings.nbytes + self.job.weights.nbytes

    def zeros(self) -> np.ndarray:
        """Coefficients to begin with."""
        return np.zeros((self.rows.n_rows, self.plan.n_columns), self.rows.dtype)

    def dual_sums(self, alpha: np.ndarray) -> np.ndarray:
        """Σ of the dual terms of each column."""
        return self.certifier.dual_sums(self.records, alpha)

    def round(self, duals: Duals, order: Order) -> Found:
        """The part of the certificate at the common model, then passes over the rows."""
        n_columns, n_active = self.plan.n_columns, int(order.active.sum())
        here = self.n_rows > 0
        keep, inside = order.active & here, here[order.active]
        found = Found(
            np.zeros(n_columns), duals.terms, duals.terms, np.zeros((self.plan.n_state, n_active), self.plan.dtype),
            np.zeros(n_active), np.zeros(n_columns, np.int64),
        )  # fmt: skip
        if not keep.any():
            return found
        judged = order.model if order.judged is None else order.judged
        found.losses[keep] = self.certifier.losses(self.records[keep], np.ascontiguousarray(judged[:, inside]))[0]
        if order.passes <= 0:
            return found
        change, steps = self._steps(duals, keep, order.model[:, inside], order.sigma[inside], order)
        found.change[:, inside], found.squares[inside] = change, np.einsum("ij,ij->j", change, change)
        found.steps[keep] = steps
        return Found(found.losses, found.duals, duals.terms, found.change, found.squares, found.steps)

    def _steps(self, duals: Duals, keep, model, sigma, order: Order) -> tuple[np.ndarray, np.ndarray]:
        """Passes of the solver; the change of the model, and the steps of each column."""
        per_row = self.plan.shared.per_row[keep]
        problems = self.problems if keep.all() else self.problems.alone(keep)
        problems = problems.with_lam(per_row / (sigma * problems.n_rows))
        alpha = duals.alpha if keep.all() else duals.alpha[:, keep]
        start = State.from_duals(model * (per_row / sigma).astype(model.dtype), alpha, problems.lam)
        seed = seed_of(order.seed, order.round, self.number)
        schedule = Schedule(seed=seed, max_passes=order.passes, average=False, certified=False)
        job = replace(self.job, problems=problems, schedule=schedule)
        after = self.solver.state_after(job, start)
        duals.move(keep, after.alpha)
        duals.terms = self.dual_sums(duals.alpha)
        return (after.sums.astype(np.float64) - start.sums) / per_row, after.columns["steps"]

    def sums(self, duals: Duals) -> Sums:
        """Σ coefficient·x: one pass over the rows, in float64, so that no rounding of the rounds is left."""
        rows, total = self.rows, np.zeros((self.plan.n_state, self.plan.n_columns))
        for block in rows.blocks():
            rows.add(block, np.ascontiguousarray(duals.alpha[block.rows].T, np.float64), total)
        return Sums(total, duals.terms)


class Duals:
    """Coefficients of the rows of one local solver; the change of the last round is still to be confirmed."""

    def __init__(self, local: Local):
        self.alpha = local.zeros()
        self.before: np.ndarray | None = None
        self.terms = local.dual_sums(self.alpha)
        self.round = 0
        self.touched = time.monotonic()

    def move(self, keep: np.ndarray, after: np.ndarray) -> None:
        """Take new coefficients of some columns, and keep the old ones."""
        self.before = self.alpha
        if keep.all():
            self.alpha = after.astype(self.before.dtype, copy=False)
        else:
            self.alpha = self.before.copy()
            self.alpha[:, keep] = after

    def confirm(self, local: Local, taken: np.ndarray) -> None:
        """Let so much of the last change count."""
        if self.before is not None and (taken != 1.0).any():
            for column in np.flatnonzero(taken != 1.0):
                before = self.before[:, column]
                self.alpha[:, column] = before + taken[column].astype(before.dtype) * (self.alpha[:, column] - before)
            self.terms = local.dual_sums(self.alpha)
        self.before = None


def seed_of(seed: int, round: int, number: int) -> int:
    """The seed of one local solver in one round."""
    return int(np.random.SeedSequence([seed, round, number]).generate_state(1)[0])


def _side_by_side(parts: list[Part], dtype) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """All rows of a worker; a single partition is used as it is."""
    parts = [part for part in parts if part.n_rows]
    if any(sparse.issparse(part.X) for part in parts):
        X: Any = parts[0].X if len(parts) == 1 else sparse.vstack([part.X for part in parts], format="csr")
    else:
        X = parts[0].X if len(parts) == 1 else np.concatenate([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    return X.astype(dtype, copy=False), y, np.concatenate(weights) if weights else None


# --- what a worker is asked: functions of a `Local`, a key and, for all but the first, an order ----------------------

_duals: dict[Any, Duals] = {}


def begin(local: Local, key: Any, order: None = None) -> int:
    """Make room for the coefficients, all 0; the number of rows."""
    for old in [old for old, duals in _duals.items() if time.monotonic() - duals.touched > FORGOTTEN_AFTER]:
        del _duals[old]
    _duals[key] = Duals(local)
    return local.rows.n_rows


def advance(local: Local, key: Any, order: Order) -> Found | None:
    """One round; None if the coefficients are not there, or not where the order takes them to be."""
    duals = _duals.get(key)
    if duals is None or duals.round != order.round - 1:
        return None
    duals.touched = time.monotonic()
    duals.confirm(local, order.taken)
    found = local.round(duals, order)
    duals.round = order.round
    return found


def add_up(local: Local, key: Any, order: Order) -> Sums | None:
    """The model of the coefficients as they are; rounds go on from the order's number."""
    duals = _duals.get(key)
    if duals is None:
        return None
    duals.touched = time.monotonic()
    duals.confirm(local, order.taken)
    duals.round = order.round
    return local.sums(duals)


def forget(token: Any) -> None:
    """Let the coefficients of a fit go."""
    for key in [key for key in _duals if key[0] == token]:
        del _duals[key]
