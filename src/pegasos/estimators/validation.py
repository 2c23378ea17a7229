"""Checks of what users pass, early and in plain sentences that name the thing."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from inspect import Parameter, signature
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from pegasos.estimators import devices
from pegasos.estimators.solving import is_textbook, tol_of
from pegasos.kernels import Kernel, kernel_class, largest_of, lowest_exponent
from pegasos.problem.columns import Problems
from pegasos.utils.arrays import on_gpu, to_device_of, to_host

SAMPLE = 200  # rows of the kernel matrix that are looked at
WIDEST_RATIO = 1e3
WIDEST_WEIGHTS = 1e30
LARGEST_FLOAT = int(sys.float_info.max)


def check_parameters(estimator) -> None:
    """Raise where a parameter is not valid, as scikit-learn does; defaults, and there are many, always are."""
    kind: Any = type(estimator)
    defaults = _defaults(kind)
    fresh = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if value is not defaults.get(name, Parameter.empty)
    }
    validate_parameter_constraints(estimator._parameter_constraints, fresh, caller_name=kind.__name__)


@cache
def _defaults(estimator_class: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in signature(estimator_class).parameters.items()}


def check_supported(estimator) -> None:
    """Raise where the device asked for is not there, or cannot do what is asked."""
    if estimator.device.startswith("cuda") and estimator.n_landmarks is not None:
        raise ValueError(f"n_landmarks={estimator.n_landmarks} is for the CPU; set device='cpu' or 'auto'.")
    devices.check_available(estimator.device)


def check_on_cpu(estimator, what: str) -> None:
    """Raise where a GPU is asked for by what cannot use one."""
    if estimator.device.startswith("cuda"):
        raise ValueError(f"{what} works on the CPU; got device={estimator.device!r}: set device='cpu' or 'auto'.")


def check_numbers(estimator) -> None:
    """Raise ValueError for integers that are larger than any float, as bounds of parameters let pass."""
    weights = estimator.class_weight if isinstance(getattr(estimator, "class_weight", None), dict) else {}
    given = [*vars(estimator).items(), *(("class_weight", weight) for weight in weights.values())]
    for name, value in given:
        if type(value) is int and abs(value) > LARGEST_FLOAT:
            raise ValueError(f"{name} is too large: an integer of {value.bit_length()} bits, where floats have 1024.")


def check_combinations(estimator) -> None:
    """Raise ValueError for parameters that contradict each other, or that arithmetic cannot hold."""
    check_numbers(estimator)
    if getattr(estimator, "n_jobs", None) == 0:
        raise ValueError("n_jobs=0 has no meaning; give a number of threads, -1 for all cores, or None.")
    if estimator.solver not in ("auto", "pegasos"):
        _check_dual_solver(estimator)
    if estimator.kernel_params and not callable(estimator.kernel):
        raise ValueError(f"kernel_params is for a callable kernel; kernel={estimator.kernel!r} takes none.")
    if estimator.n_landmarks is not None and estimator.kernel == "linear":
        raise ValueError(f"n_landmarks={estimator.n_landmarks} is for kernels; kernel='linear' needs none.")
    indefinite = kernel_class(estimator.kernel).definite is False and estimator.n_landmarks is None
    if indefinite and estimator.solver != "smo" and tol_of(estimator, is_textbook(estimator)) is not None:
        raise ValueError(
            f"tol needs a certified gap, and kernel={estimator.kernel!r} is indefinite and has none; set tol=None."
        )
    if getattr(estimator, "multi_class", None) == "crammer_singer" and estimator.loss != "hinge":
        raise ValueError(f"multi_class='crammer_singer' takes loss='hinge', got loss={estimator.loss!r}.")


def _check_dual_solver(estimator) -> None:
    """Raise ValueError for what only the steps of Pegasos can do, or a solver of linear models cannot."""
    solver, name = estimator.solver, f"solver={estimator.solver!r}"
    if estimator.batch_size != 1:
        raise ValueError(f"{name} takes batch_size=1, got batch_size={estimator.batch_size!r}.")
    if estimator.project:
        raise ValueError(f"{name} takes project=False, got project=True.")
    if solver == "sdca":
        return
    if solver == "smo":
        _check_active_set(estimator)
        return
    if estimator.kernel != "linear" and estimator.n_landmarks is None:
        raise ValueError(f"{name} is for linear models; kernel={estimator.kernel!r} takes solver='auto' or 'sdca'.")
    if getattr(estimator, "multi_class", None) == "crammer_singer":
        raise ValueError(f"{name} takes columns one by one; multi_class='crammer_singer' takes 'auto' or 'sdca'.")
    if estimator.checkpoint is not None:
        raise ValueError(f"{name} keeps no checkpoints; use solver='auto' or 'sdca'.")
    if estimator.device.startswith("cuda"):
        raise ValueError(f"{name} works on the CPU; got device={estimator.device!r}: set device='cpu' or 'auto'.")


def _check_active_set(estimator) -> None:
    """Raise ValueError for what is no matter of a kernel matrix and coefficients that may be 0."""
    if estimator.kernel == "linear":
        raise ValueError("solver='smo' is for kernels; kernel='linear' takes solver='auto', 'dcd' or 'newton'.")
    if estimator.n_landmarks is not None:
        raise ValueError(
            f"solver='smo' is for kernels without landmarks, got n_landmarks={estimator.n_landmarks}; set "
            "solver='auto'."
        )
    if getattr(estimator, "multi_class", None) == "crammer_singer":
        raise ValueError("solver='smo' takes columns one by one; multi_class='crammer_singer' takes 'auto' or 'sdca'.")
    if estimator.loss == "log_loss":
        raise ValueError("solver='smo' is for losses that are 0 somewhere; loss='log_loss' takes 'auto' or 'sdca'.")
    if estimator.device.startswith("cuda"):
        raise ValueError(f"solver='smo' works on the CPU; got device={estimator.device!r}: set device='cpu' or 'auto'.")


def check_dense_targets(y) -> None:
    """Targets that are no sparse matrix."""
    if issparse(y):
        raise ValueError("The targets y are a sparse matrix; regression takes an array: pass y.toarray().")


def check_targets(targets: np.ndarray, dtype) -> None:
    """Targets of a size that the arithmetic can hold."""
    largest = float(np.abs(targets).max(initial=0.0))
    if not largest < np.sqrt(_range(dtype)[1]):
        raise ValueError(f"The targets y reach {largest:.3g}, too large for {dtype}; scale them.")


def check_batch(batch_size, problems: Problems) -> None:
    """A batch has to be found among the rows of every column."""
    n_rows = int(problems.n_rows.min())
    if batch_size != "all" and batch_size > n_rows:
        of = " of the smallest pair" if problems.scheme == "ovo" else ""
        raise ValueError(f"batch_size={batch_size} is more than the {n_rows} rows{of} to train on.")


def check_label_types(y):
    """Labels of one type, as an array NumPy knows; it would silently turn numbers beside strings into strings."""
    if not (isinstance(y, list | tuple) or getattr(y, "dtype", None) == np.dtype(object)):
        return y
    labels = np.asarray(y, object)
    kinds = {next((kind for kind in (str, bytes) if isinstance(label, kind)), object) for label in labels.ravel()}
    if len(kinds) > 1:
        raise ValueError("The labels y mix strings with numbers or other types; use one type for all labels.")
    return np.array(labels.tolist()) if labels.ndim == 1 and labels.size and kinds == {object} else y


def check_online_labels(y, classes, known):
    """All classes, those of the first call, and each row's place among them."""
    if y.dtype.kind not in "mMS":
        check_classification_targets(y)
    if known is None and classes is None:
        raise ValueError("The first call of partial_fit needs classes: all labels that will ever come.")
    given = known if classes is None else np.unique(check_label_types(classes))
    if known is not None and not np.array_equal(known, given):
        raise ValueError(f"classes={classes!r} is not the same as on the first call of partial_fit: {known!r}.")
    if len(given) < 2:
        raise ValueError(f"partial_fit needs at least 2 classes, got {given!r}.")
    strange = ~np.isin(y, given)
    if strange.any():
        raise ValueError(f"y holds the label {y[strange][0]!r}, which is not among the classes {given!r}.")
    return given, np.searchsorted(given, y)


