"""Launching kernels of numba-cuda by CuPy's driver: ten arrays cost Numba a quarter of a millisecond a launch.

Numba compiles, and keeps what it has compiled on disk; of the result the machine code and its name are taken. Every
argument is eight bytes: integers, and for an array what Numba's own launch would pass, ``0, 0, size, itemsize, pointer,
shape, strides``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numba import config, from_dtype, types

from pegasos.backends.cuda import compat  # noqa: F401  before anything is compiled

SIMULATED = bool(config.ENABLE_CUDASIM)
xp: Any = np if SIMULATED else import_module("cupy")

_functions: dict[tuple, Any] = {}


class Records(NamedTuple):
    """Records on the GPU; CuPy has no such arrays."""

    there: Any  # their bytes
    dtype: np.dtype


def launch(kernel, grid, threads, *given) -> None:
    """Run a kernel on CuPy's current stream, without waiting for it."""
    if SIMULATED:
        kernel[grid, threads](*given)
        return
    kinds: list = [kernel, xp.cuda.runtime.getDevice()]
    numbers: list[int] = []
    for each in given:
        if isinstance(each, xp.ndarray):
            flags = each.flags
            kinds.append((each.dtype.char, each.ndim, flags.c_contiguous, flags.f_contiguous))
            numbers += (0, 0, each.size, each.itemsize, each.data.ptr, *each.shape, *each.strides)
        elif isinstance(each, Records):
            kinds.append(each.dtype)
            size, itemsize = each.there.size // each.dtype.itemsize, each.dtype.itemsize
            numbers += (0, 0, size, itemsize, each.there.data.ptr, size, itemsize)
        else:
            numbers.append(int(each))
    key = tuple(kinds)
    function = _functions.get(key) or _functions.setdefault(key, _compiled(kernel, given))
    values = np.array(numbers, np.int64)
    places = values.ctypes.data + 8 * np.arange(len(values))
    stream = xp.cuda.get_current_stream().ptr
    xp.cuda.driver.launchKernel(
        function.ptr, *_dimensions(grid), *_dimensions(threads), 0, stream, places.ctypes.data, 0
    )  # fmt: skip


def _compiled(kernel, given):
    """The kernel for arguments of these types, loaded."""
    compiled = kernel.compile(tuple(_type_of(each) for each in given))
    code = compiled._codelibrary.get_cubin()
    module = xp.cuda.function.Module()
    module.load(bytes(getattr(code, "code", code)))
    return module.get_function(compiled.entry_name)


def _type_of(each):
    if isinstance(each, Records):
        return types.Array(from_dtype(each.dtype), 1, "C")
    if isinstance(each, xp.ndarray):
        layout = "C" if each.flags.c_contiguous else "F" if each.flags.f_contiguous else "A"
        return types.Array(from_dtype(each.dtype), each.ndim, layout)
    return types.int64


def _dimensions(given) -> tuple[int, int, int]:
    sizes = (given,) if isinstance(given, int) else tuple(given)
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]
