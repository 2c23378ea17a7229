"""Lanes: the columns of one fold at one lam. Cells that differ in the number of steps only are stops on one lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pegasos.estimators import devices, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.recipe import EncodedTargets
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import Kernel, kernel_class
from pegasos.kernels.nystroem import Landmarks
from pegasos.problem.columns import Problems, side_by_side
from pegasos.problem.schedule import Schedule, average_of
from pegasos.rules.column import Average, Rule
from pegasos.search.grouping import same
from pegasos.search.kernel_cache import Matrices
from pegasos.search.results import Fold
from pegasos.utils.arrays import to_device_of, to_host

DECIDE_TASKS = ("multi_class", "class_weight", "epsilon", "fit_intercept", "loss")  # ... and linear or not


class Data:
    """Checked rows, targets and weights, and what is computed of them once for all cells."""

    def __init__(self, X, y: np.ndarray, weights, about: dict, *, pairwise=False, wrap: Callable | None = None):
        self.X, self.y, self.weights = X, y, weights
        self.about = about  # attributes that a fit on these rows would leave on an estimator
        self.pairwise = pairwise  # X is a kernel matrix
        self.wrap = wrap  # makes an estimator of these rows one of the user's rows, of which these were made
        self._places: dict[tuple[bool, ...], Matrices] = {}
        self._tasks: list[tuple[Fold, dict, EncodedTargets]] = []

    def placed(self, estimator: PegasosBase, multiplications: float) -> Matrices:
        """The rows where an estimator wants to work, once for all that work there, and their kernel matrices."""
        place = devices.place_of(estimator, self.X, multiplications)
        for other, matrices in self._places.items():
            if other != place:
                matrices.forget()
        if place not in self._places:
            there = devices.placed(estimator, self.X, multiplications)
            self._places[place] = Matrices(there, self.X if hasattr(self.X, "indptr") else there)
        return self._places[place]

    @cached_property
    def host(self):
        """The rows on the host."""
        return to_host(self.X)

    def task_of(self, estimator: PegasosBase, place: Place, weights) -> EncodedTargets:
        """What an estimator makes of a fold's targets, once for all that make the same of them."""
        asked = {name: getattr(estimator, name, None) for name in DECIDE_TASKS}
        asked |= {"kind": type(estimator), "explicit": estimator.kernel == "linear"}
        for fold, before, task in self._tasks:
            if fold is place.fold and same(before, asked):
                return task
        task = recipe_of(estimator).encoded(self.y[place.train], weights, self.X.dtype)
        self._tasks.append((place.fold, asked, task))
        return task

    def forget(self) -> None:
        """Keep no kernel matrix."""
        for matrices in self._places.values():
            matrices.forget()

    def only(self, rows: np.ndarray) -> Data:
        """Some of the rows, in this order."""
        there = to_device_of(rows, self.X)
        X = self.X[there][:, there] if self.pairwise else self.X[there]
        weights = None if self.weights is None else self.weights[rows]
        return Data(X, self.y[rows], weights, self.about, pairwise=self.pairwise, wrap=self.wrap)

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Weights of some rows; an error if all are 0."""
        return None if self.weights is None else validation.check_weights(self.weights[rows], self.y[rows])


@dataclass(frozen=True)
class Place:
    """A fold and where its rows are among those of the data."""

    fold: Fold
    train: np.ndarray
    test: np.ndarray


@dataclass
class Lane:
    """Columns of one fold at one lam, and the cells that stop on them."""

    strand: Strand
    lam: np.ndarray
    stops: list[tuple[int, np.ndarray]] = field(default_factory=list)  # candidate, steps of each column

    @property
    def cells(self) -> list[tuple[int, Fold]]:
        """Candidates and fold."""
        return [(candidate, self.strand.place.fold) for candidate, _ in self.stops]


@dataclass
class Strand:
    """A fold as the candidates of one group see it: their kernel on its rows, and its columns."""

    place: Place
    task: EncodedTargets
    kernel: Kernel
    schedule: Schedule
    landmarks: Landmarks | None = None
    lanes: dict[bytes, Lane] = field(default_factory=dict)
    _lams: dict[tuple, np.ndarray] = field(default_factory=dict)

    def add(self, candidate: int, estimator: PegasosBase, schedule: Schedule, dtype) -> None:
        """Put a candidate and its schedule on its lane; an error if it cannot be trained on this fold."""
        lam = self._lam_of(estimator, dtype)
        steps = schedule.steps(self.n_rows)
        key = lam.tobytes()
        rule = recipe_of(estimator).rule
        if rule != Rule.SDCA and average_of(rule, estimator.average) == Average.WINDOW:
            key += steps.tobytes()  # where the windows of this average lie depends on the end
        lane = self.lanes.setdefault(key, Lane(self, lam))
        lane.stops.append((candidate, steps))

    @cached_property
    def n_rows(self) -> np.ndarray:
        """Rows of each column."""
        return self.task.problems.n_rows

    def _lam_of(self, estimator: PegasosBase, dtype) -> np.ndarray:
        """lam of each column, which candidates that differ in their steps share."""
        given = (estimator.lam, estimator.C, estimator.batch_size)
        if given not in self._lams:
            problems = recipe_of(estimator).regularised(self.task.problems)
            validation.check_regularisation(problems, dtype)
            validation.check_batch(estimator.batch_size, problems)
            self._lams[given] = problems.lam
        return self._lams[given]


def strand_of(estimator: PegasosBase, data: Data, place: Place) -> Strand:
    """The columns of a fold; an error if there are none."""
    if not place.train.size:
        raise ValueError(f"Fold {place.fold.number} has no rows to train on.")
    weights = data.weights_of(place.train)
    task = data.task_of(estimator, place, weights)
    by_rows = estimator.gamma == "scale" and kernel_class(estimator.kernel).uses("gamma")
    X = data.X[to_device_of(place.train, data.X)] if by_rows else data.X
    recipe = recipe_of(estimator)
    kernel, schedule = recipe.kernel(X, weights), recipe.schedule()
    used = place.train if weights is None else place.train[task.problems.row_sets.any(axis=1)]
    return Strand(place, task, kernel, schedule, recipe.landmarks(data.host, kernel, schedule.seed, used))


def slabs(lanes: list[Lane], n_slabs: int) -> list[list[Lane]]:
    """Cut a list of lanes into parts of about as many columns; a lane is never cut."""
    return [[lanes[i] for i in part] for part in evenly([len(lane.lam) for lane in lanes], n_slabs)]


def evenly(sizes: list[int], n_parts: int) -> list[np.ndarray]:
    """Places of neighbours in at most so many parts of about the same size."""
    ends = np.cumsum(sizes)
    middles = ends - np.diff(ends, prepend=0) / 2
    parts = np.minimum((middles * n_parts / ends[-1]).astype(int), n_parts - 1)
    return [np.flatnonzero(parts == part) for part in np.unique(parts)]


def columns_of(slab: list[Lane], strands: list[Strand], n_rows: int) -> Problems:
    """The wide problem of a slab, its columns lane after lane.

    The rows of all `strands` are there, also of those without a lane in the slab: draws are of all rows, and would
    differ with the memory that decides about slabs.
    """
    wide = side_by_side([strand.task.problems.among(strand.place.train, n_rows) for strand in strands])
    ends = np.cumsum([0, *(strand.task.problems.n_columns for strand in strands)])
    columns = {id(strand): wide.columns[ends[i] : ends[i + 1]] for i, strand in enumerate(strands)}
    return replace(
        wide,
        columns=np.vstack([columns[id(lane.strand)] for lane in slab]),
        lam=np.concatenate([lane.lam for lane in slab]),
    )


def stops_of(slab: list[Lane]) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the stops of each column, rising, shape (columns, stops), and whose they are: their place on the lane.

    Lanes with fewer stops repeat the last, as no one's (-1).
    """
    most = max(len(lane.stops) for lane in slab)
    steps, owners = [], []
    for lane in slab:
        own = np.array([stop for _, stop in lane.stops]).T
        order = np.argsort(own, axis=1, kind="stable")
        spare = ((0, 0), (0, most - own.shape[1]))
        own = np.take_along_axis(own, order, axis=1)
        if own.shape[1] < most:
            own, order = np.pad(own, spare, mode="edge"), np.pad(order, spare, constant_values=-1)
        steps.append(own)
        owners.append(order)
    return np.vstack(steps), np.vstack(owners)
