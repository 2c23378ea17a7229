"""What the distributed estimators share: parameters → plan → rounds → fitted attributes; lazy predictions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pegasos.distributed import survey
from pegasos.distributed.clients import HoldsClient, using_client
from pegasos.distributed.lazy_predict import lazily
from pegasos.distributed.partitions import Part, is_collection, names_of, partitions
from pegasos.distributed.survey import Look, Question, look
from pegasos.estimators import validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.progress import TaskTree, progress_shown
from pegasos.estimators.recipe import FeatureMap
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import KERNELS, Kernel, kernel_class

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

    # What the local estimators have as parameters and is decided here: dual coordinate ascent on single rows.
    solver, batch_size, sampling, average, project = "sdca", 1, "shuffle", False, False
    kernel_params = cache_size = checkpoint = max_iter = max_passes = None
    device, warm_start = "cpu", False
    _local: type  # the local estimator that a fitted model becomes
    _of_classes: bool

    def _fit(self, X, y, sample_weight) -> None:
        started = time.perf_counter()
        validation.check_supported(self)
        validation.check_combinations(self)
        if not recipe_of(self).explicit:
            raise ValueError(
                f"kernel={self.kernel!r} needs n_landmarks here: a kernel matrix of rows on many workers fits nowhere. "
                "Give n_landmarks, or use kernel='linear'."
            )
        with using_client(self.client) as client:
            workers: Any
            if client is None:
                from pegasos.distributed.workers import ThreadWorkers

                workers = ThreadWorkers()
                pieces = workers.wanted
            else:
                from pegasos.distributed.dask_workers import ClientWorkers

                workers = ClientWorkers(client)
                pieces = max(1, len(client.nthreads()))
            try:
                workers.load(partitions(X, y, sample_weight, of_classes=self._of_classes, pieces=pieces))
                self._train_on(workers, X, y, sample_weight, started)
            finally:
                workers.close()

    def _train_on(self, workers, X, y, sample_weight, started: float) -> None:
        """Look, plan, place, and go through the rounds."""
        from pegasos.distributed.cocoa import Limits, Rounds
        from pegasos.distributed.plan import plan_of
        from pegasos.solver.clock import Clock

        recipe = recipe_of(self)
        spread = self.gamma == "scale" and kernel_class(self.kernel).uses("gamma")
        question = Question(self._of_classes, recipe.bias, spread)
        looks = workers.over_parts(look, [(question,)] * len(workers.parts))
        survey.check(looks)
        plan = plan_of(self, looks, sample_weight is not None)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        kernel = self._kernel_of(looks)
        landmarks, labels = self._gathered_landmarks(workers, looks, kernel, seed, plan.dtype)
        plan = replace(plan, features=FeatureMap(kernel, recipe.bias, landmarks))
        workers.place(plan, [found.n_rows for found in looks])

        like = np.empty((0, plan.n_features), plan.dtype)
        attributes = lambda model: (
            recipe.model_attributes(model, like, plan.features, plan.shared.offset) | plan.shared.attributes
        )
        tasks = TaskTree(self, X, y, {"sample_weight": sample_weight}, self.max_rounds, attributes)
        tasks.begin()
        limits = Limits(self.tol, self.max_rounds, self.local_passes, seed)
        clock = Clock(self.max_time, started)
        with progress_shown(type(self).__name__, self.verbose, LINE) as shown, clock.watching_interrupts():
            outcome = Rounds(workers, plan, limits, clock, self._watcher(tasks, shown)).run()
        recipe.store(attributes(outcome.model) | self._outcome_attributes(outcome))
        self._name_features(X, plan.n_features)
        if landmarks is not None and self._of_classes:
            self.n_support_ = np.bincount(np.searchsorted(self.classes_, labels), minlength=len(self.classes_))
        tasks.end()
        self._warn_if_far(outcome)

    def _watcher(self, tasks: TaskTree, shown) -> Callable[[dict, Callable[[], np.ndarray]], bool]:
        """Tells whoever looks on of a round; True if someone has seen enough."""
        record_shown, progress = shown

        def watch(record: dict, model: Callable[[], np.ndarray]) -> bool:
            if record_shown is not None:
                record_shown(record)
            if progress is not None:  # gaps fall by about as much again and again
                progress(float(np.clip(np.log(max(record["gap"], 1e-300)) / np.log(min(self.tol, 0.5)), 0, 1)))
            return record["round"] > 0 and tasks.watched and tasks.after_pass(record["round"], model)

        return watch

    # --- kernels ---------------------------------------------------------------------------------------------------

    def _kernel_of(self, looks: list[Look]) -> Kernel:
        recipe = recipe_of(self)
        if self.gamma == "auto":
            return recipe.kernel_with(1.0 / next(found.n_features for found in looks if found.n_rows))
        scaled = self.gamma == "scale" and kernel_class(self.kernel).uses("gamma")
        return recipe.kernel_with(survey.scale_gamma_of(looks) if scaled else 1.0)

    def _gathered_landmarks(self, workers, looks: list[Look], kernel: Kernel, seed: int, dtype):
        """Landmarks of a sample of rows, the only rows that come to the driver, and their labels; or None."""
        if self.n_landmarks is None:
            return None, None
        from scipy import sparse

        from pegasos.kernels.nystroem import CANDIDATES_PER_LANDMARK

        wanted = self.n_landmarks * (CANDIDATES_PER_LANDMARK if self.landmarks == "k-means++" else 1)
        n_used = np.array([found.n_used for found in looks])
        generator = np.random.default_rng([seed, self.n_landmarks])
        counts = generator.multivariate_hypergeometric(n_used, min(wanted, n_used.sum()), method="marginals")
        given = [(int(count), [seed, number]) for number, count in enumerate(counts)]
        picked = [found for found in workers.over_parts(_picked, given) if found[0].shape[0]]
        first = np.cumsum([0] + [found.n_rows for found in looks])[np.flatnonzero(counts)]
        places = np.concatenate([start + found[2] for start, found in zip(first, picked, strict=True)])
        rows = [found[0] for found in picked]
        some_sparse = any(sparse.issparse(part) for part in rows)
        X = (sparse.vstack(rows, format="csr") if some_sparse else np.concatenate(rows)).astype(dtype)
        if kernel.stationary:
            validation.check_definite(X, kernel, self.tol)  # warns of kernel values that underflow
        landmarks = recipe_of(self).landmarks(X, kernel, seed)
        labels = np.concatenate([found[1] for found in picked])[landmarks.index]
        return replace(landmarks, index=places[landmarks.index]), labels

    # --- what is fitted --------------------------------------------------------------------------------------------

    def _outcome_attributes(self, outcome) -> dict[str, Any]:
        return {
            "t_": outcome.steps, "n_iter_": int(outcome.steps.max()), "n_rounds_": outcome.rounds,
            "n_recoveries_": outcome.recoveries, "history_": outcome.history, "_memory": None,
            "objective_": outcome.certificate.objective, "dual_gap_": outcome.certificate.gap,
        }  # fmt: skip

    def _name_features(self, X, n_features: int) -> None:
        self.n_features_in_ = n_features
        names = names_of(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _warn_if_far(self, outcome) -> None:
        worst = outcome.certificate.relative_gap.max()
        after = f"after {outcome.rounds} round{'' if outcome.rounds == 1 else 's'}"
        if outcome.interrupted:
            gap = outcome.certificate.gap.max()
            validation.warn_unconverged(
                f"Interrupted {after}: the model is the one reached, with a gap of at most {gap:.3g}."
            )
        elif worst > self.tol:
            validation.warn_unconverged(
                f"The gap reached {worst:.3g}, above tol={self.tol:g}, {after}. Increase max_rounds, local_passes or "
                "max_time, or raise lam (lower C)."
            )

    def local_model(self):
        """The fitted model as an ordinary estimator of `pegasos`, which needs neither Dask nor a client."""
        taken = {
            name: value for name, value in self.get_params(deep=False).items() if name in self._local().get_params()
        }
        model = self._local(**taken, solver="sdca", average=False)
        for name, value in vars(self).items():
            fitted = name.endswith("_") or name in ("_kernel", "_scheme", "_targets", "_memory")
            if fitted and name not in ("n_rounds_", "n_recoveries_"):
                setattr(model, name, value)
        return model

    def save(self, path) -> None:
        """Write the fitted model to a file; `pegasos.load` reads it as an ordinary estimator."""
        self.local_model().save(path)

    def _lazily(self, method: str, X):
        return lazily(self.local_model(), method, X)

    def score(self, X, y, sample_weight=None):
        """The score of the local estimator; predictions and targets of a collection are brought here, its rows not."""
        if not is_collection(X):
            return super().score(X, y, sample_weight)
        import dask

        with using_client(self.client) as client:
            where = {} if client is None else {"scheduler": client}
            predicted, y, sample_weight = dask.compute(self.predict(X), y, sample_weight, **where)
        return self._scored(np.asarray(y), predicted, sample_weight)


def _picked(part: Part, count: int, seed: list[int]) -> tuple[Any, np.ndarray, np.ndarray]:
    """So many rows of positive weight, at random, with their targets and numbers."""
    used = np.arange(part.n_rows) if part.weights is None else np.flatnonzero(part.weights > 0)
    rows = np.sort(np.random.default_rng(seed).choice(used, count, replace=False))
    return part.X[rows], part.y[rows], rows
