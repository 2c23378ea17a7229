"""Workers: whatever holds the partitions of a fit and runs its local solvers.

The rounds (`cocoa`) are written once, over the protocol `Workers`: `ThreadWorkers` are threads of this process,
`dask_workers.ClientWorkers` the workers of a Dask cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, Protocol
from uuid import uuid4

import dask
import numpy as np

from pegasos.backends.threads import blas_threads, share_out
from pegasos.distributed import exchange, local_solver
from pegasos.distributed.exchange import DealRequest, groups_of, worth_dealing
from pegasos.distributed.local_solver import LocalSolver, Plan

MOST_UNEVEN = 1.25  # times the mean number of rows that a worker may have before partitions are moved


class WorkersLost(Exception):
    """Workers are gone, and with them the dual variables of their rows."""


class Interrupted(Exception):
    """Ctrl-C, while the workers were busy."""


class Workers(Protocol):
    """What holds the partitions of a fit and runs its local solvers."""

    n_blocks: int  # into how many partitions rows in memory are cut

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""

    @property
    def n_solvers(self) -> int:
        """Number of local solvers."""

    def load(self, partitions: list) -> None:
        """Compute the delayed partitions, and keep them where they are computed."""

    def map_partitions(self, function: Callable, arguments: list[tuple]) -> list:
        """``function(partition, *arguments[i])`` for each partition."""

    def place(self, plan: Plan, sizes: list[int]) -> None:
        """Make the local solvers; `sizes` are the rows of the partitions."""

    def total(self, function: Callable, request: Any, stop: Callable[[], bool]) -> Any:
        """The sum of ``function(local, key, request)`` over all local solvers.

        Raises WorkersLost where one of them is gone, and Interrupted once ``stop()`` is true.
        """

    def recover(self) -> None:
        """Make lost local solvers again; their dual variables start at 0."""

    def deal(self, request: DealRequest, stop: Callable[[], bool]) -> bool:
        """Deal out the rows anew, with their dual variables; False: there are too few. Raises as `total` does."""

    def export(self, step_size: np.ndarray, stop: Callable[[], bool]) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all rows, and their dual variables with these fractions of the last change."""

    def restore(self, ids: np.ndarray, alpha: np.ndarray, round: int) -> int:
        """Take dual variables that an earlier fit has exported; gives the number of rows found."""

    def close(self) -> None:
        """Drop rows and dual variables."""


class ThreadWorkers:
    """Local solvers in this process, one a thread; Dask's own scheduler computes the partitions.

    Parameters
    ----------
    n_solvers : int, optional
        Local solvers; None: as many as BLAS uses threads. There are never more than partitions.
    """

    def __init__(self, n_solvers: int | None = None):
        self.token = uuid4().hex
        self.n_blocks = blas_threads() if n_solvers is None else n_solvers
        self.partitions: list = []
        self.solvers: list[LocalSolver] = []

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.partitions)

    @property
    def n_solvers(self) -> int:
        """Number of local solvers."""
        return len(self.solvers)

    def load(self, partitions) -> None:
        """Compute the partitions."""
        self.partitions = list(dask.compute(*partitions))

    def map_partitions(self, function, arguments):
        """A function of each partition."""
        return _in_threads(lambda i: function(self.partitions[i], *arguments[i]), self.n_partitions)

    def place(self, plan, sizes) -> None:
        """A group of adjacent partitions for each local solver, about as many rows in each group."""
        groups = adjacent_groups(sizes, self.n_blocks)
        self.solvers = [LocalSolver([self.partitions[i] for i in group], plan, n) for n, group in enumerate(groups)]
        self.partitions = []
        for number, solver in enumerate(self.solvers):
            local_solver.begin(solver, (self.token, number))

    def total(self, function, request, stop):
        """The sum over all local solvers, which run at the same time."""
        return reduce(add, _in_threads(lambda i: function(self.solvers[i], (self.token, i), request), self.n_solvers))

    def recover(self) -> None:
        """Nothing: threads are not lost."""

    def deal(self, request, stop):
        """Cut the rows of all local solvers, and join the parts to new ones."""
        if not worth_dealing([solver.rows.n_rows for solver in self.solvers]):
            return False
        plan = self.solvers[0].plan
        for group in groups_of(self.n_solvers, request.seed):
            cuts = [exchange.cut(self.solvers[n], (self.token, n), request, len(group)) for n in group]
            assert None not in cuts
            for place, n in enumerate(group):
                parts = [exchange.part_of(each, place) for each in cuts]
                solver = exchange.joined(plan, n, *parts)
                assert solver is not None
                self.solvers[n] = solver
                exchange.adopt(solver, (self.token, n), request, *parts)
        return True

    def export(self, step_size, stop):
        """The dual variables of all local solvers, one after the other."""
        found = [exchange.export(solver, (self.token, n), step_size) for n, solver in enumerate(self.solvers)]
        ids, alpha = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(alpha)

    def restore(self, ids, alpha, round):
        """Give each local solver those of its rows."""
        each = enumerate(self.solvers)
        return sum(exchange.restore(solver, (self.token, n), round, (ids, alpha)) for n, solver in each)

    def close(self) -> None:
        """Drop rows and dual variables."""
        local_solver.forget((self.token,))
        self.solvers, self.partitions = [], []


def _in_threads(call: Callable[[int], Any], count: int) -> list:
    """Results of ``call(0)``, ``call(1)``, ..., made in threads."""
    results: list = [None] * count

    def run(number):
        results[number] = call(number)

    share_out(run, range(count))
    return results


def adjacent_groups(sizes: list[int], n_groups: int) -> list[list[int]]:
    """Partitions that hold rows, in at most `n_groups` groups of adjacent ones with about as many rows each."""
    filled = [number for number, size in enumerate(sizes) if size]
    ends = np.cumsum([sizes[number] for number in filled])
    n_groups = min(n_groups, len(filled))
    cuts = [0]
    for group in range(1, n_groups):
        nearest = int(np.abs(ends - ends[-1] * group / n_groups).argmin()) + 1
        cuts.append(min(max(nearest, cuts[-1] + 1), len(filled) - n_groups + group))  # no group is empty
    return [filled[first:last] for first, last in zip(cuts, [*cuts[1:], len(filled)])]


def balanced_placement(holders: list, sizes: list[int], workers: list) -> list:
    """The worker of each partition: the one that holds it, unless some worker has many more rows than others.

    The smallest partition of the fullest worker moves to the emptiest one as long as that makes the fullest less full.
    """
    placement = [holder if holder in workers else None for holder in holders]
    loads = dict.fromkeys(workers, 0)
    for worker, size in zip(placement, sizes):
        if worker is not None:
            loads[worker] += size
    for number, worker in enumerate(placement):
        if worker is None:
            placement[number] = min(workers, key=lambda worker: loads[worker])
            loads[placement[number]] += sizes[number]
    while True:
        full, empty = max(workers, key=lambda worker: loads[worker]), min(workers, key=lambda worker: loads[worker])
        own = [number for number, worker in enumerate(placement) if worker == full and sizes[number]]
        if not own or loads[full] * len(workers) <= MOST_UNEVEN * sum(sizes):
            return placement
        number = min(own, key=lambda number: sizes[number])
        if loads[empty] + sizes[number] >= loads[full]:
            return placement
        placement[number] = empty
        loads[full] -= sizes[number]
        loads[empty] += sizes[number]
