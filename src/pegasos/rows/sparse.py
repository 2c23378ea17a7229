"""Rows of a CSR matrix under a linear model: the state is a weight for each feature."""

from __future__ import annotations

import numpy as np

from pegasos.kernels import rows_of_entries, squared_norms
from pegasos.rows.base import Rows, Way


class SparseRows(Rows):
    """Rows of a CSR matrix without repeated entries (`kernels.canonical`); the state is W, features × columns."""

    def __init__(self, X, bias: float = 0.0, squares: np.ndarray | None = None):
        super().__init__(X, X.shape[1], bias)
        self._squares = (squared_norms(X) if squares is None else squares) + self.bias**2
        self.at_once = min(self.at_once, rows_of_entries(X))  # a block of CSR rows is a copy

    @property
    def squares(self):
        """Squared norms of the rows, the constant feature included."""
        return self._squares

    def _way(self, columns_per_row):
        return Way.SPARSE  # a gather per row serves all its columns

    @property
    def width(self):
        """Entries of a row, on average."""
        return 1.0 + self.X.nnz / max(1, self.n_rows)

    def _products(self, block, sums):
        return np.ascontiguousarray((block.values @ sums).T)

    def _gram(self, block):
        return (block.values @ block.values.T).toarray()
