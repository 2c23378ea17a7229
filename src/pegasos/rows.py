"""Rows: how a block of rows meets the state.

=============  ==========================  ====================  =================================
rows           scores at the block's start  Gram of the block     after the block
=============  ==========================  ====================  =================================
`KernelRows`   K(X_b, X)·A                 K(X_b, X_b)           A[b] accumulates the pulls
`DenseRows`    X_b·W                       X_b·X_bᵀ              W += X_bᵀ·pulls
`SparseRows`   the same products by SciPy; single steps go row by row (`row_wise`)
=============  ==========================  ====================  =================================

Scores and pulls are (columns, rows of the block): a column's numbers lie side by side. The constant feature of an
intercept is one extra row of the state, never a copied X; for kernels it stands for K + bias².
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pegasos.backends import cpu
from pegasos.kernels import Kernel, squared_norms

STRIP = 1024


class Block(NamedTuple):
    """Some rows, by index, and what their kind keeps of them."""

    index: np.ndarray
    values: object


class Rows:
    """What the solver asks of rows; subclasses say how `values` of a block meet the first `n_state` rows of the state."""

    row_wise = False  # single steps go row by row instead of in blocks
    dual = False  # the state has one coefficient per training row
    at_once = STRIP  # rows of one product

    def __init__(self, n_rows: int, n_state: int, dtype, bias: float):
        self.n_rows = n_rows
        self.n_state = n_state
        self.dtype = np.dtype(dtype)
        self.bias = float(bias)

    def zeros(self, n_columns: int) -> np.ndarray:
        """An empty state."""
        return np.zeros((self.n_state + (self.bias > 0), n_columns), self.dtype)

    def block(self, index) -> Block:
        """The rows `index`, an array or a slice."""
        numbers = np.arange(self.n_rows)[index] if isinstance(index, slice) else index
        return Block(numbers, self._values(index))

    def blocks(self, index: np.ndarray | None = None) -> Iterator[Block]:
        """All rows, or those of `index`, in blocks of a size that products like."""
        total = self.n_rows if index is None else len(index)
        for first in range(0, total, self.at_once):
            part = slice(first, min(first + self.at_once, total))
            yield self.block(part if index is None else index[part])

    def scores(self, block: Block, sums: np.ndarray) -> np.ndarray:
        """<S, x> of each row of the block in each column, shape (P, B)."""
        scores = self._products(block, sums[: self.n_state])
        if self.bias > 0:
            scores += self.bias * sums[-1][:, None]
        return scores

    def gram(self, block: Block) -> np.ndarray:
        """Inner products of the block's rows, shape (B, B)."""
        gram = self._gram(block)
        if self.bias > 0:
            gram = gram + self.dtype.type(self.bias**2)
        return np.ascontiguousarray(gram, self.dtype)

    def add(self, block: Block, pulls: np.ndarray, sums: np.ndarray) -> None:
        """S += Σ pull·x over the block; `pulls` is (P, B)."""
        self._add(block, pulls, sums)
        if self.bias > 0:
            sums[-1] += self.bias * pulls.sum(axis=1)

    def square_norms(self, coefficients: np.ndarray) -> np.ndarray:
        """||w||² of each column, in float64."""
        return np.einsum("ij,ij->j", coefficients, coefficients, dtype=np.float64)

    def largest_square(self) -> float:
        """max K(x, x), the constant feature included."""
        return float(np.max(self._self_products(), initial=0.0)) + self.bias**2


class DenseRows(Rows):
    """Rows of a dense matrix; the state is W, features × columns."""

    def __init__(self, X: np.ndarray, bias: float = 0.0):
        super().__init__(X.shape[0], X.shape[1], X.dtype, bias)
        self.X = X

    def _values(self, index):
        return self.X[index]

    def _products(self, block, sums):
        return sums.T @ block.values.T

    def _gram(self, block):
        return block.values @ block.values.T

    def _add(self, block, pulls, sums):
        sums[: self.n_state] += block.values.T @ pulls.T

    def _self_products(self):
        return squared_norms(self.X)


class SparseRows(Rows):
    """Rows of a CSR matrix; the state is W, features × columns."""

    row_wise = True

    def __init__(self, X, bias: float = 0.0):
        super().__init__(X.shape[0], X.shape[1], X.dtype, bias)
        if not X.has_canonical_format:  # a repeated entry would be squared apart from its twin
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.squares = squared_norms(X)

    def _values(self, index):
        return self.X[index]

    def _products(self, block, sums):
        return np.ascontiguousarray((block.values @ sums).T)

    def _gram(self, block):
        return (block.values @ block.values.T).toarray()

    def _add(self, block, pulls, sums):
        sums[: self.n_state] += block.values.T @ pulls.T

    def _self_products(self):
        return self.squares


