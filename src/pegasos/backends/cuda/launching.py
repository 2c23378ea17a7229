"""Launching kernels of numba-cuda by CuPy's driver: Numba's own launch looks at each of ten arrays for long.

Numba compiles, and keeps what it has compiled on disk; of the result the machine code and its name are taken. Every
argument is eight bytes: integers, and for an array what Numba's own launch would pass, ``0, 0, size, itemsize, pointer,
shape, strides``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, from_dtype, types

from pegasos.backends.cuda import compat  # noqa: F401  before anything is compiled
from pegasos.backends.specialise import specialised

xp: Any = import_module("cupy")

OUT_OF_MEMORY = (2, 701)  # of the driver: no memory, and no resources for a launch

_modules: dict[tuple, Any] = {}
_own = threading.local()  # arguments are written to the same place again and again, each thread to its own


def jit_kernel(**options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Make a function a family of kernels: a call with values of its keyword-only parameters gives the one for them."""

    def family(function):
        return cache(lambda **constants: cuda.jit(cache=True, **options)(specialised(function, constants)))

    return family


def jit_device(function: Any) -> Any:
    """Compile a function that kernels call, with what it calls written out."""
    return cuda.jit(device=True)(specialised(function, {}))


class Records(NamedTuple):
    """Records on the GPU; CuPy has no such arrays."""

    there: Any  # their bytes
    dtype: np.dtype


class _Function:
    """A kernel for arguments of some types, and room for their values."""

    def __init__(self, function, n_values: int):
        self.function = function  # keeps the module loaded
        self.ptr = function.ptr
        self.values = np.zeros(n_values, np.int64)
        self.places = self.values.ctypes.data + 8 * np.arange(n_values)
        self.params = self.places.ctypes.data


def launch(kernel, grid, threads, *given) -> None:
    """Run a kernel on CuPy's current stream, without waiting for it."""
    kinds: list = [kernel, xp.cuda.runtime.getDevice()]
    numbers: list[int] = []
    for each in given:
        if isinstance(each, xp.ndarray):
            shape, strides = each.shape, each.strides
            kinds.append((each.dtype.char, len(shape), _layout(each)))
            numbers += (0, 0, each.size, each.itemsize, each.data.ptr)
            numbers += shape
            numbers += strides
        elif isinstance(each, Records):
            kinds.append(each.dtype)
            size, itemsize = each.there.size // each.dtype.itemsize, each.dtype.itemsize
            numbers += (0, 0, size, itemsize, each.there.data.ptr, size, itemsize)
        else:
            numbers.append(int(each))
    stream = xp.cuda.get_current_stream().ptr
    dimensions = (*_dimensions(grid), *_dimensions(threads))
    try:
        function = _function(tuple(kinds), kernel, given, len(numbers))
        function.values[:] = numbers
        xp.cuda.driver.launchKernel(function.ptr, *dimensions, 0, stream, function.params, 0)
    except xp.cuda.driver.CUDADriverError as error:  # code and threads take memory, too
        if error.status in OUT_OF_MEMORY:
            raise MemoryError(str(error)) from None
        raise


def _function(key: tuple, kernel, given, n_values: int) -> _Function:
    known = vars(_own).setdefault("functions", {})
    if key not in known:
        if key not in _modules:
            _modules[key] = _compiled(kernel, given)
        known[key] = _Function(_modules[key], n_values)
    return known[key]


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
        return types.Array(from_dtype(each.dtype), each.ndim, _layout(each))
    return types.int64


def _layout(array) -> str:
    flags = array.flags
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"


def _dimensions(given) -> tuple[int, ...]:
    sizes = (given,) if isinstance(given, int) else tuple(given)
    return (*sizes, 1, 1)[:3]
