"""Training an estimator on a source: the survey of all rows, the scaler, and the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from pegasos.estimators import validation
from pegasos.estimators.progress import progress_shown
from pegasos.estimators.recipe import Recipe
from pegasos.estimators.targets import RegressorRecipe, recipe_of
from pegasos.estimators.warm_start import unharmed_by_errors
from pegasos.io.source import Source
from pegasos.solver.clock import Clock
from pegasos.streaming.prepare import Split
from pegasos.streaming.progress import StreamProgress
from pegasos.streaming.run import StreamResult, StreamRun
from pegasos.streaming.survey import StreamSurvey, survey
from pegasos.streaming.windows import chunks


def missing_for_stream(svm) -> str | None:
    """Why an estimator cannot be trained on a stream; None: it can."""
    if svm.solver not in ("auto", "pegasos"):
        return f"solver={svm.solver!r} needs all rows at once; use solver='auto' or 'pegasos' for a stream."
    if not recipe_of(svm).explicit or svm.kernel == "precomputed":
        return f"kernel={svm.kernel!r} needs all rows at once; give n_landmarks, or use kernel='linear' for a stream."
    if svm.batch_size == "all":
        return "batch_size='all' needs all rows at once; give a number for a stream."
    return None


def fit_stream(
    svm,
    source: Source,
    *,
    scaler_for: Callable[[StreamSurvey], Any] = lambda found: None,
    scaling: str = "none",
    split: Split | None = None,
    started: float | None = None,
    scored: bool = False,
) -> StreamResult:
    """Train an estimator on the rows of a source.

    Parameters
    ----------
    svm : PegasosClassifier or PegasosRegressor
    source : Source
    scaler_for : callable
        Called with the survey of the rows; returns a scaler that has `partial_fit`, or None.
    scaling : str
        A name for what it returns: a checkpoint of a fit with another one is refused.
    split : Split, optional
        Which rows are held out.
    started : float, optional
        ``time.perf_counter()`` from which `max_time` counts; None: now.
    scored : bool
        Whether the score on the training rows is wanted, too.
    """
    validation.check_parameters(svm)
    validation.check_supported(svm)
    validation.check_on_cpu(svm, "Streaming")
    validation.check_combinations(svm)
    missing = missing_for_stream(svm)
    if missing is not None:
        raise ValueError(missing)
    recipe, checkpoint = recipe_of(svm, incremental=True), None
    clock = Clock(svm.max_time, time.perf_counter() if started is None else started)
    if svm.checkpoint is not None:
        from pegasos.streaming.checkpoint import checkpoint_of

        checkpoint = checkpoint_of(recipe, source, split, scaling)
    with progress_shown(type(svm).__name__, svm.verbose) as (record, show):
        progress = StreamProgress(clock, show, readings=2.0 + recipe.schedule().max_passes)
        known = None if checkpoint is None else checkpoint.survey(source, scaler_for)
        found, scaler = known or _surveyed(recipe, source, progress, scaler_for, split)
        run = StreamRun(recipe, source, found, progress, scaler=scaler, split=split, record=record)
        return _trained(svm, run, checkpoint, scored)


def _surveyed(
    recipe: Recipe, source: Source, progress: StreamProgress, scaler_for: Callable[[StreamSurvey], Any],
    split: Split | None,
) -> tuple[StreamSurvey, Any]:  # fmt: skip
    """The survey, and the scaler or None; a scaler takes a reading of the file of its own."""
    about = dict(epsilon=getattr(recipe.estimator, "epsilon", 0.0), power=recipe.loss.power)
    found = survey(source, progress, regression=isinstance(recipe, RegressorRecipe), **about, split=split)
    scaler = scaler_for(found)
    if scaler is None:
        return found, None
    progress.readings += 1
    with closing(chunks(source, None if split is None else split.train)) as read:
        for chunk in read:
            if len(chunk.y):
                scaler.partial_fit(chunk.X)
            progress.add(chunk.share)
    progress.end_reading()
    return found, scaler


@unharmed_by_errors
def _trained(svm, run: StreamRun, checkpoint, scored: bool) -> StreamResult:
    """Take the steps of a run, from its checkpoint if there is one, and store the result in the estimator."""
    clock, recipe = run.clock, run.recipe
    if checkpoint is not None:
        checkpoint.restore(run)
        run.checkpoint = checkpoint
    with clock.watching_interrupts():
        run.all_passes()
        if clock.interrupted and not run.has_begun:
            raise KeyboardInterrupt
        solution = run.solution(scored)
    run.setting.store(solution)
    recipe.close_checkpoint(checkpoint, solution)
    recipe.warn_if_missed(solution)
    return run.result
