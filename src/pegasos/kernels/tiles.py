"""Kernel matrices and scores computed in tiles, which are multiplied, transformed and used while they are in the cache.

Tiles are shared out among our own threads with BLAS on one thread each, so that no result depends on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from pegasos.backends.threads import blas_limited, share_out
from pegasos.utils.arrays import empty_on_device_of, on_gpu

if TYPE_CHECKING:
    from pegasos.kernels.base import Kernel

STRIP = 1024  # rows of one product
TILE = 512  # rows and columns of a tile: large enough for products to be fast, small enough for the cache
GPU_TILE = 8192  # ... large enough to fill a GPU
WORTH_TILES = 2e7  # multiplications from which tiles pay
PARTIAL_SUMS = 16  # of scores, for threads to share where there is one tile of rows


def kernel_matrix(
    kernel: Kernel, X, squares, go_on: Callable[[float], bool] | None, products: np.ndarray | None,
    out: np.ndarray | None,
) -> np.ndarray | None:  # fmt: skip
    """All kernel values among the rows of X; see `Kernel.matrix`."""
    n_rows = X.shape[0]
    matrix = empty_on_device_of((n_rows, n_rows), X) if out is None else out
    alone = on_gpu(X) or float(n_rows) * X.shape[1] * n_rows < WORTH_TILES
    tile_size, threads = GPU_TILE if on_gpu(X) else TILE, 1 if alone else None
    halved = kernel.from_product and (products is not None or not hasattr(X, "indptr"))
    if halved and products is None and n_rows > STRIP:
        X = without_empty_columns(X)

    def strip(rows):
        matrix[rows] = kernel(X[rows], X, part_of(squares, rows), squares)

    def tile(place):
        rows, columns = place
        inner = X[rows] @ X[columns].T if products is None else products[rows, columns].copy()
        matrix[rows, columns] = values = kernel.transform(inner, part_of(squares, rows), part_of(squares, columns))
        if rows != columns:
            matrix[columns, rows] = values.T

    if halved:
        # A few tiles for each thread; known products end with whole tiles right of the diagonal.
        parts = slices(n_rows, tile_size if alone or products is not None else min(tile_size, max(64, n_rows // 4)))
        complete = share_out(tile, [(a, b) for i, a in enumerate(parts) for b in parts[: i + 1]], go_on, threads)
    else:
        complete = share_out(strip, slices(n_rows, STRIP), go_on, threads=1)
    return matrix if complete else None


def kernel_scores(kernel: Kernel, X, Z, coefficients: np.ndarray, x_squares, z_squares) -> np.ndarray:
    """K(X, Z) @ coefficients; of many dense rows tile by tile, so that the matrix itself never exists."""
    if on_gpu(X):
        return _scores_on_gpu(kernel, X, Z, coefficients, x_squares, kernel.squares_of(Z, z_squares))
    dense = not hasattr(X, "indptr") and not hasattr(Z, "indptr")
    if not kernel.from_product or not dense:
        return kernel(X, Z, x_squares, z_squares) @ coefficients
    if X.size * Z.shape[0] < WORTH_TILES:
        with blas_limited(1):  # on a busy machine its threads wait for each other longer than such a product takes
            return kernel(X, Z, x_squares, z_squares) @ coefficients
    x_squares, z_squares = kernel.squares_of(X, x_squares), kernel.squares_of(Z, z_squares)
    some = slices(X.shape[0], TILE)
    others = slices(Z.shape[0], TILE * TILE // min(TILE, X.shape[0]))
    n_parts = min(len(others), -(-PARTIAL_SUMS // len(some)))  # as many whatever the threads
    parts = np.zeros((n_parts, X.shape[0], coefficients.shape[1]), coefficients.dtype)

    def tiles(place):
        rows, number = place
        for columns in others[number::n_parts]:
            products = X[rows] @ Z[columns].T
            values = kernel.transform(products, part_of(x_squares, rows), part_of(z_squares, columns))
            parts[number, rows] += values @ coefficients[columns]

    share_out(tiles, [(rows, number) for rows in some for number in range(n_parts)])
    return parts.sum(axis=0)


def _scores_on_gpu(kernel: Kernel, X, Z, coefficients, x_squares, z_squares):
    from pegasos.backends.cuda.values import TILE_BYTES

    total = None
    for columns in slices(Z.shape[0], max(STRIP, TILE_BYTES // (X.shape[0] * X.dtype.itemsize))):
        part = kernel(X, Z[columns], x_squares, part_of(z_squares, columns)) @ coefficients[columns]
        total = part if total is None else total + part
    return total


def inner_products(X, go_on: Callable[[float], bool]) -> np.ndarray | None:
    """Inner products of the rows of X, on and left of the diagonal; what is right of it means nothing.

    ``go_on(part)`` is asked after each strip, with the part of the work that is done; None if it says no.
    """
    products = empty_on_device_of((X.shape[0], X.shape[0]), X)
    for rows in slices(X.shape[0], GPU_TILE if on_gpu(X) else STRIP):
        if rows.start and not go_on((rows.start / X.shape[0]) ** 2):
            return None
        products[rows, : rows.stop] = inner_products_of(X[rows], X[: rows.stop])
    return products


def inner_products_of(X, Z) -> np.ndarray:
    """Inner products of the rows of X and those of Z, dense or CSR."""
    return X @ Z.T if on_gpu(X) else safe_sparse_dot(X, Z.T, dense_output=True)


def slices(n_items: int, size: int) -> list[slice]:
    """range(n_items) in slices of a size."""
    return [slice(first, min(first + size, n_items)) for first in range(0, n_items, size)]


def part_of(squares, rows: slice):
    """The squared norms of some rows, where there are any."""
    return None if squares is None else squares[rows]


def without_empty_columns(X: np.ndarray) -> np.ndarray:
    """X without the features that are zero in all rows, if many are: products do not need them."""
    used = X.any(axis=0)
    return np.compress(used, X, axis=1) if 0 < used.mean() < 0.95 else X
