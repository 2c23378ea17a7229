"""Rows of a linear model on a GPU: blocks are gathered with the constant feature as their last one.

A gather is a copy anyway, so the constant costs nothing there, and each product is one call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.rows.base import Rows


class GatheredRows(Rows):
    """Rows of a dense or CSR matrix on the GPU (`backends.cuda`); the state is W, features × columns."""

    backend: Any  # has functions of its own, beside those of all backends

    def __init__(self, X, bias: float, squares: np.ndarray, backend: Any, most_bytes: float = np.inf):
        super().__init__(X, X.shape[1] + (bias > 0), 0.0, backend)
        self.constant = backend.to_device(np.full(int(bias > 0), bias, self.dtype))
        self._squares = squares + bias**2
        self.at_once = int(np.clip(most_bytes / (4 * X.shape[1] * self.dtype.itemsize), 16, self.at_once))

    @property
    def squares(self) -> np.ndarray:
        """Squared norms of the rows, the constant feature included."""
        return self._squares

    def zeros(self, n_columns):
        """An empty state; a column's numbers lie side by side."""
        return self.xp.asfortranarray(super().zeros(n_columns))

    def _values(self, index, full_rows):
        index = self.xp.arange(self.n_rows)[index] if isinstance(index, slice) else index
        return self.backend.gathered(self.X, index, self.constant)

    def _products(self, block, sums):
        return self.backend.product(sums.T, block.values.T)

    def _gram(self, block):
        return self.backend.product(block.values, block.values.T)

    def _add(self, block, pulls, sums):
        self.backend.add_product(sums, block.values.T, pulls.T)
