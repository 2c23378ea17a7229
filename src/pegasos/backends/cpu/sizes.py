"""One look at rows: squared norms, and how large the entries are."""

import numpy as np

from pegasos.backends.cpu.loops import SUMS, jit


@jit(fastmath=SUMS)
def dense_sizes(first, last, X, squares, largest):
    """Squared norms of the rows first..last-1, and the largest absolute value of each feature among them."""
    for i in range(first, last):
        total = 0.0
        for j in range(X.shape[1]):
            total += float(X[i, j]) * float(X[i, j])
        squares[i] = total
        for j in range(X.shape[1]):
            largest[j] = max(largest[j], abs(X[i, j]))


@jit(fastmath=SUMS)
def row_squares(first, last, indptr, data, squares):
    """The squared norms of the CSR rows first..last-1."""
    for i in range(first, last):
        total = 0.0
        for entry in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            total += float(data[entry]) * float(data[entry])
        squares[i] = total
