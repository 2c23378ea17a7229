"""Squared norms of rows, the sizes and spread of their entries, and what ``gamma="scale"`` makes of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pegasos.backends.compiled import interpreted
from pegasos.backends.threads import in_parallel
from pegasos.utils.arrays import on_gpu, to_host

ENTRIES_AT_ONCE = 2**16  # of a CSR matrix
WORTH_COMPILED = 2**17  # entries from which a compiled loop, which has to be loaded, pays
PARTS = 16  # of the rows, for threads


class Sizes(NamedTuple):
    """Squared norms of rows in float64, and the largest absolute value of each feature (None: CSR rows)."""

    squares: np.ndarray
    largest: np.ndarray | None


def canonical(X):
    """X itself, or a copy with repeated CSR entries added up: squares of parts would not add up to the square."""
    if hasattr(X, "indptr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rows_of_entries(X, entries: int = ENTRIES_AT_ONCE) -> int:
    """How many rows of a CSR matrix hold about so many entries."""
    return max(1, int(entries * X.shape[0] / max(1, X.nnz)))


def sizes_of(X) -> Sizes:
    """Sizes of the rows by one look at them."""
    if hasattr(X, "indptr"):
        return Sizes(squared_norms(X), None)
    if on_gpu(X) or X.size < WORTH_COMPILED or not X.flags.c_contiguous or interpreted():
        return Sizes(squared_norms(X), largest_of(X))
    from pegasos.backends import cpu

    squares, largest = np.empty(X.shape[0]), np.zeros((PARTS, X.shape[1]), X.dtype)
    edges = np.linspace(0, X.shape[0], PARTS + 1).astype(int)

    def some(first: int, last: int) -> None:
        for part in range(first, last):
            cpu.dense_sizes(edges[part], edges[part + 1], X, squares, largest[part])

    in_parallel(some, PARTS, X.size)
    return Sizes(squares, largest.max(axis=0))


def largest_of(X) -> np.ndarray:
    """The largest absolute value of each feature of dense rows."""
    if not X.shape[0]:
        return np.zeros(X.shape[1])
    return to_host(np.maximum(X.max(axis=0), -X.min(axis=0)))


def squared_norms(X) -> np.ndarray:
    """||x||² of every row, in float64."""
    if not hasattr(X, "indptr"):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return to_host(np.einsum("ij,ij->i", X, X)).astype(np.float64)
    squares = np.zeros(X.shape[0])
    if X.nnz >= WORTH_COMPILED and not interpreted():
        from pegasos.backends import cpu

        some = lambda first, last: cpu.row_squares(first, last, X.indptr, X.data, squares)
        in_parallel(some, X.shape[0], X.nnz)
        return squares
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
