"""Going on from an earlier state: steps are never counted anew, and what the earlier state proves is kept if it holds.

The model is carried over as it is. A changed lam rescales S, since w = S / (lam t); sdca keeps its dual variables. An
average goes on only over iterates of the same lam.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule
from pegasos.rows import Rows
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import Position, State, next_turn
from pegasos.utils.arrays import to_device_of

CARRIED = (
    "steps", "shrink", "average", "average_start", "window_start", "norm_squared", "dual_linear", "dual_excess",
    "best_dual",
)  # fmt: skip
ROUNDING = 1e-5  # of the largest sum: what a long fit in float32 may be off by


def check_continues(fresh: State, before: State) -> None:
    """Raise ValueError where `before` cannot be gone on from."""
    if before.rule != fresh.rule:
        raise ValueError(f"The state to go on from is one of {before.rule.name}, not of {fresh.rule.name}.")
    if before.sums.shape != fresh.sums.shape:
        raise ValueError(
            f"The state to go on from has the shape {before.sums.shape} (features or rows, columns), and the problem "
            f"{fresh.sums.shape}."
        )
    if fresh.rule == Rule.SDCA and before.alpha.shape != fresh.alpha.shape:
        raise ValueError("The state to go on from holds no dual variables of these rows, which sdca needs.")


def with_sums_of_alpha(before: State, rows: Rows) -> State:
    """The state of a dual solver whose sums are what its rows have added.

    Newton's method leaves its model in the sums and a dual point beside it, which are the same at the optimum only;
    gone on from as they are, a dual solver would prove bounds that are none.
    """
    if before.rule != Rule.SDCA or rows.dual or before.alpha.shape != (rows.n_rows, before.sums.shape[1]):
        return before
    if not isinstance(before.alpha, np.ndarray):  # on a GPU, where no Newton's method is
        return before
    sums = np.zeros(before.sums.shape)
    for block in rows.blocks():
        rows.add(block, before.alpha[block.rows].T, sums)
    apart = np.abs(sums - before.sums).max(axis=0) > ROUNDING * np.abs(sums).max(axis=0)
    return replace(before, sums=np.where(apart, sums, before.sums)) if apart.any() else before


def resume(fresh: State, before: State, schedule: Schedule) -> None:
    """Let the new state `fresh` go on where `before` stands; its limits count from there."""
    before = before.to_device_of(fresh.sums)
    check_continues(fresh, before)
    if before.sums.dtype == np.float64 and fresh.sums.dtype != np.float64:
        fresh.widen()
    columns, old = fresh.columns, before.columns
    columns["pass_is_feasible"] = still_feasible(columns, before, schedule)
    for name in CARRIED:
        columns[name] = old[name]
    columns["limit"] = np.minimum(columns["limit"] + old["steps"].astype(np.float64), 2.0**62).astype(np.int64)
    columns["horizon"] = 2**62 if schedule.endless else columns["limit"]
    fresh.sums[...] = before.sums
    for name in ("violations", "products"):
        if getattr(before, name).shape == getattr(fresh, name).shape:
            getattr(fresh, name)[...] = getattr(before, name)
    _carry_alpha(fresh, before)
    _carry_average(fresh, before)
    same = (columns["lam"] == old["lam"]) & columns["pass_is_feasible"]
    columns["best_dual"] = np.where(same, old["best_dual"], -np.inf)
    if schedule.endless:  # the longest row and the largest ball of all that came
        for name in ("step_offset", "radius"):
            columns[name] = np.maximum(columns[name], old[name])
    if fresh.rule == Rule.PEGASOS:
        _keep_model(fresh, before.scales)
    columns["window_end"] = next_turn(columns, fresh.rule)


def _keep_model(fresh: State, old_scales: np.ndarray) -> None:
    """Rescale S where its scale is another one than before, so that the model stays the same."""
    columns, scales = fresh.columns, fresh.scales
    factors = np.where(scales > 0, old_scales / np.where(scales > 0, scales, 1.0), 1.0)
    other = factors != 1.0
    fresh.rescale(factors, np.where(other, columns["average"], 0.0))
    columns["average"][other] = 0.0
    columns["norm_squared"] *= factors**2
    columns["dual_linear"] *= factors
    columns["dual_excess"] = (columns["steps"] + columns["dual_excess"]) * factors - columns["steps"]


def _carry_alpha(fresh: State, before: State) -> None:
    if fresh.alpha_in_sums or not fresh.alpha.size:
        return
    if before.alpha.shape == fresh.alpha.shape:
        fresh.alpha[...] = before.alpha
    else:  # what other rows added stays in S and is in no dual point
        fresh.columns["pass_is_feasible"] = False


def _carry_average(fresh: State, before: State) -> None:
    columns = fresh.columns
    fresh_start = (columns["lam"] != before.columns["lam"]) | (fresh.average != before.average)
    if before.weighted.shape == fresh.weighted.shape and fresh.weighted.size:
        fresh.weighted[...] = before.weighted
    elif fresh.average != Average.LAST:
        fresh_start[:] = True
    if before.previous.shape == fresh.previous.shape and fresh.previous.size:
        fresh.previous[...] = before.previous
    if fresh.weighted.size:
        fresh.weighted[:, to_device_of(np.flatnonzero(fresh_start), fresh.weighted)] = 0.0
    columns["average"][fresh_start] = 0.0
    for name in ("average_start", "window_start"):
        columns[name][fresh_start] = columns["steps"][fresh_start]


def still_feasible(columns: np.ndarray, before: State, schedule: Schedule) -> np.ndarray:
    """Which columns go on with passes that end in a feasible dual point: the same rows, each met equally often."""
    old, position = before.columns, position_of(before, schedule)
    whole = (
        columns["pass_is_feasible"]
        & old["pass_is_feasible"]
        & (columns["n_rows"] == old["n_rows"])
        & (columns["share"] == old["share"])
    )
    draws = old["steps"] / np.where(whole, old["share"], 1.0)
    at_end = np.rint(draws) % np.maximum(old["n_rows"], 1) == 0
    return whole & (at_end | (position is not None and position.exact))


def position_of(before: State | None, schedule: Schedule) -> Position | None:
    """Where the earlier state's stream goes on, if this schedule draws in the same way."""
    if before is None or before.position is None or before.position.sampling != schedule.sampling:
        return None
    return before.position


