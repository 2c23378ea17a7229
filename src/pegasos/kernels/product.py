"""Kernels that are a function of the inner product of two rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.kernels.base import Kernel
from pegasos.kernels.norms import squared_norms

HIGHEST_POWER = 16  # that is computed by multiplications


class LinearKernel(Kernel):
    """<x, z>."""

    name = "linear"
    definite = True
    is_linear = True

    def transform(self, pairs, x_squares=None, z_squares=None, *, compiled=False):
        """The inner products themselves."""
        return pairs

    def diagonal(self, X, squares=None):
        """The squared norms."""
        return squared_norms(X) if squares is None else squares


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """(gamma <x, z> + coef0)^degree."""

    name = "poly"
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1.0

    @property
    def definite(self):
        """Definite where the constant is not negative; otherwise it depends on the rows."""
        return True if self.coef0 >= 0 else None

    @property
    def _whole(self) -> int:
        """The degree where the power is computed by multiplications, else -1."""
        return int(self.degree) if self.degree == int(self.degree) and 1 <= self.degree <= HIGHEST_POWER else -1

    def elementwise(self, pairs, x_squares, z_squares):
        """A power of a multiple and a constant."""
        pairs *= self.gamma
        pairs += self.coef0
        if self._whole < 0:
            np.power(pairs, self.degree, out=pairs)
        else:
            _power(pairs, self._whole)

    def cuda(self, dtype):
        """The same in CUDA C."""
        power = """
            T base = gamma * pair + coef0, result = 1;
            if (whole < 0) result = pow(base, degree);
            for (int left = whole; left > 0; left >>= 1, base *= base) if (left & 1) result *= base;
            value = result;"""
        numbers = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree, "whole": np.int32(self._whole)}
        return power, numbers

    def diagonal(self, X, squares=None):
        """The power for equal rows."""
        squares = squared_norms(X) if squares is None else squares
        with np.errstate(over="ignore"):
            return (self.gamma * squares + self.coef0) ** self.degree


@dataclass(frozen=True)
class SigmoidKernel(Kernel):
    """tanh(gamma <x, z> + coef0), which is not positive semi-definite."""

    name = "sigmoid"
    definite = False
    gamma: float = 1.0
    coef0: float = 1.0

    def elementwise(self, pairs, x_squares, z_squares):
        """The hyperbolic tangent of a multiple and a constant."""
        with np.errstate(over="ignore"):
            pairs *= self.gamma
        pairs += self.coef0
        np.tanh(pairs, out=pairs)

    def cuda(self, dtype):
        """The same in CUDA C."""
        return "value = tanh(gamma * pair + coef0)", {"gamma": self.gamma, "coef0": self.coef0}

    def diagonal(self, X, squares=None):
        """The hyperbolic tangent for equal rows."""
        squares = squared_norms(X) if squares is None else squares
        with np.errstate(over="ignore"):
            return np.tanh(self.gamma * squares + self.coef0)


def _power(base: np.ndarray, degree: int) -> None:
    """base **= degree by multiplications; NumPy's own power of floats is many times slower."""
    result, square, left = None, base.copy(), degree
    while left:
        if left & 1:
            result = square.copy() if result is None else np.multiply(result, square, out=result)
        left >>= 1
        if left:
            np.multiply(square, square, out=square)
    base[...] = result
