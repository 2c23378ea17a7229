"""Squared norms of rows, the spread of their entries, and what ``gamma="scale"`` makes of it."""

from __future__ import annotations

import numpy as np

from pegasos.utils.arrays import to_host

ENTRIES_AT_ONCE = 2**16  # of a CSR matrix


def canonical(X):
    """X itself, or a copy with repeated CSR entries added up: squares of parts would not add up to the square."""
    if hasattr(X, "indptr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rows_of_entries(X, entries: int = ENTRIES_AT_ONCE) -> int:
    """How many rows of a CSR matrix hold about so many entries."""
    return max(1, int(entries * X.shape[0] / max(1, X.nnz)))


def squared_norms(X) -> np.ndarray:
    """||x||² of every row, in float64."""
    if not hasattr(X, "indptr"):
        with np.errstate(over="ignore", under="ignore"):
            return to_host(np.einsum("ij,ij->i", X, X)).astype(np.float64)
    squares = np.zeros(X.shape[0])
    at_once = rows_of_entries(X)  # in parts: a square of all entries would be a copy of X
    for first in range(0, X.shape[0], at_once):
        ends = X.indptr[first : first + at_once + 1]
        filled = np.flatnonzero(np.diff(ends))
        if filled.size:
            part = np.square(X.data[ends[0] : ends[-1]], dtype=np.float64)
            squares[first + filled] = np.add.reduceat(part, ends[filled] - ends[0])
    return squares


def spread(X, weights=None) -> float:
    """Weighted variance of all entries of X, in float64, without a copy of X."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    total = weights.sum() * X.shape[1]
    mean = float(weights @ np.asarray(to_host(X.sum(axis=1, dtype=np.float64))).ravel()) / total
    if hasattr(X, "indptr"):
        return float(weights @ squared_norms(X)) / total - mean**2
    squares = 0.0
    for first in range(0, len(X), 4096):
        part = X[first : first + 4096] - mean
        squares += float(weights[first : first + 4096] @ squared_norms(part))
    return squares / total


def scale_gamma(X, weights=None) -> float:
    """What gamma="scale" stands for: 1 / (n_features * variance), or 1 where nothing varies."""
    variance = spread(X, weights)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
