"""`pegasos.compress`: from a fitted kernel model to one of fewer support vectors."""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from pegasos.backends.threads import threads_limited
from pegasos.compression.reduced import ReducedSet
from pegasos.estimators import PegasosClassifier, PegasosRegressor
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.validation import warn_user
from pegasos.export.described import Described, described, plain_model
from pegasos.kernels import canonical
from pegasos.svm import layout, state

NO_MORE = ("violations_", "n_support_", "objective_", "dual_gap_", "relative_gap_", "converged_", "history_")


def compress(model, *, max_support: int | None = None, tol: float | None = None, X_valid=None):
    """A model of fewer support vectors whose scores are almost the same.

    Support vectors are chosen one after the other, whichever takes the model nearest to the one that is given, and the
    coefficients of all columns are fitted anew, by least squares on the scores of all support vectors. Nothing is
    trained, and no targets are needed. The result predicts, saves, loads and exports like any other; it has no
    certificate, no `n_support_` but for machines of `pegasos.svm`, and `compression_` says what it has cost.

    Parameters
    ----------
    model : PegasosClassifier, PegasosRegressor, PegasosSearchCV, a machine of `pegasos.svm`, or a Pipeline of one
        With a kernel that has support vectors.
    max_support : int, default=None
        Most support vectors of the result.
    tol : float, default=None
        The change of scores that is allowed: its root mean square over the rows of `X_valid`, in each column. Scores of
        a margin are 1, those of regression in the units of the targets. As few support vectors as keep to it are
        found; with `max_support`, too, that many if they do not, and a warning.
    X_valid : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Rows on which changes are measured, none of which decides on a coefficient; None: the support vectors.

    Returns
    -------
    A fitted model of the same class. Its `compression_` is a dict: "n_support_before", "n_support", "n_rows" measured
    on, "rms_change" and "largest_change" of scores there, and "changed_labels", the share of those rows that the two
    models label differently (None for regression).
    """
    _check_sizes(max_support, tol)
    model = plain_model(model)
    if hasattr(model, "steps"):
        alone = X_valid is None or len(model.steps) == 1
        rows = X_valid if alone else model[:-1].transform(X_valid)
        last = compress(model[-1], max_support=max_support, tol=tol, X_valid=rows)
        return Pipeline([*model.steps[:-1], (model.steps[-1][0], last)])
    if callable(getattr(model, "kernel", None)):
        raise ValueError("A model whose kernel is a Python function cannot be compressed; use a named kernel.")
    found = described(model)
    _check_kind(found)
    vectors, rows = _wide(found.vectors), None if X_valid is None else _checked(model, X_valid)
    coefficients = np.ascontiguousarray(np.asarray(found.coefficients, np.float64).T)
    most = len(coefficients) if max_support is None else int(max_support)
    with threads_limited(getattr(model, "n_jobs", None)):
        reduced = ReducedSet(found.kernel, vectors, coefficients, rows, _owners(found))
        kept, fitted = reduced.of_size(most) if tol is None else reduced.within(float(tol), most)
        rms, largest = reduced.changes(kept, fitted)
    smaller = (_of_pegasos if isinstance(model, PegasosClassifier | PegasosRegressor) else _of_machine)(
        model, found, kept, fitted.T
    )
    if tol is not None and rms > tol:
        warn_user(f"{len(kept)} support vectors change scores by {rms:.3g}, more than tol={tol:g}.", UserWarning)
    measured = vectors if rows is None else rows
    changed = None
    if is_classifier(model) and measured.shape[0]:
        changed = float(np.mean(_labels(smaller, measured) != _labels(model, measured)))
    smaller.compression_ = {
        "n_support_before": len(coefficients), "n_support": len(kept), "n_rows": int(measured.shape[0]),
        "rms_change": rms, "largest_change": largest, "changed_labels": changed,
    }  # fmt: skip
    return smaller


