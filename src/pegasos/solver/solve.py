"""The solver: exact Pegasos (or dual coordinate ascent) for all columns of a problem in one pass over the draws.

Each column minimises ``lam/2 ||w||² + mean weighted loss`` over its own rows (Shalev-Shwartz, Singer, Srebro & Cotter,
Math. Program. 2011; Shalev-Shwartz & Zhang, JMLR 2013). The draws are known in advance, so B of them are taken at once:
one product gives their scores in every column as they stand at the block's start, the B×B Gram matrix of the block
supplies the corrections, and the iterates equal the textbook loop's up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from pegasos.losses.scalar import Loss
from pegasos.problem.columns import Problems
from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule, average_of, column_records, equal_row_sets
from pegasos.rows import Rows
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import State, next_turn
from pegasos.solver.certificate import Certificate, Certifier
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks, Monitor
from pegasos.solver.read_points import ReadPoints, draws_before
from pegasos.solver.resume import position_after, resume, still_whole, stream_from
from pegasos.solver.snapshot import Keeper, Lap, Snapshot
from pegasos.solver.stepper import Advance

REFRESH_FROM = 8  # passes after which kept scores are first computed anew ...
REFRESH_EVERY = 64  # ... and at the latest between two times
WIDE_FROM = 2**23  # steps after which the sums of a float32 problem go on in float64 ...
WIDE_ABOVE = 2.0**17  # ... or as soon as the sum is so many times as large as a pull


@dataclass
class Solution:
    """The result of `solve`: the state of every column, its model and its certificate."""

    state: State
    model: np.ndarray
    certificate: Certificate | None
    history: list[dict] = field(default_factory=list)
    timed_out: bool = False
    interrupted: bool = False

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
    state: State | None = None,
    started: float | None = None,
    callback: Callable[[dict], object] | Hooks | None = None,
    interruptible: bool = True,
    marks: ReadPoints | None = None,
    keeper: Keeper | None = None,
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
    state : State, optional
        Where to go on: the state of an earlier solution, which is left as it is, or `State.from_weights`. Steps and
        passes of `schedule` are taken beyond its own.
    started : float, optional
        ``time.perf_counter()`` from which `max_time` counts; None: now.
    callback : callable or Hooks, optional
        Called with a record (step, objective, gap, seconds) after passes 1, 2, 4, 8, ...; True ends the solve.
    interruptible : bool
        Whether Ctrl-C ends the steps and gives the solution reached; else it raises KeyboardInterrupt as usual.
    marks : ReadPoints, optional
        Where to read off models on the way; its ends replace those of `schedule`.
    keeper : Keeper, optional
        Keeps snapshots of the solve on the way, and may know one of this very solve to go on from.

    Returns
    -------
    Solution
    """
    if (loss == Loss.CRAMMER_SINGER) != (problems.scheme == "crammer_singer"):
        raise ValueError(f"The columns of scheme {problems.scheme!r} do not go with {loss.name}.")
    watcher = callback if isinstance(callback, Hooks) else Hooks(record=callback)
    clock = Clock(schedule.max_time, started)
    run = _Run(rows, problems, rule, schedule, loss, definite, state, clock, watcher, marks, keeper)
    with run.clock.watching_interrupts() if interruptible else nullcontext():
        run.all_columns()
        if run.clock.interrupted and not run.has_begun:
            raise KeyboardInterrupt
        if marks is not None:
            marks.read_off(run.whole, at_end=True)
        return run.solution()


