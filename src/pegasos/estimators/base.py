"""What the estimators share: their parameters, saving, and tags."""

from __future__ import annotations

import os
from functools import cache
from numbers import Integral, Real

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Options, StrOptions

from pegasos.estimators import validation
from pegasos.estimators.predict import Predicting
from pegasos.estimators.progress import CallbackSupportMixin
from pegasos.kernels import KERNELS
from pegasos.problem.sampling import SAMPLINGS
from pegasos.solver.checkpoint import Checkpoint


class Saving(BaseEstimator):
    """Estimators that model files can hold, and whose parameters are looked at as fast as they are many."""

    @classmethod
    @cache
    def _get_param_names(cls):
        """As scikit-learn, which looks at the signature each time: a search asks thousands of times."""
        return super()._get_param_names()

    def _validate_params(self) -> None:
        """What scikit-learn calls before a fit."""
        validation.check_parameters(self)

    def save(self, path, *, dtype=None):
        """Write the fitted model to a file that `pegasos.load` reads; see `pegasos.save`."""
        import pegasos

        return pegasos.save(self, path, dtype=dtype)

    def compress(self, *, max_support=None, tol=None, X_valid=None):
        """A new model of fewer support vectors whose scores are almost the same; see `pegasos.compress`."""
        import pegasos

        return pegasos.compress(self, max_support=max_support, tol=tol, X_valid=X_valid)

    def to_onnx(self, path=None, *, dtype=None):
        """The fitted model as an ONNX graph, written to `path` if that is given; see `pegasos.to_onnx`."""
        import pegasos

        return pegasos.to_onnx(self, path, dtype=dtype)

    def to_sklearn(self):
        """The fitted model as a machine of `sklearn.svm`; see `pegasos.to_sklearn`."""
        import pegasos

        return pegasos.to_sklearn(self)


class PegasosBase(CallbackSupportMixin, Predicting, Saving):
    """The parameters that all estimators have; what follows from them is in `Recipe`."""

    _parameter_constraints: dict = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"auto", "pegasos", "sdca", "dcd", "newton", "smo"})],
        "max_iter": [Interval(Real, 0, None, closed="neither"), None],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "sampling": [StrOptions(set(SAMPLINGS))],
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
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
