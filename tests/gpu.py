"""A GPU for tests: the real one, or where there is none an emulated one for problems of a few rows."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import pytest

import pegasos.backends
from pegasos.estimators import devices

OURS = "pegasos.backends.cuda"


def reason() -> str | None:
    """What is missing for tests on a GPU; None: nothing."""
    try:
        import cupy
        from numba import cuda
    except ImportError as error:
        return f"no GPU tests: {error}"
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU tests: {error}"
    return None if n_devices and cuda.is_available() else "no GPU tests: there is no CUDA device"


COMPILER = shutil.which("c++") or shutil.which("g++")
REAL = reason() is None
needs_gpu = pytest.mark.skipif(not REAL, reason=str(reason()))
needs_any = pytest.mark.skipif(not REAL and COMPILER is None, reason="no GPU, and no C++ compiler to emulate one")


@contextmanager
def emulated(compiled: bool = False) -> Iterator[None]:
    """Let the library find an emulated GPU in here; `compiled`: numba-cuda is the real one, and CuPy alone emulated."""
    import emulated_cuda  # here: where there is a real one, its greenlets need not be installed
    import emulated_cupy

    found = emulated_cupy.modules()
    if not compiled:
        found["numba.cuda"] = emulated_cuda.module()
        found |= {name: emulated_cupy.module_of(name, {}) for name in ("numba.cuda.np", "numba.cuda.np.arrayobj")}
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if name.startswith(OURS)]:
            patch.delitem(sys.modules, name)
        for name, module in found.items():
            patch.setitem(sys.modules, name, module)
        if not compiled:
            patch.setattr(numba, "cuda", found["numba.cuda"], raising=False)
        vars(pegasos.backends).pop("cuda", None)
        devices.missing.cache_clear()
        try:
            yield
        finally:
            vars(pegasos.backends).pop("cuda", None)
            for name in [name for name in sys.modules if name.startswith(OURS)]:
                del sys.modules[name]
            devices.missing.cache_clear()


@pytest.fixture(scope="module")
def card() -> Iterator[None]:
    """A GPU, real or emulated."""
    if REAL:
        yield
    else:
        with emulated():
            yield
