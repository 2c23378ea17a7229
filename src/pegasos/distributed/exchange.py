"""Rows that change workers, with their dual variables.

CoCoA+ is slow where the rows of workers differ, and has a slow tail even where they do not: what the rows of one worker
want in common (a little more weight for one class) costs as much as if all workers wanted it, so dual weight moves from
one worker to another in tiny steps. Within a worker it moves at once. So rows are dealt out anew, at random: before the
first round where partitions look different, and later where rounds have become slow.

Each worker cuts its rows into as many parts as there are workers in its group, and each takes its part of all. Groups
have at most `MOST_IN_GROUP` workers, which bounds the number of messages; each time they are drawn anew.
A worker needs room for its rows, the parts of it, and those that it takes: three times its rows for a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.distributed import local_solver
from pegasos.distributed.local_solver import DualVariables, LocalSolver, Plan
from pegasos.distributed.partitions import Partition

MOST_IN_GROUP = 16
LEAST_ROWS = 4  # of a worker for each worker of its group: fewer are not worth dealing out


@dataclass(frozen=True)
class DealRequest:
    """How rows are dealt out.

    Attributes
    ----------
    round : int
        Number of the last request for a round.
    step_size : ndarray of shape (n_columns,)
        As in `RoundRequest`, of the last round.
    seed : int
    """

    round: int
    step_size: np.ndarray
    seed: int


Part = tuple[Partition, np.ndarray]  # rows, and their dual variables (n, columns)


def groups_of(n_solvers: int, seed: int) -> list[list[int]]:
    """The local solvers in random groups of about the same size, none larger than `MOST_IN_GROUP`."""
    order = np.random.default_rng(seed).permutation(n_solvers)
    return [sorted(group.tolist()) for group in np.array_split(order, -(-n_solvers // MOST_IN_GROUP))]


def times_to_mix(n_solvers: int) -> int:
    """How often rows are dealt out until those of any worker may be on any other."""
    times, reached = 1, MOST_IN_GROUP
    while reached < n_solvers:
        times, reached = times + 1, reached * MOST_IN_GROUP
    return times


def worth_dealing(n_rows: list[int]) -> bool:
    """Whether there are several workers, and enough rows on each."""
    return len(n_rows) > 1 and min(n_rows) >= LEAST_ROWS * min(len(n_rows), MOST_IN_GROUP)


# --- tasks of a worker -----------------------------------------------------------------------------------------------


def cut(local: LocalSolver, key: Any, request: DealRequest, n_parts: int) -> list[Part] | None:
    """The rows of a worker in random parts, with their dual variables; None if those are gone."""
    duals = local_solver.held(key)
    if duals is None:
        return None
    alpha = duals.reduced(request.step_size)
    order = np.random.default_rng([request.seed, local.number]).permutation(local.rows.n_rows)
    return [(local.part(index), alpha[index]) for index in map(np.sort, np.array_split(order, n_parts))]


def part_of(parts: list[Part] | None, number: int) -> Part | None:
    """One part, so that no more is sent."""
    return None if parts is None else parts[number]


def joined(plan: Plan, number: int, *parts: Part | None) -> LocalSolver | None:
    """A local solver over the parts that a worker takes; None where one of them is lost."""
    given = [part for part in parts if part is not None]
    return LocalSolver([rows for rows, _ in given], plan, number) if len(given) == len(parts) else None


def adopt(local: LocalSolver | None, key: Any, request: DealRequest, *parts: Part | None) -> int | None:
    """Take the dual variables of these parts; gives the number of rows."""
    if local is None:
        return None
    alpha = np.concatenate([part[1] for part in parts if part is not None])
    local_solver.hold(key, DualVariables(local, alpha), request.round)
    return local.rows.n_rows


# --- dual variables by the ids of their rows -------------------------------------------------------------------------


def export(local: LocalSolver, key: Any, step_size: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The ids of the rows of a worker, and their dual variables; None if those are gone."""
    duals = local_solver.held(key)
    return None if duals is None else (local.ids, duals.reduced(step_size))


def restore(local: LocalSolver, key: Any, round: int, *found: tuple[np.ndarray, np.ndarray] | None) -> int:
    """Take the dual variables of rows that are found by their ids, 0 for others; gives the number found."""
    alpha, order = local.zeros(), np.argsort(local.ids)
    known, n_found = local.ids[order], 0
    for ids, values in filter(None, found):
        places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        own = known[places] == ids
        alpha[order[places[own]]] = values[own]
        n_found += int(own.sum())
    local_solver.hold(key, DualVariables(local, alpha), round)
    return n_found
