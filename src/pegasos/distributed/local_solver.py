"""The local solver: dual coordinate ascent on the rows of one worker, and its part of the certificate.

CoCoA+ (Ma, Smith, Jaggi, Jordan, Richtárik & Takáč, ICML 2015): with w = Σ a·x / (lam·n) over the rows of all workers,
each worker raises the dual objective in its own dual variables a, as if every change of the model by its rows counted
sigma' times (`sigma` in the code). With ``S = w·lam·n/sigma`` the score of a row is ``<S, x>·sigma/(lam·n)`` and its
curvature ``sigma·K(x, x)/(lam·n)``: the local problem is an ordinary one with ``lam' · n' = lam·n / sigma``, and is
solved by the ordinary `StreamSolver`.

The dual variables stay on the worker between rounds, in the dictionary `_dual_variables` and not in Dask's own store:
Dask may write a stored value to disk and read back what it was before a round changed it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.distributed.partitions import Partition, n_bytes
from pegasos.estimators.features import FeatureMap, explicit_rows
from pegasos.estimators.totals import SharedProblem
from pegasos.losses import Loss
from pegasos.problem.columns import Problems
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from pegasos.solver.certificate import Certifier
from pegasos.solver.stream import StreamSolver

EXPIRES_AFTER = 24 * 3600.0  # seconds: dual variables that no round has used belong to a driver that is gone


# --- what is sent between the driver and the workers -----------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What all local solvers of a fit have in common.

    Each column minimises ``lam/2 ||w||² + Σ s·loss / n`` over its n rows on all workers, with weights s of mean 1 over
    all of them. A worker knows its own rows only; lam, n and the weights come from the plan.

    Attributes
    ----------
    shared : SharedProblem
        The columns over the rows of all workers.
    loss : Loss
    n_features : int
    features : FeatureMap
        The features in which the model is linear.
    most_bytes : float
        Memory that the features of landmarks may take on a worker; larger ones are computed again each time.
    """

    shared: SharedProblem
    loss: Loss
    n_features: int
    features: FeatureMap
    most_bytes: float = 0.0

    @property
    def dtype(self) -> np.dtype:
        """The type of the features."""
        return self.shared.dtype

    @property
    def n_columns(self) -> int:
        """Columns of the problem."""
        return self.shared.n_columns

    @property
    def n_state(self) -> int:
        """Coefficients of the model of one column."""
        landmarks = self.features.landmarks
        width = self.n_features if landmarks is None else landmarks.n_features
        return width + (self.features.bias > 0)

    def problems(self, y: np.ndarray, weights: np.ndarray | None) -> Problems:
        """The columns of some rows, with the weights that these rows have among those of all workers."""
        codes, known = self.shared.coded(y)
        if self.shared.weights is None and not known.all():
            raise ValueError(f"y holds the label {y[~known][0]!r}, which was not there at the first look: it changed.")
        if weights is not None:
            weights = np.where(known, weights, 0.0)
        elif not known.all():
            weights = known.astype(np.float64)
        return self.shared.problems(codes, weights)

    def rows(self, X):
        """The rows that the solver takes: their own features, or those of landmarks."""
        return explicit_rows(X, self.features, most_bytes=self.most_bytes, sdca=True)


@dataclass(frozen=True)
class RoundRequest:
    """What all local solvers are asked to do in a round.

    Attributes
    ----------
    round : int
        Number of the round; a request that does not follow the last one is refused.
    active : ndarray of bool, shape (n_columns,)
        Columns that are still trained.
    model : ndarray of shape (n_state, active columns)
        The common model, from which the local solvers start.
    evaluated : ndarray of the same shape or None
        The model whose losses are wanted; None: the common one.
    step_size : ndarray of shape (n_columns,)
        The fraction of the change of the previous round that the driver has added to the model, from 0 to 1.
    sigma : ndarray of shape (active columns,)
        sigma' of CoCoA+: how many times each local change counts.
    passes : float
        Passes over the worker's rows; 0: losses only.
    seed : int
    """

    round: int
    active: np.ndarray
    model: np.ndarray
    evaluated: np.ndarray | None
    step_size: np.ndarray
    sigma: np.ndarray
    passes: float
    seed: int


@dataclass(frozen=True)
class RoundResult:
    """What a round gives, one number a column; results of several workers are added.

    Attributes
    ----------
    losses : ndarray
        Σ s·loss of the rows at the evaluated model.
    duals, duals_after : ndarray
        Σ of the dual terms before the steps and after them.
    change : ndarray of shape (n_state, active columns)
        How the steps would change the model: Σ change of the dual variable · x / (lam·n).
    change_squares : ndarray of shape (active columns,)
        Σ ||change||² of the single workers.
    steps : ndarray of int
    """

    losses: np.ndarray
    duals: np.ndarray
    duals_after: np.ndarray
    change: np.ndarray
    change_squares: np.ndarray
    steps: np.ndarray

    def __add__(self, other: RoundResult) -> RoundResult:
        return RoundResult(*[getattr(self, each.name) + getattr(other, each.name) for each in fields(RoundResult)])


