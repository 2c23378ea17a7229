"""Whether a snapshot can be one of this very solve: compiled loops trust every number of it.

A checkpoint is a file, and its checksum tells damage, not intent. What a job decides is compared with the job; of what
only the steps could tell, signs, ranges, finiteness and order are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pegasos.problem.job import Job
from pegasos.rules.column import Average
from pegasos.rules.state import LAID_OUT, State
from pegasos.solver.snapshot import PassCount, Snapshot

GIVEN = ("labeling", "row_set", "lam", "n_rows", "epsilon", "zero_objective", "share", "step_offset", "radius",
         "horizon")  # fmt: skip
FINITE = ("lam", "n_rows", "epsilon", "zero_objective", "share", "step_offset", "radius", "shrink", "average",
          "norm_squared", "dual_linear", "dual_excess")  # fmt: skip
MOST_STEPS = 2**62
ROUNDING = 1e-4  # of what the rows say of themselves: on another machine, or with other threads, sums round otherwise


def check_state(state: State) -> None:
    """Raise ValueError for a state that no steps lead to, whatever the job."""
    columns = state.columns
    for name in FINITE:
        need(np.isfinite(columns[name]).all(), f"{name} is not finite")
    need(not np.isnan(columns["best_dual"]).any() and (columns["best_dual"] < np.inf).all(), "best_dual is no number")
    for name in (*LAID_OUT, "products"):
        array = getattr(state, name)
        need(array.dtype.kind != "f" or bool(np.isfinite(array).all()), f"{name} holds numbers that are not finite")
        need(array.shape == (0, 0) or array.shape[1] == len(columns), f"{name} has not one column for each")
    counted = state.violations.dtype == np.int32 or not state.violations.size
    need(counted and bool((state.violations >= 0).all()), "violations are no counts")
    for array in (state.weighted, state.previous):
        need(array.shape in ((0, 0), state.sums.shape), "an average is of another shape than the sums")
    for name in ("lam", "shrink"):
        need((columns[name] > 0).all(), f"{name} is not above 0")
    for name in ("place", "labeling", "row_set", "n_rows", "steps", "average_start", "window_start", "window_end"):
        need((columns[name] >= 0).all() and (columns[name] <= MOST_STEPS).all(), f"{name} is out of range")
    for name in ("average_start", "window_start"):
        need((columns[name] <= columns["steps"]).all(), f"{name} is after the last step")
    slack = 1e-6 * np.abs(columns["zero_objective"]) + 1e-12
    need((columns["best_dual"] <= columns["zero_objective"] + slack).all(), "best_dual is above the zero model's")


def check_snapshot(found: Snapshot, job: Job, fresh: State, groups: list[np.ndarray]) -> None:
    """Raise ValueError unless a job that begins with the state `fresh` can have come to this snapshot."""
    n_columns, n_rows = job.n_columns, job.rows.n_rows
    _check_against(found.whole, fresh, np.arange(n_columns))
    first = found.first_steps
    need(first.shape == (n_columns,) and first.dtype == np.int64, "first_steps is not one number a column")
    need(bool((first == fresh.columns["steps"]).all()), "first_steps are those of another fit")
    need(0 <= found.lap.group < len(groups), "there is no such group of columns")
    group = groups[found.lap.group]
    if found.state is None:
        need(bool(group.all()), "columns of several groups run together")
    else:
        _check_running(found, job, fresh, group)
    for state in (found.whole, found.state):  # the matrix they are kept with may not have been there, for lack of time
        if state is not None and state.products.size:
            like = (n_rows, len(state.columns)) if job.small_steps and job.rows.dual else (0, 0)
            fits = state.products.shape == like and state.products.dtype == state.sums.dtype
            need(fits, "products are of another shape")
            need(state.products.flags.f_contiguous, "products lie otherwise in memory")
    for state in (found.whole, found.state):
        if state is not None:  # the classes of one problem take their steps together
            steps = state.columns["steps"].reshape(-1, job.problems.group)
            need(bool((steps == steps[:, :1]).all()), "classes of one problem have taken other steps")
    need(found.known.shape == (3, n_columns), "known is of another shape")
    _check_draws(found, job, n_rows)
    check_known(found, n_columns)


def check_exact_snapshot(found: Snapshot, job: Job, fresh: State) -> None:
    """Raise ValueError unless an exact solver that begins with the state `fresh` can have come to this snapshot."""
    n_columns = job.n_columns
    need(found.state is None and not found.stream["waiting"].size and not found.order.size, "there is a stream")
    _check_against(found.whole, fresh, np.arange(n_columns))
    first = found.first_steps
    need(first.shape == (n_columns,) and bool((first == fresh.columns["steps"]).all()), "first_steps are others")
    need(len(found.known) == 4 and bool(np.isin(found.known[3], (0, 1)).all()), "known is of another shape")
    check_known(found, n_columns)
    need(0.0 <= found.seconds < np.inf, "seconds are out of range")


def _check_running(found: Snapshot, job: Job, fresh: State, group: np.ndarray) -> None:
    """The columns that still run: some of the group, whole problems of several classes at a time."""
    assert found.state is not None
    places = found.state.columns["place"]
    rising = len(places) > 0 and bool((np.diff(places) > 0).all()) and places[0] >= 0 and places[-1] < len(group)
    need(rising and bool(group[places].all()), "columns run that are not of this group")
    each = job.problems.group
    need(len(places) % each == 0 and bool((places.reshape(-1, each)[:, 0] % each == 0).all()), "classes are missing")
    need(bool((places.reshape(-1, each) == places[::each, None] + np.arange(each)).all()), "classes are missing")
    _check_against(found.state, fresh.select(np.isin(np.arange(len(group)), places)), places)


def _check_against(state: State, fresh: State, places: np.ndarray) -> None:
    """The state of the columns at these places, beside the one that they began with."""
    check_state(state)
    columns, begun = state.columns, fresh.columns
    need(len(columns) == len(begun) and bool((columns["place"] == places).all()), "columns are out of place")
    for name in GIVEN:
        same = np.isclose(columns[name].astype(float), begun[name].astype(float), rtol=ROUNDING, atol=0)
        need(bool(same.all()), f"{name} is that of another fit")
    limits = columns["limit"]
    need(bool((limits <= begun["limit"]).all()), "limit is that of another fit")
    need(bool((columns["steps"] <= limits).all() and (columns["steps"] >= begun["steps"]).all()),
          "steps are beyond what is asked for")  # fmt: skip
    need(not (columns["pass_is_feasible"] & ~begun["pass_is_feasible"]).any(), "pass_is_feasible is not so")
    if state.average == Average.WINDOW:  # each begins where the one before has ended
        need(bool((columns["window_end"] >= columns["steps"])[~state.finished].all()), "windows have ended before")
    need(state.rule == fresh.rule and state.average == fresh.average, "rule or average are those of another fit")
    for name in LAID_OUT:
        array, like = getattr(state, name), getattr(fresh, name)
        fits = array.shape == like.shape and array.dtype in (like.dtype, np.dtype(np.float64))
        need(fits and array.dtype.kind == like.dtype.kind, f"{name} is of another shape or type")
    need(state.alpha_in_sums == fresh.alpha_in_sums, "coefficients are kept elsewhere")


def _check_draws(found: Snapshot, job: Job, n_rows: int) -> None:
    """Where the stream of draws is."""
    waiting, order, lap = found.stream["waiting"], found.order, found.lap
    need("drawn_passes" in found.stream and not found.own, "there is no stream")
    used = np.zeros(n_rows, bool)
    used[job.used_rows] = True
    for name, rows in (("waiting", waiting), ("order", order)):
        need(rows.ndim == 1 and rows.dtype.kind == "i", f"{name} is no list of rows")
        need(bool((rows >= 0).all() and (rows < n_rows).all()) and bool(used[rows].all()), f"{name} has other rows")
    need(len(waiting) <= 2 * len(job.used_rows) + (job.schedule.batch or 1), "more draws wait than there can be")
    need(len(np.unique(order)) == len(order), "order has rows twice")
    need(lap.first <= found.stream["drawn_passes"], "passes are counted from later ones")
    need(0.0 <= found.pull_rate <= 1.0, "pull_rate is no share")
    need(0.0 <= found.seconds < np.inf, "seconds are out of range")


def check_known(found: Snapshot, n_columns: int) -> None:
    """What was last certified: numbers, or nan where nothing was."""
    known = found.known
    objective, dual, at = known[:3]
    need(not np.isinf(known[:2]).any() and bool((at >= -1).all() and (at == np.rint(at)).all()), "known is no number")
    slack = 1e-6 * (np.abs(objective) + np.abs(dual)) + 1e-12
    need(not (dual > objective + slack).any(), "the dual objective is above the objective")
    need(not (at > found.whole.columns["limit"]).any(), "something is known of later steps")


# --- values -----------------------------------------------------------------------------------------------------------


def checked_passes(values: Any) -> PassCount:
    """The count of passes among the values of a file."""
    names = set(PassCount.__dataclass_fields__)
    need(type(values) is dict and set(values) == names, "lap has other fields")
    need(all(type(value) is int and 0 <= value < 2**53 for value in values.values()), "lap counts no passes")
    need(values["next_check"] > 0, "lap counts no passes")
    return PassCount(**values)


def checked_stream(values: Any) -> dict[str, Any]:
    """The place in the stream of draws among the values of a file."""
    names = {"drawn_passes", "generator", "before_pass"}
    if values == {}:  # of a solver without one
        return values
    need(type(values) is dict and set(values) == names, "stream has other fields")
    need(type(values["drawn_passes"]) is int and 0 <= values["drawn_passes"] < 2**53, "stream counts no passes")
    for name in ("generator", "before_pass"):
        _check_generator(values[name])
    return values


def _check_generator(state: Any) -> None:
    """The state of a PCG64: NumPy takes other whole numbers, too, and some types it does not expect."""
    generator = np.random.PCG64()
    like: Mapping[str, Any] = generator.state
    need(type(state) is dict and set(state) == set(like), "the generator has other fields")
    need(state["bit_generator"] == like["bit_generator"], "the generator is another one")
    inner = state["state"]
    need(type(inner) is dict and set(inner) == set(like["state"]), "the generator has other fields")
    numbers = [(inner["state"], 128), (inner["inc"], 128), (state["has_uint32"], 1), (state["uinteger"], 32)]
    need(all(type(one) is int and 0 <= one < 2**bits for one, bits in numbers), "the generator is in no state")
    need(inner["inc"] % 2 == 1, "the generator is in no state")


def checked_history(records: Any) -> list[dict]:
    """The records of certificates among the values of a file."""
    need(type(records) is list, "history is no list")
    for record in records:
        need(type(record) is dict and set(record) == {"step", "objective", "gap", "seconds"}, "history has others")
        need(type(record["step"]) is int and 0 <= record["step"] <= MOST_STEPS, "history counts no steps")
        need(all(type(record[name]) is float for name in ("objective", "gap", "seconds")), "history is no number")
        need(0.0 <= record["seconds"] < np.inf and not record["gap"] < 0, "history is out of range")
    return records


def need(holds: bool | np.bool_, what: str) -> None:
    """Raise ValueError, which says what is not so, unless something holds."""
    if not holds:
        raise ValueError(what)
