"""The support rows of a kernel model side by side, for products with new rows."""

from __future__ import annotations

import numpy as np

from pegasos.kernels.tiles import STRIP


class SupportRows:
    """Copies of the support rows, in the order in which they first had a coefficient.

    Rows whose coefficients have become zero are left out once they are many. Where the copies would take more than
    `most_bytes`, and for CSR rows, X itself serves.
    """

    def __init__(self, X, squares, most_bytes: float = np.inf):
        self.X, self.squares, self.most_bytes = X, squares, most_bytes
        a_row = max(1, X.shape[1]) * X.dtype.itemsize
        self.most = 0 if hasattr(X, "indptr") else int(min(most_bytes / a_row, X.shape[0]))
        self.known = np.zeros(X.shape[0], bool)
        self.order = np.empty(0, np.intp)
        self.buffer = np.empty((0, X.shape[1]), X.dtype)

    def of(self, support: np.ndarray):
        """Indices, rows and squared norms that cover `support`; rows without a coefficient may be among them."""
        if support.size > self.most:
            return slice(None), self.X, self.squares
        fresh = support[~self.known[support]]
        if self.order.size + fresh.size > min(self.most, 1.2 * support.size + STRIP):
            self.known[:] = False
            self.order, fresh = self.order[:0], support
        count, total = self.order.size, self.order.size + fresh.size
        if total > len(self.buffer):
            room = np.empty((min(self.most, total + total // 2), self.X.shape[1]), self.X.dtype)
            room[:count] = self.buffer[:count]
            self.buffer = room
        self.buffer[count:total] = self.X[fresh]
        self.known[fresh] = True
        self.order = np.concatenate([self.order, fresh])
        return self.order, self.buffer[:total], None if self.squares is None else self.squares[self.order]
