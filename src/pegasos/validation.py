"""Checks of what users pass, early and in plain sentences that name the thing."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.utils.validation import _check_sample_weight

from pegasos.kernels import Kernel, lowest_exponent

SAMPLE = 200  # rows of the kernel matrix that are looked at
WIDEST_RATIO = 1e3


def check_supported(estimator) -> None:
    """Raise NotImplementedError for what a later version brings."""
    later = {
        "loss": estimator.loss != "hinge",
        "multi_class": estimator.multi_class == "crammer_singer",
        "n_landmarks": estimator.n_landmarks is not None,
        "device": estimator.device == "cuda",
        "checkpoint": estimator.checkpoint is not None,
        "warm_start": bool(estimator.warm_start),
    }
    for name, wanted in later.items():
        if wanted:
            given = getattr(estimator, name)
            raise NotImplementedError(f"{name}={given!r} is not implemented yet; it comes in a later version.")


def check_combinations(estimator) -> None:
    """Raise ValueError for parameters that contradict each other."""
    if estimator.lam is not None and estimator.C is not None:
        raise ValueError(f"Give lam or C, not both: got lam={estimator.lam!r} and C={estimator.C!r}.")
    if estimator.solver == "sdca" and estimator.batch_size != 1:
        raise ValueError(f"solver='sdca' takes batch_size=1, got batch_size={estimator.batch_size!r}.")
    if estimator.solver == "sdca" and estimator.project:
        raise ValueError("solver='sdca' takes project=False, got project=True.")
    if estimator.kernel_params and not callable(estimator.kernel):
        raise ValueError(f"kernel_params is for a callable kernel; kernel={estimator.kernel!r} takes none.")
    if estimator.kernel == "sigmoid" and estimator.tol is not None:
        raise ValueError("tol needs a certified gap, and kernel='sigmoid' is indefinite and has none; set tol=None.")


def check_label_types(y) -> None:
    """Labels of one type: NumPy would silently turn numbers beside strings into strings."""
    if isinstance(y, list | tuple) or getattr(y, "dtype", None) == np.dtype(object):
        kinds = {isinstance(label, str | bytes) for label in np.asarray(y, object).ravel()}
        if len(kinds) > 1:
            raise ValueError("The labels y mix strings with numbers or other types; use one type for all labels.")


def check_weights(sample_weight, X) -> np.ndarray | None:
    """Sample weights in float64, or None."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least two rows need a positive weight.")
    return weights


def check_magnitudes(X, squares: np.ndarray, kernel: Kernel, bias: float) -> None:
    """Features that overflow or underflow are an error, extreme or uneven ones a warning."""
    tiny, huge = (1e-30, 1e30) if X.dtype == np.float32 else (1e-290, 1e290)
    square = float(np.max(squares, initial=0.0))
    largest = max(square, float(np.max(kernel.diagonal(X, squares), initial=0.0)))
    remedy = "scale the features, for instance with StandardScaler"
    if X.dtype == np.float32:
        remedy += ", or pass float64"
    if not largest < huge:
        raise ValueError(f"The features are too large: kernel values of {largest:.3g} overflow {X.dtype}; {remedy}.")
    if square < tiny and (X != 0).sum():
        raise ValueError(f"The features are too small: squared norms of {square:.3g} underflow {X.dtype}; {remedy}.")
    if 0 < square < 1e-20 or square > 1e20:
        _hint(f"The features are of scale {np.sqrt(square):.3g}; scale them, for instance with StandardScaler.")
    elif not hasattr(X, "indptr"):
        _hint_uneven(X, bias)
    if kernel.name == "rbf" and kernel.gamma * square * np.finfo(X.dtype).eps > 1e-3:
        _hint(
            f"Distances lose their digits in {X.dtype}: the features lie far from zero for gamma={kernel.gamma:.3g}. "
            "Centre or scale the features, or pass float64."
        )


def _hint_uneven(X, bias: float) -> None:
    sizes = np.zeros(X.shape[1])
    for first in range(0, len(X), 256):  # both looks at a part while it is in the cache
        part = X[first : first + 256]
        np.maximum(sizes, np.maximum(part.max(axis=0), -part.min(axis=0)), out=sizes)
    if bias > 0:
        sizes = np.append(sizes, bias)
    sizes = sizes[sizes > 0]
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
    allowed = 1e3 * np.finfo(X.dtype).eps * max(abs(float(X.max())), abs(float(X.min())))
    for first in range(0, len(X), 1024):
        rows = slice(first, first + 1024)
        if np.abs(X[rows] - X[:, rows].T).max() > allowed:
            raise ValueError("The precomputed kernel matrix is not symmetric.")


def check_definite(X, kernel: Kernel) -> bool:
    """Look at a sample of the kernel matrix; whether it may be taken as positive semi-definite."""
    if kernel.name == "linear":
        return True
    places = np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE).astype(int))
    rows = X[places]
    values = rows[:, places] if kernel.name == "precomputed" else kernel(rows, rows)
    if kernel.name in ("rbf", "laplacian"):
        _warn_underflow(values, kernel)
        return True
    if kernel.name == "callable" and not np.allclose(values, values.T, rtol=1e-3, atol=1e-6 * np.abs(values).max()):
        raise ValueError("The kernel function is not symmetric: K(x, z) differs from K(z, x).")
    if kernel.name == "sigmoid":
        return False
    if kernel.name == "poly" and kernel.coef0 >= 0 and kernel.degree == int(kernel.degree):
        return True
    if not np.isfinite(values).all():
        raise ValueError(
            f"The {kernel.name} kernel gives NaN or infinity on these rows (degree={kernel.degree:g}, "
            f"coef0={kernel.coef0:g}); a negative base has no fractional power."
        )
    eigenvalues = eigvalsh(values.astype(np.float64))
    if eigenvalues[0] < -1e3 * np.finfo(X.dtype).eps * max(abs(eigenvalues[-1]), abs(eigenvalues[0])):
        _hint(
            f"The kernel matrix is not positive semi-definite (an eigenvalue of {eigenvalues[0]:.3g}); the objective "
            "is not convex and there is no certified gap."
        )
        return False
    return True


def _warn_underflow(values, kernel: Kernel) -> None:
    others = values[~np.eye(len(values), dtype=bool)]
    if others.size and others.max() <= 2 * np.exp(lowest_exponent(values.dtype)):
        _hint(
            f"All kernel values between different rows underflow to 0: gamma={kernel.gamma:.3g} is too large for these "
            "features, and every row is similar to itself only. Lower gamma or scale the features."
        )


def _hint(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=4)