def _check_sizes(max_support: Any, tol: Any) -> None:
    if max_support is None and tol is None:
        raise ValueError("compress needs max_support, tol, or both: how small, or how near to the model.")
    if max_support is not None and not (isinstance(max_support, Integral) and int(max_support) >= 1):
        raise ValueError(f"max_support must be a whole number of at least 1, got {max_support!r}.")
    if tol is not None and not (isinstance(tol, Real) and 0 <= float(tol) < np.inf):
        raise ValueError(f"tol must be a number that is not negative, got {tol!r}.")


def _check_kind(found: Described) -> None:
    if found.kernel.is_linear:
        raise ValueError(
            f"This {found.name} is linear: it predicts by one weight for each feature; nothing can be compressed."
        )
    if found.kernel.is_precomputed:
        raise ValueError(
            "A model of a precomputed kernel does not have its support vectors, only their numbers; it cannot be "
            "compressed."
        )


def _wide(rows) -> Any:
    """Rows in float64, in which all is computed."""
    return rows.astype(np.float64, copy=False)


def _checked(model, X) -> Any:
    """Rows to measure on, checked as those of a prediction, of the kind of the support vectors."""
    rows = canonical(validate_data(model, X, accept_sparse="csr", dtype=np.float64, reset=False))
    if issparse(rows) and not issparse(model.support_vectors_):
        return rows.toarray()
    return rows


def _labels(model, rows) -> np.ndarray:
    """Labels of rows; many labels a row as one array."""
    names = vars(model).get("feature_names_in_")
    if names is not None:  # rows have been checked, and have lost their names
        model = copy.copy(model)
        del model.feature_names_in_
    found = model.predict(rows)
    if isinstance(found, list):  # of sets
        return np.array([sorted(map(str, one)) for one in found], object)
    return found.toarray() if issparse(found) else found


def _owners(found: Described) -> np.ndarray | None:
    """Which support vectors a pair of LIBSVM's layout can have: those of its classes."""
    if found.counts is None or len(found.counts) == 2:
        return None
    of_class = np.repeat(np.arange(len(found.counts)), found.counts)
    ends = np.array([(i, j) for _, i, j in layout.pairs(len(found.counts))])
    return (of_class[:, None] == ends[:, 0]) | (of_class[:, None] == ends[:, 1])


def _of_pegasos(model, found: Described, kept: np.ndarray, coefficients: np.ndarray):
    """The same estimator with these support vectors."""
    smaller = copy.copy(model)
    for name in NO_MORE:
        vars(smaller).pop(name, None)
    recipe_of(smaller).forget()
    smaller.support_ = np.asarray(found.support)[kept]
    smaller.support_vectors_ = model.support_vectors_[kept]
    smaller.dual_coef_ = np.ascontiguousarray(coefficients.astype(model.dual_coef_.dtype))
    return smaller


def _of_machine(model, found: Described, kept: np.ndarray, coefficients: np.ndarray):
    """The same machine of `pegasos.svm` with these support vectors."""
    smaller, parts = copy.copy(model), state.parts_of(model)
    for name in NO_MORE:
        vars(smaller).pop(name, None)
    dropped = [name for name in parts.arrays if name in (*NO_MORE, "converged_") or name.startswith("online.")]
    for name in dropped:
        del parts.arrays[name]
    counts = np.array([len(kept)], np.int32)
    if found.counts is not None:
        ends = np.cumsum(found.counts)
        counts = np.bincount(np.searchsorted(ends, kept, side="right"), minlength=len(ends)).astype(np.int32)
        coefficients = -coefficients if len(ends) == 2 else layout.of_all_pairs(coefficients, counts)
    parts.arrays |= {"dual_coef_": np.ascontiguousarray(coefficients), "n_support_": counts}
    parts.arrays["support_"] = parts.arrays["support_"][kept]
    parts.support_vectors = model.support_vectors_[kept]
    state.restore(smaller, parts)
    return smaller
