"""Who does the work: local solvers that hold their rows, and one question at a time for all of them.

The rounds are written once, over what is here: `ThreadWorkers` in this process, `cluster.ClientWorkers` on a cluster.
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
from pegasos.distributed import local_solver
from pegasos.distributed.local_solver import Local
from pegasos.distributed.plan import Plan

UNEVEN = 1.25  # times the mean number of rows that a worker may have before partitions are moved


class WorkersLost(Exception):
    """Workers are gone, and with them the coefficients of their rows."""


class Interrupted(Exception):
    """Ctrl-C, while the workers were busy."""


class Workers(Protocol):
    """What the rounds ask for."""

    @property
    def n_solvers(self) -> int:
        """Number of local solvers."""

    def load(self, takes: list) -> None:
        """Have the delayed partitions computed, and keep them where they are."""

    def over_parts(self, function: Callable, given: list[tuple]) -> list:
        """``function(part, *given[i])`` of each partition."""

    def place(self, plan: Plan, sizes: list[int]) -> None:
        """Make the local solvers, of partitions that have so many rows."""

    def total(self, function: Callable, order: Any, stop: Callable[[], bool]) -> Any:
        """Σ ``function(local, key, order)`` over all local solvers; raises WorkersLost, or Interrupted if told to."""

    def recover(self) -> None:
        """Make the local solvers again that were lost; their coefficients begin anew."""

    def close(self) -> None:
        """Let all go."""


class ThreadWorkers:
    """Local solvers in this process, one a thread; Dask's own scheduler computes the partitions.

    Parameters
    ----------
    n_solvers : int, optional
        Local solvers; None: as many as BLAS uses threads. There are never more than partitions.
    """

    def __init__(self, n_solvers: int | None = None):
        self.token = uuid4().hex
        self.wanted = blas_threads() if n_solvers is None else n_solvers
        self.parts: list = []
        self.solvers: list[Local] = []

    @property
    def n_solvers(self) -> int:
        """Number of local solvers."""
        return len(self.solvers)

    def load(self, takes) -> None:
        """Compute the partitions."""
        self.parts = list(dask.compute(*takes))

    def over_parts(self, function, given):
        """A function of each partition."""
        found: list = [None] * len(self.parts)

        def ask(number):
            found[number] = function(self.parts[number], *given[number])

        share_out(ask, range(len(self.parts)))
        return found

    def place(self, plan, sizes) -> None:
        """Neighbouring partitions, about as many rows for each local solver."""
        groups = neighbours(sizes, self.wanted)
        self.solvers = [Local([self.parts[i] for i in group], plan, n) for n, group in enumerate(groups)]
        self.parts = []
        for number, solver in enumerate(self.solvers):
            local_solver.begin(solver, (self.token, number))

    def total(self, function, order, stop):
        """The sum over all local solvers, side by side."""
        found: list = [None] * self.n_solvers

        def ask(number):
            found[number] = function(self.solvers[number], (self.token, number), order)

        share_out(ask, range(self.n_solvers))
        return reduce(add, found)

    def recover(self) -> None:
        """Nothing is ever lost here."""

    def close(self) -> None:
        """Let the rows and their coefficients go."""
        local_solver.forget(self.token)
        self.solvers, self.parts = [], []


def neighbours(sizes: list[int], n_groups: int) -> list[list[int]]:
    """Partitions that hold rows, in at most `n_groups` groups of neighbours with about as many rows each."""
    filled = [number for number, size in enumerate(sizes) if size]
    ends = np.cumsum([sizes[number] for number in filled])
    n_groups = min(n_groups, len(filled))
    cuts = [0]
    for group in range(1, n_groups):
        nearest = int(np.abs(ends - ends[-1] * group / n_groups).argmin()) + 1
        cuts.append(min(max(nearest, cuts[-1] + 1), len(filled) - n_groups + group))  # no group is empty
    return [filled[first:last] for first, last in zip(cuts, [*cuts[1:], len(filled)])]


def evened(homes: list, sizes: list[int], workers: list) -> list:
    """The worker of each partition: where it is, unless some worker has many more rows than others.

    The smallest partition of the fullest worker moves to the emptiest one as long as that makes the fullest less full.
    """
    homes = [home if home in workers else None for home in homes]
    loads = dict.fromkeys(workers, 0)
    for home, size in zip(homes, sizes):
        if home is not None:
            loads[home] += size
    for number, home in enumerate(homes):
        if home is None:
            homes[number] = min(workers, key=lambda worker: loads[worker])
            loads[homes[number]] += sizes[number]
    while True:
        full, empty = max(workers, key=lambda worker: loads[worker]), min(workers, key=lambda worker: loads[worker])
        own = [number for number, home in enumerate(homes) if home == full and sizes[number]]
        if not own or loads[full] * len(workers) <= UNEVEN * sum(sizes):
            return homes
        number = min(own, key=lambda number: sizes[number])
        if loads[empty] + sizes[number] >= loads[full]:
            return homes
        homes[number] = empty
        loads[full] -= sizes[number]
        loads[empty] += sizes[number]
