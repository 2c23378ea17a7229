"""The solver: exact Pegasos (or dual coordinate ascent) for all columns of a problem in one pass over the draws.

Each column minimises ``lam/2 ||w||² + mean weighted loss`` over its own rows (Shalev-Shwartz, Singer, Srebro & Cotter,
Math. Program. 2011; Shalev-Shwartz & Zhang, JMLR 2013). The draws are known in advance, so B of them are taken at once:
one product gives their scores in every column as they stand at the block's start, the B×B Gram matrix of the block
supplies the corrections, and the iterates equal the textbook loop's up to rounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.threads import in_parallel
from pegasos.certificate import Certificate, certify, note_dual
from pegasos.losses import Loss
from pegasos.problems import Problems
from pegasos.rows import Rows, Way
from pegasos.sampling import Stream
from pegasos.schedule import Schedule, average_of, column_records, equal_row_sets
from pegasos.state import State, next_turn
from pegasos.step import Average, Rule

LARGEST_BLOCK_BATCH = 1024  # a larger batch fills blocks by itself and needs no look-ahead
KERNEL_BLOCK = 128
DIRECT_PULL_RATE = 0.1
REFRESH_FROM = 8  # passes after which kept scores are first computed anew
OPERATIONS_PER_CALL = 3e8  # of compiled loops between two looks at the clock


@dataclass
class Solution:
    """The result of `solve`: the state of every column, its model and its certificate."""

    state: State
    model: np.ndarray
    certificate: Certificate | None
    history: list[dict] = field(default_factory=list)
    timed_out: bool = False

    @property
    def steps(self) -> np.ndarray:
        """Steps that each column took."""
        return self.state.columns["steps"]


def solve(
    rows: Rows,
    problems: Problems,
    rule: Rule,
    schedule: Schedule,
    *,
    loss: Loss = Loss.HINGE,
    definite: bool = True,
    started: float | None = None,
    callback: Callable[[dict], None] | None = None,
) -> Solution:
    """Solve all columns.

    Parameters
    ----------
    rows : Rows
    problems : Problems
    rule : Rule
    schedule : Schedule
    loss : Loss
    definite : bool
        Whether the kernel is positive semi-definite; without that there is no certificate.
    started : float, optional
        ``time.perf_counter()`` from which `max_time` counts; None: now.
    callback : callable, optional
        Called with a record (step, objective, gap, seconds) after passes 1, 2, 4, 8, ...

    Returns
    -------
    Solution
    """
    run = _Run(rows, problems, rule, schedule, loss, definite, started, callback)
    if schedule.batch is None:
        run.large_batches()
    elif schedule.batch == 1:
        run.stream(np.ones(problems.n_columns, bool))
    else:
        # Batches of different row sets do not line up: each group of equal row sets runs by itself.
        groups = equal_row_sets(problems)
        for turn, group in enumerate(groups):
            run.share_time(len(groups) - turn)
            run.stream(group)
    return run.solution()


class _Run:
    """One call of `solve`: the arrays every step needs, and where the run stands."""

    def __init__(self, rows, problems, rule, schedule, loss, definite, started, callback):
        self.rows, self.problems, self.rule, self.loss = rows, problems, rule, loss
        self.schedule, self.definite, self.callback = schedule, definite, callback
        self.weights = problems.normalised_weights(rows.dtype)
        self.used = np.flatnonzero(problems.row_sets.any(axis=1))  # rows that no column has are as if not there
        self.average = average_of(rule, schedule.average)
        self.columns_per_row = problems.n_rows.sum() / len(self.used)
        self.way = rows.way(self.columns_per_row)
        self.squares = rows.squares if self.way != Way.BLOCKS else None
        self.pull_rate = 1.0  # of the rows and columns of the latest steps
        self.whole = self._fresh_state()
        self.history: list[dict] = []
        self.started = time.perf_counter() if started is None else started
        self.deadline = np.inf if schedule.max_time is None else self.started + schedule.max_time
        self.timed_out = False

    # --- set-up -------------------------------------------------------------------------------------------------

    def _fresh_state(self) -> State:
        rows, schedule, n_columns = self.rows, self.schedule, self.problems.n_columns
        columns = column_records(self.problems, schedule)
        columns["turn"] = next_turn(columns, self.rule)
        none = np.zeros((0, 0), rows.dtype)
        sums = rows.zeros(n_columns)
        averaged = self.average != Average.LAST
        return State(
            columns=columns,
            sums=sums,
            weighted=rows.zeros(n_columns) if averaged else none,
            previous=rows.zeros(n_columns) if self.average == Average.WINDOW else none,
            alpha=self._alpha(sums, columns),
            violations=np.zeros((rows.n_rows, n_columns) if schedule.count_violations else (0, 0), np.int32),
            products=rows.products(n_columns) if self._in_small_steps() else none,
            rule=self.rule,
            average=self.average,
        )

    def _alpha(self, sums, columns) -> np.ndarray:
        """Coefficients of the rows: sdca needs them; a certificate does if no whole pass gives a dual point."""
        if self.rows.dual:
            return sums[: self.rows.n_rows]
        schedule = self.schedule
        one_by_one = schedule.batch == 1 and schedule.sampling != "replacement"
        meets_a_whole_pass = schedule.batch is None or (one_by_one and (columns["limit"] >= columns["n_rows"]).all())
        if self.rule == Rule.SDCA or (schedule.certified and not meets_a_whole_pass):
            return np.zeros((self.rows.n_rows, len(columns)), self.rows.dtype)
        return np.zeros((0, 0), self.rows.dtype)

    # --- single rows and small batches ---------------------------------------------------------------------------

    def stream(self, group: np.ndarray) -> None:
        """Run the columns of `group` over one stream of draws until all are finished."""
        schedule = self.schedule
        if not self._in_small_steps():
            self.large_batches(group)
            return
        stream = Stream(self.used, schedule.sampling, schedule.seed)
        state = self._enter(group, stream)
        advance = {
            Way.BLOCKS: self._advance_block,
            Way.DIRECT: self._advance_direct,
            Way.EITHER: self._advance_either,
            Way.SPARSE: self._advance_sparse,
        }[self.way]
        next_check = 1
        while not self._out_of_time(state):
            state.turn_windows()
            index = stream.take(self._block_length(state), schedule.batch)
            index = self._up_to_turn(state, index, stream)
            advance(state, index)
            if stream.passes >= next_check:
                next_check = 2 * stream.passes
                if stream.passes >= REFRESH_FROM:
                    self.rows.refresh(state)
                self._check(state)
            note_dual(state, schedule)
            state = self._leave(state, stream)

    def _in_small_steps(self) -> bool:
        """Whether batches are small enough for the stream of draws to be cut into blocks."""
        return self.schedule.batch is not None and self.schedule.batch <= LARGEST_BLOCK_BATCH

    def _block_length(self, state) -> int:
        schedule, n_columns = self.schedule, len(state.columns)
        if schedule.block is not None:
            length = schedule.block
        elif self.way in (Way.DIRECT, Way.SPARSE) or (self.way == Way.EITHER and self._few_pull()):
            # Long enough for threads to be worth starting, short enough to look at the clock between two calls.
            columns = n_columns if self.way == Way.SPARSE else min(n_columns, self.columns_per_row)
            length = int(np.clip(OPERATIONS_PER_CALL / (self.rows.width * columns), 1024, 65536))
        elif self.rows.dual:
            length = min(KERNEL_BLOCK, self.rows.at_once)
        else:  # the Gram matrix costs B per row where scores and update cost 2P
            length = int(np.clip(32 * round(2 * n_columns / 32), 32, 128))
        return max(1, length // schedule.batch) * schedule.batch

    def _up_to_turn(self, state, index, stream):
        """Cut the block where a column's window is complete, so that windows begin between blocks."""
        columns, k = state.columns, self.schedule.batch
        if self.average != Average.WINDOW:
            return index
        left = (columns["turn"] - columns["steps"]) * k
        near = (left > 0) & (left <= len(index)) & (columns["turn"] < columns["limit"])
        if not near.any():
            return index
        inside = self.weights[index][:, columns["row_set"][near]] != 0
        reached = inside.cumsum(axis=0) >= left[near]
        first = np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, len(index)).min()
        stream.put_back(index[first:])
        return index[:first]

    def _advance_either(self, state, index) -> None:
        """Directly while few rows pull; a matrix product spreads many pulls faster."""
        if self._few_pull():
            self._advance_direct(state, index)
        else:
            self._advance_block(state, index)

    def _few_pull(self) -> bool:
        return self.pull_rate <= DIRECT_PULL_RATE

    def _advance_block(self, state, index) -> None:
        rows, schedule, n_columns = self.rows, self.schedule, len(state.columns)
        block = rows.block(index)
        pulls = np.zeros((n_columns, len(index)), rows.dtype)
        weighted = np.zeros_like(pulls) if state.weighted.size else state.weighted
        folds = np.empty((n_columns, 2))
        cpu.block_steps(
            0, n_columns, state.columns, rows.scores_now(block, state), *rows.gram(block), index,
            self.problems.labelings, self.weights, state.alpha, state.violations, pulls, weighted, folds,
            schedule.batch, *self._rules(),
        )  # fmt: skip
        if schedule.project:
            state.rescale(folds)
        self._add(state, block, pulls)
        rows.follow(block, pulls, state)
        self.pull_rate = np.count_nonzero(pulls) / pulls.size
        if state.weighted.size:
            rows.add(block, weighted, state.weighted)

    def _advance_direct(self, state, index) -> None:
        rows, pulled = self.rows, []

        def steps(first, last):
            count = cpu.direct_steps(
                first, last, state.columns, state.sums, state.weighted, state.products, index, rows.direct_values,
                self.squares, rows.bias, self.problems.labelings, self.weights, state.alpha, state.violations,
                self.schedule.batch, *self._rules(),
            )  # fmt: skip
            pulled.append(count)

        in_parallel(steps, len(state.columns), len(index) * len(state.columns) * rows.width)
        self.pull_rate = sum(pulled) / (len(index) * len(state.columns))

    def _advance_sparse(self, state, index) -> None:
        rows, X = self.rows, self.rows.X
        cpu.row_steps(
            state.columns, state.sums, state.weighted, index, X.indptr, X.indices, X.data, self.squares, rows.bias,
            self.problems.labelings, self.weights, state.alpha, self.schedule.batch, *self._rules(),
        )  # fmt: skip

    def _rules(self) -> tuple[int, int, int, bool]:
        return int(self.rule), int(self.loss), int(self.average), self.schedule.project

    def _add(self, state, block, pulls) -> None:
        self.rows.add(block, pulls, state.sums)
        if state.alpha.size and not state.alpha_in_sums:
            cpu.scatter_rows(state.alpha, block.rows, pulls)

    # --- large batches, and all rows at once -----------------------------------------------------------------------

    def large_batches(self, group: np.ndarray | None = None) -> None:
        """Steps of many rows each: the products fill the machine by themselves. All rows: no stream is needed."""
        schedule = self.schedule
        stream = Stream(self.used, schedule.sampling, schedule.seed)
        group = np.ones(self.problems.n_columns, bool) if group is None else group
        state = self._enter(group, stream)
        next_check, scores = 1, None
        while not self._out_of_time(state):
            state.turn_windows()
            index = None if schedule.batch is None else stream.take(schedule.batch, schedule.batch)
            scores = self._batch_step(state, index, scores)
            passes = state.columns["steps"].max() if index is None else stream.passes
            if passes >= next_check:
                next_check = 2 * passes
                self._check(state)
            note_dual(state, schedule)
            before = len(state.columns)
            state = self._leave(state, stream)
            if index is not None or len(state.columns) != before:
                scores = None

    def _batch_step(self, state, index, scores) -> list[np.ndarray]:
        """One step on the rows `index` (None: all); `scores` are theirs if known. Returns the scores after the step."""
        rows, columns, labelings = self.rows, state.columns, self.problems.labelings
        blocks = partial(rows.blocks, index)  # made anew each time: all blocks of CSR rows together are a copy of X
        scales = np.zeros(len(columns))
        cpu.open_columns(columns, scales, int(self.average))
        before = scores or [rows.scores(block, state.sums) for block in blocks()]
        pulls = []
        for block, known in zip(blocks(), before, strict=True):
            part = np.empty_like(known)
            cpu.batch_pulls(columns, scales, known, block.rows, labelings, self.weights, part, int(self.loss))
            pulls.append(part)
        weights = columns["average"].astype(rows.dtype)[:, None]
        for block, part in zip(blocks(), pulls, strict=True):
            self._add(state, block, part)
            if state.weighted.size:
                rows.add(block, part * weights, state.weighted)
            if state.violations.size:
                cpu.count_violations(state.violations, block.rows, part)
        after = [rows.scores(block, state.sums) for block in blocks()]
        for block, part, old, new in zip(blocks(), pulls, before, after, strict=True):
            cpu.batch_account(columns, part, block.rows, labelings, old, new)
        alpha = state.alpha[:0] if state.alpha_in_sums else state.alpha
        folded = cpu.close_columns(columns, self.schedule.project, state.sums, state.weighted, alpha)
        return [] if folded else after

    # --- columns come and go --------------------------------------------------------------------------------------

    def _enter(self, group, stream) -> State:
        state = self.whole if group.all() else self.whole.select(group)
        self._restrict(state, stream)
        return state

    def _restrict(self, state, stream) -> None:
        """Draw only rows that some column still has a use for."""
        used = np.unique(state.columns["row_set"])
        stream.keep((self.weights[:, used] != 0).any(axis=1))

    def _leave(self, state, stream) -> State:
        """Finished columns leave; few at a time wait for company, since those who stay are copied."""
        finished = state.finished
        if not finished.any() or (finished.mean() < 1 / 8 and not finished.all()):
            return state
        if state is not self.whole:
            self.whole.store(state)
        if finished.all():
            return state
        state = state.select(~finished)
        self._restrict(state, stream)
        return state

    def share_time(self, n_groups: int) -> None:
        """Give the next of `n_groups` groups its part of the time that is left."""
        if self.schedule.max_time is not None:
            now = time.perf_counter()
            self.deadline = now + (self.started + self.schedule.max_time - now) / n_groups

    def _out_of_time(self, state) -> bool:
        """Whether the columns at hand are done, or the time is up."""
        if state.finished.all():
            return True
        if time.perf_counter() <= self.deadline:
            return False
        self.timed_out = True
        if state is not self.whole:
            self.whole.store(state)
        return True

    # --- the certificate --------------------------------------------------------------------------------------------

    def _check(self, state) -> None:
        """After passes 1, 2, 4, 8, ...: a certificate for whoever asks, and columns within `tol` are finished."""
        tol = self.schedule.tol
        if tol is None and self.callback is None:
            return
        found = self._certify(state)
        self._record(state, found)
        if tol is not None:
            within = found.gap <= tol * np.where(found.zero > 0, found.zero, 1.0)
            state.columns["limit"][within] = state.columns["steps"][within]

    def _certify(self, state) -> Certificate:
        return certify(self.rows, self.problems, self.weights, state, self.loss, self.definite, self.schedule)

    def _record(self, state, found: Certificate) -> None:
        record = {
            "step": int(state.columns["steps"].max(initial=0)),
            "objective": float(found.objective.mean()),
            "gap": float(found.gap.max()),
            "seconds": time.perf_counter() - self.started,
        }
        self.history.append(record)
        if self.callback is not None:
            self.callback(record)

    def solution(self) -> Solution:
        """Everything about all columns, once all have stopped."""
        state, found = self.whole, None
        if self.schedule.certified:
            found = self._certify(state)
            self._record(state, found)
        return Solution(state, state.model(), found, self.history, self.timed_out)
