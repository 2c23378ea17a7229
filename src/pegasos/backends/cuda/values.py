"""Kernel values on the GPU: elementwise functions of inner products in one pass, and Manhattan distances."""

from __future__ import annotations

from functools import cache

import cupy
import numpy as np
from numba import cuda

from pegasos.backends.cuda.launching import launch

TILE_BYTES = 2**30  # of kernel values that exist at a time where the matrix is not kept
SIDE = 16  # of the square of a thread block


def transform(kernel, pairs, x_squares, z_squares):
    """Turn inner products or distances into values of a `kernels.Kernel`, in place, by its own CUDA expression."""
    expression, numbers = kernel.cuda(pairs.dtype)
    given = {"pair": pairs}
    if kernel.needs_squares:
        given |= {"x": x_squares[:, None], "z": z_squares}
    for name, number in numbers.items():
        given[name] = number if isinstance(number, np.int32) else pairs.dtype.type(number)
    inputs = ", ".join(f"{'int32' if isinstance(value, np.int32) else 'T'} {name}" for name, value in given.items())
    return _compiled(kernel.name, inputs, expression)(*given.values(), pairs)


@cache
def _compiled(name: str, inputs: str, expression: str):
    """The elementwise function of an expression, compiled when it is first needed."""
    return cupy.ElementwiseKernel(inputs, "T value", expression, f"pegasos_{name}")


def manhattan(X, Z):
    """||x - z||₁ of the rows of X and those of Z."""
    distances = cupy.empty((X.shape[0], Z.shape[0]), X.dtype)
    grid = (-(-Z.shape[0] // SIDE), -(-X.shape[0] // SIDE))
    launch(_manhattan, grid, (SIDE, SIDE), X, Z, distances)
    return distances


@cuda.jit(cache=True)
def _manhattan(X, Z, distances):
    """Distances, a thread each."""
    j, i = cuda.grid(2)
    if i < X.shape[0] and j < Z.shape[0]:
        total = X[i, 0] - X[i, 0]
        for k in range(X.shape[1]):
            total += abs(X[i, k] - Z[j, k])
        distances[i, j] = total