@dataclass(frozen=True)
class ModelSums:
    """The model that the dual variables stand for, as Σ a·x in float64, and Σ of the dual terms; can be added."""

    sums: np.ndarray
    duals: np.ndarray

    def __add__(self, other: ModelSums) -> ModelSums:
        return ModelSums(self.sums + other.sums, self.duals + other.duals)


# --- what a worker holds ---------------------------------------------------------------------------------------------


class LocalSolver:
    """The rows of one worker and their part of the problem; nothing in it changes, so Dask may store and copy it.

    Parameters
    ----------
    partitions : list of Partition
    plan : Plan
    number : int
        The number of this local solver among all, on which its draws depend.
    """

    def __init__(self, partitions: list[Partition], plan: Plan, number: int = 0):
        self.plan, self.number = plan, number
        X, self.y, self.weights, self.ids, self.explicit = _joined(partitions, plan)
        self.rows = DenseRows(X, plan.features.bias) if self.explicit else plan.rows(X)
        self.explicit |= plan.features.landmarks is not None and isinstance(self.rows, DenseRows)
        self.problems = plan.problems(self.y, self.weights).with_lam(1.0)
        self.n_rows = self.problems.n_rows
        self.job = Job(self.rows, self.problems, Schedule(), Rule.SDCA, plan.loss)
        self.records, self.certifier = self.job.column_records(), Certifier(self.job)
        self.solver = StreamSolver()

    def __sizeof__(self) -> int:
        """Bytes, for Dask to know what a worker holds."""
        return n_bytes(self.rows.X) + self.problems.labelings.nbytes + self.job.weights.nbytes + self.ids.nbytes

    def part(self, index: np.ndarray) -> Partition:
        """Some of the rows, for another worker."""
        weights = None if self.weights is None else self.weights[index]
        return Partition(self.rows.X[index], self.y[index], weights, ids=self.ids[index], explicit=self.explicit)

    def zeros(self) -> np.ndarray:
        """Dual variables before the first round."""
        return np.zeros((self.rows.n_rows, self.plan.n_columns), self.rows.dtype)

    def dual_sums(self, alpha: np.ndarray) -> np.ndarray:
        """Σ of the dual terms of each column."""
        return self.certifier.dual_sums(self.records, alpha)

    def round(self, duals: DualVariables, request: RoundRequest) -> RoundResult:
        """Evaluate the losses that are asked for, then take passes over the rows from the common model."""
        n_columns, n_active = self.plan.n_columns, int(request.active.sum())
        has_rows = self.n_rows > 0  # of each column: a worker may have none of the rows of a pair of classes
        trained, places = request.active & has_rows, has_rows[request.active]
        result = RoundResult(
            np.zeros(n_columns), duals.terms, duals.terms, np.zeros((self.plan.n_state, n_active), self.plan.dtype),
            np.zeros(n_active), np.zeros(n_columns, np.int64),
        )  # fmt: skip
        if not trained.any():
            return result
        evaluated = np.ascontiguousarray((request.model if request.evaluated is None else request.evaluated)[:, places])
        result.losses[trained] = self.certifier.losses(self.records[trained], evaluated)[0]
        if request.passes <= 0:
            return result
        change, steps = self._steps(duals, trained, request.model[:, places], request.sigma[places], request)
        result.change[:, places], result.change_squares[places] = change, np.einsum("ij,ij->j", change, change)
        result.steps[trained] = steps
        return replace(result, duals_after=duals.terms)

    def _steps(self, duals: DualVariables, trained, model, sigma, request: RoundRequest) -> tuple:
        """Passes of the solver over the trained columns: the change of their model, and their steps."""
        per_row = self.plan.shared.per_row[trained]
        problems = self.problems if trained.all() else self.problems.alone(trained)
        problems = problems.with_lam(per_row / (sigma * problems.n_rows))
        alpha = duals.alpha if trained.all() else duals.alpha[:, trained]
        start = State.from_duals(model * (per_row / sigma).astype(model.dtype), alpha, problems.lam)
        seed = seed_of(request.seed, request.round, self.number)
        schedule = Schedule(seed=seed, max_passes=request.passes, average=False, certified=False)
        job = replace(self.job, problems=problems, schedule=schedule)
        after = self.solver.state_after(job, start)
        duals.update(trained, after.alpha)
        duals.terms = self.dual_sums(duals.alpha)
        return (after.sums.astype(np.float64) - start.sums) / per_row, after.columns["steps"]

    def model_sums(self, duals: DualVariables) -> ModelSums:
        """The model of the dual variables by one pass over the rows in float64, free of the rounding of the rounds."""
        rows, total = self.rows, np.zeros((self.plan.n_state, self.plan.n_columns))
        for block in rows.blocks():
            rows.add(block, np.ascontiguousarray(duals.alpha[block.rows].T, np.float64), total)
        return ModelSums(total, duals.terms)


