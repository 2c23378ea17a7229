"""The base of the distributed estimators: a fit on the workers of a cluster, from the parameters to the fitted model.

A fit surveys the partitions, makes the plan that all local solvers share, gives each worker its local solver, and takes
rounds of CoCoA+ until the duality gap is within `tol`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pegasos.distributed.clients import HoldsClient, using_client
from pegasos.distributed.lazy_predict import lazily
from pegasos.distributed.partitions import Partition, feature_names, is_collection, partitions
from pegasos.distributed.survey import DataSurvey, SurveyRequest, survey_partition
from pegasos.estimators import validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.features import FeatureMap
from pegasos.estimators.outcome import certified_attributes
from pegasos.estimators.progress import TaskTree, progress_shown
from pegasos.estimators.recipe import FEATURES_SHARE, Recipe
from pegasos.estimators.targets import ClassifierRecipe, recipe_of
from pegasos.estimators.totals import shared_problem
from pegasos.kernels import KERNELS, kernel_class

if TYPE_CHECKING:
    from pegasos.distributed.cocoa import CocoaResult
    from pegasos.distributed.local_solver import Plan
    from pegasos.distributed.workers import Workers

LINE = "[{name}] round {round}: mean objective {objective:.6g}, largest gap {gap:.3g}, {seconds:.1f} s"
SHARED = (
    "kernel", "gamma", "degree", "coef0", "lam", "C", "tol", "max_time", "fit_intercept", "intercept_scaling",
    "n_landmarks", "landmarks", "random_state", "verbose",
)  # fmt: skip
CONSTRAINTS: dict = {name: PegasosBase._parameter_constraints[name] for name in SHARED} | {
    "kernel": [StrOptions(set(KERNELS) - {"precomputed"}), callable],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_rounds": [Interval(Integral, 1, None, closed="left")],
    "local_passes": [Interval(Real, 0, None, closed="neither")],
    "client": "no_validation",
}


class DistributedBase(HoldsClient, PegasosBase):
    """A fit on the workers of a Dask client, or on Dask's own threads."""

    # Parameters of the local estimators that are none here, since local solvers are dual coordinate ascent on single
    # rows, on the CPU. Code for all estimators reads them: the checks of parameters, `Recipe`, predictions, searches.
    solver, batch_size, project = "sdca", 1, False
    kernel_params = cache_size = checkpoint = n_jobs = max_iter = max_steps = None
    device = "cpu"
    _local_class: type[PegasosBase]  # the class of `local_model`

    def _fit(self, X, y, sample_weight) -> None:
        """Train on a collection, or on rows in memory."""
        started = time.perf_counter()
        validation.check_supported(self)
        validation.check_combinations(self)
        recipe = recipe_of(self)
        classification = isinstance(recipe, ClassifierRecipe)
        if not recipe.explicit:
            raise ValueError(
                f"kernel={self.kernel!r} needs n_landmarks here: a kernel matrix of rows on many workers fits nowhere. "
                "Give n_landmarks, or use kernel='linear'."
            )
        with using_client(self.client) as client, closing(workers_of(client)) as workers:
            workers.load(partitions(X, y, sample_weight, classification=classification, n_blocks=workers.n_blocks))
            self._train_on(workers, X, y, sample_weight, started)

    def _train_on(self, workers: Workers, X, y, sample_weight, started: float) -> None:
        """Train on the partitions that the workers have loaded."""
        from pegasos.distributed.cocoa import CocoaSettings, CocoaSolver  # here: imports Numba, which takes a while
        from pegasos.solver.clock import Clock

        recipe = recipe_of(self)
        survey = survey_of(workers, recipe)
        plan = plan_of(recipe, survey, weighted=sample_weight is not None)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        landmarks, counts = gathered_landmarks(workers, recipe, survey, plan, seed)
        plan = replace(plan, features=replace(plan.features, landmarks=landmarks))
        workers.place(plan, survey.sizes)

        example = np.empty((0, plan.n_features), plan.dtype)  # the attributes need width and type of the rows only
        attributes = lambda model: (
            recipe.model_attributes(model, example, plan.features, plan.shared.offset) | plan.shared.attributes
        )
        tasks = TaskTree(self, X, y, {"sample_weight": sample_weight}, self.max_rounds, attributes)
        tasks.begin()
        settings = CocoaSettings(self.tol, self.max_rounds, self.local_passes, seed)
        clock = Clock(self.max_time, started)
        with progress_shown(type(self).__name__, self.verbose, LINE) as shown, clock.watching_interrupts():
            result = CocoaSolver(workers, plan, settings, clock, self._callback(tasks, shown)).run()
        recipe.store(attributes(result.model) | _result_attributes(result, self.tol) | counts)
        self._name_features(X, plan.n_features)
        tasks.end()
        self._warn_if_missed(result)

    def _callback(self, tasks: TaskTree, shown) -> Callable[[dict, Callable[[], np.ndarray]], bool]:
        """A function called after each round: it shows the round; True if a scikit-learn callback stops the fit."""
        show_record, show_progress = shown

        def after_round(record: dict, model: Callable[[], np.ndarray]) -> bool:
            if show_record is not None:
                show_record(record)
            if show_progress is not None:  # each round divides the gap by about the same number, hence logarithms
                show_progress(float(np.clip(np.log(max(record["gap"], 1e-300)) / np.log(min(self.tol, 0.5)), 0, 1)))
            return record["round"] > 0 and tasks.watched and tasks.after_pass(record["round"], model)

        return after_round

    def _name_features(self, X, n_features: int) -> None:
        """Number and names of the features, as scikit-learn's `validate_data` sets them for rows in memory."""
        self.n_features_in_ = n_features
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _warn_if_missed(self, result: CocoaResult) -> None:
        """Warn where Ctrl-C, time or the number of rounds ended the fit before `tol` was reached."""
        gap = result.certificate.relative_gap.max()
        after = f"after {result.rounds} round{'' if result.rounds == 1 else 's'}"
        if result.interrupted:
            validation.warn_unconverged(
                f"Interrupted {after}: the model is the one reached, with a relative gap of at most {gap:.3g}."
            )
        elif gap > self.tol:
            validation.warn_unconverged(
                f"The relative gap is {gap:.3g}, above tol={self.tol:g}, {after}. Raise max_rounds, local_passes or "
                f"max_time, or {'lower C' if self.lam is None else 'raise lam'}."
            )

    # --- the fitted model ------------------------------------------------------------------------------------------

    def local_model(self):
        """The fitted model as an ordinary estimator of `pegasos`, which needs neither Dask nor a client."""
        known = self._local_class().get_params()
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name in known}
        model = self._local_class(**parameters, solver="sdca", average=False)
        for name, value in recipe_of(self).fitted_attributes.items():
            if name not in ("n_rounds_", "n_recoveries_"):
                setattr(model, name, value)
        return model

    def save(self, path, *, dtype=None):
        """Write the fitted model to a file; `pegasos.load` reads it as an ordinary estimator."""
        return self.local_model().save(path, dtype=dtype)

    def score(self, X, y, sample_weight=None):
        """The score of the local estimator; of a collection only predictions and targets come to this process."""
        if not is_collection(X):
            return super().score(X, y, sample_weight)
        import dask

        with using_client(self.client) as client:
            scheduler = {} if client is None else {"scheduler": client}
            predicted, y, sample_weight = dask.compute(self.predict(X), y, sample_weight, **scheduler)
        return self._score_of(np.asarray(y), predicted, sample_weight)

    def _lazy(self, method: str, X):
        """A prediction for a Dask collection, as a Dask array."""
        return lazily(self.local_model(), method, X)


