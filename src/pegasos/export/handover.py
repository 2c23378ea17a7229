"""Our estimators as scikit-learn's, for programs that know no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.export.described import Described, described, plain_model, refuse_many_labels
from pegasos.export.pairs import as_pairs
from pegasos.svm import SVC, SVR, LinearSVC, LinearSVR, sklearn_machines, state
from pegasos.svm.base import KernelMachine
from pegasos.svm.linear import LinearMachine

LAPLACIAN = "scikit-learn's support vector machines have no kernel 'laplacian'."


def to_sklearn(model):
    """A fitted model as a machine of `sklearn.svm` that predicts the same.

    The machines of `pegasos.svm` become those of the same name. A linear PegasosClassifier becomes a LinearSVC, with
    the same scores; another one an SVC, whose `decision_function` is made of votes. One-vs-one becomes an SVC with
    ``break_ties=True``, which is its rule. A PegasosRegressor becomes a LinearSVR or an SVR. There is no
    `predict_proba`, and "laplacian", kernels that are functions, and several targets have no counterpart.

    Parameters
    ----------
    model : PegasosClassifier, PegasosRegressor, PegasosSearchCV, or a machine of `pegasos.svm`

    Returns
    -------
    A fitted machine of `sklearn.svm`.
    """
    model = plain_model(model)
    if isinstance(model, KernelMachine | LinearMachine):
        return sklearn_machines.to_sklearn(model)
    found = described(model)
    if found.scheme == "values" and found.n_columns != 1:
        raise ValueError(f"scikit-learn's machines have one target; this model has {found.n_columns}.")
    refuse_many_labels(found, "scikit-learn's machines have")
    if found.kernel.name == "laplacian":
        raise ValueError(LAPLACIAN)
    machine = _linear(found) if found.weights is not None and found.scheme != "ovo" else _with_support(found)
    machine.n_features_in_ = found.n_features
    if hasattr(model, "feature_names_in_"):
        machine.feature_names_in_ = model.feature_names_in_
    return sklearn_machines.to_sklearn(machine)


def _linear(found: Described):
    """A LinearSVC or a LinearSVR."""
    weights, intercept = np.asarray(found.weights, np.float64), np.asarray(found.intercept, np.float64)
    if found.classes is None:
        machine: Any = LinearSVR()
        weights = weights.ravel()
    else:
        machine = LinearSVC(multi_class="crammer_singer" if found.scheme == "crammer_singer" else "ovr")
        machine.classes_ = found.classes
        if found.scheme == "crammer_singer" and len(found.classes) == 2:
            weights, intercept = weights[1:] - weights[:1], intercept[1:] - intercept[:1]
    state.restore_linear(machine, {"coef_": weights, "intercept_": intercept}, 0)
    return machine


def _with_support(found: Described):
    """An SVC or an SVR."""
    kernel: Any = found.kernel
    parameters = {name: getattr(kernel, name) for name in ("gamma", "degree", "coef0") if kernel.uses(name)}
    parameters["kernel"] = kernel.name
    if found.classes is None:
        machine: Any = SVR(**parameters)
        coefficients: Any = found.coefficients
        counts: Any = [coefficients.shape[1]]
        intercept = found.intercept
        vectors, support = found.vectors, found.support
        arrays: dict[str, Any] = {}
    else:
        pairs = as_pairs(found)
        machine = SVC(**parameters, break_ties=found.scheme == "ovo" and len(pairs.classes) > 2)
        vectors, support, intercept = pairs.vectors, pairs.support, pairs.intercept
        counts, coefficients, machine.classes_ = pairs.counts, pairs.coefficients, np.asarray(found.classes)
        if len(pairs.classes) == 2:
            counts = [coefficients.shape[1], 0]
        arrays = {"class_weight_": np.ones(len(machine.classes_))}
    n_support = np.shape(coefficients)[1]
    arrays |= {"support_": np.arange(n_support, dtype=np.int32) if support is None else support.astype(np.int32)}
    arrays |= {"n_support_": np.array(counts, np.int32), "dual_coef_": np.asarray(coefficients, np.float64)}
    arrays |= {"intercept_": np.asarray(intercept, np.float64), "n_iter_": np.zeros(len(intercept), np.int64)}
    if vectors is None:
        vectors = np.empty((0, 0))
    width = found.n_features
    shape = (width if kernel.is_precomputed else max(n_support, 1), width)
    state.restore(machine, state.FittedMachine(kernel, vectors.astype(np.float64), shape, None, arrays))
    return machine
