"""One run of Pegasos over the windows of all passes.

The solver's state goes from window to window as it does from call to call of `partial_fit`, with what only all rows can
tell: lam from C, weights of mean 1, the number of steps. With the hinge and batches of one row, the dual objective at
the end of each pass is known without a look at any row, so that one more reading of the file gives the certificate. For
other losses that reading bounds the optimum by the slope of the objective; D = 0 is the last resort.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.estimators.recipe import Recipe
from pegasos.estimators.warm_start import without_rows
from pegasos.io.source import Source
from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate, Certifier
from pegasos.solver.monitor import Hooks
from pegasos.solver.online import one_pass
from pegasos.solver.stream import Solution, StreamSolver
from pegasos.streaming.evaluate import StreamScore, objective_and_bound
from pegasos.streaming.prepare import ChunkPreparer, Split
from pegasos.streaming.progress import StreamProgress
from pegasos.streaming.setting import Setting
from pegasos.streaming.survey import StreamSurvey
from pegasos.streaming.windows import Window, chunks_per_window, pass_order, windows

SLOWER = 1.25  # a certificate may take so many times as long as the survey did, or a pass


@dataclass
class StreamResult:
    """What a streamed fit has found and done."""

    survey: StreamSurvey
    scaler: Any  # fitted, or None
    passes: float = 0.0  # over the rows, while training
    earlier_passes: float = 0.0  # of the runs before, where this one goes on from a checkpoint
    training_seconds: float = 0.0  # of `passes`
    bytes_per_second: float = 0.0  # of the file, in these
    seconds: float = 0.0  # of everything
    score: float | None = None  # accuracy or R² on the training rows, where it was asked for


@dataclass(frozen=True)
class StreamState:
    """The state of a run between two windows; nothing else decides how it goes on.

    Attributes
    ----------
    limits, first_steps : ndarray of shape (n_columns,)
        Steps at which a column is finished, and those it had taken before the run.
    best_dual : ndarray of shape (n_columns,)
        The best dual objective at the end of a pass.
    dual_is_known : bool
        Whether the dual objective is known at the end of each pass.
    solver_state : State or None
        None before the first step.
    passes, window : int
        Passes done, and windows done of the present one.
    next_check : int
        Passes after which the gap is next compared with `tol`.
    history : tuple of dict
        The records of all certificates.
    """

    limits: np.ndarray
    first_steps: np.ndarray
    best_dual: np.ndarray
    dual_is_known: bool
    solver_state: State | None = None
    passes: int = 0
    window: int = 0
    next_check: int = 1
    history: tuple[dict, ...] = ()

    @property
    def steps(self) -> np.ndarray:
        """Steps of each column."""
        return self.first_steps if self.solver_state is None else self.solver_state.columns["steps"]


class StreamRun:
    """The training of an estimator on a source, once the source was surveyed.

    Attributes
    ----------
    setting : Setting
    state : StreamState
        Its solver state may be that of a window which time or Ctrl-C has cut short.
    resumable : StreamState
        The last one after a whole window, for checkpoints.
    certificate : Certificate or None
        That of the present model, if it is known.
    checkpoint : StreamCheckpoint or None
        Written between two windows.
    result : StreamResult
    """

    def __init__(
        self, recipe: Recipe, source: Source, survey: StreamSurvey, progress: StreamProgress, *, scaler=None,
        split: Split | None = None, record: Callable[[dict], object] | None = None,
    ):  # fmt: skip
        self.recipe, self.source, self.record = recipe, source, record
        self.progress, self.clock = progress, progress.clock
        self.setting = Setting(recipe, survey)
        self.solver = StreamSolver(Hooks(progress=lambda part: self.clock.is_up()))
        self.prepare = ChunkPreparer(source.name, self.setting.problem, scaler, split)
        self.result = StreamResult(survey, scaler)
        self.n_chunks = chunks_per_window(survey.bytes_per_chunk)
        self.clock.reserve = SLOWER * survey.seconds  # for the certificate
        self.state = self.resumable = _first_state(self.setting)
        self.certificate: Certificate | None = None
        self.checkpoint: Any = None
        self._began = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether any column has taken a step."""
        return bool((self.state.steps > self.state.first_steps).any())

    # --- passes -----------------------------------------------------------------------------------------------------

    def all_passes(self) -> None:
        """Take all steps, until time or Ctrl-C ends them."""
        began = self._began = self.clock.seconds
        if self.state.solver_state is not None:  # from a checkpoint, which does not hold kernel and landmarks
            with closing(self._windows(0)) as read:
                window = next(read)
                self._choose_features(window)
            if self.checkpoint is not None:
                self.checkpoint.check_sums(self.state.solver_state, self.setting.job(window).rows)
        try:
            while not self._finished() and not (self.state.solver_state is not None and self.clock.is_up()):
                self._pass()
        except KeyboardInterrupt:
            if not self.clock.interrupted:
                raise  # else this is a second Ctrl-C, during the window that the first one waited for: it is given up
        if self.checkpoint is not None and (self.clock.interrupted or self.clock.timed_out):
            self.checkpoint.save(self, self.resumable)
        result = self.result
        result.training_seconds += self.clock.seconds - began
        result.bytes_per_second = result.passes * self.source.size / max(result.training_seconds, 1e-9)

    def _finished(self) -> bool:
        state = self.state
        return bool((state.steps >= state.limits).all()) or state.passes >= self.setting.schedule.max_passes

    def _pass(self) -> None:
        """Take the steps of what is left of the present pass, and compare the gap with `tol` if it is time to."""
        with closing(self._windows(self.state.passes, self.state.window)) as read:
            for window in read:
                self.learn(window)
                if self._finished() or self.clock.is_up():
                    return
                del window  # or it would stay in memory until the next one is there
        self.progress.end_reading()
        self.state = self.resumable = replace(self.state, passes=self.state.passes + 1, window=0)
        tol = self.setting.schedule.tol
        if tol is not None and self.state.passes >= self.state.next_check and self.clock.has_room_for_another:
            self._finish_columns_within(tol)

    def _windows(self, number: int, skip: int = 0):
        """The windows of the pass of this number, but for the first `skip`."""
        schedule = self.setting.schedule
        order = pass_order(self.source, schedule.seed, number, schedule.sampling)
        return windows(self.source, self.n_chunks, order, prepare=self.prepare, skip=skip)

    def learn(self, window: Window) -> None:
        """Take the steps of a window."""
        if self.setting.features is None:
            self._choose_features(window)
        clock, state, job = self.clock, self.state, self.setting.job(window)
        reached = one_pass(self.solver, job, state.solver_state, limits=state.limits)
        steps, dual = reached.columns["steps"], state.best_dual
        after_pass = state.dual_is_known & (steps > 0) & (steps % self.setting.problem.n_rows == 0)
        if after_pass.any():  # these columns have taken each of their rows equally often
            dual = np.where(after_pass, np.maximum(dual, Certifier(job).linear_dual(reached)), dual)
        self.state = replace(state, solver_state=reached, window=window.number + 1, best_dual=dual)
        self.certificate = None
        self.progress.add(window.share)
        result = self.result
        result.passes += len(window.y) / result.survey.n_rows
        seconds_per_pass = (clock.seconds - self._began + result.training_seconds) / result.passes
        clock.reserve = SLOWER * max(result.survey.seconds, seconds_per_pass)
        if not (clock.interrupted or clock.timed_out):
            self.resumable = self.state
            if self.checkpoint is not None and self.checkpoint.due():
                self.checkpoint.save(self, self.state)

    def _choose_features(self, window: Window) -> None:
        """Choose kernel and landmarks, and go on from the estimator's last fit under `warm_start`."""
        memory = self.recipe.online_memory() if self.recipe.estimator.warm_start else None
        self.setting.choose_features(window, memory)
        if memory is not None and self.state.solver_state is None:
            state = without_rows(memory.state)
            steps = state.columns["steps"].copy()
            self.state = replace(
                self.state,
                solver_state=state,
                first_steps=steps,
                limits=self.state.limits + steps,
                dual_is_known=False,  # rows of the last fit may have been others
            )

    # --- certificates -----------------------------------------------------------------------------------------------

    def _finish_columns_within(self, tol: float) -> None:
        """Let columns whose gap is at most `tol` take no more steps; the next such check is after twice the passes."""
        began = self.clock.seconds
        found = self._certify(None)
        self.result.training_seconds -= self.clock.seconds - began
        if np.isnan(found.objective).any():  # there was no time
            return
        self._note(found)
        limits = np.where(found.relative_gap <= tol, self.state.steps, self.state.limits)
        self.state = self.resumable = replace(self.state, limits=limits, next_check=2 * self.state.passes)

    def _certify(self, score: StreamScore | None) -> Certificate:
        """Read the file once more for the certificate; nan where time or Ctrl-C ends that."""
        clock, interrupted, state = self.clock, self.clock.interrupted, self.state
        assert state.solver_state is not None

        def go_on(window: Window) -> bool:
            self.progress.add(window.share)
            late = clock.seconds > clock.max_time
            clock.timed_out |= late
            return clock.interrupted == interrupted and not late

        by_slope = bool((state.best_dual == -np.inf).any())
        n_chunks = max(1, self.n_chunks // 2)  # predictions and losses take memory, too
        with closing(windows(self.source, n_chunks, prepare=self.prepare)) as read:
            found = objective_and_bound(
                read, self.setting, state.solver_state, by_slope=by_slope, score=score, go_on=go_on
            )
        self.progress.end_reading()
        if found is None:
            return self._no_certificate()
        objective, bound = found
        return Certificate(objective, np.maximum(state.best_dual, bound), self._zero_objectives())

    def _no_certificate(self) -> Certificate:
        unknown = np.full(len(self.state.best_dual), np.nan)
        return Certificate(unknown, unknown, self._zero_objectives())

    def _zero_objectives(self) -> np.ndarray:
        known, state = self.setting.problem.zero, self.state.solver_state
        if known is not None:
            return np.asarray(known)
        assert state is not None
        return state.columns["zero_objective"].copy()

    def _note(self, found: Certificate) -> None:
        """Keep the certificate of the present model, and add it to the history."""
        self.certificate = found
        record = {
            "step": int(self.state.steps.max()),
            "objective": float(found.objective.mean()),
            "gap": float(found.gap.max()),
            "seconds": self.clock.seconds,
        }
        earlier = [other for other in self.state.history if other["step"] != record["step"]]
        self.state = replace(self.state, history=(*earlier, record))
        if self.record is not None:
            self.record(record)

    def solution(self, scored: bool) -> Solution:
        """The model reached, with a certificate if there is time for one; `scored`: with its score, too."""
        clock, found = self.clock, self.certificate
        score = StreamScore(numbers=not self.setting.of_classes) if scored else None
        if found is None or score is not None:
            left_out = clock.interrupted or (clock.timed_out and not clock.worth_certifying)
            try:
                found = self._no_certificate() if left_out else self._certify(score)
            except KeyboardInterrupt:  # the second Ctrl-C: the first one ended the steps, or the certificate
                found = self._no_certificate()
            self._note(found)
        if score is not None and not np.isnan(found.objective).any():
            self.result.score = score.score
        self.result.seconds = clock.seconds
        state = self.state.solver_state
        assert state is not None
        model = state.model().astype(self.result.survey.dtype, copy=False)
        return Solution(state, model, found, list(self.state.history), clock.timed_out, clock.interrupted)


def _first_state(setting: Setting) -> StreamState:
    """The state before the first window."""
    schedule, n_rows = setting.schedule, setting.problem.n_rows
    one_by_one = schedule.batch == 1
    # The last batch of a window may be short: how many steps a pass takes is not known, and passes are counted instead.
    limits = schedule.steps(n_rows).astype(np.float64) if one_by_one else np.full(len(n_rows), np.inf)
    return StreamState(
        limits=np.minimum(limits, schedule.max_steps),
        first_steps=np.zeros(len(n_rows), np.int64),
        best_dual=np.full(len(n_rows), -np.inf),
        dual_is_known=one_by_one and schedule.meets_all_rows and setting.recipe.loss.dual_is_linear,
    )
