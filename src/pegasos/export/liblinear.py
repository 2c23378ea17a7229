"""LIBLINEAR's model files: written from any linear model but one-vs-one, and read."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from pegasos.container.schema import ModelFormatError
from pegasos.estimators import PegasosClassifier
from pegasos.estimators.targets import recipe_of
from pegasos.export import text
from pegasos.export.described import Described, described, refuse_many_labels
from pegasos.kernels import LinearKernel
from pegasos.svm import LinearSVC, LinearSVR, OneClassSVM, state

SVC, SVR = {"kind": LinearSVC}, {"kind": LinearSVR}
LOGISTIC = {"kind": PegasosClassifier, "loss": "log_loss", "kernel": "linear"}
SQUARED, SQUARED_EPSILON = "squared_hinge", "squared_epsilon_insensitive"
TYPES: dict[str, dict[str, Any]] = {
    "L2R_LR": LOGISTIC,
    "L2R_LR_DUAL": LOGISTIC,
    "L1R_LR": LOGISTIC,
    "L2R_L2LOSS_SVC_DUAL": SVC | {"loss": SQUARED},
    "L2R_L2LOSS_SVC": SVC | {"loss": SQUARED, "dual": False},
    "L2R_L1LOSS_SVC_DUAL": SVC | {"loss": "hinge"},
    "MCSVM_CS": SVC | {"multi_class": "crammer_singer"},
    "L1R_L2LOSS_SVC": SVC | {"loss": SQUARED, "penalty": "l1", "dual": False},
    "L2R_L2LOSS_SVR": SVR | {"loss": SQUARED_EPSILON, "dual": False},
    "L2R_L2LOSS_SVR_DUAL": SVR | {"loss": SQUARED_EPSILON},
    "L2R_L1LOSS_SVR_DUAL": SVR | {"loss": "epsilon_insensitive"},
    "ONECLASS_SVM": {"kind": OneClassSVM, "kernel": "linear"},
}
WRITTEN = {
    "hinge": "L2R_L1LOSS_SVC_DUAL", SQUARED: "L2R_L2LOSS_SVC_DUAL", "log_loss": "L2R_LR",
    "epsilon_insensitive": "L2R_L1LOSS_SVR_DUAL", SQUARED_EPSILON: "L2R_L2LOSS_SVR",
}  # fmt: skip
KNOWN = tuple(b"solver_type nr_class label nr_feature bias rho".split())


# --- writing --------------------------------------------------------------------------------------------------------


def save_liblinear(model, path: str | os.PathLike) -> None:
    """Write a fitted linear model as a file that LIBLINEAR's ``predict`` reads.

    Not held: kernels, one-vs-one, several targets, labels that are no integers, names of features, parameters of the
    fit. The intercept is the weight of a constant feature of value 1.

    Parameters
    ----------
    model : PegasosClassifier, PegasosRegressor, PegasosSearchCV, LinearSVC or LinearSVR
    path : str or path-like
    """
    text.write_lines(path, liblinear_lines(described(model)))


def liblinear_lines(model: Described) -> Iterator[str]:
    """The lines of the file of a model."""
    if model.weights is None:
        raise ValueError(
            f"A LIBLINEAR file holds the weights of a linear model; this {model.name} has support vectors. "
            "LIBSVM's format holds those."
        )
    refuse_many_labels(model, "A LIBLINEAR file holds")
    if model.scheme == "ovo":
        raise ValueError("A LIBLINEAR file holds no one-vs-one; LIBSVM's format does.")
    if model.scheme == "values" and model.n_columns != 1:
        raise ValueError(f"A LIBLINEAR file holds one target; this model has {model.n_columns}.")
    labels = None if model.classes is None else text.integer_labels(model.classes, "LIBLINEAR")
    return _lines(model, labels)


def _lines(model: Described, labels: list[int] | None) -> Iterator[str]:
    weights: Any = model.weights
    intercept = model.intercept
    grouped = model.scheme == "crammer_singer"
    yield f"solver_type {'MCSVM_CS' if grouped else WRITTEN[str(model.loss)]}"
    yield f"nr_class {2 if labels is None else len(labels)}"
    if labels is not None:  # of two classes the first has positive scores
        yield f"label {' '.join(map(str, labels[::-1] if model.scheme == 'binary' else labels))}"
    yield f"nr_feature {model.n_features}"
    biased = bool(intercept.any())
    yield f"bias {1 if biased else -1}"
    yield "w"
    for of_feature in np.vstack([weights.T, intercept]) if biased else weights.T:
        yield " ".join(repr(float(value) + 0.0) for value in of_feature) + " "


# --- reading --------------------------------------------------------------------------------------------------------


def load_liblinear(path: str | os.PathLike):
    """Read a model that LIBLINEAR's ``train``, or `save_liblinear`, wrote.

    Everything is checked before it is used: a file of unknown origin does no harm. Labels of more than two classes
    stay in the order of the file. A file says nothing of C, epsilon, weights or the certificate.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    LinearSVC, LinearSVR or OneClassSVM of `pegasos.svm`; PegasosClassifier with ``loss="log_loss"`` for logistic
    regression

    Raises
    ------
    ModelFormatError
        The file is no model file of LIBLINEAR, or is damaged.
    """
    return text.read_model(path, "LIBLINEAR", _read)


def _read(lines: Iterator[bytes]):
    header = text.read_header(lines, b"w", KNOWN)
    name = text.take_one_of(header, "solver_type", TYPES)
    parameters = dict(TYPES[name])
    kind = parameters.pop("kind")
    classifies = kind not in (LinearSVR, OneClassSVM)
    n_classes = text.integer(text.take(header, "nr_class", 1)[0], "nr_class", 2)
    if not classifies and n_classes != 2:
        raise ModelFormatError(f"nr_class of {name} is not 2")
    n_columns = n_classes if classifies and (n_classes > 2 or name == "MCSVM_CS") else 1
    n_features = text.integer(text.take(header, "nr_feature", 1)[0], "nr_feature", 1)
    bias = text.number(text.take(header, "bias", 1)[0], "bias")
    classes = text.take_labels(header, n_classes) if classifies else None
    rho = text.number(text.take(header, "rho", 1)[0], "rho") if kind is OneClassSVM else 0.0
    table = _table(lines, n_features + (bias >= 0), n_columns)
    weights = np.ascontiguousarray(table[:n_features].T)
    intercept = bias * table[n_features] if bias >= 0 else np.zeros(n_columns)
    if not np.isfinite(intercept).all():
        raise ModelFormatError("an intercept is no finite number")
    model = kind(**parameters)
    model.n_features_in_ = n_features
    if classes is not None:
        model.classes_, weights, intercept = _oriented(classes, weights, intercept)
    if kind is OneClassSVM:
        _restore_outliers(model, weights, intercept - rho)
    elif kind is PegasosClassifier:
        _restore_logistic(model, weights, intercept)
    else:
        model.set_params(fit_intercept=bool(bias >= 0))
        arrays = {"coef_": weights if classifies else weights.ravel()}
        state.restore_linear(model, arrays | ({"intercept_": intercept} if bias >= 0 else {}), 0)
    return model


def _oriented(classes, weights, intercept):
    """Two classes sorted, with positive scores for the second."""
    if len(classes) > 2:
        return classes, weights, intercept
    if len(weights) == 2:  # Crammer and Singer's, one row for each class
        weights, intercept = weights[:1] - weights[1:], intercept[:1] - intercept[1:]
    if classes[0] < classes[1]:
        return classes, -weights, -intercept
    return classes[::-1].copy(), weights, intercept


def _restore_logistic(model, weights: np.ndarray, intercept: np.ndarray) -> None:
    classes = model.classes_
    if (np.diff(classes) < 0).any():  # model files want them in order
        order = np.argsort(classes)
        classes, weights, intercept = classes[order], weights[order], intercept[order]
    found = {"coef_": weights, "intercept_": intercept, "classes_": classes, "n_iter_": 0, "_kernel": LinearKernel()}
    found |= {"_scheme": "ovr" if len(classes) > 2 else "binary", "t_": np.zeros(len(weights), np.int64)}
    recipe_of(model).store(found)


def _restore_outliers(model, weights: np.ndarray, intercept: np.ndarray) -> None:
    arrays: dict[str, Any] = {"support_": np.zeros(1, np.int32), "n_support_": np.ones(1, np.int32)}
    arrays["n_iter_"] = np.zeros(1, np.int64)
    arrays |= {"dual_coef_": np.ones((1, 1)), "intercept_": intercept}
    state.restore(model, state.FittedMachine(LinearKernel(), weights, (1, weights.shape[1]), None, arrays))


def _table(lines: Iterator[bytes], n_rows: int, n_columns: int) -> np.ndarray:
    """The weights, one row for each feature."""
    values = array("d")
    count = 0
    for line in lines:
        words = line.split()
        if len(words) != n_columns or count == n_rows:
            raise ModelFormatError(f"it does not have {n_rows} lines of {n_columns} weights")
        values.extend(text.numbers(words, "a weight"))
        count += 1
    if count != n_rows:
        raise ModelFormatError(f"it has {count} lines of weights, not {n_rows}")
    return np.array(values, np.float64).reshape(n_rows, n_columns)
