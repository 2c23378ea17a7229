"""Rows of a dense matrix under a linear model: the state is a weight for each feature."""

from __future__ import annotations

import numpy as np

from pegasos.backends.products import product
from pegasos.kernels import squared_norms
from pegasos.rows.base import Rows, Way

DIRECT_COLUMNS = 32  # columns a row belongs to, below which inner products beat look-ahead blocks


class DenseRows(Rows):
    """Rows of a dense matrix; the state is W, features × columns."""

    def __init__(self, X: np.ndarray, bias: float = 0.0, squares: np.ndarray | None = None):
        super().__init__(X, X.shape[1], bias)
        self._squares = squares

    @property
    def squares(self) -> np.ndarray:
        """Squared norms of the rows, the constant feature included."""
        if self._squares is None:
            self._squares = squared_norms(self.X)
        return self._squares + self.bias**2

    def _way(self, columns_per_row):
        # Few columns a row: inner products cost only those; many: matrix products are faster.
        return Way.DIRECT if columns_per_row <= DIRECT_COLUMNS and self.X.flags.c_contiguous else Way.BLOCKS

    @property
    def direct_values(self) -> np.ndarray:
        """What a direct step reads a row of."""
        return self.X

    def zeros(self, n_columns):
        """An empty state; a column's numbers lie side by side."""
        return np.asfortranarray(super().zeros(n_columns))

    def _products(self, block, sums):
        return product(sums.T, block.values.T)

    def _gram(self, block):
        return product(block.values, block.values.T)
