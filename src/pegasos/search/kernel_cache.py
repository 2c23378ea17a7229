"""Kernel matrices over the same rows, one after another, from one product."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.kernels import Kernel, inner_products, squared_norms
from pegasos.rows import in_time_for
from pegasos.search.grouping import same
from pegasos.utils.arrays import on_gpu, to_device_of


class Matrices:
    """The kernel matrix of the moment, and the product it came from if both fit into memory.

    Parameters
    ----------
    X : ndarray or CSR matrix, or an array on a GPU
    seen : the same rows where their norms are computed; None: X
    """

    def __init__(self, X, seen=None):
        self.X, self.seen = X, X if seen is None else seen
        self.n_bytes = float(X.shape[0]) ** 2 * X.dtype.itemsize  # of one matrix
        self._products: Any = None
        self._matrix: Any = None
        self._kernel: Kernel | None = None
        self._squares: Any = None

    @property
    def squares(self) -> np.ndarray:
        """Squared norms of the rows, in float64."""
        if self._squares is None:
            self._squares = squared_norms(self.seen)
        return self._squares

    def of(self, kernel: Kernel, cache_bytes: float, *, more: bool, until: float = np.inf) -> np.ndarray | None:
        """The matrix of a kernel, valid until the next call; None if it has no room or is not complete `until` then.

        `more` kernels will follow, so that the product is worth keeping where it, a matrix and half as much again fit.
        """
        if same(kernel, self._kernel):
            return self._matrix
        self._kernel = None
        if self.n_bytes > cache_bytes:
            self.forget()
            return None
        try:
            if self._products is None and more and kernel.from_product and 2.5 * self.n_bytes <= cache_bytes:
                self._products = inner_products(self.X, in_time_for(until))
            own = to_device_of(self.squares.astype(self.X.dtype), self.X) if kernel.needs_squares else None
            products = self._products if kernel.from_product else None
            out, self._matrix = self._matrix, None
            self._matrix = kernel.matrix(self.X, own, in_time_for(until), products, out)
        except MemoryError:  # of a GPU: its rows can be computed one by one
            if not on_gpu(self.X):
                raise
            self.forget()
        if self._matrix is not None:
            self._kernel = kernel
        return self._matrix

    def bytes_taken(self) -> float:
        """Memory of what is kept."""
        return self.n_bytes * sum(kept is not None for kept in (self._products, self._matrix))

    def forget(self) -> None:
        """Keep nothing."""
        self._products = self._matrix = self._kernel = None
