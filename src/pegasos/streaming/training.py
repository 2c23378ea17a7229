"""Training an estimator on a source: a look at all rows, the scaler, and the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from pegasos.estimators import validation
from pegasos.estimators.progress import progress_shown
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.warm_start import unharmed_by_errors
from pegasos.io.source import Source
from pegasos.solver.clock import Clock
from pegasos.streaming.progress import Work
from pegasos.streaming.run import Run, Streamed
from pegasos.streaming.split import Split
from pegasos.streaming.survey import Look, look
from pegasos.streaming.windows import chunks


def missing_for_stream(svm) -> str | None:
    """Why an estimator cannot be trained on a stream; None: it can."""
    if svm.solver != "pegasos":
        return f"solver={svm.solver!r} keeps a dual variable for each row; use solver='pegasos' for a stream."
    if not recipe_of(svm).explicit or svm.kernel == "precomputed":
        return f"kernel={svm.kernel!r} needs all rows at once; give n_landmarks, or use kernel='linear' for a stream."
    if svm.batch_size == "all":
        return "batch_size='all' needs all rows at once; give a number for a stream."
    return None


def fit_stream(
    svm,
    source: Source,
    *,
    scaler_for: Callable[[Look], Any] = lambda found: None,
    scaling: str = "none",
    split: Split | None = None,
    started: float | None = None,
    scored: bool = False,
) -> Streamed:
    """Train an estimator on the rows of a source.

    Parameters
    ----------
    svm : PegasosClassifier or PegasosRegressor
    source : Source
    scaler_for : callable
        Gets the first look at the rows and returns a scaler that has `partial_fit`, or None.
    scaling : str
        What that is, in words, for a checkpoint to know it by.
    split : Split, optional
        Which rows are held out.
    started : float, optional
        ``time.perf_counter()`` from which `max_time` counts; None: now.
    scored : bool
        Whether the score on the training rows is wanted, too.
    """
    svm._validate_params()
    validation.check_supported(svm)
    validation.check_on_cpu(svm, "Streaming")
    validation.check_combinations(svm)
    missing = missing_for_stream(svm)
    if missing is not None:
        raise ValueError(missing)
    clock = Clock(svm.max_time, time.perf_counter() if started is None else started)
    keeper = _keeper(svm, source, split, scaling)
    with progress_shown(type(svm).__name__, svm.verbose) as (record, progress):
        work = Work(clock, progress, readings=2.0 + recipe_of(svm).schedule().max_passes)
        known = None if keeper is None else keeper.looked(source, scaler_for)
        found, scaler = known or _looked(svm, source, work, scaler_for, split)
        return _trained(svm, Run(svm, source, found, scaler, split, work, record), keeper, scored)


def _keeper(svm, source: Source, split: Split | None, scaling: str):
    """Who keeps checkpoints, or None."""
    if svm.checkpoint is None:
        return None
    from pegasos.streaming.checkpoint import keeper_of

    return keeper_of(svm, source, split, scaling)


def _looked(svm, source: Source, work: Work, scaler_for: Callable[[Look], Any], split: Split | None):
    """A look at all rows and, if the features are to be scaled, a second reading by the scaler's own `partial_fit`."""
    regression = not hasattr(svm, "class_weight")
    found = look(source, work, regression=regression, epsilon=getattr(svm, "epsilon", 0.0), split=split)
    scaler = scaler_for(found)
    if scaler is None:
        return found, None
    work.readings += 1
    with closing(chunks(source, None if split is None else split.train)) as read:
        for chunk in read:
            if len(chunk.y):
                scaler.partial_fit(chunk.X)
            work.done(chunk.share)
    work.end_reading()
    return found, scaler


@unharmed_by_errors
def _trained(svm, run: Run, keeper, scored: bool) -> Streamed:
    clock = run.clock
    if keeper is not None:
        keeper.restore(run)
        run.keeper = keeper
    with clock.watching_interrupts():
        run.all_passes()
        if clock.interrupted and not run.has_begun:
            raise KeyboardInterrupt
        solution = run.solution(scored)
    run.setting.store(solution)
    svm._ended_early = clock.interrupted or clock.timed_out
    if keeper is not None and not svm._ended_early:
        keeper.done()
    recipe_of(svm).warn_if_missed(solution)
    return run.streamed
