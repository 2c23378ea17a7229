"""The columns of a search: those of one fold at one lam, the steps at which cells are read off, and batches of them.

Cells of the same fold and lam that differ in the number of steps only share their columns: the model of the shorter one
is read off on the way to the end of the longer one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pegasos.estimators import devices, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.recipe import EncodedTargets, Recipe
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.training import placed
from pegasos.kernels import Kernel, kernel_class
from pegasos.kernels.nystroem import Landmarks
from pegasos.problem.columns import Problems, side_by_side
from pegasos.problem.schedule import Schedule, average_of
from pegasos.rows import Rows
from pegasos.rules.column import Average, Rule
from pegasos.search.grouping import same
from pegasos.search.kernel_cache import KernelCache
from pegasos.search.results import Fold
from pegasos.solver.gram import MOST_ROWS, takes_gram_solver
from pegasos.utils.arrays import to_device_of, to_host

TARGET_PARAMETERS = ("multi_class", "class_weight", "epsilon", "fit_intercept", "loss")  # ... and linear or not


class SearchData:
    """Checked rows, targets and weights, and what is computed of them once for all cells.

    Parameters
    ----------
    X, y, weights
    input_attributes : dict
        What checking these rows leaves on an estimator, such as ``n_features_in_``.
    pairwise : bool
        Whether X is a kernel matrix.
    in_pipeline : callable, optional
        Where the rows were transformed: makes the user's pipeline of its fitted last step.
    """

    def __init__(
        self, X, y: np.ndarray, weights, input_attributes: dict, *, pairwise=False, in_pipeline: Callable | None = None
    ):
        self.X, self.y, self.weights = X, y, weights
        self.input_attributes, self.pairwise, self.in_pipeline = input_attributes, pairwise, in_pipeline
        self._kernel_caches: dict[tuple[bool, ...], KernelCache] = {}  # by device
        self._targets: list[tuple[Fold, dict, EncodedTargets]] = []

    def kernel_cache(self, estimator: PegasosBase, multiplications: float) -> KernelCache:
        """Kernel matrices of the rows, on the device that an estimator computes on; those of others are freed."""
        device = devices.place_of(estimator, self.X, multiplications)
        for other, cache in self._kernel_caches.items():
            if other != device:
                cache.clear()
        if device not in self._kernel_caches:
            self._kernel_caches[device] = KernelCache(placed(estimator, self.X, multiplications))
        return self._kernel_caches[device]

    def clear_kernel_caches(self) -> None:
        """Free all kernel matrices."""
        for cache in self._kernel_caches.values():
            cache.clear()

    @cached_property
    def X_on_host(self):
        """The rows on the host."""
        return to_host(self.X)

    def targets(self, estimator: PegasosBase, rows: FoldRows, weights) -> EncodedTargets:
        """A fold's targets as an estimator encodes them, once for all that encode them alike."""
        asked = {name: getattr(estimator, name, None) for name in TARGET_PARAMETERS}
        asked |= {"kind": type(estimator), "explicit": estimator.kernel == "linear"}
        for fold, before, targets in self._targets:
            if fold is rows.fold and same(before, asked):
                return targets
        targets = recipe_of(estimator).encoded(self.y[rows.train], weights, self.X.dtype)
        self._targets.append((rows.fold, asked, targets))
        return targets

    def take(self, rows: np.ndarray) -> SearchData:
        """Some of the rows, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return SearchData(
            self.take_X(rows), self.y[rows], weights, self.input_attributes,
            pairwise=self.pairwise, in_pipeline=self.in_pipeline,
        )  # fmt: skip

    def take_X(self, rows: np.ndarray):
        """Some of the rows of X; of a kernel matrix the columns of these rows only."""
        index = to_device_of(rows, self.X)
        return self.X[index][:, index] if self.pairwise else self.X[index]

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Weights of some rows; an error if all are 0."""
        return None if self.weights is None else validation.check_weights(self.weights[rows], self.y[rows])


@dataclass(frozen=True)
class FoldRows:
    """A fold and the places of its rows among those of a `SearchData`.

    Attributes
    ----------
    fold : Fold
    train, test : ndarray of int
    counts : ndarray of int or None
        How often each training row is in the fold, where rows repeat: a weight.
    repeated : ndarray of int or None
        The training rows as the fold has them, where rows repeat.
    """

    fold: Fold
    train: np.ndarray
    test: np.ndarray
    counts: np.ndarray | None = None
    repeated: np.ndarray | None = None

    @property
    def scored(self) -> dict[str, np.ndarray]:
        """The rows that scores of "train" and "test" are of."""
        return {"train": self.train if self.repeated is None else self.repeated, "test": self.test}

    def with_counts(self) -> FoldRows:
        """The same fold with each row once, and its count."""
        rows, counts = np.unique(self.train, return_counts=True)
        return FoldRows(self.fold, rows, self.test, counts, self.train)


@dataclass
class LamColumns:
    """Columns of one fold at one lam, and the cells that are read off on them."""

    of_fold: FoldColumns
    lam: np.ndarray
    read_points: list[tuple[int, np.ndarray]] = field(default_factory=list)  # candidate, steps of each column

    @property
    def n_columns(self) -> int:
        """How many columns there are: one per class, pair of classes or target."""
        return len(self.lam)

    @property
    def fold(self) -> Fold:
        """The fold that they are trained on."""
        return self.of_fold.rows.fold

    @property
    def cells(self) -> list[tuple[int, Fold]]:
        """Candidates and fold."""
        return [(candidate, self.fold) for candidate, _ in self.read_points]


