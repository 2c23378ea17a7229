"""Kernel values on the GPU: elementwise functions of inner products in one pass, and Manhattan distances."""

from __future__ import annotations

from functools import cache

import cupy
import numpy as np
from numba import cuda

from pegasos.backends.cuda.launching import launch

TILE_BYTES = 2**30  # of kernel values that exist at a time where the matrix is not kept
SIDE = 16  # of the square of a thread block


@cache
def _elementwise():
    """The functions by kernel, compiled when first needed."""
    power = """
        T base = gamma * product + coef0, result = 1;
        if (whole < 0) result = pow(base, degree);
        for (int left = whole; left > 0; left >>= 1, base *= base) if (left & 1) result *= base;
        value = result;"""
    return {
        "rbf": cupy.ElementwiseKernel(
            "T product, T x, T z, T gamma, T lowest", "T value",
            "value = exp(min(max(gamma * (2 * product - x - z), lowest), T(0)))", "pegasos_rbf",
        ),
        "poly": cupy.ElementwiseKernel(
            "T product, T gamma, T coef0, T degree, int32 whole", "T value", power, "pegasos_poly"
        ),
        "sigmoid": cupy.ElementwiseKernel(
            "T product, T gamma, T coef0", "T value", "value = tanh(gamma * product + coef0)", "pegasos_sigmoid"
        ),
        "exp": cupy.ElementwiseKernel(
            "T distance, T gamma, T lowest", "T value", "value = exp(max(-gamma * distance, lowest))", "pegasos_exp"
        ),
    }  # fmt: skip


def transform(kernel, products, x_squares, z_squares, lowest: float):
    """Turn inner products into values of a `kernels.Kernel`, in place."""
    number = products.dtype.type
    given: tuple
    if kernel.name == "rbf":
        given = (x_squares[:, None], z_squares, number(kernel.gamma), number(lowest))
    elif kernel.name == "poly":
        whole = int(kernel.degree) if kernel.degree == int(kernel.degree) and 1 <= kernel.degree <= 16 else -1
        given = (number(kernel.gamma), number(kernel.coef0), number(kernel.degree), np.int32(whole))
    elif kernel.name == "sigmoid":
        given = (number(kernel.gamma), number(kernel.coef0))
    else:
        return products
    return _elementwise()[kernel.name](products, *given, products)


def laplacian(X, Z, gamma: float, lowest: float):
    """exp(-gamma ||x - z||₁) of the rows of X against those of Z."""
    distances = cupy.empty((X.shape[0], Z.shape[0]), X.dtype)
    grid = (-(-Z.shape[0] // SIDE), -(-X.shape[0] // SIDE))
    launch(_manhattan, grid, (SIDE, SIDE), X, Z, distances)
    number = X.dtype.type
    return _elementwise()["exp"](distances, number(gamma), number(lowest), distances)


@cuda.jit(cache=True)
def _manhattan(X, Z, distances):
    """Distances, a thread each."""
    j, i = cuda.grid(2)
    if i < X.shape[0] and j < Z.shape[0]:
        total = X[i, 0] - X[i, 0]
        for k in range(X.shape[1]):
            total += abs(X[i, k] - Z[j, k])
        distances[i, j] = total
