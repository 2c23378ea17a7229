"""Matrix products that NumPy has no name for, from the BLAS that SciPy carries."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from scipy.linalg import cython_blas

from pegasos.backends.products import WORTH_THREADS, parts, product
from pegasos.backends.threads import share_out

WIDE = 64  # columns below which NumPy's own product wins: a second BLAS would wait for the first one's threads
_KINDS = {np.dtype(np.float32): ("sgemm", ctypes.c_float), np.dtype(np.float64): ("dgemm", ctypes.c_double)}


@cache
def _function(name: str):
    """A function of BLAS; called through ctypes, it releases the GIL, which SciPy's own wrapper does not."""
    from numba.extending import get_cython_function_address  # here: few fits need it

    address = get_cython_function_address("scipy.linalg.cython_blas", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)


@cache
def _takes_ints() -> bool:
    """Whether sizes are 32-bit integers, as they are unless someone has built SciPy otherwise."""
    return " int *" in repr(cython_blas.__pyx_capi__["sgemm"])


def add_product(target: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """target += left @ right; wide ones without a matrix in between, all three of one type and in Fortran order."""
    alike = all(array.dtype == target.dtype and array.flags.f_contiguous for array in (target, left, right))
    if target.shape[1] < WIDE or not alike or target.dtype not in _KINDS or not _takes_ints():
        target += product(left, right)
        return
    name, number = _KINDS[target.dtype]
    (m, n), k = target.shape, left.shape[1]
    plain, one, whole, columns, inner = ctypes.c_char(b"N"), number(1.0), *map(ctypes.c_int, (m, n, k))
    ref = ctypes.byref

    def some(part: slice) -> None:
        rows, first = ctypes.c_int(part.stop - part.start), part.start * target.itemsize
        _function(name)(
            ref(plain), ref(plain), ref(rows), ref(columns), ref(inner), ref(one), left.ctypes.data + first, ref(whole),
            right.ctypes.data, ref(inner), ref(one), target.ctypes.data + first, ref(whole),
        )  # fmt: skip

    share_out(some, parts(m), threads=None if float(m) * n * k >= WORTH_THREADS else 1)