# --- steps of a fit --------------------------------------------------------------------------------------------------


def workers_of(client) -> Workers:
    """The workers of a client, or threads of this process where there is none."""
    if client is None:
        from pegasos.distributed.workers import ThreadWorkers

        return ThreadWorkers()
    from pegasos.distributed.dask_workers import ClientWorkers

    return ClientWorkers(client)


def survey_of(workers: Workers, recipe: Recipe) -> DataSurvey:
    """What all loaded partitions hold together; raises where they cannot be used."""
    svm = recipe.estimator
    spread = svm.gamma == "scale" and kernel_class(svm.kernel).uses("gamma")
    request = SurveyRequest(isinstance(recipe, ClassifierRecipe), recipe.bias, spread)
    return DataSurvey(workers.map_partitions(survey_partition, [(request,)] * workers.n_partitions))


def plan_of(recipe: Recipe, survey: DataSurvey, *, weighted: bool) -> Plan:
    """The plan for all partitions, landmarks left out; raises as `fit` of the local estimator would on all rows."""
    from pegasos.distributed.local_solver import Plan

    totals = survey.class_totals() if isinstance(recipe, ClassifierRecipe) else survey.target_totals()
    shared = shared_problem(recipe, totals, survey.dtype, weighted=weighted)
    auto = recipe.estimator.gamma == "auto"
    kernel = recipe.kernel_with(1.0 / survey.n_features if auto else survey.scale_gamma())
    features = FeatureMap(kernel, recipe.bias)
    return Plan(shared, recipe.loss, survey.n_features, features, FEATURES_SHARE * recipe.cache_bytes())


