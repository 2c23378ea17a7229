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
# What was set when each came in: CuPy's own setting, one for all threads, and the mode of a thread's handle of cuBLAS.
_types: list[int] = []
_modes: dict[int, list[int]] = {}


@contextmanager
def tf32() -> Iterator[None]:
    """Let products of float32 round their factors in here, and meanwhile in other threads, too."""
    handle = device.get_cublas_handle()
    with _lock:
        _types.append(_core.get_compute_type(np.float32))
        _modes.setdefault(handle, []).append(cublas.getMathMode(handle))
        _core.set_compute_type(np.float32, COMPUTE_TYPE_TF32)
        cublas.setMathMode(handle, TF32_TENSOR_OP_MATH)
    try:
        yield
    finally:
        with _lock:  # the first to come in is the last to go out of a list
            compute_type, mode = _types.pop(), _modes[handle].pop()
            if not _types:
                _core.set_compute_type(np.float32, compute_type)
            if not _modes[handle]:
                cublas.setMathMode(handle, mode)
                del _modes[handle]
