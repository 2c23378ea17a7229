"""What the estimators share: parameters → kernel, rows and schedule; kernel scores."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions

from pegasos.estimators import devices, validation
from pegasos.estimators.checkpoint import keeper_of
from pegasos.estimators.predict import Predicting
from pegasos.estimators.progress import CallbackSupportMixin, TaskTree, progress_shown
from pegasos.estimators.warm_start import Memory, missing_for_partial_fit, without_rows
from pegasos.kernels import KERNELS, Kernel, kernel_class, make_kernel, scale_gamma, squared_norms
from pegasos.solver.checkpoint import Checkpoint
from pegasos.utils.arrays import on_gpu, to_device_of, to_host
from pegasos.utils.fingerprint import fingerprint

if TYPE_CHECKING:
    from pegasos.problem.columns import Problems

DEFAULT_CACHE_MB = 2000
DEFAULT_PASSES = 20
DEFAULT_PASSES_WITH_TOL = 1000
FEATURES_SHARE = 0.5  # of the cache that features of landmarks may take; the rest is for states
MATRIX_TIME = 0.5  # of max_time that the kernel matrix may take; later it is computed block by block


FITTED_BY_SOME = (
    "coef_", "support_", "support_vectors_", "dual_coef_", "violations_", "n_support_", "objective_", "dual_gap_",
    "history_",
)  # fmt: skip


class Task(NamedTuple):
    """What the targets of some rows ask of the solver."""

    problems: Problems  # the columns, without a lam
    about: dict[str, Any]  # attributes that say what the columns stand for
    offset: Any = 0.0  # what was taken off the targets of each column


class PegasosBase(CallbackSupportMixin, Predicting, BaseEstimator):
    """Parameters that all estimators have, and what follows from them."""

    _parameter_constraints: dict = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "solver": [StrOptions({"pegasos", "sdca"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_passes": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "sampling": [StrOptions({"shuffle", "replacement", "cyclic"})],
        "average": [StrOptions({"uniform", "suffix", "weighted"}), Options(bool, {False})],
        "project": ["boolean"],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "landmarks": [StrOptions({"uniform", "k-means++"})],
        "cache_size": [Interval(Real, 0, None, closed="left"), None],
        "device": [StrOptions({"auto", "cpu", "cuda", "cuda:tf32"})],
        "checkpoint": [str, os.PathLike, Checkpoint, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @classmethod
    @cache
    def _get_param_names(cls):
        """As scikit-learn, which looks at the signature each time: a search asks thousands of times."""
        return super()._get_param_names()

    def _resolved_kernel(self, X, weights) -> Kernel:
        gamma = self.gamma
        if gamma == "auto":
            gamma = 1.0 / X.shape[1]
        elif gamma == "scale":
            gamma = scale_gamma(X, weights) if kernel_class(self.kernel).uses("gamma") else 1.0
        parameters = {"gamma": float(gamma), "degree": self.degree, "coef0": self.coef0}
        return make_kernel(self.kernel, self.kernel_params, **parameters)

    @property
    def _explicit(self) -> bool:
        """Whether the model is linear in features that can be written down: the rows' own, or those of landmarks."""
        return self.kernel == "linear" or self.n_landmarks is not None

    def _chosen_landmarks(self, X, kernel, seed: int, among=None):
        """Landmarks among the rows of X, or None where none are asked for."""
        from pegasos.kernels.nystroem import choose

        if self.n_landmarks is None:
            return None
        n_rows = X.shape[0] if among is None else len(among)
        if self.n_landmarks > n_rows:
            validation.warn_user(
                f"n_landmarks={self.n_landmarks} is more than the {n_rows} rows: all of them are landmarks.",
                UserWarning,
            )
        return choose(X, kernel, self.n_landmarks, self.landmarks, seed, among)

    def _bias(self) -> float:
        wanted = self.kernel == "linear" if self.fit_intercept == "auto" else self.fit_intercept
        return float(self.intercept_scaling) if wanted else 0.0

    def _rule(self):
        from pegasos.rules.column import Rule

        return Rule.SDCA if self.solver == "sdca" else Rule.PEGASOS

    def _regularised(self, problems):
        if self.lam is not None:
            return problems.with_lam(self.lam)
        return problems.with_C(1.0 if self.C is None else self.C)

    def _loss(self):
        """The loss the solver is asked for."""
        raise NotImplementedError

    def _checked(self, X, y, *, reset=True):
        """Rows and targets as `fit` takes them; raises for what it does not take."""
        raise NotImplementedError

    def _task(self, y, sample_weight, dtype) -> Task:
        """What the checked targets of some rows ask for; `dtype` is that of the rows."""
        raise NotImplementedError

    def _schedule(self, seed: int | None = None):
        """What to do, in which order and for how long; a `seed` at hand spares `random_state` a draw."""
        from pegasos.problem.schedule import Schedule

        passes = self.max_passes
        if passes is None:
            default = DEFAULT_PASSES if self.tol is None else DEFAULT_PASSES_WITH_TOL
            passes = default if self.max_iter is None else np.inf
        return Schedule(
            sampling=self.sampling,
            seed=check_random_state(self.random_state).randint(np.iinfo(np.int32).max) if seed is None else seed,
            batch=None if self.batch_size == "all" else int(self.batch_size),
            max_steps=np.inf if self.max_iter is None else self.max_iter,
            max_passes=passes,
            tol=self.tol,
            max_time=self.max_time,
            average=self.average,
            project=bool(self.project),
            count_violations=not self._explicit,
        )

    def _cache_bytes(self, X=None, taken: float = 0.0) -> float:
        """Memory that kernel values and gathered rows may take where the rows X are, with what they have `taken`."""
        if on_gpu(X):
            room = devices.free_bytes() + taken
            return devices.FREE_SHARE * room if self.cache_size is None else min(1e6 * self.cache_size, room)
        return 1e6 * (DEFAULT_CACHE_MB if self.cache_size is None else self.cache_size)

    def _rows(
        self, X, squares, kernel, bias, schedule, until=np.inf, matrix=None, keep=True, landmarks=None, share=1.0
    ):  # fmt: skip
        """The rows as the solver asks for them; `share` of the memory is what they may take."""
        from pegasos.rows import DenseRows, GatheredRows, KernelRows, KernelStorage, LandmarkRows, SparseRows
        from pegasos.rows.kernel import in_time_for

        if landmarks is not None:
            n_bytes = float(X.shape[0]) * landmarks.n_features * X.dtype.itemsize
            passes = schedule.draws(X.shape[0]) / X.shape[0]
            if n_bytes <= FEATURES_SHARE * self._cache_bytes() and (passes > 1 or self.solver == "sdca"):
                features = landmarks.features_if(X, in_time_for(until))
                if features is not None:
                    return DenseRows(features, bias)
            bounded = self.solver == "sdca" and kernel.stationary
            return LandmarkRows(X, landmarks, bias, bounded)

        if kernel.is_linear:
            if hasattr(X, "indptr"):
                return SparseRows(X, bias, squares)
            if on_gpu(X):
                room = share * self._cache_bytes(X)
                return GatheredRows(X, bias, squares, most_bytes=room, **devices.verbs_beside(X))
            return DenseRows(np.ascontiguousarray(X), bias, squares)  # steps go over single rows
        storage = KernelStorage(share * self._cache_bytes(X), schedule.draws(X.shape[0]), until, matrix, keep)
        return KernelRows(X, kernel, bias, squares, storage, **devices.verbs_beside(X))

    def _train(self, X, y, sample_weight, started) -> None:
        """Check what depends on the data, solve, and store everything that is fitted, all at once.

        A fit that fails leaves the model before it whole.
        """
        from pegasos.problem.job import Job
        from pegasos.solver.clock import Clock
        from pegasos.solver.monitor import Hooks
        from pegasos.solver.solve import solve  # Numba is imported when a fit first needs it

        task = self._task(y, sample_weight, X.dtype)
        problems, about = self._regularised(task.problems), task.about
        validation.check_regularisation(problems, X.dtype)
        schedule = self._schedule()
        there = devices.placed(self, X, devices.multiplications(self, X, problems, schedule))
        X = X if on_gpu(there) else there
        seen = X if hasattr(X, "indptr") else there  # where looking at all of it is fast
        if self.kernel == "precomputed":
            validation.check_precomputed(seen)
        kernel, bias = self._resolved_kernel(seen, sample_weight), self._bias()
        squares = squared_norms(seen) if kernel.from_features else None
        validation.check_magnitudes(seen, squares, kernel, bias)
        definite = self._definite(seen, kernel)
        validation.check_batch(self.batch_size, problems)
        nature = self._nature(kernel, bias, about)
        state, rows_id, landmarks = self._earlier_state(X, problems, nature)
        keeper = keeper_of(self, X, there, problems, state, schedule.seed)
        if keeper is not None:  # the draws go on with the seed they began with
            schedule = replace(schedule, seed=keeper.seed)
        counts = None if landmarks is None else getattr(self, "n_support_", None)  # of the rows they were chosen among
        if landmarks is None:
            used = np.flatnonzero(problems.row_sets.any(axis=1))
            landmarks = self._chosen_landmarks(X, kernel, schedule.seed, used)
        until = np.inf if self.max_time is None else started + MATRIX_TIME * self.max_time

        attributes = lambda model: self._model_attributes(model, X, kernel, bias, task.offset, landmarks) | about
        passes = schedule.draws(X.shape[0]) / X.shape[0]
        tasks = TaskTree(self, X, y, {"sample_weight": sample_weight}, passes, attributes)
        tasks.begin()
        with progress_shown(type(self).__name__, self.verbose) as (record, progress):
            watcher = Hooks(record, progress, tasks.after_pass if tasks.watched else None)

            def solved(where, share: float):
                rows = self._rows(where, squares, kernel, bias, schedule, until, landmarks=landmarks, share=share)
                job = Job(rows, problems, schedule, self._rule(), self._loss(), definite)
                clock = Clock(schedule.max_time, started)
                return solve(job, start=state, hooks=watcher, clock=clock, snapshots=keeper)

            with devices.precision(self.device):
                solution = devices.with_less_memory(solved, there, None if devices.asked_for(self, X) else X)
        counted = {} if counts is None else {"n_support_": counts}
        self._keep(attributes(solution.model) | self._run_attributes(solution) | counted)
        self._remember(solution.state, nature, rows_id, landmarks, task.offset)
        if keeper is not None:
            self._ended_early = solution.interrupted or solution.timed_out
            if not self._ended_early:
                keeper.done()
        tasks.end()
        self._warn_if_missed(solution)

    def _definite(self, X, kernel) -> bool:
        """Whether there is a certificate: features of landmarks have one, whatever the kernel."""
        explicit = self._explicit and not kernel.stationary  # these may underflow
        return True if explicit else validation.check_definite(X, kernel, self.tol)

    def _model_attributes(self, model, X, kernel, bias, offset=0.0, landmarks=None) -> dict:
        """What predicting needs of a model (n_state, n_columns); `offset` was taken off the targets."""
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
        return found | {
            "support_": support,
            "support_vectors_": np.empty((0, 0), X.dtype)
            if kernel.is_precomputed
            else to_host(X[to_device_of(support, X)]),
            "dual_coef_": np.ascontiguousarray(coefficients[support].T),
        }

    def _run_attributes(self, solution) -> dict:
        """What there is to know about a solve."""
        found = {"t_": solution.steps.copy(), "n_iter_": int(solution.steps.max()), "history_": solution.history}
        if solution.certificate is not None:
            found |= {"objective_": solution.certificate.objective, "dual_gap_": solution.certificate.gap}
        if solution.state.violations.size:
            support = np.flatnonzero(solution.model[: len(solution.state.violations)].any(axis=1))
            found["violations_"] = np.ascontiguousarray(solution.state.violations[support].T)
        return found

    def _count_support(self, y) -> None:
        """Count the support rows as far as the targets y of the training rows tell them apart."""

    def _keep(self, attributes: dict) -> None:
        for name in FITTED_BY_SOME:
            if hasattr(self, name):
                delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)

    # --- going on from an earlier fit ----------------------------------------------------------------------------

    def _nature(self, kernel, bias, about) -> dict:
        """What a state is one of, which cannot change from one fit to the next that goes on from it."""
        names = [name for name in ("solver", "loss", "multi_class", "epsilon") if hasattr(self, name)]
        found = {"kernel": "linear" if kernel.is_linear else kernel, "n_features": self.n_features_in_}
        if not kernel.is_linear:
            found |= {"n_landmarks": self.n_landmarks, "landmarks": self.landmarks}
        return found | {name: getattr(self, name) for name in names} | {"the constant feature": bias} | about

    def _earlier_state(self, X, problems, nature):
        """The state to go on from, or None, the fingerprint of the rows if anyone will ask, and known landmarks."""
        if not self.warm_start:
            return None, None, None
        rows_id = fingerprint(to_host(X), problems.labelings, problems.weights)
        memory = getattr(self, "_memory", None)
        if memory is None:
            return None, rows_id, None
        state = memory.state_for(rows_id, not self._explicit or self.solver == "sdca")
        memory.check_nature(nature, "warm_start")
        return state, rows_id, memory.landmarks

    def _remember(self, state, nature, rows_id, landmarks, offset) -> None:
        self._memory = None
        if self.warm_start:
            self._memory = Memory(state, nature, rows_id, landmarks, offset)
        elif missing_for_partial_fit(self) is None:
            self._memory = Memory(without_rows(state), nature, None, landmarks, offset)

    def _learn(self, X, y, problems, about, offset=0.0) -> None:
        """One pass over the rows of one call of `partial_fit`; y are their targets as given."""
        from pegasos.problem.job import Job
        from pegasos.solver.online import one_pass
        from pegasos.solver.stream import StreamSolver

        validation.check_regularisation(problems, X.dtype)
        memory = getattr(self, "_memory", None)
        landmarks = None if memory is None else memory.landmarks
        there = devices.placed(self, X)
        X = X if hasattr(X, "indptr") else there  # where looking at all of it is fast
        kernel, bias, schedule = self._resolved_kernel(X, None), self._bias(), self._schedule()
        known = None if landmarks is None else getattr(landmarks.kernel, "gamma", None)
        if self.gamma == "scale" and kernel.uses("gamma") and known is not None:
            kernel = replace(kernel, gamma=known)  # type: ignore[call-arg]  # of the rows they were chosen among
        squares = squared_norms(X) if kernel.from_features else None
        validation.check_magnitudes(X, squares, kernel, bias, hints=False)  # a few rows tell little of all
        nature = self._nature(kernel, bias, about)
        if memory is not None:
            memory.check_nature(nature, "partial_fit")
        if landmarks is None:
            landmarks = self._chosen_landmarks(X, kernel, schedule.seed, np.flatnonzero(problems.row_sets.any(axis=1)))
        before, once = None if memory is None else without_rows(memory.state), replace(schedule, max_passes=1)

        def learned(where, share: float):
            rows = self._rows(where, squares, kernel, bias, once, landmarks=landmarks, share=share)
            return one_pass(StreamSolver(), Job(rows, problems, schedule, loss=self._loss()), before)

        with devices.precision(self.device):
            state = devices.with_less_memory(learned, there)
        steps = state.columns["steps"].copy()
        model = state.model().astype(X.dtype, copy=False)
        found = self._model_attributes(model, X, kernel, bias, offset, landmarks) | about
        if memory is not None and hasattr(self, "n_support_"):  # of the rows of the first call
            found["n_support_"] = self.n_support_
        self._keep(found | {"t_": steps, "n_iter_": int(steps.max())})
        if memory is None:
            self._count_support(y)
        self._memory = Memory(without_rows(state), nature, landmarks=landmarks, offset=offset)

    def _warn_if_missed(self, solution) -> None:
        found, steps = solution.certificate, self.n_iter_
        if solution.interrupted:
            gap = found.gap.max()
            known = "its gap is not known" if np.isnan(gap) else f"with a gap of at most {gap:.3g}"
            validation.warn_unconverged(f"Interrupted after {steps} steps: the model is the one reached, {known}.")
        elif solution.timed_out and solution.steps.min() == 0:
            validation.warn_unconverged("max_time ended the fit before every column took a step.")
        elif solution.timed_out and np.isnan(found.objective).any():
            validation.warn_unconverged(
                f"max_time left no time for a certificate after {steps} steps: the gap is not known."
            )
        if self.tol is not None and (worst := found.relative_gap.max()) > self.tol:
            validation.warn_unconverged(
                f"The gap reached {worst:.3g}, above tol={self.tol:g}, after {steps} steps. Increase max_passes or "
                "max_iter, raise lam (lower C), or use solver='sdca'."
            )

    def save(self, path) -> None:
        """Write the fitted model to a file that `pegasos.load` reads; see `pegasos.save`."""
        import pegasos

        pegasos.save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
