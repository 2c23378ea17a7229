"""The solver over a stream of draws: exact Pegasos, or dual coordinate ascent, for all columns of a job at once.

Each column minimises ``lam/2 ||w||² + mean weighted loss`` over its own rows (Shalev-Shwartz, Singer, Srebro & Cotter,
Math. Program. 2011; Shalev-Shwartz & Zhang, JMLR 2013). The draws are known in advance, so B of them are taken at once:
one product gives their scores in every column as they stand at the block's start, the B×B Gram matrix of the block
supplies the corrections, and the iterates equal the textbook loop's up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasos.problem.job import Job
from pegasos.problem.sampling import Stream
from pegasos.rules.column import Average, Rule
from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate, Certifier
from pegasos.solver.clock import Clock
from pegasos.solver.initial import initial_state
from pegasos.solver.monitor import Hooks, Monitor
from pegasos.solver.read_points import ReadPoints, draws_before
from pegasos.solver.resume import position_after, stream_from
from pegasos.solver.snapshot import PassCount, Snapshot, SnapshotStore
from pegasos.solver.snapshot_checks import check_snapshot
from pegasos.solver.start_vectors import StartVectors
from pegasos.solver.stepper import Stepper
from pegasos.utils.arrays import to_host

REFRESH_FROM = 8  # passes after which kept scores are first computed anew ...
REFRESH_EVERY = 64  # ... and at the latest between two times
WIDE_FROM = 2**23  # steps after which the sums of a float32 problem go on in float64 ...
WIDE_ABOVE = 2.0**17  # ... or as soon as the sum is so many times as large as a pull
LARGEST_MODEL = 1e-4  # times the root of the largest float: squares of its scores have to be floats, too
LEAVE_FROM = 1 / 8  # of the running columns: fewer that are finished are not dropped yet, since the rest is copied


@dataclass
class Solution:
    """What a solve has reached: the state of every column, its model and its certificate."""

    state: State
    model: np.ndarray
    certificate: Certificate | None
    history: list[dict]
    timed_out: bool = False
    interrupted: bool = False
    diverged: np.ndarray | None = None  # columns that ended at the last numbers that were not too large

    @property
    def steps(self) -> np.ndarray:
        """Steps that each column took."""
        return self.state.columns["steps"]


@dataclass
class Run:
    """A job on the way: `state` has all columns, `running` those that still take steps (the same object if all do).

    `groups` are the columns that can share a stream; they run one group after the other.
    """

    job: Job
    stepper: Stepper
    certifier: Certifier
    monitor: Monitor
    state: State
    start: State | None
    groups: list[np.ndarray]
    first_steps: np.ndarray
    passes: PassCount
    stream: Stream = field(init=False)  # of the running columns
    running: State = field(init=False)
    start_vectors: StartVectors | None = None  # until each column has taken its first step
    scores: list[np.ndarray] | None = None  # of the rows of the next large batch, where they are known
    ended_early: bool = False  # time or a callback has ended a group
    diverged: np.ndarray | None = None

    @property
    def has_begun(self) -> bool:
        """Whether any column has taken a step."""
        return bool((self.state.columns["steps"] > self.first_steps).any())

    def model(self) -> np.ndarray:
        """The model of all columns as they stand."""
        if self.running is not self.state:
            self.state.store(self.running)
        return self.state.model().astype(self.job.rows.dtype, copy=False)


class StreamSolver:
    """Takes the draws of a stream in order: `init` begins a job, `advance` takes some draws, `finish` concludes.

    One solver serves any number of jobs, one after the other: a fit, the calls of `partial_fit`, the windows of a
    streamed file, the rounds of a cluster.

    Parameters
    ----------
    hooks : Hooks, optional
    clock : Clock, optional
        Time limit and Ctrl-C; None: no limit.
    read_points : ReadPoints, optional
        Steps at which models are read off on the way; its ends replace those of the schedule.
    snapshots : SnapshotStore, optional
        Keeps snapshots on the way, and may hold one of this very solve to go on from.
    """

    def __init__(
        self, hooks: Hooks | None = None, clock: Clock | None = None, *, read_points: ReadPoints | None = None,
        snapshots: SnapshotStore | None = None,
    ):  # fmt: skip
        self.hooks, self.clock = hooks or Hooks(), clock or Clock(None)
        self.read_points, self.snapshots = read_points, snapshots
        self._certificate_timed = -1.0  # seconds at which the certificate's time was last estimated

    # --- init, advance, finish ----------------------------------------------------------------------------------

    def init(self, job: Job, start: State | None = None) -> Run:
        """Begin a job, from nothing or from an earlier state, which is left as it is."""
        certifier, found = Certifier(job), None
        ends = None if self.read_points is None else self.read_points.ends
        state = initial_state(job, certifier, start, ends)
        if self.snapshots is not None and self.snapshots.found is not None:
            found = self._trusted(self.snapshots, job, state)
            state = found.whole
        run = Run(
            job=job, stepper=Stepper(job), certifier=certifier,
            monitor=Monitor(self.clock, self.hooks, state.columns["zero_objective"]), state=state, start=start,
            groups=job.groups(), first_steps=state.columns["steps"].copy(), passes=PassCount(),
            start_vectors=None if found is not None else StartVectors.of(job, state),
        )  # fmt: skip
        if found is not None:
            self._restore(run, found)
        self._enter(run, run.passes.group, found)
        return run

    def advance(self, run: Run) -> bool:
        """Take a stretch of draws, or one large batch, and all that follows from it; False: the job is done."""
        if self._ends(run):
            if run.passes.group + 1 == len(run.groups):
                return False
            self._enter(run, run.passes.group + 1)
            return True
        run.running.turn_windows()
        before = run.passes.passes
        take = self._small_steps if run.job.small_steps else self._large_batch
        if run.job.may_diverge:
            self._undo_if_diverged(run, take)
        else:
            take(run)
        if run.start_vectors is not None:
            run.scores = None
            run.start_vectors = run.start_vectors.forgotten(run.running)
        self._settle(run, run.passes.passes > before)
        return True

    def finish(self, run: Run) -> Solution:
        """What is to know of all columns, once all have stopped."""
        job, clock, state = run.job, self.clock, run.state
        if self.read_points is not None:
            self.read_points.read_off(state, at_end=True)
        certificate = run.monitor.last(state, run.certifier) if job.schedule.certified else None
        self._note_position(run)
        model = run.model()
        if self.read_points is None:  # else everything was read off on the way
            state, model = state.to_host(), job.rows.backend.to_host(model)
        return Solution(
            state, model, certificate, run.monitor.history, clock.timed_out, clock.interrupted, run.diverged
        )  # fmt: skip

    def state_after(self, job: Job, start: State | None = None) -> State:
        """`init`, and `advance` until the job is done: the state then, on the host, without a certificate."""
        run = self.init(job, start)
        while self.advance(run):
            pass
        self._note_position(run)
        return run.state.to_host()

    def _note_position(self, run: Run) -> None:
        """Let the state know where a later job over the same rows goes on in the stream."""
        used = run.job.problems.row_sets[run.job.used_rows]
        run.state.position = position_after(
            run.state, run.start, run.job.schedule, used, run.first_steps, run.stream
        )  # fmt: skip

    # --- one stretch --------------------------------------------------------------------------------------------

    def _small_steps(self, run: Run) -> None:
        """Single rows and small batches: a stretch of draws, in the way that is fastest for it."""
        state, stream, passes = run.running, run.stream, run.passes
        index = stream.take(run.stepper.length(len(state.columns)), run.job.schedule.batch or 1)
        index = self._up_to_stop(run, index)
        run.stepper.over(state, index)
        passes.passes = stream.passes - passes.first
        again = passes.passes >= passes.next_check or passes.passes - passes.refreshed >= REFRESH_EVERY
        if passes.passes >= REFRESH_FROM and again:
            passes.refreshed = passes.passes
            run.job.rows.refresh(state)

    def _large_batch(self, run: Run) -> None:
        """One step of many rows. All rows: no stream is needed."""
        batch, passes, n_columns = run.job.schedule.batch, run.passes, len(run.running.columns)
        index = None if batch is None else run.stream.take(batch, batch)
        scores = run.stepper.batch(run.running, index, run.scores)
        passes.passes = passes.passes + 1 if index is None else run.stream.passes - passes.first
        run.scores = scores if index is None and len(run.running.columns) == n_columns else None

    def _undo_if_diverged(self, run: Run, take: Callable[[Run], None]) -> None:
        """Take steps that may lead to ever larger numbers; columns with too large ones end where they were before."""
        state = run.running
        before = state.select(np.ones(len(state.columns), bool))
        with np.errstate(over="ignore", invalid="ignore"):
            take(run)
            most = LARGEST_MODEL * np.finfo(state.sums.dtype).max ** 0.5
            too_large = ~(to_host(abs(state.model()).max(axis=0)) < most)
        if not too_large.any():
            return
        part = before.select(too_large)
        places = part.columns["place"].copy()
        part.columns["place"] = np.flatnonzero(too_large)
        state.store(part)
        state.columns["place"][too_large] = places
        state.columns["limit"][too_large] = state.columns["steps"][too_large]
        run.scores = None
        run.diverged = np.zeros(run.job.n_columns, bool) if run.diverged is None else run.diverged
        run.diverged[places] = True

    def _up_to_stop(self, run: Run, index: np.ndarray) -> np.ndarray:
        """Cut the stretch where a column's window is complete or its model is to be read off, or after a first step."""
        columns, until, batch = run.running.columns, len(index), run.job.schedule.batch or 1
        if run.job.average == Average.WINDOW:
            until = draws_before(columns["window_end"], columns, run.job.weights, index, batch)
        if self.read_points is not None:
            stops = self.read_points.next(columns["place"])
            until = min(until, draws_before(stops, columns, run.job.weights, index[:until], batch))
        if run.start_vectors is not None:
            until = min(until, batch)
        run.stream.put_back(index[until:])
        return index[:until]

    def _settle(self, run: Run, pass_ended: bool) -> None:
        """After some steps: note what they prove, call the hooks, read models off, and drop finished columns."""
        state, schedule, passes = run.running, run.job.schedule, run.passes
        if schedule.certified or schedule.tol is not None:
            run.certifier.note_dual(state)
        if passes.passes >= passes.next_check:
            passes.next_check = 2 * passes.passes
            self._check(run)
        self._call_hooks(run, pass_ended)
        if self.read_points is not None:
            self.read_points.read_off(state)
        self._drop_finished(run)

    def _ends(self, run: Run) -> bool:
        """Whether the running columns are done, the time is up, or a callback has ended the solve."""
        state, clock = run.running, self.clock
        if state.finished.all():
            return True
        self._estimate_certificate(run)
        ends = run.monitor.stopped or clock.is_up()
        if self.snapshots is not None and not run.ended_early and (ends or self.snapshots.due()):
            self.snapshots.keep(self._snapshot(run))
        run.ended_early |= ends  # a later group cannot be gone on from before this one
        if ends and state is not run.state:
            run.state.store(state)
        return ends

    # --- columns come and go --------------------------------------------------------------------------------------

    def _enter(self, run: Run, number: int, found: Snapshot | None = None) -> None:
        """Begin with a group of columns, or go on with it where the snapshot was taken."""
        self.clock.share(len(run.groups) - number)
        job, group = run.job, run.groups[number]
        run.stream, run.scores = stream_from(job.used_rows, job.schedule, run.start), None
        if found is not None:
            run.running = run.state if found.state is None else found.state
            run.passes = replace(found.lap)  # a second try, with less memory, begins with the snapshot again
            run.stream.restore(found.stream)
        else:
            run.running = run.state if group.all() else run.state.select(group)
            run.passes = PassCount(number, run.stream.passes)
        self._restrict(run)
        if job.schedule.batch is None and self.clock.limited:  # a step over all rows may take longer than is left
            self.clock.expect(2 * self._seconds_of_scores(run))

    def _restrict(self, run: Run) -> None:
        """Draw only rows that some running column has."""
        used = np.unique(run.running.columns["row_set"])
        run.stream.keep((run.job.weights[:, used] != 0).any(axis=1))

    def _drop_finished(self, run: Run) -> None:
        """Drop finished columns once they are an eighth of all, because dropping copies the rest."""
        state = run.running
        if state.sums.dtype == np.float32 and _pulls_get_lost(state, run.job.rows.largest_square):
            state.widen()
        finished = state.finished
        if not finished.any() or (finished.mean() < LEAVE_FROM and not finished.all()):
            return
        if state is not run.state:
            run.state.store(state)
        if not finished.all():
            run.running, run.scores = state.select(~finished), None
            self._restrict(run)

    # --- certificates and callbacks -------------------------------------------------------------------------------

    def _check(self, run: Run) -> None:
        """After passes 1, 2, 4, 8, ...: a certificate for `tol` and the hooks; columns within `tol` are finished."""
        tol, state = run.job.schedule.tol, run.running
        if (tol is None and self.hooks.record is None) or not self.clock.has_room_for_another:
            return
        certificate = run.certifier.certify(state)
        run.monitor.record(state, certificate)
        if tol is not None:
            within = certificate.relative_gap <= tol
            state.columns["limit"][within] = state.columns["steps"][within]

    def _call_hooks(self, run: Run, pass_ended: bool) -> None:
        hooks, monitor, columns = self.hooks, run.monitor, run.running.columns
        if hooks.progress is not None:
            first = run.first_steps[columns["place"]]
            done = (columns["steps"] - first) / np.maximum(columns["limit"] - first, 1)
            in_time = self.clock.seconds / self.clock.max_time
            monitor.stopped |= hooks.progress(max(float(done.mean()), in_time)) is True
        if pass_ended and hooks.after_pass is not None:
            model = lambda: run.job.rows.backend.to_host(run.model())
            monitor.stopped |= hooks.after_pass(run.passes.passes, model) is True

    def _estimate_certificate(self, run: Run) -> None:
        """Now and then in a run with a time limit: see how long a certificate takes, to leave room for it."""
        clock = self.clock
        if not clock.limited or not run.job.schedule.certified:
            return
        due = 0.05 * clock.max_time if self._certificate_timed < 0 else 1.5 * self._certificate_timed
        if clock.seconds < due:
            return
        twice = run.job.rule != Rule.SDCA and run.certifier.needs_alpha(run.running.columns)
        clock.reserve = (4.5 if twice else 1.5) * self._seconds_of_scores(run)  # half as much again as expected
        self._certificate_timed = clock.seconds

    def _seconds_of_scores(self, run: Run) -> float:
        return run.certifier.seconds_of_scores(run.model(), at_most=0.01 * self.clock.max_time)

    # --- snapshots ------------------------------------------------------------------------------------------------

    def _snapshot(self, run: Run) -> Snapshot:
        monitor, known = run.monitor, run.monitor.known
        return Snapshot(
            whole=run.state.to_host(), state=None if run.running is run.state else run.running.to_host(),
            lap=run.passes, stream=run.stream.snapshot(), order=run.job.rows.support_order,
            pull_rate=run.stepper.pull_rate, seconds=self.clock.seconds, first_steps=run.first_steps,
            history=monitor.history, known=np.array([known.objective, known.dual, monitor.known_at]),
        )  # fmt: skip

    def _trusted(self, snapshots: SnapshotStore, job: Job, fresh: State) -> Snapshot:
        """The snapshot to go on from, on the device of the rows, if a job that begins with `fresh` can have left it."""
        found = snapshots.found
        assert found is not None
        begun = fresh.to_host()
        try:
            check_snapshot(found, job, begun, job.groups())
        except ValueError as error:
            raise snapshots.refused() from error
        # Without time for the features of landmarks, then or now, sums lie otherwise in memory.
        return found.in_order_of(begun).to_device_of(job.rows.zeros(0))

    def _restore(self, run: Run, found: Snapshot) -> None:
        rows, monitor = run.job.rows, run.monitor
        for state in (found.whole, found.state):  # max_time may have left no time for the kernel matrix, then or now
            if state is None or not run.job.small_steps:
                continue
            products: Any = rows.products(len(state.columns))
            if products.shape != state.products.shape:
                state.products = products.astype(state.sums.dtype)
                rows.refresh(state)
        rows.cache_support(found.order)
        run.stepper.pull_rate, run.first_steps, run.passes = found.pull_rate, found.first_steps, found.lap
        self.clock.started -= found.seconds
        monitor.history = list(found.history)
        monitor.known.objective[:], monitor.known.dual[:], monitor.known_at[:] = found.known


def _pulls_get_lost(state: State, largest_square: float) -> bool:
    """Whether single pulls begin to vanish in the rounding of float32 sums."""
    columns = state.columns
    largest = columns["norm_squared"] / np.maximum(columns["share"] ** 2 * largest_square, 1e-300)
    return columns["steps"].max() > WIDE_FROM or largest.max() > WIDE_ABOVE**2
