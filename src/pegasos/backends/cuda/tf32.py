"""TF32: products of float32 by tensor cores, for which factors keep ten bits of their fraction.

Each factor is off by less than 2⁻¹⁰ of its size (half of that where the card rounds to the nearest), so an inner
product by less than 2e-3 of the sum of its terms' absolute values, where float32 is by 1e-6.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from cupy import _core
from cupy._core._routines_linalg import COMPUTE_TYPE_TF32
from cupy.cuda import device
from cupy_backends.cuda.libs import cublas

TF32_TENSOR_OP_MATH = 3  # of cuBLAS; CuPy has no name for it


_lock = threading.Lock()
_entered: list[int] = []  # what CuPy's own setting, one for all threads, was when each came in


@contextmanager
def tf32() -> Iterator[None]:
    """Let products of float32 round their factors in here, and meanwhile in other threads, too."""
    handle = device.get_cublas_handle()
    mode = cublas.getMathMode(handle)
    with _lock:
        _entered.append(_core.get_compute_type(np.float32))
        _core.set_compute_type(np.float32, COMPUTE_TYPE_TF32)
    cublas.setMathMode(handle, TF32_TENSOR_OP_MATH)
    try:
        yield
    finally:
        cublas.setMathMode(handle, mode)
        with _lock:
            before = _entered.pop()  # the first to come in is the last to go out of the list
            if not _entered:
                _core.set_compute_type(np.float32, before)
