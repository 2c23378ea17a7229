"""What a fitted model computes, whichever class it is of: what all formats are written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from pegasos.estimators import PegasosClassifier, PegasosRegressor
from pegasos.estimators.calibration import Calibration
from pegasos.estimators.probabilities import missing_for_probabilities
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import Kernel, LinearKernel
from pegasos.search import PegasosSearchCV
from pegasos.svm import OneClassSVM, layout, state
from pegasos.svm.base import KernelMachine
from pegasos.svm.linear import LinearMachine

EXPORTABLE = "a PegasosClassifier, a PegasosRegressor, a PegasosSearchCV or one of pegasos.svm"


@dataclass(frozen=True)
class Described:
    """A model as scores and what is made of them.

    Scores are ``K(X, vectors) @ coefficients.T + intercept`` or ``X @ weights.T + intercept``.

    Attributes
    ----------
    name : str
        Of the model's class.
    scheme : str
        What the P columns of scores stand for. "binary": positive for the later class. "ovr", "crammer_singer": one for
        each class. "ovo": pairs, positive for the later class, ties of votes broken by confidence. "pairs": those of
        LIBSVM, positive for the first class, the first of the classes with most votes. "multilabel": labels, of which a
        row has those of positive scores. "values": targets. "outliers": negative for outliers.
    kernel : Kernel
    intercept : ndarray of shape (P,)
    n_features : int
    weights : ndarray of shape (P, n_features), optional
        Of a linear model.
    vectors : ndarray or CSR matrix of shape (n_support, n_features), optional
        None for a precomputed kernel.
    support : ndarray of int, shape (n_support,), optional
        Which training rows they are.
    coefficients : ndarray of shape (P, n_support), optional
    classes : ndarray, optional
    loss : str, optional
    flat : bool
        Whether regression has one target without a second dimension.
    counts, pair_coefficients : ndarray, optional
        Of "pairs" with a kernel: LIBSVM's layout of the coefficients.
    sigmoids : tuple of ndarray, optional
        Platt's, of the pairs.
    logistic : bool
        Whether scores are log odds, which probabilities are made of.
    calibration : Calibration, optional
        What makes probabilities of the scores.
    """

    name: str
    scheme: str
    kernel: Kernel
    intercept: np.ndarray
    n_features: int
    weights: np.ndarray | None = None
    vectors: Any = None
    support: np.ndarray | None = None
    coefficients: np.ndarray | None = None
    classes: np.ndarray | None = None
    loss: str | None = None
    flat: bool = True
    counts: np.ndarray | None = None
    pair_coefficients: np.ndarray | None = None
    sigmoids: tuple[np.ndarray, np.ndarray] | None = None
    logistic: bool = False
    calibration: Calibration | None = None
    break_ties: bool = False
    decision_function_shape: str = "ovr"

    @property
    def n_columns(self) -> int:
        """Columns of scores."""
        return len(self.intercept)

    @property
    def has_chances(self) -> bool:
        """Whether there are probabilities that an ONNX graph computes."""
        platt = self.sigmoids is not None and len(np.asarray(self.classes)) == 2
        return self.logistic or self.calibration is not None or platt


def plain_model(model):
    """The estimator itself: of a search its best, of a model fitted on Dask its local copy."""
    if isinstance(model, PegasosSearchCV):
        check_is_fitted(model)
        if not hasattr(model, "best_estimator_"):
            raise ValueError("This search has no best_estimator_ to export; set refit=True and fit it again.")
        model = model.best_estimator_
    return model.local_model() if hasattr(model, "local_model") else model


def described(model) -> Described:
    """What a fitted model computes."""
    model = plain_model(model)
    if isinstance(model, PegasosClassifier | PegasosRegressor):
        return _of_pegasos(model)
    if isinstance(model, LinearMachine):
        return _of_linear_machine(model)
    if isinstance(model, KernelMachine):
        return _of_kernel_machine(model)
    if hasattr(model, "steps"):
        raise TypeError(
            "A pipeline has steps that this format cannot hold; export its last step, and transform rows before."
        )
    raise TypeError(f"What can be exported is {EXPORTABLE}; got {type(model).__name__}.")


def refuse_many_labels(model: Described, holder: str) -> None:
    """Raise ValueError for a model of several labels a row."""
    if model.scheme == "multilabel":
        raise ValueError(f"{holder} one label a row; this {model.name} gives several. ONNX holds those.")


def _of_pegasos(model) -> Described:
    check_is_fitted(model, "intercept_")
    recipe = recipe_of(model)
    kernel, found = recipe.fitted_kernel, {"name": type(model).__name__, "loss": model.loss}
    _refuse_callable(kernel)
    if isinstance(model, PegasosClassifier):
        found |= {"scheme": recipe.fitted_targets, "classes": model.classes_}
        found["logistic"] = model.probability is None and missing_for_probabilities(model) is None
        found["calibration"] = getattr(model, "calibration_", None) if model.probability is not None else None
    else:
        found |= {"scheme": "values", "flat": recipe.fitted_targets is None}
    found |= {"kernel": kernel, "intercept": model.intercept_, "n_features": int(model.n_features_in_)}
    if kernel.is_linear:
        return Described(**found, weights=model.coef_)
    vectors = None if kernel.is_precomputed else model.support_vectors_
    return Described(**found, vectors=vectors, support=model.support_, coefficients=model.dual_coef_)


def _of_linear_machine(model) -> Described:
    check_is_fitted(model, "coef_")
    weights: Any = model.coef_.toarray() if issparse(model.coef_) else model.coef_
    weights = np.atleast_2d(weights)
    intercept = np.broadcast_to(np.atleast_1d(model.intercept_), len(weights)).astype(np.float64)
    found = {"name": type(model).__name__, "loss": model.loss, "kernel": LinearKernel(), "weights": weights}
    found |= {"intercept": intercept, "n_features": int(model.n_features_in_)}
    if not is_classifier(model):
        return Described(**found, scheme="values")
    grouped = model.multi_class == "crammer_singer"
    scheme = "binary" if len(weights) == 1 else "crammer_singer" if grouped else "ovr"
    found["loss"] = "hinge" if grouped else model.loss
    return Described(**found, scheme=scheme, classes=model.classes_)


def _of_kernel_machine(model) -> Described:
    check_is_fitted(model, "n_iter_")
    if callable(model.kernel):
        _refuse_callable(None)
    parts = state.parts_of(model)
    coefficients, intercept = parts.arrays["dual_coef_"], parts.arrays["intercept_"]
    counts, vectors, support = parts.arrays["n_support_"], parts.support_vectors, parts.arrays["support_"]
    found: dict[str, Any] = {"name": type(model).__name__, "kernel": parts.kernel, "intercept": intercept}
    found |= {"vectors": None if parts.kernel.is_precomputed else vectors, "support": support}
    found |= {"n_features": int(model.n_features_in_)}
    if not is_classifier(model):
        scheme = "outliers" if isinstance(model, OneClassSVM) else "values"
        return Described(**found, scheme=scheme, coefficients=coefficients)
    if len(model.classes_) == 2:  # signs of LIBSVM
        coefficients, intercept = -coefficients, -intercept
    found |= {"classes": model.classes_, "counts": counts, "pair_coefficients": coefficients, "intercept": intercept}
    if "probA_" in parts.arrays:
        found["sigmoids"] = parts.arrays["probA_"], parts.arrays["probB_"]
    found |= {"break_ties": model.break_ties, "decision_function_shape": model.decision_function_shape}
    return Described(**found, scheme="pairs", coefficients=layout.of_each_pair(coefficients, counts))


def _refuse_callable(kernel: Kernel | None) -> None:
    if kernel is None or kernel.is_callable:
        raise ValueError(
            "A model whose kernel is a Python function cannot be exported: files hold no code. Use a named kernel."
        )
