"""Kernels that fall with the distance of two rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import manhattan_distances

from pegasos.kernels.base import Kernel
from pegasos.utils.arrays import on_gpu

WORTH_COMPILED = 2**16  # values from which a compiled loop pays


def lowest_exponent(dtype) -> float:
    """Exponents below this are raised to it: smaller values would be denormal, and arithmetic on those crawls."""
    return -80.0 if dtype == np.float32 else -700.0


@dataclass(frozen=True)
class DistanceKernel(Kernel):
    """A function of gamma and a distance of x and z that is 1 where they are equal."""

    stationary = True
    definite = True
    gamma: float = 1.0

    def diagonal(self, X, squares=None):
        """1 for every row."""
        return np.ones(X.shape[0])


class RBFKernel(DistanceKernel):
    """exp(-gamma ||x - z||²), by ||x||² + ||z||² - 2 <x, z>."""

    name = "rbf"
    needs_squares = True

    def transform(self, pairs, x_squares=None, z_squares=None, *, compiled=False):
        """Turn inner products into kernel values, in place; many of float32 by a compiled loop.

        Rows whose norms overflow are like no other: infinity less infinity would be no number.
        """
        most = float(np.finfo(pairs.dtype).max) / (4 * max(self.gamma, 1.0))
        if not on_gpu(pairs) and x_squares.max(initial=0.0) > most:
            pairs[x_squares > most] = 0.0
            x_squares = np.minimum(x_squares, most)
        if not on_gpu(pairs) and (compiled or pairs.size >= WORTH_COMPILED) and _suits_loop(pairs):
            from pegasos.backends.cpu.elementwise import rbf_values  # here: who predicts a few rows needs no Numba

            rbf_values(pairs, x_squares, z_squares, float(self.gamma))
            return pairs
        return super().transform(pairs, x_squares, z_squares)

    def elementwise(self, pairs, x_squares, z_squares):
        """The exponential of the squared distance."""
        pairs *= 2.0 * self.gamma
        pairs -= self.gamma * x_squares[:, None]
        pairs -= self.gamma * z_squares
        _exp(pairs)

    def cuda(self, dtype):
        """The same in CUDA C."""
        numbers = {"gamma": self.gamma, "lowest": lowest_exponent(dtype)}
        return "value = exp(min(max(gamma * (2 * pair - x - z), lowest), T(0)))", numbers


class LaplacianKernel(DistanceKernel):
    """exp(-gamma ||x - z||₁)."""

    name = "laplacian"
    from_product = False

    def pairs(self, X, Z):
        """Manhattan distances of the rows of X and those of Z."""
        if on_gpu(X):
            from pegasos.backends.cuda.values import manhattan

            return manhattan(X, Z)
        return manhattan_distances(_short_indices(X), _short_indices(Z)).astype(X.dtype, copy=False)

    def elementwise(self, pairs, x_squares, z_squares):
        """The exponential of the distance."""
        with np.errstate(over="ignore"):
            pairs *= -self.gamma
        _exp(pairs)

    def cuda(self, dtype):
        """The same in CUDA C."""
        return "value = exp(max(-gamma * pair, lowest))", {"gamma": self.gamma, "lowest": lowest_exponent(dtype)}


def _suits_loop(products: np.ndarray) -> bool:
    """Whether the compiled loop takes them: float32, side by side, and compilation not switched off."""
    from numba import config

    return products.dtype == np.float32 and products.flags.c_contiguous and not config.DISABLE_JIT


def _exp(exponents: np.ndarray) -> None:
    """Their exponentials, in place."""
    np.clip(exponents, lowest_exponent(exponents.dtype), 0.0, out=exponents)
    np.exp(exponents, out=exponents)


def _short_indices(X):
    """CSR with 32-bit indices, which is what scikit-learn's distances take; the entries are shared."""
    if not hasattr(X, "indptr") or X.indptr.dtype == np.int32 or max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
