"""Whether tests have a GPU."""

import pytest


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


needs_gpu = pytest.mark.skipif(reason() is not None, reason=str(reason()))
