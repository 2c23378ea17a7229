"""Recipe: what the parameters of an estimator ask for.

From targets to columns, from rows to what the solver is given, and from a solution to fitted attributes. Estimators,
searches, streams and clusters train through a recipe, so that a fit means the same in all of them.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from pegasos.estimators import devices, outcome, validation
from pegasos.estimators.features import FeatureMap, explicit_rows
from pegasos.estimators.solving import DEFAULT_TOL, is_textbook, passes_of, tol_of
from pegasos.estimators.warm_start import Memory, missing_for_partial_fit, without_rows
from pegasos.kernels import Kernel, Sizes, kernel_class, make_kernel, scale_gamma, sizes_of
from pegasos.utils.arrays import on_gpu, to_device_of, to_host

ALWAYS = 209652396  # what random_state=0 gives; the seed of fits without one that end at the optimum
DEFAULT_CACHE_MB = 2000
FEATURES_SHARE = 0.5  # of the cache that features of landmarks may take; the rest is for states
FITTED_BY_SOME = (
    "coef_", "support_", "support_vectors_", "dual_coef_", "violations_", "n_support_", "objective_", "dual_gap_",
    "relative_gap_", "converged_", "history_", "compression_",
)  # fmt: skip


class EncodedTargets(NamedTuple):
    """The targets of some rows as the solver takes them."""

    problems: Any  # `Problems`: the columns, without a lam
    attributes: dict[str, Any]  # fitted attributes that say what the columns stand for
    offset: Any = 0.0  # what was taken off the targets of each column


class Recipe:
    """What an estimator's parameters ask for; `ClassifierRecipe` and `RegressorRecipe` know their targets.

    The estimator's parameters are read when they are asked for; only `store` and `remember` change the estimator.

    Parameters
    ----------
    estimator : PegasosBase
    incremental : bool
        Rows come piece by piece: only the steps of Pegasos learn from them.

    Attributes
    ----------
    textbook : bool
        Whether the steps are those of Pegasos; else the fit goes to the optimum.
    tol : float or None
        The relative gap at which a fit ends.
    """

    def __init__(self, estimator, *, incremental: bool = False):
        self.estimator = estimator
        self.textbook, self.tol = incremental or is_textbook(estimator), tol_of(estimator, is_textbook(estimator))
        self._looked: tuple[Any, Sizes | None] = (None, None)  # rows that were checked, and what was seen of them

    # --- parameters -----------------------------------------------------------------------------------------------

    @property
    def explicit(self) -> bool:
        """Whether the model is linear in features that can be written down: the rows' own, or those of landmarks."""
        return self.estimator.kernel == "linear" or self.estimator.n_landmarks is not None

    @property
    def bias(self) -> float:
        """The constant feature of the intercept; 0: none."""
        svm = self.estimator
        if self.free_intercept:
            return 1.0 if svm.fit_intercept else 0.0
        wanted = svm.kernel == "linear" if svm.fit_intercept == "auto" else svm.fit_intercept
        return float(svm.intercept_scaling) if wanted else 0.0

    @property
    def free_intercept(self) -> bool:
        """Whether an intercept is not penalised: the constant feature is no part of the norm."""
        return self.estimator.solver == "smo" and not self.textbook

    @property
    def rule(self):
        """The `Rule` of the steps."""
        from pegasos.rules.column import Rule

        return Rule.PEGASOS if self.textbook else Rule.SDCA

    @property
    def begins_anew(self) -> bool:
        """Whether the same rows give the same model whatever the estimator was fitted to before, and unseeded, too."""
        return self.estimator.solver == "auto" and not self.textbook

    def without_tol(self) -> Recipe:
        """The same with the steps of Pegasos: for a kernel that turns out to be indefinite, and has no gap."""
        other = copy.copy(self)
        other.textbook, other.tol = True, None
        return other

    def by_row(self, X, *, in_stream: bool) -> bool:
        """Whether the columns are best solved by an active set, which asks for single rows of the kernel matrix of X.

        `in_stream` says that only a stream of draws can do what is asked.
        """
        from pegasos.solver.choice import takes_active_set

        svm = self.estimator
        if self.textbook or self.explicit or on_gpu(X) or svm.solver not in ("auto", "smo"):
            return False
        if svm.solver == "smo":
            return True
        suits = not in_stream and self.bias == 0.0
        return suits and takes_active_set(self.loss)

    def method(self, rows, problems, in_stream: bool) -> str:
        """The `Job.method`; `in_stream` says that only a stream of draws can do what is asked."""
        from pegasos.solver.choice import method_for

        solver = "pegasos" if self.textbook else self.estimator.solver
        return method_for(solver, rows, problems, self.loss, in_stream=in_stream)

    @property
    def loss(self):
        """The `Loss` that the solver minimises."""
        raise NotImplementedError

    def regularised(self, problems):
        """The columns with the lam that `lam` or `C` asks for."""
        svm = self.estimator
        if svm.lam is not None:
            return problems.with_lam(svm.lam)
        return problems.with_C(svm.C)

    def schedule(self, seed: int | None = None):
        """The `Schedule` of a fit; a `seed` at hand spares `random_state` a draw."""
        from pegasos.problem.schedule import Schedule

        svm = self.estimator
        if seed is None:
            always = self.begins_anew and svm.random_state is None
            seed = ALWAYS if always else check_random_state(svm.random_state).randint(np.iinfo(np.int32).max)
        return Schedule(
            sampling=svm.sampling,
            seed=seed,
            batch=None if svm.batch_size == "all" else int(svm.batch_size),
            max_steps=np.inf if svm.max_steps is None else svm.max_steps,
            max_passes=passes_of(svm, self.textbook),
            tol=self.tol,
            max_time=svm.max_time,
            average=False if self.begins_anew else svm.average,
            project=bool(svm.project),
            count_violations=not self.explicit,
        )

    def cache_bytes(self, X=None, taken: float = 0.0) -> float:
        """Memory that kernel values and gathered rows may take where the rows X are, with what they have `taken`."""
        size = self.estimator.cache_size
        if on_gpu(X):
            free = devices.free_bytes() + taken
            return devices.FREE_SHARE * free if size is None else min(1e6 * size, free)
        return 1e6 * (DEFAULT_CACHE_MB if size is None else size)

    # --- targets ----------------------------------------------------------------------------------------------------

    def checked(self, X, y, *, reset: bool = True):
        """Rows and targets as `fit` takes them; raises for what it does not take."""
        raise NotImplementedError

    def encoded(self, y, sample_weight, dtype, offset=None) -> EncodedTargets:
        """The columns of checked targets; `dtype` is that of the rows, `offset` what is taken off if that is known."""
        raise NotImplementedError

    # --- rows -------------------------------------------------------------------------------------------------------

    def kernel(self, X, weights) -> Kernel:
        """The kernel on these rows, whose spread decides on gamma="scale"."""
        svm = self.estimator
        if svm.gamma == "auto":
            return self.kernel_with(1.0 / X.shape[1])
        scaled = svm.gamma == "scale" and kernel_class(svm.kernel).uses("gamma")
        return self.kernel_with(scale_gamma(X, weights) if scaled else 1.0)

    def kernel_with(self, gamma: float) -> Kernel:
        """The kernel where gamma="scale" or "auto" stands for this number."""
        svm = self.estimator
        gamma = gamma if isinstance(svm.gamma, str) else svm.gamma
        parameters = {"gamma": float(gamma), "degree": svm.degree, "coef0": svm.coef0}
        return make_kernel(svm.kernel, svm.kernel_params, **parameters)

    def feature_map(self, X, weights) -> FeatureMap:
        """The features of these rows, landmarks left out."""
        kernel = self.kernel(X, weights)
        if not kernel.from_features:
            return FeatureMap(kernel, self.bias)
        rows, sizes = self._looked
        if rows is not X or sizes is None:
            sizes = sizes_of(X)
        return FeatureMap(kernel, self.bias, squares=sizes.squares, largest=sizes.largest)

    def landmarks(self, X, kernel: Kernel, seed: int, among: np.ndarray | None = None):
        """Landmarks among the rows of X, or among some of them; None where none are asked for."""
        from pegasos.kernels.nystroem import choose

        svm = self.estimator
        if svm.n_landmarks is None:
            return None
        n_rows = X.shape[0] if among is None else len(among)
        if svm.n_landmarks > n_rows:
            validation.warn_user(
                f"n_landmarks={svm.n_landmarks} is more than the {n_rows} rows: all of them are landmarks.",
                UserWarning,
            )
        return choose(X, kernel, svm.n_landmarks, svm.landmarks, seed, among)

    def rows(
        self, X, features: FeatureMap, schedule, *, until: float = np.inf, matrix=None, keep: bool = True,
        share: float = 1.0, by_row: bool = False,
    ):  # fmt: skip
        """The `Rows` that the solver takes.

        Parameters
        ----------
        X : ndarray, CSR matrix or array on a GPU
        features : FeatureMap
        schedule : Schedule
        until : float
            ``time.perf_counter()`` at which a kernel matrix, or features of landmarks, have to be complete.
        matrix : ndarray, optional
            The kernel matrix, if it is known.
        keep : bool
            Whether a kernel matrix may be computed and kept.
        share : float
            The part of `cache_bytes` that may be used.
        by_row : bool
            Whether the solver asks for single kernel rows: see `by_row`.
        """
        from pegasos.rows import GatheredRows, KernelRows, KernelStorage

        kernel, bias, squares = features.kernel, features.bias, features.squares
        if self.explicit and not on_gpu(X):
            sdca, passes = not self.textbook, schedule.draws(X.shape[0]) / X.shape[0]
            most = FEATURES_SHARE * self.cache_bytes() if sdca or passes > 1 else 0.0
            return explicit_rows(X, features, most_bytes=most, sdca=sdca, until=until)
        room = share * self.cache_bytes(X)
        if kernel.is_linear:
            assert squares is not None
            return GatheredRows(X, bias, squares, most_bytes=room, **devices.backend_of(X))
        storage = KernelStorage(room, schedule.draws(X.shape[0]), until, matrix, keep, by_row)
        return KernelRows(X, kernel, bias, squares, storage, **devices.backend_of(X))

    def definite(self, X, kernel: Kernel) -> bool:
        """Whether there is a certificate: features of landmarks have one, whatever the kernel."""
        explicit = self.explicit and not kernel.stationary  # values of a stationary kernel may underflow: look at them
        if explicit:
            return True
        needed = self.tol is not None and not (self.begins_anew and self.tol == DEFAULT_TOL)  # the user asked for it
        needed &= self.estimator.solver != "smo"  # which ends without a gap, too
        return validation.check_definite(X, kernel, needed)

    # --- fitted attributes ------------------------------------------------------------------------------------------

    def model_attributes(self, model: np.ndarray, X, features: FeatureMap, offset=0.0) -> dict[str, Any]:
        """What predicting needs of a model (n_state, n_columns); `offset` was taken off the targets."""
        kernel, bias, landmarks = features.kernel, features.bias, features.landmarks
        intercept = model[-1] * model.dtype.type(bias) if bias > 0 else np.zeros(model.shape[1], model.dtype)
        found = {"intercept_": (intercept + offset).astype(model.dtype), "_kernel": kernel}
        if kernel.is_linear:
            return found | {"coef_": np.ascontiguousarray(model[: X.shape[1]].T)}
        if landmarks is not None:
            return found | {
                "support_": landmarks.index,
                "support_vectors_": np.empty((0, 0), X.dtype) if landmarks.rows is None else landmarks.rows,
                "dual_coef_": np.ascontiguousarray(landmarks.coefficients(model[: landmarks.n_features]).T),
            }
        coefficients = model[: X.shape[0]]
        support = np.flatnonzero(coefficients.any(axis=1))
        rows = np.empty((0, 0), X.dtype) if kernel.is_precomputed else to_host(X[to_device_of(support, X)])
        by_column = coefficients.T  # a model of many columns has their numbers side by side: no copy of it here
        dual_coef = np.ascontiguousarray(by_column if len(support) == len(coefficients) else by_column.take(support, 1))
        return found | {"support_": support, "support_vectors_": rows, "dual_coef_": dual_coef}

    def run_attributes(self, solution) -> dict[str, Any]:
        """What there is to know about a solve."""
        found = {"t_": solution.steps.copy(), "n_iter_": int(solution.steps.max()), "history_": solution.history}
        if solution.certificate is not None:
            found |= outcome.certified_attributes(solution.certificate, self.tol)
        if solution.state.violations.size:
            support = np.flatnonzero(solution.model[: len(solution.state.violations)].any(axis=1))
            found["violations_"] = np.ascontiguousarray(solution.state.violations[support].T)
        return found

    @property
    def fitted_kernel(self) -> Kernel:
        """The kernel of the fitted model, its parameters settled."""
        return self.estimator._kernel

    @property
    def fitted_targets(self) -> Any:
        """What the columns of the fitted model stand for: the scheme of its classes, or the number of its targets."""
        svm = self.estimator
        return svm._scheme if hasattr(svm, "_scheme") else svm._targets

    def count_support(self, y) -> None:
        """Count the support rows as far as the targets y of the training rows tell them apart."""

    def store(self, attributes: dict[str, Any]) -> None:
        """Give the estimator these fitted attributes, and take away those of an earlier fit that it has no more."""
        for name in FITTED_BY_SOME:
            if hasattr(self.estimator, name):
                delattr(self.estimator, name)
        for name, value in attributes.items():
            setattr(self.estimator, name, value)

    @property
    def fitted_attributes(self) -> dict[str, Any]:
        """The fitted attributes by name, private ones that predicting and saving need included."""
        private = ("_kernel", "_scheme", "_targets", "_indicator")
        return {name: value for name, value in vars(self.estimator).items() if name.endswith("_") or name in private}

    def warn_if_missed(self, solution) -> None:
        """Warn where time, Ctrl-C or the number of passes ended a solve before its optimum."""
        outcome.warn_if_missed(solution, tol=self.tol, advice=outcome.advice_for(self.estimator))

    # --- the end of a fit with a checkpoint -------------------------------------------------------------------------

    @property
    def ended_early(self) -> bool:
        """Whether time or Ctrl-C ended the last fit that was to have a checkpoint."""
        return self.estimator._ended_early

    def close_checkpoint(self, checkpoint, solution) -> None:
        """Remove the checkpoint of a solve, if there is one, unless time or Ctrl-C ended the solve early."""
        self.estimator._ended_early = solution.interrupted or solution.timed_out
        if checkpoint is not None and not self.ended_early:
            checkpoint.done()

    # --- going on from an earlier fit -------------------------------------------------------------------------------

    @property
    def memory(self) -> Memory | None:
        """What the last fit has left to go on from."""
        return getattr(self.estimator, "_memory", None)

    def resume_key(self, features: FeatureMap, attributes: dict[str, Any]) -> dict[str, Any]:
        """What cannot change from one fit to the next that goes on from it, by name."""
        svm, linear = self.estimator, features.kernel.is_linear
        names = [name for name in ("loss", "multi_class", "epsilon") if hasattr(svm, name)]
        found = {"kernel": "linear" if linear else features.kernel, "n_features": svm.n_features_in_}
        if not linear:
            found |= {"n_landmarks": svm.n_landmarks, "landmarks": svm.landmarks}
        # Whose coefficients the state is made of; the intercept is in the state.
        found["solver"] = "pegasos" if self.textbook else "smo" if self.free_intercept else "sdca"
        found |= {name: getattr(svm, name) for name in names} | {"the constant feature": features.bias}
        return found | attributes

    def remember(self, state, resume_key: dict[str, Any], rows_id: str | None, landmarks, offset) -> None:
        """Keep the state of a fit if `warm_start` or `partial_fit` may go on from it."""
        memory = None
        if rows_id is not None:
            memory = Memory(state, resume_key, rows_id, landmarks, offset)
        elif missing_for_partial_fit(self.estimator) is None:
            memory = Memory(without_rows(state), resume_key, None, landmarks, offset)
        self.estimator._memory = memory

    def forget(self) -> None:
        """Keep nothing to go on from: the model is no longer the one of that state."""
        self.estimator._memory = None

    def online_memory(self) -> Memory | None:
        """What `partial_fit` goes on from: after a fit to the optimum, Pegasos begins with its model."""
        memory = self.memory
        return memory.as_pegasos() if memory is not None and self.estimator.solver == "auto" else memory

    def remember_online(self, state, resume_key: dict[str, Any], landmarks, offset) -> None:
        """Keep the state of a call of `partial_fit` for the next one."""
        self.estimator._memory = Memory(without_rows(state), resume_key, None, landmarks, offset)
