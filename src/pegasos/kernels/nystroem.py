"""Landmarks: a kernel at any number of rows, by the Nyström method (Williams & Seeger, NIPS 2000).

Of all rows m are chosen, and ``k(x) = K(x, landmarks)`` becomes the features ``k(x) · V Λ^(-1/2) Vᵀ`` where ``V Λ Vᵀ``
is the kernel matrix of the landmarks. Inner products of features are kernel values as far as the landmarks span them,
and all of them where every row is a landmark. A linear model w of the features is the kernel model ``V Λ^(-1/2) Vᵀ w``
on the landmarks, so that predicting costs m kernel values a row, however many rows there were. (Without the last factor
the features would be as good, but a state would depend on the eigenvectors, of which another machine finds others.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from pegasos.backends.threads import blas_limited, share_out
from pegasos.kernels.base import Kernel

ROWS_AT_ONCE = 128  # of one item of work: kernel values that are still in the cache when they are whitened
WORTH_THREADS = 1e8  # multiplications of one product
FEW_COLUMNS = 4  # of a product, which BLAS computes faster one by one
PARTS = 16  # of such a product, as many whatever the threads
CANDIDATES_PER_LANDMARK = 20  # rows that k-means++ chooses from
LEAST_EIGENVALUE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}  # of the largest; below is rounding


@dataclass(frozen=True)
class Landmarks:
    """Chosen rows, and what turns kernel values against them into features.

    Attributes
    ----------
    kernel : Kernel
    rows : ndarray or CSR matrix of shape (m, n_features); None for a precomputed kernel
    index : ndarray of int, shape (m,)
        Which rows of the data they were, rising.
    whitening : ndarray of shape (m, m)
        V Λ^(-1/2) Vᵀ, without directions that are nothing but rounding.
    squares : ndarray of shape (m,) or None
        Squared norms of the rows, where the kernel needs them.
    """

    kernel: Kernel
    rows: Any
    index: np.ndarray
    whitening: np.ndarray
    squares: np.ndarray | None

    @property
    def n_features(self) -> int:
        """Number of features: as many as landmarks."""
        return len(self.index)

    def values(self, X) -> np.ndarray:
        """Kernel values (n, m) of the rows of X against the landmarks."""
        found = np.empty((X.shape[0], len(self.index)), self.whitening.dtype)
        self._share_out(X, lambda rows: self._values_of(X[rows], found[rows]))
        return found

    def features(self, X) -> np.ndarray:
        """Features (n, m) of the rows of X; the kernel values exist for a few rows at a time only."""
        found = self.features_if(X, None)
        assert found is not None
        return found

    def features_if(self, X, go_on: Callable[[float], bool] | None) -> np.ndarray | None:
        """The same; ``go_on(part)`` is asked now and then, with the part of them that is begun; None if it says no."""
        found = np.empty((X.shape[0], self.n_features), self.whitening.dtype)
        whiten = lambda rows: np.matmul(self._values_of(X[rows]), self.whitening, out=found[rows])
        return found if self._share_out(X, whiten, go_on) else None

    def among(self, X, numbers: np.ndarray) -> np.ndarray:
        """Kernel values of some rows among themselves; `numbers` are theirs in the data."""
        with blas_limited(1):
            return self.kernel(X, numbers if self.kernel.is_precomputed else X)

    def coefficients(self, model: np.ndarray) -> np.ndarray:
        """Coefficients of the landmarks (m, P) in the kernel model that is a linear model (m, P) of features."""
        return product(self.whitening, model.astype(self.whitening.dtype, copy=False))

    def whitened(self, sums: np.ndarray) -> np.ndarray:
        """Sums of features from the same sums of kernel values (m, P)."""
        return product(self.whitening, sums)  # it is symmetric

    def _by_dense_products(self, X) -> bool:
        return self.kernel.from_product and not hasattr(X, "indptr") and not hasattr(self.rows, "indptr")

    def _share_out(self, X, work, go_on=None) -> bool:
        """Call ``work(rows)`` on slices of the rows of X; threads help where nothing but products is called."""
        n_rows = X.shape[0]
        parts = [slice(first, min(first + ROWS_AT_ONCE, n_rows)) for first in range(0, n_rows, ROWS_AT_ONCE)]
        return share_out(work, parts, go_on, threads=None if self._by_dense_products(X) else 1)

    def _values_of(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of a few rows, in `out` if it is given."""
        if self._by_dense_products(X):
            products = np.matmul(X, self.rows.T, out=out)
            return self.kernel.transform(products, self.kernel.squares_of(X), self.squares)
        values = self.kernel(X, self.index if self.kernel.is_precomputed else self.rows, None, self.squares)
        if out is not None:
            out[...] = values
        return values


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B for a large A and a narrow B; by our own threads: those of BLAS would go on spinning between two calls."""
    if A.size * B.shape[1] < WORTH_THREADS:
        with blas_limited(1):
            if B.shape[1] > FEW_COLUMNS:
                return A @ B
            return np.column_stack([A @ np.ascontiguousarray(column) for column in B.T])
    found = np.empty((A.shape[0], B.shape[1]), A.dtype)
    size = -(-A.shape[0] // PARTS)
    parts = [slice(first, first + size) for first in range(0, A.shape[0], size)]
    share_out(lambda rows: np.matmul(A[rows], B, out=found[rows]), parts)
    return found


def choose(X, kernel: Kernel, n_landmarks: int, how: str, seed: int, among: np.ndarray | None = None) -> Landmarks:
    """Choose landmarks among the rows of X.

    Parameters
    ----------
    X : ndarray or CSR matrix
        For a precomputed kernel, the kernel matrix.
    kernel : Kernel
    n_landmarks : int
        More than there are rows: all of them.
    how : {"uniform", "k-means++"}
        "k-means++" prefers rows that are far from those chosen before, out of 20 rows for each landmark.
    seed : int
    among : ndarray of int, optional
        Rows to choose from; None: all.
    """
    among = np.arange(X.shape[0]) if among is None else among
    generator = np.random.default_rng([seed, n_landmarks])
    n_landmarks = min(n_landmarks, len(among))
    if how == "k-means++" and n_landmarks < len(among):
        candidates = generator.permutation(among)[: CANDIDATES_PER_LANDMARK * n_landmarks]
        index = _far_apart(X, candidates, n_landmarks, generator)
    else:
        index = generator.choice(among, n_landmarks, replace=False)
    index = np.sort(index)
    if kernel.is_precomputed:
        return Landmarks(kernel, None, index, _whitening(X[np.ix_(index, index)], X.dtype), None)
    return of_rows(X[index], kernel, index)


def of_rows(rows, kernel: Kernel, index: np.ndarray | None = None) -> Landmarks:
    """Landmarks that are these rows."""
    index = np.arange(rows.shape[0]) if index is None else index
    wide = rows.astype(np.float64)
    with blas_limited(1):
        values = kernel(wide, wide)
    whitening = _whitening(values, rows.dtype)
    return Landmarks(kernel, rows, index, whitening, kernel.squares_of(rows))


def _far_apart(X, sample: np.ndarray, n_landmarks: int, generator: np.random.Generator) -> np.ndarray:
    """Rows of the sample that k-means++ picks; fewer where rows repeat."""
    from sklearn.cluster import kmeans_plusplus

    seed = int(generator.integers(2**31))
    _, places = kmeans_plusplus(X[sample], n_landmarks, random_state=seed)
    return np.unique(sample[places])


def _whitening(matrix: np.ndarray, dtype) -> np.ndarray:
    """V Λ^(-1/2) Vᵀ of a kernel matrix. An indefinite kernel's negative directions are left out, too."""
    with blas_limited(1):  # or rounding would depend on the number of threads
        eigenvalues, vectors = eigh(matrix.astype(np.float64), overwrite_a=True, driver="evd")
        largest = eigenvalues[-1]
        if not 0 < largest < np.inf:
            raise ValueError("The kernel values among the landmarks are all 0, or overflow; scale the features.")
        kept = eigenvalues > LEAST_EIGENVALUE[np.dtype(dtype)] * largest
        half = vectors[:, kept] / eigenvalues[kept] ** 0.25
        return (half @ half.T).astype(dtype)
