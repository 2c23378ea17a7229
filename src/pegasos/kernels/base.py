"""Kernels: linear, rbf, poly, sigmoid (from one product), laplacian, precomputed and callables.

The first four are elementwise functions of X·Zᵀ and the squared norms, so kernels of one grid share the product.
`gamma` is scikit-learn's: ``exp(-gamma ||x - z||²)``, ``(gamma <x, z> + coef0)^degree``,
``tanh(gamma <x, z> + coef0)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import safe_sparse_dot

from pegasos.backends.threads import share_out
from pegasos.utils.arrays import empty_on_device_of, on_gpu, to_device_of, to_host

FROM_PRODUCT = ("linear", "rbf", "poly", "sigmoid")
NAMES = (*FROM_PRODUCT, "laplacian", "precomputed")
USE_GAMMA = ("rbf", "poly", "sigmoid", "laplacian")
ROWS_AT_ONCE = 64  # rows of a matrix that a few passes of elementwise functions keep in the cache
STRIP = 1024  # rows of one product
TILE = 512  # rows and columns of a tile: large enough for products to be fast, small enough for the cache
GPU_TILE = 8192  # ... large enough to fill a GPU
WORTH_TILES = 2e7  # multiplications from which tiles pay
WORTH_COMPILED = 2**16  # values from which a compiled loop pays
PARTIAL_SUMS = 16  # for threads to share where there is one tile of rows


def lowest_exponent(dtype) -> float:
    """Exponents below this are raised to it: smaller values would be denormal, and arithmetic on those crawls."""
    return -80.0 if dtype == np.float32 else -700.0


@dataclass(frozen=True)
class Kernel:
    """A kernel and its parameters.

    Parameters
    ----------
    name : str
        One of `NAMES`, or "callable".
    gamma, degree, coef0 : float
        As in scikit-learn; each is used by the kernels that have it.
    function : callable, optional
        ``function(X, Z, **params)`` returns the matrix of kernel values.
    """

    name: str
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1.0
    function: Callable | None = None
    params: dict = field(default_factory=dict)

    def __call__(self, X, Z, x_squares=None, z_squares=None) -> np.ndarray:
        """Kernel values of the rows of X against the rows of Z, in the type of X."""
        if self.name == "callable":
            return self._called(X, Z)
        if self.name == "laplacian" and on_gpu(X):
            from pegasos.backends.cuda.values import laplacian

            return laplacian(X, Z, self.gamma, lowest_exponent(X.dtype))
        if self.name == "laplacian":
            exponents = manhattan_distances(_short_indices(X), _short_indices(Z)).astype(X.dtype, copy=False)
            exponents *= -self.gamma
            return _exp(exponents)
        x_squares, z_squares = self._squares_of(X, x_squares), self._squares_of(Z, z_squares)
        products = X @ Z.T if on_gpu(X) else safe_sparse_dot(X, Z.T, dense_output=True)
        return self.transform(products, x_squares, z_squares)

    def scores(self, X, Z, coefficients: np.ndarray, x_squares=None, z_squares=None) -> np.ndarray:
        """K(X, Z) @ coefficients; of many dense rows tile by tile, so that the matrix itself never exists."""
        if on_gpu(X):
            return self._scores_on_gpu(X, Z, coefficients, x_squares, self._squares_of(Z, z_squares))
        dense = not hasattr(X, "indptr") and not hasattr(Z, "indptr")
        if self.name not in FROM_PRODUCT or not dense or X.size * Z.shape[0] < WORTH_TILES:
            return self(X, Z, x_squares, z_squares) @ coefficients
        x_squares, z_squares = self._squares_of(X, x_squares), self._squares_of(Z, z_squares)
        some = _slices(X.shape[0], TILE)
        others = _slices(Z.shape[0], TILE * TILE // min(TILE, X.shape[0]))
        n_parts = min(len(others), -(-PARTIAL_SUMS // len(some)))  # as many whatever the threads
        parts = np.zeros((n_parts, X.shape[0], coefficients.shape[1]), coefficients.dtype)

        def tiles(place):
            rows, number = place
            for columns in others[number::n_parts]:
                values = self.transform(X[rows] @ Z[columns].T, _of(x_squares, rows), _of(z_squares, columns))
                parts[number, rows] += values @ coefficients[columns]

        share_out(tiles, [(rows, number) for rows in some for number in range(n_parts)])
        return parts.sum(axis=0)

    def _scores_on_gpu(self, X, Z, coefficients, x_squares, z_squares):
        from pegasos.backends.cuda.values import TILE_BYTES

        total = None
        for columns in _slices(Z.shape[0], max(STRIP, TILE_BYTES // (X.shape[0] * X.dtype.itemsize))):
            part = self(X, Z[columns], x_squares, _of(z_squares, columns)) @ coefficients[columns]
            total = part if total is None else total + part
        return total

    def _squares_of(self, X, known):
        """Squared norms of the rows in their own type, where the kernel needs them and they are not known."""
        return to_device_of(squared_norms(X).astype(X.dtype), X) if self.name == "rbf" and known is None else known

    def transform(self, products: np.ndarray, x_squares, z_squares) -> np.ndarray:
        """Turn inner products into kernel values, in place, a few rows at a time so that they stay in the cache."""
        if self.name == "linear":
            return products
        if on_gpu(products):
            from pegasos.backends.cuda.values import transform

            return transform(self, products, x_squares, z_squares, lowest_exponent(products.dtype))
        if self.name == "rbf" and products.size >= WORTH_COMPILED and _rbf_by_loop(products):
            from pegasos.backends.cpu.elementwise import rbf_values  # here: who predicts a few rows needs no Numba

            rbf_values(products, x_squares, z_squares, float(self.gamma))
            return products
        for first in range(0, len(products), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            part = products[rows]
            part *= 2.0 * self.gamma if self.name == "rbf" else self.gamma
            if self.name == "rbf":
                part -= self.gamma * x_squares[rows, None]
                part -= self.gamma * z_squares
                _exp(part)
            elif self.name == "poly":
                part += self.coef0
                _power(part, self.degree)
            else:
                part += self.coef0
                np.tanh(part, out=part)
        return products

    def matrix(
        self, X, squares, go_on: Callable[[float], bool] | None = None, products: np.ndarray | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray | None:  # fmt: skip
        """All kernel values among the rows of X.

        Kernels of one product are computed in tiles up to the diagonal, and mirrored while they are in the cache.
        ``go_on(part)`` is asked now and then, with the part of the work that is begun; None if it says no.
        `products` are the inner products of the rows where they are known, on and left of the diagonal; `out` is an
        array to write to.
        """
        n_rows = X.shape[0]
        matrix = empty_on_device_of((n_rows, n_rows), X) if out is None else out
        tile_size, threads = (GPU_TILE, 1) if on_gpu(X) else (TILE, None)
        halved = self.name in FROM_PRODUCT and (products is not None or not hasattr(X, "indptr"))
        if halved and products is None and n_rows > STRIP:
            X = _without_empty_columns(X)

        def strip(rows):
            matrix[rows] = self(X[rows], X, _of(squares, rows), squares)

        def tile(place):
            rows, columns = place
            inner = X[rows] @ X[columns].T if products is None else products[rows, columns].copy()
            matrix[rows, columns] = values = self.transform(inner, _of(squares, rows), _of(squares, columns))
            if rows != columns:
                matrix[columns, rows] = values.T

        if halved:
            # A few tiles for each thread; known products end with whole tiles right of the diagonal.
            parts = _slices(n_rows, tile_size if products is not None else min(tile_size, max(64, n_rows // 4)))
            whole = share_out(tile, [(a, b) for i, a in enumerate(parts) for b in parts[: i + 1]], go_on, threads)
        else:
            whole = share_out(strip, _slices(n_rows, STRIP), go_on, threads=1)
        return matrix if whole else None

    def diagonal(self, X, squares=None) -> np.ndarray:
        """K(x, x) of every row, in float64; `squares` are the rows' squared norms if known."""
        if self.name in ("rbf", "laplacian"):
            return np.ones(X.shape[0])
        if self.name == "callable":
            parts = (self._called(X[i : i + 32], X[i : i + 32]).diagonal() for i in range(0, X.shape[0], 32))
            return np.concatenate(list(parts)).astype(np.float64)
        squares = squared_norms(X) if squares is None else squares
        if self.name == "linear":
            return squares
        with np.errstate(over="ignore"):
            inner = self.gamma * squares + self.coef0
            return inner**self.degree if self.name == "poly" else np.tanh(inner)

    def _called(self, X, Z) -> np.ndarray:
        assert self.function is not None
        values = self.function(X, Z, **self.params)
        values = to_device_of(values, X) if on_gpu(X) else np.asarray(values)
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for {X.shape[0]} rows against "
                f"{Z.shape[0]}; it must return a matrix of shape ({X.shape[0]}, {Z.shape[0]})."
            )
        values = values.astype(X.dtype, copy=False)
        if not np.isfinite(values).all():
            raise ValueError("The kernel function returned NaN or infinity.")
        return values


