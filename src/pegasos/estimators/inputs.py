"""Rows and targets as users pass them: checked by scikit-learn, or seen to be in order by one look at the numbers."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.kernels import Sizes, canonical, sizes_of

KINDS = (np.ndarray, csr_matrix, csr_array)
TYPES = (np.dtype(np.float64), np.dtype(np.float32))
LABELS = "biuU"  # kinds of labels that are classes whatever their values


def is_in_order(estimator, X, y) -> bool:
    """Whether nothing about rows and targets has to be converted, and names of features play no part.

    Their numbers have not been looked at.
    """
    if type(X) not in KINDS or type(y) is not np.ndarray or hasattr(estimator, "feature_names_in_"):
        return False
    right_rows = X.ndim == 2 and X.dtype in TYPES and min(X.shape) > 0
    return right_rows and y.ndim == 1 and len(y) == X.shape[0] and (y.dtype.kind in LABELS or y.dtype in TYPES)


def is_plain(estimator, X, types=TYPES) -> bool:
    """Whether rows to predict are an array of the host, in order, of the right type and width, and of numbers only.

    One row is looked at in less time than scikit-learn needs to find out what kind of array it is. A sum is finite only
    if all its terms are; where it is not, scikit-learn's check has the word.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in types or not X.flags.c_contiguous:
        return False
    known = vars(estimator)
    if not X.shape[0] or X.shape[1] != known.get("n_features_in_") or "feature_names_in_" in known:
        return False
    with np.errstate(all="ignore"):
        return isfinite(X.sum())


def check_fitted(estimator, attribute: str) -> None:
    """As scikit-learn's `check_is_fitted`, which asks for the tags of the estimator each time."""
    if attribute not in vars(estimator):
        check_is_fitted(estimator, attribute)


def checked(estimator, X, y, *, reset: bool, look: bool = True, **how) -> tuple[Any, np.ndarray, Sizes | None]:
    """Rows of the host and targets as `fit` takes them, and the sizes of the rows if they had to be looked at.

    scikit-learn's own check takes longer than a small fit, and reads all rows once more: it has the word where there
    is something to convert or to complain about.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
    reset : bool
        Whether the number of features is that of these rows, or has to be that of an earlier fit.
    look : bool
        Whether to look for NaN and infinity.
    **how : dict
        How scikit-learn checks the targets.
    """
    dense = estimator.kernel == "precomputed"
    known_width = reset or X.shape[1:] == (getattr(estimator, "n_features_in_", None),)
    if known_width and is_in_order(estimator, X, y) and not (dense and hasattr(X, "indptr")):
        X, sizes = canonical(X), None
        finite = y.dtype.kind in LABELS or np.isfinite(y).all()
        if look and finite:
            sizes = sizes_of(X)
            finite = np.isfinite(sizes.squares).all()
        if finite:
            estimator.n_features_in_ = X.shape[1]
            return X, y, sizes
    X, y = validate_data(
        estimator, X, y, accept_sparse=False if dense else "csr", dtype=TYPES, reset=reset, ensure_all_finite=look,
        **how,
    )  # fmt: skip
    return canonical(X), y, None
