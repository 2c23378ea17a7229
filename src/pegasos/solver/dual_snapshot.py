"""Columns on the way as arrays and back, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pegasos.solver.dual_column import DualColumn, Status
from pegasos.solver.dual_problem import Bounds
from pegasos.solver.dual_run import DualRun
from pegasos.solver.snapshot_checks import need

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


def check_packed(run: DualRun, found: Mapping[str, np.ndarray], steps: np.ndarray) -> None:
    """Raise ValueError unless the columns of a run can have come to stand so, after so many steps of each.

    The loops trust all of it, and a column that counts other steps than its record would end too soon or too late.
    """
    n_columns, n_variables = len(run.columns), sum(column.n_variables for column in run.columns)
    shapes: dict[str, tuple[int, ...]] = {
        "counts": (n_columns, len(COUNTS)), "numbers": (n_columns, len(NUMBERS)), "status": (n_columns, 2),
        "bounds": (n_columns, 3), "sizes": (n_columns,), **dict.fromkeys(OF_ALL, (n_variables,)),
    }  # fmt: skip
    whole = ("member", "segments", "counts", "status", "sizes")
    need(
        set(found) == {*shapes, *OF_MOVING, "member", "segments", "intercepts"}, "other parts of the columns are there"
    )
    for name, array in found.items():
        need(array.dtype == (np.int64 if name in whole else np.float64), f"{name} is of another type")
        need(name not in shapes or array.shape == shapes[name], f"{name} is of another shape")
        need(not np.isnan(array).any(), f"{name} holds numbers that are none")
    counts, sizes = dict(zip(COUNTS, found["counts"].T, strict=True)), found["sizes"]
    n_active = counts["n_active"]
    most = np.array([column.n_variables for column in run.columns])
    need(bool((n_active >= 0).all() and (n_active <= most).all()), "other variables move than there are")
    need(bool((counts["steps"] == steps).all() and (counts["since"] >= 0).all()), "steps are counted otherwise")
    need(bool((counts["wanted"] >= -1).all() and (counts["wanted"] < len(run.cache.slots)).all()), "no such row")
    need(bool((sizes >= 0).all()) and sizes.sum() == len(found["intercepts"]), "intercepts are others")
    for name in (*OF_MOVING, "member"):
        need(found[name].shape == (n_active.sum(),), f"{name} is of another length")
    ends = [2 * (len(column.offsets) - 1) for column, active in zip(run.columns, n_active, strict=True) if active]
    need(found["segments"].shape == (sum(ends),), "segments are of another length")
    for name in (*OF_ALL, "values", "intercepts"):
        need(bool(np.isfinite(found[name]).all()), f"{name} is not finite")
    numbers = dict(zip(NUMBERS, found["numbers"].T, strict=True))
    need(bool((numbers["goal"] >= 0).all() and (numbers["floor"] >= 0).all()), "goals are below 0")
    need(bool(np.isfinite(numbers["goal"]).all() and np.isfinite(numbers["floor"]).all()), "goals are not finite")
    _check_statuses(run, found["status"], n_active)
    readers = {name: _Reader(array) for name, array in found.items()}
    for number, column in enumerate(run.columns):
        beta = readers["beta"].take(column.n_variables)
        _check_values(beta, column.low, column.high)
        if n_active[number]:
            _check_moving(column, int(n_active[number]), readers)


def _check_statuses(run: DualRun, found: np.ndarray, n_active: np.ndarray) -> None:
    status, converged = found.T
    need(bool(np.isin(converged, (0, 1)).all()), "converged is no truth value")
    need(bool((status >= 0).all() and (status < len(STATUSES)).all()), "there is no such status")
    followers = set(run.successors.values())
    before = {following: number for number, following in run.successors.items()}
    for number, each in enumerate(STATUSES[place] for place in status):
        need(each not in (Status.ROW, Status.LOOK), "a column waits for what it has been given")
        if each == Status.TURN:
            need(number in followers and STATUSES[status[before[number]]] != Status.DONE, "a column waits for ever")
        elif each != Status.DONE:
            need(n_active[number] > 0, "nothing moves in a column that goes on")


def _check_moving(column: DualColumn, n_active: int, readers: dict[str, _Reader]) -> None:
    member = readers["member"].take(n_active)
    within = bool((member >= 0).all() and (member < column.n_variables).all())
    need(within and len(np.unique(member)) == n_active, "other variables move than there are")
    values, low, high = readers["values"].take(n_active), column.low[member], column.high[member]
    _check_values(values, low, high)
    up, down = readers["up"].take(n_active), readers["down"].take(n_active)
    need(bool((np.isfinite(up) == (values < high)).all()), "slopes are not those of variables that may rise")
    need(bool((np.isfinite(down) == (values > low)).all()), "slopes are not those of variables that may fall")
    segments = readers["segments"].take(2 * (len(column.offsets) - 1)).reshape(-1, 2)
    edges = np.concatenate([segments[:, 0], [n_active]])
    need(segments[0, 0] == 0 and bool((np.diff(edges) >= 0).all()), "segments do not follow each other")
    need(bool((segments[:, 1] == edges[1:]).all()), "segments leave gaps")
    for place, (first, end) in enumerate(segments):
        some = member[first:end]
        inside = (some >= column.offsets[place]) & (some < column.offsets[place + 1])
        need(bool(inside.all()), "variables are in other segments")


def _check_values(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """The dual variables are within their bounds, so that what they prove holds."""
    slack = 1e-9 * np.maximum(np.abs(np.where(np.isfinite(low), low, 0)), np.abs(np.where(np.isfinite(high), high, 0)))
    need(bool((values >= low - slack).all() and (values <= high + slack).all()), "values are out of bounds")


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