def check_online_class_weight(class_weight, classes, codes, weights):
    """Sample weights times class weights."""
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs to see all rows, and partial_fit does not; give a dict of weights "
            "(sklearn.utils.class_weight.compute_class_weight computes them)."
        )
    per_class = checked_class_weights(class_weight, classes, classes)
    return (1.0 if weights is None else weights) * per_class[codes]


def checked_class_weights(class_weight, classes, y) -> np.ndarray:
    """The weight of each class, finite and not negative."""
    per_class = compute_class_weight(class_weight, classes=classes, y=y)
    if not (np.isfinite(per_class) & (per_class >= 0)).all():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight}.")
    return per_class


def check_weights(sample_weight, X) -> np.ndarray | None:
    """Sample weights in float64, or None."""
    if sample_weight is None:
        return None
    rows = np.empty((X.shape[0], 0)) if on_gpu(X) else X
    weights = _check_sample_weight(devices.on_host(sample_weight), rows, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least two rows need a positive weight.")
    return weights


def check_regularisation(problems: Problems, dtype) -> None:
    """lam within what the arithmetic can hold, whether given or made of C and the weights; weights of sane range."""
    tiny, huge = _range(dtype)
    lam = problems.lam
    if not (np.isfinite(lam) & (lam > np.sqrt(tiny)) & (lam < np.sqrt(huge))).all():
        raise ValueError(
            f"lam must be between {np.sqrt(tiny):.0e} and {np.sqrt(huge):.0e} for {dtype}, got {lam.min():.3g} to "
            f"{lam.max():.3g}; without lam it is 1 / (C * sum of sample_weight): mind their size."
        )
    least, most = problems.weight_range or (1.0, 1.0)
    if not most < WIDEST_WEIGHTS * least:
        raise ValueError(
            f"sample_weight times class_weight ranges from {least:.3g} to {most:.3g}; weights "
            f"must lie within a factor of {WIDEST_WEIGHTS:.0e}, or be 0."
        )


def check_magnitudes(
    X, squares: np.ndarray | None, kernel: Kernel, bias: float, *, hints: bool = True, largest: np.ndarray | None = None
) -> None:
    """Features that overflow or underflow are an error, extreme or uneven ones a warning if `hints` are wanted.

    `squares` and `largest` are squared norms of the rows and the largest absolute values of features, if known.
    """
    tiny, huge = _range(X.dtype)
    remedy = "scale the features, for instance with StandardScaler"
    if X.dtype == np.float32:
        remedy += ", or pass float64"
    if not bias < np.sqrt(huge):
        raise ValueError(f"intercept_scaling={bias:.3g} is too large for {X.dtype}.")
    if squares is None:
        if kernel.is_precomputed and not _largest(X) < huge:
            raise ValueError(f"The precomputed kernel values reach {_largest(X):.3g} and overflow {X.dtype}.")
        return
    square = float(np.max(squares, initial=0.0))
    if square < tiny and (X != 0).sum():
        raise ValueError(f"The features are too small: squared norms of {square:.3g} underflow {X.dtype}; {remedy}.")
    if square < huge:
        _check_parameters(kernel, square, X.dtype)
    value = max(square, float(np.max(np.abs(kernel.diagonal(X, squares)), initial=0.0)))
    if not value < huge:
        raise ValueError(f"The features are too large: kernel values of {value:.3g} overflow {X.dtype}; {remedy}.")
    if not hints:
        return
    if 0 < square < 1e-20 or square > 1e20:
        _hint(f"The features are of scale {np.sqrt(square):.3g}; scale them, for instance with StandardScaler.")
    elif not hasattr(X, "indptr"):
        _hint_uneven(largest_of(X) if largest is None else largest, bias)
    gamma = getattr(kernel, "gamma", 1.0)
    if kernel.needs_squares and gamma * square * np.finfo(X.dtype).eps > 1e-3:
        _hint(
            f"Distances lose their digits in {X.dtype}: the features lie far from zero for gamma={gamma:.3g}. "
            "Centre or scale the features, or pass float64."
        )


def _check_parameters(kernel: Kernel, square: float, dtype) -> None:
    """Parameters of a kernel that the type of the rows holds, where the largest squared norm is `square`."""
    for name in ("gamma", "coef0"):
        value = getattr(kernel, name, 0.0)
        if not abs(value) < float(np.finfo(dtype).max) / 4:
            raise ValueError(f"{name}={value:.3g} is too large for {dtype}.")
    if kernel.needs_squares and not kernel.gamma * square < _range(dtype)[1]:  # type: ignore[attr-defined]
        raise ValueError(
            f"gamma={kernel.gamma:.3g} is too large for features of scale {np.sqrt(square):.3g}: "  # type: ignore[attr-defined]
            f"gamma times their squared norms overflows {dtype}; lower gamma or scale the features."
        )


def _hint_uneven(largest: np.ndarray, bias: float) -> None:
    sizes = largest[largest > 0]
    if bias > 0:
        sizes = np.append(sizes, bias)
    if sizes.size and sizes.max() > WIDEST_RATIO * sizes.min():
        _hint(
            f"The largest absolute values of the features range from {sizes.min():.3g} to {sizes.max():.3g}"
            f"{' (the constant feature of the intercept included)' if bias > 0 else ''}; scale the features, for "
            "instance with StandardScaler, or the large ones decide alone."
        )


def check_precomputed(X) -> None:
    """A precomputed kernel matrix has to be square and symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"A precomputed kernel matrix must be square to fit; got shape {X.shape}.")
    allowed = 1e3 * np.finfo(X.dtype).eps * _largest(X)
    for first in range(0, len(X), 1024):
        rows = slice(first, first + 1024)
        if np.abs(X[rows] - X[:, rows].T).max() > allowed:
            raise ValueError("The precomputed kernel matrix is not symmetric.")


def check_definite(X, kernel: Kernel, needed: bool) -> bool:
    """Look at a sample of the kernel matrix; whether it may be taken as positive semi-definite, if not `needed` so."""
    if kernel.definite is not None and not kernel.stationary:
        return kernel.definite
    places = np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE).astype(int))
    there = to_device_of(places, X)
    rows = X[there]
    values = to_host(kernel(rows, there if kernel.is_precomputed else rows))
    if kernel.stationary:
        _warn_underflow(values, getattr(kernel, "gamma", 1.0))
        return True
    if kernel.is_callable and not np.allclose(values, values.T, rtol=1e-3, atol=1e-6 * np.abs(values).max()):
        raise ValueError("The kernel function is not symmetric: K(x, z) differs from K(z, x).")
    if not _largest(values) < _range(X.dtype)[1]:
        raise ValueError(f"The kernel values reach {_largest(values):.3g} and overflow {X.dtype}.")
    eigenvalues = eigvalsh(values.astype(np.float64))
    if eigenvalues[0] < -1e3 * np.finfo(X.dtype).eps * max(abs(eigenvalues[-1]), abs(eigenvalues[0])):
        if needed:
            raise ValueError("tol needs a certified gap, and this kernel is not positive semi-definite; set tol=None.")
        _hint(
            f"The kernel matrix is not positive semi-definite (an eigenvalue of {eigenvalues[0]:.3g}); the objective "
            "is not convex and there is no certified gap."
        )
        return False
    return True


def _warn_underflow(values, gamma: float) -> None:
    others = values[~np.eye(len(values), dtype=bool)]
    if others.size and others.max() <= 2 * np.exp(lowest_exponent(values.dtype)):
        _hint(
            f"All kernel values between different rows underflow to 0: gamma={gamma:.3g} is too large for these "
            "features, and every row is similar to itself only. Lower gamma or scale the features."
        )


def _range(dtype) -> tuple[float, float]:
    """Squares below and above which sums of them are not safe."""
    return (1e-30, 1e30) if dtype == np.float32 else (1e-290, 1e290)


def _largest(values) -> float:
    return max(abs(float(values.max())), abs(float(values.min())))


def _hint(sentence: str) -> None:
    warn_user(sentence, UserWarning)


def warn_unconverged(sentence: str) -> None:
    """Warn of a result that is not what was asked for."""
    warn_user(sentence, ConvergenceWarning)


def warn_user(sentence: str, category: type[Warning]) -> None:
    """Warn and point to the user's own line, however many frames of ours and scikit-learn's lie between."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("pegasos", "sklearn"):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=depth)