@dataclass
class FoldColumns:
    """All columns of one fold for candidates that share runs, and the kernel they have on its rows."""

    rows: FoldRows
    targets: EncodedTargets
    kernel: Kernel
    schedule: Schedule
    landmarks: Landmarks | None = None
    by_lam: dict[bytes, LamColumns] = field(default_factory=dict)
    _lams: dict[tuple, np.ndarray] = field(default_factory=dict)

    def add(self, candidate: int, estimator: PegasosBase, schedule: Schedule, dtype) -> None:
        """Put a candidate on the columns of its lam; an error if it cannot be trained on this fold."""
        lam = self._lam_of(estimator, dtype)
        steps = schedule.steps(self.n_rows)
        key = lam.tobytes()
        rule = recipe_of(estimator).rule
        if rule != Rule.SDCA and average_of(rule, estimator.average) == Average.WINDOW:
            key += steps.tobytes()  # where the windows of this average lie depends on the end
        self.by_lam.setdefault(key, LamColumns(self, lam)).read_points.append((candidate, steps))

    @cached_property
    def n_rows(self) -> np.ndarray:
        """Rows of each column."""
        return self.targets.problems.n_rows

    def _lam_of(self, estimator: PegasosBase, dtype) -> np.ndarray:
        """lam of each column, which candidates that differ in their steps share."""
        given = (estimator.lam, estimator.C, estimator.batch_size)
        if given not in self._lams:
            problems = recipe_of(estimator).regularised(self.targets.problems)
            validation.check_regularisation(problems, dtype)
            validation.check_batch(estimator.batch_size, problems)
            self._lams[given] = problems.lam
        return self._lams[given]


def fold_columns(estimator: PegasosBase, data: SearchData, rows: FoldRows) -> FoldColumns:
    """The columns of a fold, no candidate on them yet; an error if the fold cannot be trained on."""
    if not rows.train.size:
        raise ValueError(f"Fold {rows.fold.number} has no rows to train on.")
    weights = data.weights_of(rows.train)
    if rows.counts is not None:
        weights = rows.counts * (1.0 if weights is None else weights)
    targets = data.targets(estimator, rows, weights)
    gamma_by_rows = estimator.gamma == "scale" and kernel_class(estimator.kernel).uses("gamma")
    X = data.X[to_device_of(rows.train, data.X)] if gamma_by_rows else data.X
    recipe = recipe_of(estimator)
    kernel, schedule = recipe.kernel(X, weights), recipe.schedule()
    used = rows.train if weights is None else rows.train[targets.problems.row_sets.any(axis=1)]
    landmarks = recipe.landmarks(data.X_on_host, kernel, schedule.seed, used)
    return FoldColumns(rows, targets, kernel, schedule, landmarks)


def method_of(recipe: Recipe, rows: Rows, problems: Problems, *, in_stream: bool = False) -> str:
    """The `Job.method` for the columns of many fits: over few rows they stream by the kernel matrix."""
    if recipe.begins_anew and not in_stream and takes_gram_solver(rows, recipe.loss):
        return "gram"
    return recipe.method(rows, problems, in_stream)


def takes_rows_one_by_one(recipe: Recipe, X, *, in_stream: bool = False) -> bool:
    """Whether the columns of many fits are solved by an active set: those over few rows stream by their matrix."""
    if recipe.begins_anew and X.shape[0] <= MOST_ROWS and not recipe.loss.grouped:
        return False
    return recipe.by_row(X, in_stream=in_stream)


def column_batches(columns: list[LamColumns], n_batches: int) -> list[list[LamColumns]]:
    """Cut columns into batches of about the same size; those of one fold and lam stay together."""
    return [[columns[i] for i in part] for part in split_evenly([each.n_columns for each in columns], n_batches)]


def split_evenly(sizes: list[int], n_parts: int) -> list[np.ndarray]:
    """Places of neighbours in at most so many parts of about the same size."""
    ends = np.cumsum(sizes)
    middles = ends - np.diff(ends, prepend=0) / 2
    parts = np.minimum((middles * n_parts / ends[-1]).astype(int), n_parts - 1)
    return [np.flatnonzero(parts == part) for part in np.unique(parts)]


def problem_of(batch: list[LamColumns], folds: list[FoldColumns], n_rows: int) -> Problems:
    """One problem of all columns of a batch, in their order.

    The rows of all `folds` are in it, also of those without a column in the batch: draws are of all rows, and would
    differ with the memory that decides about batches.
    """
    of_all = side_by_side([fold.targets.problems.among(fold.rows.train, n_rows) for fold in folds])
    ends = np.cumsum([0, *(fold.targets.problems.n_columns for fold in folds)])
    columns = {id(fold): of_all.columns[ends[i] : ends[i + 1]] for i, fold in enumerate(folds)}
    return replace(
        of_all,
        columns=np.vstack([columns[id(each.of_fold)] for each in batch]),
        lam=np.concatenate([each.lam for each in batch]),
    )


def read_points_of(batch: list[LamColumns]) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the read points of each column, rising, shape (columns, points), and their numbers.

    A number is the place in `LamColumns.read_points`; columns with fewer points than others repeat the last, as -1.
    """
    most = max(len(each.read_points) for each in batch)
    steps, numbers = [], []
    for each in batch:
        own = np.array([of_columns for _, of_columns in each.read_points]).T
        order = np.argsort(own, axis=1, kind="stable")
        spare = ((0, 0), (0, most - own.shape[1]))
        own = np.take_along_axis(own, order, axis=1)
        if own.shape[1] < most:
            own, order = np.pad(own, spare, mode="edge"), np.pad(order, spare, constant_values=-1)
        steps.append(own)
        numbers.append(order)
    return np.vstack(steps), np.vstack(numbers)
