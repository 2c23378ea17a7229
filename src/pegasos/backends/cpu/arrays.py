"""Where arrays are, and products with rows of a kernel matrix: on the CPU there is nothing to move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pegasos.backends.blas import add_product

xp = np
ROWS_AT_ONCE = 1024
BLOCK_LENGTH: int | None = None
WAITS_TO_LOOK = False


def to_device(values: np.ndarray) -> np.ndarray:
    """An array of the host where the others are."""
    return values


def to_host(array: np.ndarray) -> np.ndarray:
    """An array on the host."""
    return array


def columns_to_read(columns: np.ndarray) -> np.ndarray:
    """The records of the columns for loops to read."""
    return columns


@contextmanager
def columns_to_change(columns: np.ndarray) -> Iterator[np.ndarray]:
    """The records of the columns for loops to change."""
    yield columns


def gram_of(matrix: np.ndarray, rows: np.ndarray, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of some rows, of which the diagonal will do to begin with, and which rows of it are known."""
    size = len(rows)
    values = np.empty((size, size), matrix.dtype)
    values.flat[:: size + 1] = matrix[rows, rows] + bias**2
    return values, np.zeros(size, bool)


def follow(products: np.ndarray, matrix: np.ndarray, rows: np.ndarray, strip, pulls: np.ndarray) -> None:
    """products += matrix[rows].T @ pulls.T, of the rows that pull; `strip` is matrix[rows] where it is at hand."""
    moved = np.flatnonzero(pulls.any(axis=0))
    if not moved.size:
        return
    if moved.size < 0.9 * pulls.shape[1]:
        pulls, strip = np.ascontiguousarray(pulls[:, moved]), matrix[rows[moved]]
    elif strip is None:
        strip = matrix[rows]
    add_product(products, strip.T, pulls.T)