def _slices(n_items: int, size: int) -> list[slice]:
    """range(n_items) in slices of a size."""
    return [slice(first, min(first + size, n_items)) for first in range(0, n_items, size)]


def _without_empty_columns(X: np.ndarray) -> np.ndarray:
    """X without the features that are zero in all rows, if many are: products do not need them."""
    used = X.any(axis=0)
    return np.compress(used, X, axis=1) if 0 < used.mean() < 0.95 else X


def _rbf_by_loop(products: np.ndarray) -> bool:
    """Whether the compiled loop takes them: float32, side by side, and compilation not switched off."""
    from numba import config

    return products.dtype == np.float32 and products.flags.c_contiguous and not config.DISABLE_JIT


def _of(squares, rows: slice):
    return None if squares is None else squares[rows]


def inner_products(X, go_on: Callable[[float], bool]) -> np.ndarray | None:
    """Inner products of the rows of X, on and left of the diagonal; what is right of it means nothing.

    ``go_on(part)`` is asked after each strip, with the part of the work that is done; None if it says no.
    """
    products = empty_on_device_of((X.shape[0], X.shape[0]), X)
    for rows in _slices(X.shape[0], GPU_TILE if on_gpu(X) else STRIP):
        if rows.start and not go_on((rows.start / X.shape[0]) ** 2):
            return None
        some, others = X[rows], X[: rows.stop].T
        products[rows, : rows.stop] = some @ others if on_gpu(X) else safe_sparse_dot(some, others, dense_output=True)
    return products


