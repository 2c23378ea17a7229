"""Training: a fit on rows that are at hand, and one pass of `partial_fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pegasos.backends.threads import threads_limited
from pegasos.estimators import devices, validation
from pegasos.estimators.checkpoint import snapshot_store
from pegasos.estimators.features import FeatureMap, with_gamma_of
from pegasos.estimators.progress import TaskTree, progress_shown
from pegasos.estimators.recipe import EncodedTargets, Recipe
from pegasos.estimators.start_vector import StartVector
from pegasos.estimators.warm_start import without_rows
from pegasos.utils.arrays import on_gpu, to_host
from pegasos.utils.fingerprint import fingerprint

PART_SHARE = 0.5  # of the cache that columns trained together may take; the rest is for kernel values
MATRIX_TIME = 0.5  # of max_time that the kernel matrix may take; later it is computed block by block


class PlacedRows(NamedTuple):
    """The rows of a fit in three places, most often all the same."""

    rows: Any  # where the user has them
    on_device: Any  # where the work is done
    examined: Any  # where looking at all of them is fast


def placed(estimator, X, work: float = 0.0) -> PlacedRows:
    """The rows on the device where so much work is done best."""
    on_device = devices.placed(estimator, X, work)
    rows = X if on_gpu(on_device) else on_device
    return PlacedRows(rows, on_device, rows if hasattr(rows, "indptr") else on_device)


def train(recipe: Recipe, X, y, sample_weight, started: float, start_vector: StartVector | None = None) -> None:
    """Fit the estimator of a recipe to checked rows and targets, from a start vector if there is one.

    Everything that is fitted is stored at the end: a fit that fails leaves the model before it whole.
    """
    with threads_limited(recipe.estimator.n_jobs):
        _train(recipe, X, y, sample_weight, started, start_vector)


def _train(recipe: Recipe, X, y, sample_weight, started: float, start_vector: StartVector | None) -> None:
    svm = recipe.estimator
    targets = recipe.encoded(y, sample_weight, X.dtype)
    problems = recipe.regularised(targets.problems)
    validation.check_regularisation(problems, X.dtype)
    schedule = recipe.schedule()
    where = placed(svm, X, devices.multiplications(svm, X, problems, schedule))
    features = examined(recipe, where.examined, sample_weight)
    definite = recipe.definite(where.examined, features.kernel)
    if not definite and recipe.begins_anew:
        recipe = recipe.without_tol()
        schedule = recipe.schedule(schedule.seed)
    validation.check_batch(svm.batch_size, problems)
    key = recipe.resume_key(features, targets.attributes)
    start, rows_id, landmarks = _earlier_fit(recipe, where.rows, problems, key)
    if start_vector is not None:
        start = start_vector.state(recipe, problems, X.shape[1], X.dtype)
    store = snapshot_store(svm, where, problems, start, schedule.seed)
    if store is not None:  # the draws go on with the seed they began with
        schedule = replace(schedule, seed=store.seed)
    counts = None if landmarks is None else getattr(svm, "n_support_", None)  # of the rows they were chosen among
    if landmarks is None:
        landmarks = recipe.landmarks(where.rows, features.kernel, schedule.seed, _used(problems))
    features = replace(features, landmarks=landmarks)
    attributes = lambda model: recipe.model_attributes(model, where.rows, features, targets.offset) | targets.attributes
    passes = schedule.draws(X.shape[0]) / X.shape[0]
    tasks = TaskTree(svm, where.rows, y, {"sample_weight": sample_weight}, passes, attributes)
    tasks.begin()
    solution = _solved(recipe, where, features, _Plan(problems, schedule, definite, start, started, store, tasks))
    counted = {} if counts is None else {"n_support_": counts}
    recipe.store(attributes(solution.model) | recipe.run_attributes(solution) | counted)
    recipe.remember(solution.state, key, rows_id, landmarks, targets.offset)
    if store is not None:
        recipe.close_checkpoint(store, solution)
    tasks.end()
    recipe.warn_if_missed(solution)


class _Plan(NamedTuple):
    """What `_solved` is to do."""

    problems: Any
    schedule: Any
    definite: bool
    start: Any
    started: float
    store: Any
    tasks: TaskTree


def _solved(recipe: Recipe, where: PlacedRows, features: FeatureMap, plan: _Plan):
    """The solution, on the device, with less memory if there is not enough, and at last on the CPU."""
    from pegasos.problem.job import Job  # here: Numba is imported when a fit first needs it
    from pegasos.solver.clock import Clock
    from pegasos.solver.monitor import Hooks
    from pegasos.solver.parts import parts_of, solve_in_parts
    from pegasos.solver.solve import solve

    svm, schedule, tasks = recipe.estimator, plan.schedule, plan.tasks
    until = np.inf if svm.max_time is None else plan.started + MATRIX_TIME * svm.max_time
    with progress_shown(type(svm).__name__, svm.verbose) as (record, progress):
        hooks = Hooks(record, progress, tasks.after_pass if tasks.watched else None)

        def solved(X, share: float):
            by_row = recipe.by_row(X, in_stream=False)  # an active set has snapshots, too
            rows = recipe.rows(X, features, schedule, until=until, share=share, by_row=by_row)
            method = recipe.method(rows, plan.problems, in_stream=plan.store is not None)
            clock, definite = Clock(schedule.max_time, plan.started), plan.definite
            job_of = lambda some, among: Job(
                rows, some, schedule, recipe.rule, recipe.loss, definite, method, among
            )  # fmt: skip
            parts = parts_of(rows, plan.problems, PART_SHARE * share * recipe.cache_bytes(X))
            whole = plan.start is not None or plan.store is not None or svm.warm_start or tasks.watched
            if whole or on_gpu(X) or len(parts) == 1:
                job = job_of(plan.problems, None)
                return solve(job, start=plan.start, hooks=hooks, clock=clock, snapshots=plan.store)
            return solve_in_parts(job_of, plan.problems, parts, clock, hooks)

        with devices.precision(svm.device):
            otherwise = None if devices.asked_for(svm, where.rows) else where.rows
            return devices.with_less_memory(solved, where.on_device, otherwise)


def learn(recipe: Recipe, X, y, targets: EncodedTargets) -> None:
    """One pass over the rows of one call of `partial_fit`; y are their checked targets."""
    with threads_limited(recipe.estimator.n_jobs):
        _learn(recipe, X, y, targets)


def _learn(recipe: Recipe, X, y, targets: EncodedTargets) -> None:
    from pegasos.problem.job import Job
    from pegasos.solver.online import one_pass
    from pegasos.solver.stream import StreamSolver

    svm, problems, memory = recipe.estimator, targets.problems, recipe.online_memory()
    validation.check_regularisation(problems, X.dtype)
    where = placed(svm, X)
    X = where.examined
    features, schedule = recipe.feature_map(X, None), recipe.schedule()
    landmarks = None if memory is None else memory.landmarks
    if svm.gamma == "scale":
        features = replace(features, kernel=with_gamma_of(features.kernel, landmarks))
    # A few rows tell little of all: no hints.
    validation.check_magnitudes(X, features.squares, features.kernel, features.bias, hints=False)
    key = recipe.resume_key(features, targets.attributes)
    if memory is not None:
        memory.check_resumes(key, "partial_fit")
    if landmarks is None:
        landmarks = recipe.landmarks(X, features.kernel, schedule.seed, _used(problems))
    features = replace(features, landmarks=landmarks)
    before, once = None if memory is None else without_rows(memory.state), replace(schedule, max_passes=1)

    def learned(rows, share: float):
        job = Job(recipe.rows(rows, features, once, share=share), problems, schedule, loss=recipe.loss)
        return one_pass(StreamSolver(), job, before)

    with devices.precision(svm.device):
        state = devices.with_less_memory(learned, where.on_device)
    steps = state.columns["steps"].copy()
    model = state.model().astype(X.dtype, copy=False)
    found = recipe.model_attributes(model, X, features, targets.offset) | targets.attributes
    if memory is not None and hasattr(svm, "n_support_"):  # of the rows of the first call
        found["n_support_"] = svm.n_support_
    recipe.store(found | {"t_": steps, "n_iter_": int(steps.max())})
    if memory is None:
        recipe.count_support(y)
    recipe.remember_online(state, key, landmarks, targets.offset)


def examined(recipe: Recipe, X, sample_weight) -> FeatureMap:
    """The features of the rows, whose values are within what the arithmetic can hold."""
    if recipe.estimator.kernel == "precomputed":
        validation.check_precomputed(X)
    features = recipe.feature_map(X, sample_weight)
    validation.check_magnitudes(X, features.squares, features.kernel, features.bias, largest=features.largest)
    return features


def _used(problems) -> np.ndarray:
    """Rows that some column has."""
    return np.flatnonzero(problems.row_sets.any(axis=1))


def _earlier_fit(recipe: Recipe, X, problems, key: dict[str, Any]):
    """The state to go on from, or None; the fingerprint of the rows if a later fit may ask; and known landmarks."""
    if not recipe.estimator.warm_start:
        return None, None, None
    written = problems.written()
    rows_id = fingerprint(to_host(X), written.labelings, written.weights)
    memory = recipe.memory
    if memory is None or (recipe.begins_anew and not memory.resumes(rows_id, key)):  # the optimum is the same
        return None, rows_id, None
    state = memory.state_for(rows_id, not (recipe.explicit and recipe.textbook))
    memory.check_resumes(key, "warm_start")
    return state, rows_id, memory.landmarks
