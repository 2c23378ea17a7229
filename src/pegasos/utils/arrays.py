"""Where an array is: on the host, or on a GPU (CuPy). Nothing here imports CuPy unless there is such an array."""

from __future__ import annotations

from typing import Any

import numpy as np


class DeviceMissing(RuntimeError):
    """A GPU is asked for and there is none, or nothing that drives it; the sentence says which."""


def on_gpu(array) -> bool:
    """Whether it is an array of CuPy, or something of ours that lives beside them."""
    return type(array).__module__.partition(".")[0] == "cupy" or getattr(array, "on_gpu", False)


def to_device_of(values: np.ndarray, array) -> Any:
    """A small array of the host where `array` is."""
    if not on_gpu(array):
        return values
    import cupy

    return cupy.asarray(values)


def to_host(array) -> np.ndarray:
    """An array on the host."""
    return array.get(order="A") if on_gpu(array) else array


def empty_on_device_of(shape: tuple[int, ...], array) -> Any:
    """An array of this shape with nothing in it yet, of the type of `array` and where that is."""
    if not on_gpu(array):
        return np.empty(shape, array.dtype)
    import cupy

    return cupy.empty(shape, array.dtype)
