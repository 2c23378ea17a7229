"""Columns on the way as arrays and back, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pegasos.solver.dual_column import DualColumn, Status
from pegasos.solver.dual_problem import Bounds
from pegasos.solver.dual_run import DualRun

OF_ALL = ("beta", "smooth")
OF_MOVING = ("up", "down", "values")
COUNTS = ("n_active", "steps", "since", "steps_at_look", "wanted")
NUMBERS = ("violation", "goal", "floor")
STATUSES = list(Status)


def packed(run: DualRun) -> dict[str, np.ndarray]:
    """Where the columns stand, by name."""
    found: dict[str, np.ndarray] = {}
    for name in OF_ALL:
        found[name] = np.concatenate([getattr(column, name) for column in run.columns])
    begun = [column for column in run.columns if column.n_active]
    for name in (*OF_MOVING, "member"):
        parts = [getattr(column, name)[: column.n_active] for column in begun]
        found[name] = np.concatenate([np.zeros(0), *parts]) if name != "member" else _joined(parts)
    found["segments"] = _joined([column.segments.ravel() for column in begun])
    found["counts"] = np.array([[getattr(column, name) for name in COUNTS] for column in run.columns], np.int64)
    found["numbers"] = np.array([[getattr(column, name) for name in NUMBERS] for column in run.columns])
    status = [STATUSES.index(column.status) for column in run.columns]
    found["status"] = np.column_stack([status, run.converged]).astype(np.int64)
    found["bounds"] = np.array([column.bounds[:3] for column in run.columns])
    sizes = [len(column.bounds.intercepts) for column in run.columns]
    found["sizes"] = np.array(sizes, np.int64)
    found["intercepts"] = np.concatenate([np.zeros(0), *[column.bounds.intercepts for column in run.columns]])
    return found


def unpack(run: DualRun, found: Mapping[str, np.ndarray]) -> None:
    """Let the columns of a new run of the same problems stand where others stood."""
    readers = {name: _Reader(array) for name, array in found.items()}
    run.converged = [bool(each) for each in found["status"][:, 1]]
    for number, column in enumerate(run.columns):
        for name in OF_ALL:
            setattr(column, name, readers[name].take(column.n_variables))
        for name, value in zip(COUNTS, found["counts"][number], strict=True):
            setattr(column, name, int(value))
        for name, value in zip(NUMBERS, found["numbers"][number], strict=True):
            setattr(column, name, float(value))
        column.status = STATUSES[int(found["status"][number, 0])]
        intercepts = readers["intercepts"].take(int(found["sizes"][number]))
        objective, gap, violation = (float(each) for each in found["bounds"][number])
        column.bounds = Bounds(objective, gap, violation, intercepts)
        if column.n_active:
            _restore_moving(column, readers)


def _restore_moving(column: DualColumn, readers: dict[str, _Reader]) -> None:
    n_active = column.n_active
    column.activate()
    column.n_active = n_active
    member = readers["member"].take(n_active).astype(np.intp)
    for name in OF_MOVING:
        getattr(column, name)[:n_active] = readers[name].take(n_active)
    column.member[:n_active] = member
    column.restore_bounds()
    column.segments = readers["segments"].take(column.segments.size).reshape(-1, 2).astype(np.intp)


class _Reader:
    """An array that is read from its beginning to its end."""

    def __init__(self, array: np.ndarray):
        self.array, self.place = array, 0

    def take(self, size: int) -> np.ndarray:
        """The next numbers."""
        self.place += size
        return self.array[self.place - size : self.place].copy()


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *parts])