class KernelRows(Rows):
    """Rows seen through a kernel; the state is A, training rows × columns.

    The kernel matrix is kept when it fits into `cache_bytes`; otherwise each block's rows are computed against the
    support rows only, those that some column has a coefficient for.
    """

    dual = True

    def __init__(self, X, kernel: Kernel, bias: float = 0.0, cache_bytes: float = 2e9, draws: float = np.inf):
        super().__init__(X.shape[0], X.shape[0], X.dtype, bias)
        self.X = X
        self.kernel = kernel
        self.squares = None
        self.matrix = X if kernel.name == "precomputed" else None
        if self.matrix is not None:
            return
        if kernel.name == "rbf":
            self.squares = squared_norms(X).astype(self.dtype)
        self._support = SupportRows(X, self.squares)
        fits = self.n_rows**2 * self.dtype.itemsize <= cache_bytes
        if fits and draws >= self.n_rows / 2:  # few draws touch few rows of the matrix
            self.matrix = self._whole_matrix()
        else:
            self.at_once = int(np.clip(cache_bytes / (8 * self.n_rows * self.dtype.itemsize), 16, STRIP))

    def _whole_matrix(self) -> np.ndarray:
        kernel, X, squares = self.kernel, self.X, self.squares
        matrix = np.empty((self.n_rows, self.n_rows), self.dtype)
        if kernel.name not in ("rbf", "poly", "sigmoid") or hasattr(X, "indptr"):
            for first in range(0, self.n_rows, STRIP):
                rows = slice(first, first + STRIP)
                matrix[rows] = kernel(X[rows], X, None if squares is None else squares[rows], squares)
            return matrix
        for first in range(0, self.n_rows, STRIP):
            strip = matrix[first : first + STRIP]
            np.matmul(X[first : first + STRIP], X.T, out=strip)

            def transform(a, b, strip=strip, first=first):
                kernel.transform(strip[a:b], None if squares is None else squares[first + a : first + b], squares)

            cpu.in_parallel(transform, len(strip))
        return matrix

    def _values(self, index):
        if self.matrix is not None:
            return self.matrix[index]
        return self.X[index]

    def _products(self, block, sums):
        if self.matrix is not None:
            return sums.T @ block.values.T
        support = np.flatnonzero(sums.any(axis=1))
        if not support.size:
            return np.zeros((sums.shape[1], len(block.index)), self.dtype)
        order, rows, squares = self._support.of(support)
        own = None if self.squares is None else self.squares[block.index]
        return sums[order].T @ self.kernel(block.values, rows, own, squares).T

    def _gram(self, block):
        if self.matrix is not None:
            return block.values[:, block.index]
        own = None if self.squares is None else self.squares[block.index]
        return self.kernel(block.values, block.values, own, own)

    def _add(self, block, pulls, sums):
        cpu.scatter_rows(sums, block.index, pulls)

    def square_norms(self, coefficients):
        """||w||² of each column: one scoring pass."""
        norms = np.zeros(coefficients.shape[1])
        for block in self.blocks():
            own = coefficients[block.index]
            norms += np.einsum("ip,pi->p", own, self.scores(block, coefficients), dtype=np.float64)
        return norms

    def _self_products(self):
        if self.kernel.name == "precomputed":
            return self.X.diagonal()
        return self.kernel.diagonal(self.X)


class SupportRows:
    """The support rows side by side, gathered once as they appear; beyond half of all rows X itself serves."""

    def __init__(self, X, squares):
        self.X, self.squares = X, squares
        self.sparse = hasattr(X, "indptr")
        self.known = np.zeros(X.shape[0], bool)
        self.order = np.empty(0, np.intp)
        self.buffer = None

    def of(self, support: np.ndarray):
        """Indices, rows and squared norms that cover `support`; rows without a coefficient may be among them."""
        fresh = support[~self.known[support]]
        self.known[fresh] = True
        count = self.order.size
        self.order = np.concatenate([self.order, fresh])
        if self.sparse or self.order.size > len(self.known) / 2:
            self.buffer = None
            return slice(None), self.X, self.squares
        if self.buffer is None or self.order.size > len(self.buffer):
            room = np.empty((min(2 * self.order.size, len(self.known)), self.X.shape[1]), self.X.dtype)
            room[:count] = self.X[self.order[:count]]
            self.buffer = room
        self.buffer[count : self.order.size] = self.X[fresh]
        rows = self.buffer[: self.order.size]
        return self.order, rows, None if self.squares is None else self.squares[self.order]
