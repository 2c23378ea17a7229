"""Rows of a kernel matrix, computed when a step first needs them and kept while there is room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pegasos.backends.threads import share_out
from pegasos.kernels import Kernel, squared_norms
from pegasos.kernels.tiles import part_of, slices, without_empty_columns

BLOCK = 32  # rows of one product, always as many: a value must not depend on what else is computed with it
LONG_BLOCK, NARROW = 64, 160  # ... and of rows with so few features, which are soon multiplied
TILE = 2048  # columns of one product, at most: with a block of rows it stays in the cache
WHOLE_UP_TO = 300  # rows of a matrix that is always computed as a whole
PRECISE_UP_TO = 2000  # rows of a matrix whose values are computed in float64
LEAST_ROWS = 256  # that are kept, however small the cache
DENSE_FROM = 1 / 16  # share of entries from which CSR rows are multiplied as dense ones
WORTH_THREADS = 2e6  # multiplications of one product


class KernelRowCache:
    """Rows of the kernel matrix of some rows, in float32; the least recently used leave.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows; for a precomputed kernel their matrix.
    kernel : Kernel
    cache_bytes : float
        Memory for kernel rows.
    squares : ndarray, optional
        Squared norms of the rows, if they are known.
    precise : bool, optional
        Whether values are computed in float64 before they are rounded; None: if the matrix is small.
    matrix : ndarray, optional
        The matrix, if it is known.

    Attributes
    ----------
    cached : ndarray of float32, shape (n_slots, n_rows)
    slots : ndarray of intp, shape (n_rows,)
        In which of them the row of each number is; -1: in none.
    last_use : ndarray of int64, shape (n_slots,)
        The round in which each was used last ...
    now : int
        ... and the present round, which whoever uses rows counts on.
    diagonal : ndarray of float64, shape (n_rows,)
        K(x, x).
    """

    def __init__(
        self, X, kernel: Kernel, cache_bytes: float = 2e8, *, squares=None, precise: bool | None = None, matrix=None
    ):
        n_rows = X.shape[0]
        self.kernel, self.n_rows, self.now, self.n_used, self.block = kernel, n_rows, 1, 0, BLOCK
        self.diagonal = np.asarray(kernel.diagonal(X, squares), np.float64)
        if matrix is None and kernel.is_precomputed and X.dtype == np.float32:
            matrix = X.T if X.flags.f_contiguous else X  # symmetric, and rows are read
        if matrix is not None:
            self.cached, self.n_used = np.ascontiguousarray(matrix, np.float32), n_rows
            self.slots = self.row_of = np.arange(n_rows)
            self.last_use = np.zeros(n_rows, np.int64)
            return
        capacity = int(min(n_rows, max(cache_bytes / (4 * n_rows), LEAST_ROWS)))
        self.cached = np.empty((capacity, n_rows), np.float32)
        self.slots, self.row_of = np.full(n_rows, -1, np.intp), np.full(capacity, -1, np.intp)
        self.last_use = np.zeros(capacity, np.int64)
        precise = n_rows <= PRECISE_UP_TO if precise is None else precise
        self._prepare(X, np.dtype(np.float64 if precise else np.float32), squares)
        if n_rows <= WHOLE_UP_TO:
            self.complete()

    @property
    def capacity(self) -> int:
        """Rows that there is room for."""
        return len(self.last_use)

    def complete(self) -> None:
        """Compute all rows of a small matrix, if there is room for them; half of the values are those of the others."""
        n_rows = self.n_rows
        if n_rows > min(self.capacity, PRECISE_UP_TO) or self.n_used or not self.kernel.from_product:
            return
        self.cached[:] = self.kernel.matrix(self.X, self._squares)
        self.slots[:] = self.row_of[:] = np.arange(n_rows)
        self.n_used, self.last_use[:] = n_rows, self.now

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows that are not here."""
        return rows[self.slots[rows] < 0]

    def fetch(self, rows: np.ndarray, others: np.ndarray | None = None) -> None:
        """Compute rows that are missing, each once; if that leaves room in a block, some of the `others`, too."""
        room = -len(rows) % self.block
        if others is not None and room:
            rows = np.append(rows, others[:room])
        for first in range(0, len(rows), self.block):
            some = rows[first : first + self.block]
            self._compute(some, self._free_slots(len(some)))

    def _free_slots(self, wanted: int) -> np.ndarray:
        """Slots for so many rows, those of the least recently used if there are no others."""
        fresh = np.arange(self.n_used, min(self.n_used + wanted, self.capacity))
        self.n_used += len(fresh)
        if len(fresh) == wanted:
            return fresh
        known = self.last_use.copy()
        known[fresh] = np.iinfo(np.int64).max
        leaving = np.argpartition(known, wanted - len(fresh) - 1)[: wanted - len(fresh)]
        self.slots[self.row_of[leaving]] = -1
        return np.concatenate([fresh, leaving])

    # --- values -----------------------------------------------------------------------------------------------------

    def _prepare(self, X, dtype, squares) -> None:
        """Bring the rows into the form that products like."""
        kernel, n_rows = self.kernel, X.shape[0]
        sparse, tiled = hasattr(X, "indptr"), kernel.from_product
        if sparse and tiled and X.nnz >= DENSE_FROM * float(n_rows) * X.shape[1]:
            X, sparse = X.toarray(), False
        if kernel.from_features:
            X = X.astype(dtype, copy=False)
        if tiled and not sparse:
            X = without_empty_columns(X)
            self.block = LONG_BLOCK if X.shape[1] <= NARROW else BLOCK
        self.X, self._squares = X, None
        if kernel.needs_squares:
            self._squares = (squared_norms(X) if squares is None else squares).astype(dtype)
        n_pairs = max(1, -(-n_rows // (2 * TILE)))
        parts = slices(n_rows, -(-n_rows // (2 * n_pairs)))  # an even number, which two threads share
        self._parts: list[tuple[slice, Any]] = []
        if tiled:
            self._parts = [(part, X[part].T.tocsr() if sparse else X[part]) for part in parts]
        self._sparse, self._dtype = sparse, dtype
        self._work = float(X.nnz if sparse else X.size) * self.block

    def _compute(self, rows: np.ndarray, into: np.ndarray) -> None:
        """Compute the kernel rows of these rows, at most a block of them, into these slots."""
        if not self._parts:
            self.cached[into] = self._rows_of_others(rows)
        else:
            values, inner = self._block(rows)
            own = None if self._squares is None else self._squares[self._padded(rows)]

            def tile(place: tuple[slice, Any]) -> None:
                part, some = place
                pairs = inner(values, some)
                found = self.kernel.transform(pairs, own, part_of(self._squares, part), compiled=True)
                self.cached[into, part] = found[: len(rows)]

            share_out(tile, self._parts, threads=None if self._work >= WORTH_THREADS else 1)
        self.slots[rows], self.row_of[into], self.last_use[into] = into, rows, self.now

    def _padded(self, rows: np.ndarray) -> np.ndarray:
        """A whole block of rows: how products round depends on their shape."""
        return np.concatenate([rows, np.full(self.block - len(rows), rows[-1])])

    def _block(self, rows: np.ndarray) -> tuple[Any, Callable[[Any, Any], np.ndarray]]:
        """The values of a block of rows, and how to find their inner products with some others."""
        values = self.X[self._padded(rows)]
        if not self._sparse:
            return values, lambda block, some: block @ some.T
        return values, lambda block, some: (block @ some).toarray()

    def _rows_of_others(self, rows: np.ndarray) -> np.ndarray:
        """Kernel rows that are no function of inner products."""
        if self.kernel.is_precomputed:
            return self.X[rows]
        return self.kernel(self.X[rows], self.X)
