"""Coefficients of fewer support vectors, by least squares on the scores of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pegasos.compression.selection import Selection
from pegasos.estimators.predict import scores_in_parts
from pegasos.kernels import Kernel

RIDGE = 1e-13  # of the mean diagonal entry of the normal equations
FEWEST = 4  # support vectors that are tried first


class ReducedSet:
    """Models of some of the support vectors of a model, beside the scores of all.

    Parameters
    ----------
    kernel : Kernel
    vectors : ndarray or CSR matrix of shape (n_support, n_features), float64
    coefficients : ndarray of shape (n_support, n_columns), float64
    rows : ndarray or CSR matrix, or None
        Rows on which changes of scores are measured; None: the support vectors.
    owners : ndarray of bool, shape (n_support, n_columns), or None
        Which support vectors a column may have; None: all of them.
    """

    def __init__(self, kernel: Kernel, vectors: Any, coefficients: np.ndarray, rows=None, owners=None):
        self.kernel, self.vectors, self.coefficients, self.owners = kernel, vectors, coefficients, owners
        self.rows = vectors if rows is None else rows
        self.selection = Selection(kernel, vectors, coefficients, fill=owners is not None)
        self._wanted = scores_in_parts(kernel, vectors, vectors, coefficients)
        self._scores = self._wanted if rows is None else scores_in_parts(kernel, rows, vectors, coefficients)

    def of_size(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """At most so many support vectors, and their coefficients (count, n_columns)."""
        if count >= len(self.coefficients):
            return np.arange(len(self.coefficients)), self.coefficients
        kept = self.selection.first(count)
        values = self.kernel(self.vectors, self.vectors[kept])
        normal, right = values.T @ values, values.T @ self._wanted
        if self.owners is None:
            return kept, _solved(normal, right)
        found = np.zeros_like(right)
        for column, owned in enumerate(self.owners[kept].T):
            if owned.any():
                found[owned, column] = _solved(normal[np.ix_(owned, owned)], right[owned, column])
        return kept, found

    def within(self, tol: float, most: int) -> tuple[np.ndarray, np.ndarray]:
        """As few support vectors as keep the change of the scores to `tol`, or the most that there may be."""
        n_support = len(self.coefficients)
        most = min(most, n_support)
        below, count = 0, min(FEWEST, most)
        while (found := self.of_size(count)) and self.changes(*found)[0] > tol:
            if count == most or len(found[0]) < count:
                return found
            below, count = count, min(2 * count, most)
        while count - below > max(1, count // 64):
            middle = (below + count) // 2
            tried = self.of_size(middle)
            if self.changes(*tried)[0] <= tol:
                count, found = middle, tried
            else:
                below = middle
        return found

    def changes(self, kept: np.ndarray, coefficients: np.ndarray) -> tuple[float, float]:
        """The change of scores: its root mean square in the worst column, and the largest of all."""
        difference = scores_in_parts(self.kernel, self.rows, self.vectors[kept], coefficients) - self._scores
        if not difference.size:
            return 0.0, 0.0
        return float(np.sqrt((difference**2).mean(axis=0)).max()), float(np.abs(difference).max())


def _solved(normal: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares by the normal equations, with a ridge that grows until they are definite, and one refinement."""
    ridge = RIDGE * max(float(np.trace(normal)) / len(normal), np.finfo(float).tiny)
    while True:
        try:
            factor = cho_factor(normal + ridge * np.eye(len(normal)))
        except np.linalg.LinAlgError:
            ridge *= 10
            continue
        found = cho_solve(factor, right)
        return found + cho_solve(factor, right - normal @ found)