def gathered_landmarks(workers: Workers, recipe: Recipe, survey: DataSurvey, plan: Plan, seed: int) -> tuple:
    """Landmarks of a sample over all partitions, the only rows that come to the driver, and how many each class has.

    The counts are a dictionary with the fitted attribute `n_support_`, empty for regression and without landmarks.
    """
    from pegasos.kernels.nystroem import CANDIDATES_PER_LANDMARK

    svm, kernel, classes = recipe.estimator, plan.features.kernel, plan.shared.classes
    if svm.n_landmarks is None:
        return None, {}
    n_wanted = svm.n_landmarks * (CANDIDATES_PER_LANDMARK if svm.landmarks == "k-means++" else 1)
    n_used = np.array([part.n_used for part in survey.partitions])
    generator = np.random.default_rng([seed, svm.n_landmarks])
    counts = generator.multivariate_hypergeometric(n_used, min(n_wanted, n_used.sum()), method="marginals")
    arguments = [(int(count), [seed, number]) for number, count in enumerate(counts)]
    samples = [sample for sample in workers.map_partitions(_sample, arguments) if sample[0].shape[0]]
    blocks, labels, numbers = zip(*samples, strict=True)
    first_rows = np.cumsum([0, *survey.sizes])[np.flatnonzero(counts)]
    index = np.concatenate([first + own for first, own in zip(first_rows, numbers, strict=True)])
    some_sparse = any(sparse.issparse(block) for block in blocks)
    X = (sparse.vstack(blocks, format="csr") if some_sparse else np.concatenate(blocks)).astype(plan.dtype)
    if kernel.stationary:
        validation.check_definite(X, kernel, True)  # warns of kernel values that underflow
    landmarks = recipe.landmarks(X, kernel, seed)
    found = {}
    if classes is not None:
        chosen = np.searchsorted(classes, np.concatenate(labels)[landmarks.index])
        found["n_support_"] = np.bincount(chosen, minlength=len(classes))
    return replace(landmarks, index=index[landmarks.index]), found


def _sample(partition: Partition, count: int, seed: list[int]) -> tuple[Any, np.ndarray, np.ndarray]:
    """So many random rows of positive weight, with their targets and their numbers in the partition."""
    weights = partition.weights
    used = np.arange(partition.n_rows) if weights is None else np.flatnonzero(weights > 0)
    rows = np.sort(np.random.default_rng(seed).choice(used, count, replace=False))
    return partition.X[rows], partition.y[rows], rows


def _result_attributes(result: CocoaResult, tol: float) -> dict[str, Any]:
    """Fitted attributes that say how the rounds went."""
    return certified_attributes(result.certificate, tol) | {
        "t_": result.steps, "n_iter_": int(result.steps.max()), "n_rounds_": result.rounds,
        "n_recoveries_": result.recoveries, "history_": result.history,
    }  # fmt: skip
