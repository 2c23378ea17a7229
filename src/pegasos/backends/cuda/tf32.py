"""TF32: products of float32 whose factors keep ten bits of their fraction, several times as fast.

An inner product is then off by up to about 5e-4 of the sum of its terms' absolute values, where float32 is by 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from cupy import _core
from cupy._core._routines_linalg import COMPUTE_TYPE_TF32
from cupy.cuda import device
from cupy_backends.cuda.libs import cublas

TF32_TENSOR_OP_MATH = 3  # of cuBLAS; CuPy has no name for it


@contextmanager
def tf32() -> Iterator[None]:
    """Let products of float32 round their factors in here."""
    handle = device.get_cublas_handle()
    before, mode = _core.get_compute_type(np.float32), cublas.getMathMode(handle)
    _core.set_compute_type(np.float32, COMPUTE_TYPE_TF32)
    cublas.setMathMode(handle, TF32_TENSOR_OP_MATH)
    try:
        yield
    finally:
        _core.set_compute_type(np.float32, before)
        cublas.setMathMode(handle, mode)
