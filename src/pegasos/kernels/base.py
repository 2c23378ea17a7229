"""What the library asks of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasos.kernels import tiles
from pegasos.kernels.norms import squared_norms
from pegasos.utils.arrays import on_gpu, to_device_of

ROWS_AT_ONCE = 64  # rows of a matrix that a few passes of elementwise functions keep in the cache


@dataclass(frozen=True)
class Kernel:
    """A kernel function and its parameters, which are the fields of its class.

    A kernel value is a function of one number for each pair of rows (`pairs`): their inner product, unless a class says
    otherwise. A class gives this function twice, in place for arrays of NumPy (`elementwise`) and as an expression for
    a GPU (`cuda`), and the values of rows with themselves (`diagonal`). What it says of itself:

    Attributes
    ----------
    name : str
        The value of the estimators' parameter `kernel` that stands for it.
    from_product : bool
        Values are made of the inner products of rows, which kernels over the same rows can share.
    needs_squares : bool
        ... and of their squared norms.
    stationary : bool
        A function of x - z that is 1 for equal rows and falls towards 0: positive semi-definite for all parameters, and
        all values underflow where rows lie too far apart.
    definite : bool or None
        Whether the kernel is positive semi-definite; None if that depends on the rows or is not known.
    is_linear : bool
        The inner product itself: a model is a weight for each feature.
    is_precomputed : bool
        X is a kernel matrix, and rows of it are looked up.
    is_callable : bool
        A function of the user.
    """

    name: ClassVar[str]
    from_product = True
    needs_squares = False
    stationary = False
    is_linear = False
    is_precomputed = False
    is_callable = False

    @property
    def definite(self) -> bool | None:
        """Whether the kernel is positive semi-definite; None if that depends on the rows or is not known."""
        return None

    @property
    def from_features(self) -> bool:
        """Whether values are computed from the rows' features in a known way, so that norms tell their size."""
        return not (self.is_precomputed or self.is_callable)

    @classmethod
    def uses(cls, parameter: str) -> bool:
        """Whether the kernel has a parameter of this name."""
        return parameter in cls.__dataclass_fields__

    # --- what a class gives -----------------------------------------------------------------------------------------

    def pairs(self, X, Z) -> np.ndarray:
        """What values are made of, in the type of X: the inner products of the rows of X and those of Z."""
        return tiles.inner_products_of(X, Z)

    def elementwise(self, pairs: np.ndarray, x_squares, z_squares) -> None:
        """Turn `pairs` of a few rows into kernel values, in place; squared norms are given to who needs them."""
        raise NotImplementedError

    def cuda(self, dtype) -> tuple[str, dict[str, Any]]:
        """The same as statements of CUDA C that set `value`, and the numbers that they name.

        They may use ``pair`` and, if squared norms are needed, ``x`` and ``z``. All is of the type T, but for numbers
        that are an ``np.int32``.
        """
        raise NotImplementedError

    def diagonal(self, X, squares=None) -> np.ndarray:
        """K(x, x) of every row, in float64; `squares` are the rows' squared norms if known."""
        raise NotImplementedError

    # --- what all have ----------------------------------------------------------------------------------------------

    def __call__(self, X, Z, x_squares=None, z_squares=None) -> np.ndarray:
        """Kernel values of the rows of X against the rows of Z, in the type of X."""
        x_squares, z_squares = self.squares_of(X, x_squares), self.squares_of(Z, z_squares)
        return self.transform(self.pairs(X, Z), x_squares, z_squares)

    def transform(self, pairs: np.ndarray, x_squares=None, z_squares=None, *, compiled: bool = False) -> np.ndarray:
        """Turn `pairs` into kernel values, in place, a few rows at a time so that they stay in the cache.

        `compiled` says that compiled loops are loaded already, so that one for few pairs pays, too.
        """
        if on_gpu(pairs):
            from pegasos.backends.cuda.values import transform

            return transform(self, pairs, x_squares, z_squares)
        for first in range(0, len(pairs), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            self.elementwise(pairs[rows], tiles.part_of(x_squares, rows), z_squares)
        return pairs

    def squares_of(self, X, known=None) -> Any:
        """Squared norms of the rows in their own type where the kernel needs them, or those that are `known`."""
        if known is not None or not self.needs_squares:
            return known
        return to_device_of(squared_norms(X).astype(X.dtype), X)

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
        return tiles.kernel_matrix(self, X, squares, go_on, products, out)

    def scores(self, X, Z, coefficients: np.ndarray, x_squares=None, z_squares=None) -> np.ndarray:
        """K(X, Z) @ coefficients; of many dense rows tile by tile, so that the matrix itself never exists."""
        return tiles.kernel_scores(self, X, Z, coefficients, x_squares, z_squares)
