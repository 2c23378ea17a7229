"""One run of Pegasos over the windows of as many passes as it takes.

The state goes from window to window as it does from call to call of `partial_fit`, with what only all rows can tell:
lam from C, weights of mean 1, the number of steps. At the end of each whole pass the dual objective is known without a
look at any row (hinge, batches of one row), so that one more reading of the file certifies the result. For other losses
that reading bounds the optimum by the slope of the objective, and D = 0 is the last resort.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.estimators.totals import SharedProblem
from pegasos.estimators.warm_start import without_rows
from pegasos.io import DataError
from pegasos.io.source import Chunk, Source
from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate, Certifier
from pegasos.solver.monitor import Hooks
from pegasos.solver.online import one_pass
from pegasos.solver.stream import Solution, StreamSolver
from pegasos.streaming.evaluate import Tally, judged
from pegasos.streaming.progress import Work
from pegasos.streaming.setting import Setting
from pegasos.streaming.split import Split
from pegasos.streaming.survey import Look
from pegasos.streaming.windows import Window, chunks_of_window, order_of, windows

SLOWER = 1.25  # a certificate may take so many times as long as the look did, or a pass


@dataclass
class Streamed:
    """What a streamed fit has found and done."""

    look: Look
    scaler: Any  # fitted, or None
    passes: float = 0.0  # over the rows, while training
    before: float = 0.0  # passes of the runs that this one goes on from
    training: float = 0.0  # seconds of these passes
    rate: float = 0.0  # bytes of the file a second in them
    seconds: float = 0.0  # of everything
    score: float | None = None  # accuracy or R² on the training rows, where it was asked for


@dataclass(frozen=True)
class Preparing:
    """What is done to a chunk by the thread that reads it: rows held out leave, features are scaled, labels coded."""

    name: str
    split: Split | None
    scaler: Any
    whole: SharedProblem

    def __call__(self, chunk: Chunk) -> Chunk:
        """The chunk as the solver takes it."""
        chunk = chunk if self.split is None else self.split.train(chunk)
        if self.scaler is not None and len(chunk.y):
            X = self.scaler.transform(chunk.X)
            if hasattr(X, "indptr"):
                X.has_canonical_format = True  # only its values changed
            chunk = replace(chunk, X=X if hasattr(X, "indptr") else np.asarray(X))  # it may give data frames
        codes, known = self.whole.coded(chunk.y)
        if not known.all() and self.whole.weights is None:  # else rows of a class that weighs 0
            raise DataError(
                f"{self.name} has the label {chunk.y[~known][0]!s}, which was not there before: it changed."
            )
        return replace(chunk, y=codes).select(known)


@dataclass(frozen=True)
class Standing:
    """Where a run stands between two windows; nothing else decides how it goes on."""

    limits: np.ndarray  # steps at which columns are finished
    first_steps: np.ndarray  # that they had taken before the run
    dual: np.ndarray  # the best dual objective at the end of a pass
    proven: bool  # whether whole passes prove anything
    state: State | None = None
    passes: int = 0  # done
    window: int = 0  # of the present pass
    next_check: int = 1  # passes after which `tol` is next looked at
    history: tuple[dict, ...] = ()

    @property
    def steps(self) -> np.ndarray:
        """Steps of each column."""
        return self.first_steps if self.state is None else self.state.columns["steps"]


class Run:
    """A streamed fit: its source, what is the same for all windows, and where it stands.

    Who keeps checkpoints is the `keeper`; it gets standings between windows only.
    """

    def __init__(
        self, svm, source: Source, look: Look, scaler, split: Split | None, work: Work,
        record: Callable[[dict], object] | None,
    ):  # fmt: skip
        self.svm, self.source, self.work, self.clock, self.record = svm, source, work, work.clock, record
        self.setting = Setting(svm, look)
        self.solver = StreamSolver(Hooks(progress=lambda part: self.clock.is_up()))
        self.prepare = Preparing(source.name, split, scaler, self.setting.whole)
        self.streamed = Streamed(look, scaler)
        self.n_chunks = chunks_of_window(look.bytes_a_chunk)
        self.clock.reserve = SLOWER * look.seconds  # for the certificate
        self.keeper: Any = None
        schedule, n_rows = self.setting.schedule, self.setting.whole.n_rows
        single = schedule.batch == 1  # else windows end in shorter batches, and limits count whole passes
        limits = schedule.steps(n_rows).astype(np.float64) if single else np.full(len(n_rows), np.inf)
        self.at = Standing(
            limits=np.minimum(limits, schedule.max_steps),
            first_steps=np.zeros(len(n_rows), np.int64),
            dual=np.full(len(n_rows), -np.inf),
            proven=single and schedule.sampling != "replacement" and self.setting.loss.dual_is_linear,
        )
        self.kept = self.at  # the last standing between two windows; a window may be given up half done
        self.known: Certificate | None = None  # of the state as it is
        self._began = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether any column has taken a step."""
        return bool((self.at.steps > self.at.first_steps).any())

    # --- passes ---------------------------------------------------------------------------------------------------

    def all_passes(self) -> None:
        """Take all steps, as far as the time and the user let."""
        began = self._began = self.clock.seconds
        if self.at.state is not None:  # gone on from a checkpoint
            with closing(self._windows(0)) as read:
                self._meet(next(read))
        try:
            while not self._finished() and not (self.at.state is not None and self.clock.is_up()):
                self._pass()
        except KeyboardInterrupt:
            if not self.clock.interrupted:
                raise  # else it is a second one: the window that the first waited for is given up
        if self.keeper is not None and (self.clock.interrupted or self.clock.timed_out):
            self.keeper.keep(self, self.kept)
        self.streamed.training += self.clock.seconds - began
        self.streamed.rate = self.streamed.passes * self.source.size / max(self.streamed.training, 1e-9)

    def _finished(self) -> bool:
        at = self.at
        return bool((at.steps >= at.limits).all()) or at.passes >= self.setting.schedule.max_passes

    def _pass(self) -> None:
        """The rest of the present pass."""
        with closing(self._windows(self.at.passes, self.at.window)) as read:
            for window in read:
                self.over(window)
                if self._finished() or self.clock.is_up():
                    return
                del window  # or it would stay in memory until the next one is there
        self.work.end_reading()
        self.at = self.kept = replace(self.at, passes=self.at.passes + 1, window=0)
        if self.svm.tol is not None and self.at.passes >= self.at.next_check and self.clock.has_room_for_another:
            self._check()

    def _windows(self, number: int, skip: int = 0):
        schedule = self.setting.schedule
        order = order_of(self.source, schedule.seed, number, schedule.sampling)
        return windows(self.source, self.n_chunks, order, prepare=self.prepare, skip=skip)

    def over(self, window: Window) -> None:
        """Take the steps of a window."""
        setting, clock = self.setting, self.clock
        if not setting.met:
            self._meet(window)
        at, job = self.at, setting.job(window)
        state = one_pass(self.solver, job, at.state, limits=at.limits)
        steps = state.columns["steps"]
        whole = at.proven & (steps > 0) & (steps % setting.whole.n_rows == 0)
        dual = at.dual
        if whole.any():  # each row of these columns was met as often as the others
            dual = np.where(whole, np.maximum(dual, Certifier(job).linear_dual(state)), dual)
        self.at, self.known = replace(at, state=state, window=window.number + 1, dual=dual), None
        self.work.done(window.share)
        self.streamed.passes += len(window.y) / self.streamed.look.n_rows
        a_pass = (clock.seconds - self._began + self.streamed.training) / self.streamed.passes
        clock.reserve = SLOWER * max(self.streamed.look.seconds, a_pass)
        if not (clock.interrupted or clock.timed_out):
            self.kept = self.at
            if self.keeper is not None and self.keeper.due():
                self.keeper.keep(self, self.at)

    def _meet(self, window: Window) -> None:
        """Meet the first window of all, and go on from the estimator's last fit where that is wanted."""
        memory = getattr(self.svm, "_memory", None) if self.svm.warm_start else None
        self.setting.meet(window, memory)
        if memory is not None and self.at.state is None:  # its rows may have been others
            state = without_rows(memory.state)
            steps = state.columns["steps"].copy()
            self.at = replace(
                self.at, state=state, first_steps=steps, limits=self.at.limits + steps, proven=False
            )  # fmt: skip

    # --- certificates ---------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Columns within `tol` are finished."""
        began = self.clock.seconds
        found = self._certified(None)
        self.streamed.training -= self.clock.seconds - began
        if np.isnan(found.objective).any():  # no time
            return
        self._note(found)
        limits = np.where(found.relative_gap <= self.svm.tol, self.at.steps, self.at.limits)
        self.at = self.kept = replace(self.at, limits=limits, next_check=2 * self.at.passes)

    def _certified(self, tally: Tally | None) -> Certificate:
        """Read the file once more for the objective; nan where the time or the user ends that."""
        clock, interrupted, state = self.clock, self.clock.interrupted, self.at.state
        assert state is not None

        def go_on(window: Window) -> bool:
            self.work.done(window.share)
            clock.timed_out |= clock.seconds > clock.max_time
            return clock.interrupted == interrupted and not clock.seconds > clock.max_time

        sloped = bool((self.at.dual == -np.inf).any())  # no whole pass, or not of a kind that proves something
        n_chunks = max(1, self.n_chunks // 2)  # predictions and losses take memory, too
        with closing(windows(self.source, n_chunks, prepare=self.prepare)) as read:
            found = judged(read, self.setting, state, sloped=sloped, tally=tally, go_on=go_on)
        self.work.end_reading()
        if found is None:
            return self._unknown()
        return Certificate(found[0], np.maximum(self.at.dual, found[1]), self._zero(state))

    def _unknown(self) -> Certificate:
        nothing = np.full(len(self.at.dual), np.nan)
        return Certificate(nothing, nothing, self._zero(self.at.state))

    def _zero(self, state: State | None) -> np.ndarray:
        known = self.setting.whole.zero
        return state.columns["zero_objective"].copy() if known is None and state is not None else np.asarray(known)

    def _note(self, found: Certificate) -> None:
        """Keep a certificate of the state as it is, and tell of it."""
        self.known = found
        record = {
            "step": int(self.at.steps.max()),
            "objective": float(found.objective.mean()),
            "gap": float(found.gap.max()),
            "seconds": self.clock.seconds,
        }
        before = [old for old in self.at.history if old["step"] != record["step"]]
        self.at = replace(self.at, history=(*before, record))
        if self.record is not None:
            self.record(record)

    def solution(self, scored: bool) -> Solution:
        """Everything about the run, with a certificate if there is time for one."""
        clock, found = self.clock, self.known
        tally = Tally(numbers=not self.setting.of_classes) if scored else None
        if found is None or tally is not None:
            left_out = clock.interrupted or (clock.timed_out and not clock.worth_certifying)
            try:
                found = self._unknown() if left_out else self._certified(tally)
            except KeyboardInterrupt:  # a second one; the first ended the steps, or this
                found = self._unknown()
            self._note(found)
        if tally is not None and not np.isnan(found.objective).any():
            self.streamed.score = tally.score
        self.streamed.seconds = clock.seconds
        state = self.at.state
        assert state is not None
        model = state.model().astype(self.streamed.look.dtype, copy=False)
        return Solution(state, model, found, list(self.at.history), clock.timed_out, clock.interrupted)