class DualVariables:
    """The dual variables of the rows of one local solver.

    The change of the last round counts in full until the next request says which part of it the driver has added to
    the model; the values before it are kept until then.
    """

    def __init__(self, local: LocalSolver, alpha: np.ndarray | None = None):
        self.alpha = local.zeros() if alpha is None else alpha
        self.previous: np.ndarray | None = None
        self.terms = local.dual_sums(self.alpha)
        self.round = 0
        self.last_used = time.monotonic()

    def update(self, columns: np.ndarray, alpha: np.ndarray) -> None:
        """Take new values of some columns, and keep the values before."""
        self.previous = self.alpha
        if columns.all():
            self.alpha = alpha.astype(self.previous.dtype, copy=False)
        else:
            self.alpha = self.previous.copy()
            self.alpha[:, columns] = alpha

    def apply_step_size(self, local: LocalSolver, step_size: np.ndarray) -> None:
        """Reduce the last change to these fractions of it, one a column."""
        if self.previous is not None and (step_size != 1.0).any():
            self.alpha = self.reduced(step_size)
            self.terms = local.dual_sums(self.alpha)
        self.previous = None

    def reduced(self, step_size: np.ndarray) -> np.ndarray:
        """The dual variables with these fractions of the last change."""
        if self.previous is None or (step_size == 1.0).all():
            return self.alpha
        alpha = self.alpha.copy()
        for column in np.flatnonzero(step_size != 1.0):
            before = self.previous[:, column]
            fraction = step_size[column].astype(before.dtype)
            alpha[:, column] = before + fraction * (alpha[:, column] - before)
        return alpha


def seed_of(seed: int, round: int, number: int) -> int:
    """The seed of one local solver in one round."""
    return int(np.random.SeedSequence([seed, round, number]).generate_state(1)[0])


def _joined(partitions: list[Partition], plan: Plan) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray, bool]:
    """All rows of a worker with their targets, weights and ids, and whether they are features by landmarks already.

    The rows of a single partition are not copied.
    """
    partitions = [part for part in partitions if part.n_rows]
    explicit = any(part.explicit for part in partitions)
    landmarks = plan.features.landmarks
    blocks: list[Any] = [
        landmarks.features(part.X.astype(plan.dtype, copy=False)) if explicit and not part.explicit else part.X
        for part in partitions
    ]
    if len(blocks) == 1:
        X = blocks[0]
    elif any(sparse.issparse(block) for block in blocks):
        X = sparse.vstack(blocks, format="csr")
    else:
        X = np.concatenate(blocks)
    y, ids = (np.concatenate(each) for each in zip(*[(part.y, part.row_ids()) for part in partitions]))
    weights = [part.weights for part in partitions if part.weights is not None]
    return X.astype(plan.dtype, copy=False), y, np.concatenate(weights) if weights else None, ids, explicit


# --- tasks of a worker: each takes a local solver, the key of its dual variables, and most a request -----------------

_dual_variables: dict[Any, DualVariables] = {}


def begin(local: LocalSolver, key: Any, request: None = None) -> int:
    """Start with dual variables of 0; gives the number of rows."""
    now = time.monotonic()
    for old in [old for old, duals in _dual_variables.items() if now - duals.last_used > EXPIRES_AFTER]:
        del _dual_variables[old]
    hold(key, DualVariables(local), 0)
    return local.rows.n_rows


def hold(key: Any, duals: DualVariables, round: int) -> None:
    """Keep dual variables under a key; the next round is the one after `round`."""
    duals.round = round
    _dual_variables[key] = duals


def held(key: Any) -> DualVariables | None:
    """The dual variables of a key, if they are here."""
    return _dual_variables.get(key)


def run_round(local: LocalSolver, key: Any, request: RoundRequest) -> RoundResult | None:
    """One round; None if the dual variables are gone, or are not those of the round before."""
    duals = _dual_variables.get(key)
    if duals is None or duals.round != request.round - 1:
        return None
    duals.last_used = time.monotonic()
    duals.apply_step_size(local, request.step_size)
    result = local.round(duals, request)
    duals.round = request.round
    return result


def sum_model(local: LocalSolver, key: Any, request: RoundRequest) -> ModelSums | None:
    """The model of the dual variables as they are; the next round is the one after the request's."""
    duals = _dual_variables.get(key)
    if duals is None:
        return None
    duals.last_used = time.monotonic()
    duals.apply_step_size(local, request.step_size)
    duals.round = request.round
    return local.model_sums(duals)


def forget(beginning: tuple) -> None:
    """Drop the dual variables whose keys begin so: those of a fit by its token, or of one local solver by its key."""
    for key in [key for key in _dual_variables if key[: len(beginning)] == beginning]:
        del _dual_variables[key]