def stream_from(used: np.ndarray, schedule: Schedule, before: State | None) -> Stream:
    """The stream of draws: a new one, or the one that `before` met a part of."""
    position = position_of(before, schedule)
    if position is None:
        return Stream(used, schedule.sampling, schedule.seed, schedule.batch or 1)
    stream = Stream(used, schedule.sampling, position.seed, schedule.batch or 1)
    stream.skip(position.draws, position.generator)
    return stream


def position_after(
    state: State, before: State | None, schedule: Schedule, row_sets: np.ndarray, first_steps, stream: Stream
) -> Position | None:
    """Where a later solve goes on in the stream: after the last draw that was used, or after its pass.

    `row_sets` are those of the rows that were drawn from; where columns have different ones, or took different numbers
    of steps, no place in the stream is right for all.
    """
    if schedule.batch is None:
        return None
    earlier = position_of(before, schedule)
    seed = schedule.seed if earlier is None else earlier.seed
    steps = state.columns["steps"] - first_steps
    exact = row_sets.all() and (steps == steps[0]).all()
    if exact:
        draws = (0 if earlier is None else earlier.draws) + int(steps[0]) * schedule.batch
        exact = earlier is None or earlier.exact
    else:
        draws = stream.begun_passes * stream.pass_length
    return Position(schedule.sampling, seed, draws, bool(exact), stream.generator_before(draws))
