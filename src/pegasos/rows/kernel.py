"""Rows seen through a kernel: the state is a coefficient for each row."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.products import product
from pegasos.kernels import Kernel, squared_norms
from pegasos.rows.base import Gram, Rows, Way
from pegasos.rows.row_cache import KernelRowCache
from pegasos.rows.support_cache import SupportRows
from pegasos.rules.column import Average

LEAST_SUPPORT_BYTES = 64e6  # for support rows, however small the cache


class Strip(NamedTuple):
    """Rows of the kernel matrix, side by side."""

    values: np.ndarray


@dataclass(frozen=True)
class KernelStorage:
    """Where kernel values come from: how much memory and time a matrix of them may take, or one that is known.

    Attributes
    ----------
    cache_bytes : float
        Memory for the matrix; where it is not kept, for one block of its rows, and half of it for the support rows.
    draws : float
        Draws that are planned; few touch few rows of the matrix, and are not worth it.
    until : float
        When the matrix has to be complete, as ``time.perf_counter()`` counts.
    matrix : ndarray or None
        The matrix, if it is known.
    keep : bool
        Whether to compute and keep a matrix that is not known.
    by_row : bool
        Whether rows of the matrix are computed when they are first needed: see `KernelRows.row_cache`.
    """

    cache_bytes: float = 2e9
    draws: float = np.inf
    until: float = np.inf
    matrix: Any = None
    keep: bool = True
    by_row: bool = False

    def matrix_of(self, kernel: Kernel, X, norms) -> Any:
        """The kernel matrix of the rows of X; None where their values are to be computed block by block."""
        if kernel.is_precomputed:
            return X.T if X.flags.f_contiguous else X  # symmetric, and rows are read
        n_rows = X.shape[0]
        fits = n_rows**2 * X.dtype.itemsize <= self.cache_bytes
        if self.matrix is None and self.keep and not self.by_row and fits and self.draws >= n_rows / 2:
            return kernel.matrix(X, norms, in_time_for(self.until))
        return self.matrix


class KernelRows(Rows):
    """Rows seen through a kernel; the state is A, training rows × columns.

    The kernel matrix is kept where `storage` allows it. Otherwise each block's rows are computed against the support
    rows only, those that some column has a coefficient for, as long as copies of them fit into half of the cache.
    """

    dual = True

    def __init__(
        self, X, kernel: Kernel, bias: float = 0.0, squares=None, storage: KernelStorage | None = None,
        backend: Any = cpu,
    ):  # fmt: skip
        super().__init__(X, X.shape[0], bias, backend)
        storage = KernelStorage() if storage is None else storage
        self.kernel, self.norms = kernel, None
        if kernel.needs_squares:
            self.norms = backend.to_device(squared_norms(X) if squares is None else squares).astype(self.dtype)
        self.matrix = storage.matrix_of(kernel, X, self.norms)
        self.by_row, self._bytes = storage.by_row, storage.cache_bytes
        self._row_cache: KernelRowCache | None = None
        self._support: SupportRows | None = None
        if self.matrix is not None:
            return
        self.prefers_long_blocks = kernel.from_product and not hasattr(X, "indptr")
        self.at_once = int(np.clip(storage.cache_bytes / (8 * self.n_rows * self.dtype.itemsize), 16, self.at_once))
        if not backend.WAITS_TO_LOOK:  # there, to find support rows takes longer than to go over all
            self._support = SupportRows(X, self.norms, max(storage.cache_bytes / 2, LEAST_SUPPORT_BYTES))

    def for_concurrent_solve(self):
        """The same rows for another solve at the same time, which caches its own support rows."""
        if self._support is None:
            return self
        other = copy.copy(self)
        other._support = SupportRows(self.X, self.norms, self._support.most_bytes)
        return other

    @property
    def row_cache(self) -> KernelRowCache:
        """Kernel rows for solvers that choose rows by themselves."""
        if self._row_cache is None:
            matrix = None if self.kernel.is_precomputed else self.matrix
            self._row_cache = KernelRowCache(self.X, self.kernel, self._bytes, squares=self.norms, matrix=matrix)
        return self._row_cache

    @property
    def support_order(self):
        """The order in which support rows are cached."""
        return super().support_order if self._support is None else self._support.order

    def cache_support(self, order) -> None:
        """Cache support rows in this order."""
        if self._support is not None and order.size:
            self._support.of(order)

    def _way(self, columns_per_row):
        # With the matrix at hand, all scores are kept up to date, and only rows that pull cost anything.
        return Way.EITHER if self.matrix is not None else Way.BLOCKS

    @property
    def width(self):
        """A tenth of the rows: about as many numbers change per step where few rows pull."""
        return 1.0 + self.n_rows / 10

    @property
    def direct_values(self) -> np.ndarray:
        """What a direct step reads a row of."""
        return self.matrix

    @property
    def squares(self) -> np.ndarray:
        """K(x, x) of the rows, the constant feature included."""
        if self.matrix is None:
            return self.backend.to_host(self.kernel.diagonal(self.X, self.norms)) + self.bias**2
        return self.backend.to_host(self.matrix.diagonal()).astype(np.float64) + self.bias**2

    def products(self, n_columns):
        """Room for <S, x> of all rows; a column's numbers lie side by side."""
        return self.xp.zeros((self.n_rows, n_columns) if self.matrix is not None else (0, 0), self.dtype, order="F")

    def scores_now(self, block, state):
        """The scores of the state itself; read off where they are kept."""
        if not state.products.size:
            return self.scores(block, state.sums)
        scores = self.xp.take(state.products.T, block.rows, axis=1)
        if self.bias > 0:
            scores += self.bias * state.sums[-1][:, None]
        return scores.astype(self.dtype, copy=False)

    def model_scores(self, index, state):
        """Scores of the rows `index` by the model that `state` reports; the last iterate's may be read off."""
        if not state.products.size or state.average != Average.LAST:
            return super().model_scores(index, state)
        scores = state.products[self.backend.to_device(index)].T
        if self.bias > 0:
            scores = scores + self.bias * state.sums[-1][:, None]
        return (scores * self.backend.to_device(state.scales)[:, None]).astype(self.dtype)

    def follow(self, block, pulls, state) -> None:
        """Bring the kept scores up to date with the pulls of a block."""
        if state.products.size:
            strip = block.values.values if isinstance(block.values, Strip) else None
            self.backend.follow(state.products, self.matrix, block.rows, strip, pulls)

    def refresh(self, state) -> None:
        """Compute the kept scores anew, now and then, so that rounding does not pile up."""
        if state.products.size:
            for block in self.blocks():
                state.products[block.rows] = self._products(block, state.sums[: self.n_state].astype(self.dtype)).T

    def _values(self, index, full_rows):
        if self.matrix is None:
            return self.X[index]
        return Strip(self.matrix[index]) if full_rows else index

    def _strip(self, block) -> np.ndarray:
        """The block's rows of the matrix."""
        return block.values.values if isinstance(block.values, Strip) else self.matrix[block.values]

    def _products(self, block, sums):
        if self.matrix is not None:
            return product(sums.T, self._strip(block).T)
        if self._support is None:
            return self.kernel.scores(block.values, self.X, sums, self._own_squares(block), self.norms).T
        support = np.flatnonzero(sums.any(axis=1))
        if not support.size:
            return np.zeros((sums.shape[1], len(block.rows)), self.dtype)
        order, rows, squares = self._support.of(support)
        scores = self.kernel.scores(block.values, rows, sums[order], self._own_squares(block), squares)
        return np.ascontiguousarray(scores.T)

    def gram(self, block):
        """Inner products of the block's rows; with the matrix at hand the diagonal will do to begin with."""
        if self.matrix is None or isinstance(block.values, Strip):
            return super().gram(block)
        values, known = self.backend.gram_of(self.matrix, block.rows, self.bias)
        return Gram(values, known, self.matrix, self.bias)

    def _gram(self, block):
        if self.matrix is not None:
            return self.xp.take(self._strip(block), block.rows, axis=1)
        # In tiles, too: threads of BLAS go on waiting for work a while after a product, in the way of ours.
        return self.kernel.matrix(block.values, self._own_squares(block))

    def _own_squares(self, block):
        return None if self.norms is None else self.norms[block.rows]

    def _add(self, block, pulls, sums):
        self.backend.scatter_rows(sums, block.rows, pulls)

    def square_norms(self, coefficients):
        """||w||² of each column: one scoring pass."""
        norms = self.xp.zeros(coefficients.shape[1])
        for block in self.blocks():
            own = coefficients[block.rows]
            norms += self.xp.einsum("ip,pi->p", own, self.scores(block, coefficients), dtype=np.float64)
        return self.backend.to_host(norms)


def in_time_for(until: float) -> Callable[[float], bool]:
    """A judge of whether work ends by ``until``, given the part of it that is done; the first fifth is for granted."""
    began = time.perf_counter()

    def in_time(part: float) -> bool:
        spent = time.perf_counter() - began
        return spent < 0.2 * (until - began) or began + spent / part < until

    return in_time
