"""Which support vectors of a kernel model say the most about it, one after the other.

The model is f = Σ K(·, z_i) A_i, a function for each column. A step takes the support vector whose kernel function
lowers the distance of f from the span of those taken the most, all columns together: by R_i² / d_i, where R are the
scores of the rest of f at the support vectors, and d_i is the squared distance of K(·, z_i) from the span. Both follow
from one row of a pivoted Cholesky factorisation a step; a kernel matrix is never made.

A kernel that is not positive semi-definite has no such distance. There f stands for its scores at the support vectors,
so that K is replaced by K², which needs the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.estimators.predict import scores_in_parts
from pegasos.kernels import Kernel

SPENT = 1e-12  # of the largest diagonal entry: what is this near to the span adds nothing but rounding
MOST_BYTES = 4e9  # of a kernel matrix


class Selection:
    """Support vectors in the order in which they are taken.

    Parameters
    ----------
    kernel : Kernel
    vectors : ndarray or CSR matrix of shape (n_support, n_features), float64
    coefficients : ndarray of shape (n_support, n_columns), float64
    fill : bool
        Whether to go on with the largest coefficients where those taken span all others.
    """

    def __init__(self, kernel: Kernel, vectors: Any, coefficients: np.ndarray, *, fill: bool = False):
        self.kernel, self.vectors, self.coefficients = kernel, vectors, coefficients
        n_support = len(coefficients)
        self.order: list[int] = []
        self.exhausted, self._fill = False, fill
        self._rows = np.empty((0, n_support))  # of the Cholesky factor
        self._matrix = None if kernel.definite else self._whole_matrix()
        if self._matrix is None:
            self._rest = scores_in_parts(kernel, vectors, vectors, coefficients)
            self._left = np.array(kernel.diagonal(vectors), np.float64)
        else:
            self._rest = self._matrix @ (self._matrix @ coefficients)
            self._left = np.einsum("ij,ij->i", self._matrix, self._matrix)
        self._least = SPENT * self._left.max(initial=0.0)

    def first(self, count: int) -> np.ndarray:
        """The first support vectors taken, sorted; fewer than asked for where those span all others."""
        self._rows = np.concatenate([self._rows, np.empty((max(0, count - len(self._rows)), len(self._left)))])
        while len(self.order) < count and not self.exhausted:
            self._take()
        if self._fill and len(self.order) < count:
            others = np.setdiff1d(np.arange(len(self.coefficients)), self.order)
            sizes = (self.coefficients[others] ** 2).sum(axis=1)
            self.order += others[np.argsort(-sizes, kind="stable")].tolist()
        return np.sort(np.array(self.order[:count], np.intp))

    def _take(self) -> None:
        usable = self._left > self._least
        gains = np.divide((self._rest**2).sum(axis=1), self._left, out=np.zeros_like(self._left), where=usable)
        best = int(gains.argmax())
        if not gains[best] > 0:
            self.exhausted = True
            return
        known = self._rows[: len(self.order)]
        row = (self._column(best) - known[:, best] @ known) / np.sqrt(self._left[best])
        self._rows[len(self.order)] = row
        self._left -= row * row
        self._left[best] = 0.0
        self._rest -= np.outer(row, row @ self.coefficients)
        self.order.append(best)

    def _column(self, place: int) -> np.ndarray:
        if self._matrix is not None:
            return self._matrix @ self._matrix[:, place]
        return self.kernel(self.vectors[[place]], self.vectors)[0]

    def _whole_matrix(self) -> np.ndarray:
        n_support = len(self.coefficients)
        if 8.0 * n_support**2 > MOST_BYTES:
            raise ValueError(
                f"The kernel {self.kernel.name!r} is not positive semi-definite, and {n_support} support vectors are "
                "too many to compress it."
            )
        return self.kernel(self.vectors, self.vectors)
