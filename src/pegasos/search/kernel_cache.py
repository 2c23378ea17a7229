"""Kernel matrices over the same rows, one after another, from one product of the rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pegasos.estimators.training import PlacedRows
from pegasos.kernels import Kernel, Sizes, inner_products, sizes_of
from pegasos.rows import in_time_for
from pegasos.search.grouping import same
from pegasos.utils.arrays import on_gpu, to_device_of


class KernelCache:
    """The last kernel matrix asked for, and the product of the rows it came from if both fit into memory."""

    def __init__(self, placed: PlacedRows):
        self.X, self.examined = placed.on_device, placed.examined
        self.n_bytes = float(self.X.shape[0]) ** 2 * self.X.dtype.itemsize  # of one matrix
        self._products: Any = None
        self._matrix: Any = None
        self._kernel: Kernel | None = None

    @cached_property
    def sizes(self) -> Sizes:
        """Squared norms of the rows, and the largest values of their features."""
        return sizes_of(self.examined)

    @property
    def squares(self) -> np.ndarray:
        """Squared norms of the rows, in float64."""
        return self.sizes.squares

    def matrix(self, kernel: Kernel, cache_bytes: float, *, more: bool, until: float = np.inf) -> np.ndarray | None:
        """The matrix of a kernel, valid until the next call; None if it has no room or is not complete `until` then.

        `more` kernels will follow, so that the product is worth keeping where it, a matrix and half as much again fit.
        """
        if same(kernel, self._kernel):
            return self._matrix
        self._kernel = None
        if self.n_bytes > cache_bytes:
            self.clear()
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
            self.clear()
        if self._matrix is not None:
            self._kernel = kernel
        return self._matrix

    def bytes_taken(self) -> float:
        """Memory of what is kept."""
        return self.n_bytes * sum(kept is not None for kept in (self._products, self._matrix))

    def clear(self) -> None:
        """Free the matrix and the product."""
        self._products = self._matrix = self._kernel = None