def canonical(X):
    """X itself, or a copy with repeated CSR entries added up: squares of parts would not add up to the square."""
    if hasattr(X, "indptr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _short_indices(X):
    """CSR with 32-bit indices, which is what scikit-learn's distances take; the entries are shared."""
    if not hasattr(X, "indptr") or X.indptr.dtype == np.int32 or max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def squared_norms(X) -> np.ndarray:
    """||x||² of every row, in float64."""
    if not hasattr(X, "indptr"):
        with np.errstate(over="ignore", under="ignore"):
            return to_host(np.einsum("ij,ij->i", X, X)).astype(np.float64)
    squares = np.zeros(X.shape[0])
    at_once = rows_of_entries(X, 2**16)  # in parts: a square of all entries would be a copy of X
    for first in range(0, X.shape[0], at_once):
        ends = X.indptr[first : first + at_once + 1]
        filled = np.flatnonzero(np.diff(ends))
        if filled.size:
            part = np.square(X.data[ends[0] : ends[-1]], dtype=np.float64)
            squares[first + filled] = np.add.reduceat(part, ends[filled] - ends[0])
    return squares


def rows_of_entries(X, entries: int) -> int:
    """How many rows of a CSR matrix hold about so many entries."""
    return max(1, int(entries * X.shape[0] / max(1, X.nnz)))


def _exp(exponents: np.ndarray) -> np.ndarray:
    np.clip(exponents, lowest_exponent(exponents.dtype), 0.0, out=exponents)
    return np.exp(exponents, out=exponents)


def _power(base: np.ndarray, degree: float) -> None:
    """base **= degree by multiplications; NumPy's own power of floats is many times slower."""
    if degree != int(degree) or not 1 <= degree <= 16:
        np.power(base, degree, out=base)
        return
    result, square, left = None, base.copy(), int(degree)
    while left:
        if left & 1:
            result = square.copy() if result is None else np.multiply(result, square, out=result)
        left >>= 1
        if left:
            np.multiply(square, square, out=square)
    base[...] = result


def scale_gamma(X, weights=None) -> float:
    """What gamma="scale" stands for: 1 / (n_features * variance), or 1 where nothing varies."""
    variance = spread(X, weights)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def spread(X, weights=None) -> float:
    """Weighted variance of all entries of X, in float64, without a copy of X."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    total = weights.sum() * X.shape[1]
    mean = float(weights @ np.asarray(to_host(X.sum(axis=1, dtype=np.float64))).ravel()) / total
    if hasattr(X, "indptr"):
        return float(weights @ squared_norms(X)) / total - mean**2
    squares = 0.0
    for first in range(0, len(X), 4096):
        part = X[first : first + 4096] - mean
        squares += float(weights[first : first + 4096] @ squared_norms(part))
    return squares / total