class _Run:
    """One call of `solve`: the arrays every step needs, and where the run stands."""

    def __init__(self, rows, problems, rule, schedule, loss, definite, before, clock, watcher, marks, keeper):
        self.rows, self.problems, self.rule, self.schedule = rows, problems, rule, schedule
        self.before, self.clock, self.watcher, self.marks, self.keeper = before, clock, watcher, marks, keeper
        self.weights = problems.normalised_weights(rows.dtype)
        self.used = np.flatnonzero(problems.row_sets.any(axis=1))  # rows that no column has are as if not there
        self.average = average_of(rule, schedule.average)
        self.certifier = Certifier(rows, problems, self.weights, schedule, loss, definite)
        self.advance = Advance(rows, problems, self.weights, schedule, rule, loss, self.average)
        self.found = None if keeper is None or keeper.found is None else keeper.found.to_device_of(rows.zeros(0))
        self.whole = self._first_state(loss) if self.found is None else self.found.whole
        self.monitor = Monitor(self.certifier, clock, watcher, self.whole.columns["zero_objective"])
        self.latest = stream_from(self.used, schedule, before)
        self.lap = Lap()
        self._cut = False  # a group of columns has ended early
        self._largest_square = rows.largest_square if rows.dtype == np.float32 else 0.0
        self._timed = -1.0  # seconds at which the certificate's time was last estimated
        self._first_steps = self.whole.columns["steps"].copy()
        if self.found is not None:
            self._restore(self.found)

    @property
    def has_begun(self) -> bool:
        """Whether any column has taken a step."""
        return bool((self.whole.columns["steps"] > self._first_steps).any())

    # --- set-up -------------------------------------------------------------------------------------------------

    def _first_state(self, loss) -> State:
        rows, schedule, n_columns = self.rows, self.schedule, self.problems.n_columns
        columns = column_records(rows, self.problems, self.weights, schedule, self.rule, loss)
        if self.marks is not None:
            columns["limit"] = columns["horizon"] = self.marks.ends
        columns["window_end"] = next_turn(columns, self.rule)
        none = rows.xp.zeros((0, 0), rows.dtype)
        sums = rows.zeros(n_columns)
        averaged = self.average != Average.LAST
        state = State(
            columns=columns,
            sums=sums,
            weighted=rows.zeros(n_columns) if averaged else none,
            previous=rows.zeros(n_columns) if self.average == Average.WINDOW else none,
            alpha=self._alpha(sums, columns),
            violations=rows.xp.zeros((rows.n_rows, n_columns) if schedule.count_violations else (0, 0), np.int32),
            products=rows.products(n_columns) if self._in_small_steps() else none,
            rule=self.rule,
            average=self.average,
        )
        if self.before is not None:
            resume(state, self.before, schedule)
            rows.refresh(state)
            unknown = np.isnan(columns["norm_squared"])
            if unknown.any():
                columns["norm_squared"][unknown] = rows.square_norms(state.select(unknown).sums)
            if schedule.certified:
                self.certifier.note_dual(state)
        return state

    def _alpha(self, sums, columns) -> np.ndarray:
        """Coefficients of the rows: sdca needs them; a certificate does if no whole pass gives a dual point."""
        if self.rows.dual:
            return sums[: self.rows.n_rows]
        done, known = 0, False
        if self.before is not None and len(self.before.columns) == len(columns):
            columns["pass_is_feasible"] = still_whole(columns, self.before, self.schedule)
            done, known = self.before.columns["steps"], self.schedule.certified and self.before.alpha.size > 0
        if self.rule == Rule.SDCA or known or self.certifier.needs_alpha(columns, done):
            return self.rows.xp.zeros((self.rows.n_rows, len(columns)), self.rows.dtype)
        return self.rows.xp.zeros((0, 0), self.rows.dtype)

    def all_columns(self) -> None:
        """Run all columns; batches of different row sets do not line up, so each group of equal ones is by itself."""
        if self.schedule.batch is None or self.schedule.batch == 1:
            groups = [np.ones(self.problems.n_columns, bool)]
        else:
            groups = equal_row_sets(self.problems)
        for turn, group in enumerate(groups):
            if self.found is not None and turn < self.found.lap.group:  # done before the snapshot
                continue
            self.clock.share(len(groups) - turn)
            if self._in_small_steps():
                self.stream(turn, group)
            else:
                self.large_batches(turn, group)

    # --- the two loops ------------------------------------------------------------------------------------------

    def stream(self, turn: int, group: np.ndarray) -> None:
        """Run the columns of `group` over one stream of draws, by single rows and small batches."""
        state, stream = self._enter(turn, group)
        lap = self.lap
        while not self._ends(state, stream):
            state.turn_windows()
            before = lap.passes
            index = stream.take(self.advance.length(len(state.columns)), self.schedule.batch)
            index = self._up_to_stop(state, index, stream)
            self.advance.over(state, index)
            lap.passes = passes = stream.passes - lap.first
            if passes >= REFRESH_FROM and (passes >= lap.next_check or passes - lap.refreshed >= REFRESH_EVERY):
                lap.refreshed = passes
                self.rows.refresh(state)
            state = self._settle(state, stream, passes > before)
        self.latest = stream

    def large_batches(self, turn: int, group: np.ndarray) -> None:
        """Steps of many rows each. All rows: no stream is needed."""
        schedule = self.schedule
        state, stream = self._enter(turn, group)
        lap, scores = self.lap, None
        if schedule.batch is None and self.clock.limited:  # a step over all rows may take longer than there is time
            self.clock.expect(2 * self._seconds_of_scores())
        while not self._ends(state, stream):
            state.turn_windows()
            before, columns_before = lap.passes, len(state.columns)
            index = None if schedule.batch is None else stream.take(schedule.batch, schedule.batch)
            scores = self.advance.batch(state, index, scores)
            lap.passes = lap.passes + 1 if index is None else stream.passes - lap.first
            state = self._settle(state, stream, lap.passes > before)
            if index is not None or len(state.columns) != columns_before:
                scores = None
        self.latest = stream

    def _settle(self, state, stream, pass_ended: bool) -> State:
        """After some steps: note what they prove, look, and let finished columns leave."""
        if self.schedule.certified or self.schedule.tol is not None:
            self.certifier.note_dual(state)
        if self.lap.passes >= self.lap.next_check:
            self.lap.next_check = 2 * self.lap.passes
            self._check(state)
        self._look(state, self.lap.passes if pass_ended else None)
        if self.marks is not None:
            self.marks.read_off(state)
        return self._leave(state, stream)

    def _in_small_steps(self) -> bool:
        """Whether batches are small enough for the stream of draws to be cut into blocks."""
        return self.schedule.batch is not None and self.schedule.batch <= self.rows.largest_block_batch

    def _up_to_stop(self, state, index, stream):
        """Cut the block where a column's window is complete or its model is wanted, so that it is between blocks."""
        columns, until = state.columns, len(index)
        if self.average == Average.WINDOW:
            until = draws_before(columns["window_end"], columns, self.weights, index, self.schedule.batch)
        if self.marks is not None:
            marks = self.marks.next(columns["place"])
            until = min(until, draws_before(marks, columns, self.weights, index[:until], self.schedule.batch))
        stream.put_back(index[until:])
        return index[:until]

    # --- columns come and go --------------------------------------------------------------------------------------

    def _enter(self, turn: int, group: np.ndarray) -> tuple[State, Stream]:
        """The columns of a group and their stream, from the beginning or from a snapshot."""
        stream = stream_from(self.used, self.schedule, self.before)
        if self.found is not None and self.found.lap.group == turn:
            state = self.whole if self.found.state is None else self.found.state
            self.lap = replace(self.found.lap)  # who runs out of memory begins with the snapshot again
            stream.restore(self.found.stream)
        else:
            state = self.whole if group.all() else self.whole.select(group)
            self.lap = Lap(turn, stream.passes)
        self._restrict(state, stream)
        return state, stream

    def _restrict(self, state, stream: Stream) -> None:
        """Draw only rows that some column still has a use for."""
        used = np.unique(state.columns["row_set"])
        stream.keep((self.weights[:, used] != 0).any(axis=1))

    def _leave(self, state, stream) -> State:
        """Finished columns leave; few at a time wait for company, since those who stay are copied."""
        if state.sums.dtype == np.float32 and self._pulls_get_lost(state):
            state.widen()
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

    def _pulls_get_lost(self, state) -> bool:
        """Whether single pulls begin to vanish in the rounding of float32 sums."""
        columns = state.columns
        largest = columns["norm_squared"] / np.maximum(columns["share"] ** 2 * self._largest_square, 1e-300)
        return columns["steps"].max() > WIDE_FROM or largest.max() > WIDE_ABOVE**2

    def _ends(self, state, stream) -> bool:
        """Whether the columns at hand are done, the time is up, or someone has seen enough."""
        if state.finished.all():
            return True
        self._estimate_certificate(state)
        ends = self.monitor.stopped or self.clock.is_up()
        if self.keeper is not None and not self._cut and (ends or self.keeper.due()):
            self.keeper.keep(self._snapshot(state, stream))
        self._cut |= ends  # a later group is not to be gone on from before this one
        if ends and state is not self.whole:
            self.whole.store(state)
        return ends

    # --- snapshots ----------------------------------------------------------------------------------------------

    def _snapshot(self, state, stream: Stream) -> Snapshot:
        monitor = self.monitor
        return Snapshot(
            whole=self.whole.to_host(), state=None if state is self.whole else state.to_host(), lap=self.lap,
            stream=stream.snapshot(), order=self.rows.gathered, pull_rate=self.advance.pull_rate,
            seconds=self.clock.seconds, first_steps=self._first_steps, history=monitor.history,
            known=np.array([monitor.known.objective, monitor.known.dual, monitor.known_at]),
        )  # fmt: skip

    def _restore(self, found: Snapshot) -> None:
        for state in (found.whole, found.state):  # max_time may have left no time for the kernel matrix, then or now
            if state is None or not self._in_small_steps():
                continue
            room = self.rows.products(len(state.columns))
            if room.shape != state.products.shape:
                state.products = room.astype(state.sums.dtype)
                self.rows.refresh(state)
        self.rows.gather(found.order)
        self.advance.pull_rate = found.pull_rate
        self.clock.started -= found.seconds
        self._first_steps = found.first_steps
        self.monitor.history = list(found.history)
        self.monitor.known.objective[:], self.monitor.known.dual[:], self.monitor.known_at[:] = found.known

    # --- looking on ---------------------------------------------------------------------------------------------

    def _look(self, state, passes: int | None) -> None:
        """Tell the watcher; `passes` is given when one has just ended."""
        watcher = self.watcher
        if watcher.progress is not None:
            first = self._first_steps[state.columns["place"]]
            done = (state.columns["steps"] - first) / np.maximum(state.columns["limit"] - first, 1)
            in_time = self.clock.seconds / self.clock.max_time
            self.monitor.stopped |= watcher.progress(max(float(done.mean()), in_time)) is True
        if passes is not None and watcher.after_pass is not None:
            self.monitor.stopped |= (
                watcher.after_pass(passes, lambda: self.rows.backend.to_host(self._model(state))) is True
            )

    def _model(self, state) -> np.ndarray:
        """The model of all columns as they stand."""
        if state is not self.whole:
            self.whole.store(state)
        return self.whole.model().astype(self.rows.dtype, copy=False)

    def _check(self, state) -> None:
        """After passes 1, 2, 4, 8, ...: a certificate for whoever asks, and columns within `tol` are finished."""
        tol = self.schedule.tol
        if (tol is None and self.watcher.record is None) or not self.clock.has_room_for_another:
            return
        found = self.certifier.certify(state)
        self.monitor.record(state, found)
        if tol is not None:
            within = found.relative_gap <= tol
            state.columns["limit"][within] = state.columns["steps"][within]

    def _estimate_certificate(self, state) -> None:
        """Now and then in a run with a time limit: see how long a certificate takes, to leave room for it."""
        if not self.clock.limited or not self.schedule.certified:
            return
        due = 0.05 * self.clock.max_time if self._timed < 0 else 1.5 * self._timed
        if self.clock.seconds < due:
            return
        twice = self.rule != Rule.SDCA and self.certifier.needs_alpha(state.columns)
        self.clock.reserve = (4.5 if twice else 1.5) * self._seconds_of_scores()  # half as much again as hoped
        self._timed = self.clock.seconds

    def _seconds_of_scores(self) -> float:
        return self.certifier.seconds_of_scores(self._model(self.whole), at_most=0.01 * self.clock.max_time)

    def solution(self) -> Solution:
        """Everything about all columns, once all have stopped."""
        state, found = self.whole, None
        if self.schedule.certified:
            found = self.monitor.last(state)
        state.position = position_after(
            state, self.before, self.schedule, self.problems.row_sets[self.used], self._first_steps, self.latest
        )
        clock = self.clock
        model = self._model(state)
        if self.marks is None:  # else everything was handed over on the way
            state, model = state.to_host(), self.rows.backend.to_host(model)
        return Solution(state, model, found, self.monitor.history, clock.timed_out, clock.interrupted)
