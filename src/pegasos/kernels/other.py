"""Kernels that are not computed here: a matrix of kernel values, and functions of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pegasos.kernels.base import Kernel
from pegasos.utils.arrays import on_gpu, to_device_of

ROWS_OF_DIAGONAL = 32  # a matrix of which is computed for each part of the diagonal


class PrecomputedKernel(Kernel):
    """Rows are given by their kernel values against the training rows, which have numbers."""

    name = "precomputed"
    from_product = False
    is_precomputed = True

    def __call__(self, X, Z, x_squares=None, z_squares=None):
        """Kernel values of the rows of X against the training rows of the numbers Z."""
        return X[:, Z]

    def diagonal(self, X, squares=None):
        """K(x, x) of the training rows."""
        return X.diagonal()


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """``function(X, Z, **params)``, which returns the matrix of kernel values."""

    name = "callable"
    from_product = False
    is_callable = True
    function: Callable
    params: dict = field(default_factory=dict)

    def __call__(self, X, Z, x_squares=None, z_squares=None):
        """Kernel values of the rows of X against the rows of Z, checked, in the type of X."""
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

    def diagonal(self, X, squares=None):
        """K(x, x) of every row, a few rows at a time."""
        step = ROWS_OF_DIAGONAL
        parts = (self(X[i : i + step], X[i : i + step]).diagonal() for i in range(0, X.shape[0], step))
        return np.concatenate(list(parts)).astype(np.float64)
