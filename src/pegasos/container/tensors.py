"""The tensors of a file, taken one by one, each checked for its type and shape."""

from __future__ import annotations

import numpy as np

from pegasos.container.schema import ModelFormatError

FLOATS = (np.dtype("<f4"), np.dtype("<f8"))
INT32, INT64 = np.dtype("<i4"), np.dtype("<i8")


class Tensors:
    """The tensors of a file by name; each is taken once, until none is left."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.left = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self.left

    def take(self, name: str, dtypes, shape: tuple[int | None, ...], *, finite: bool = True) -> np.ndarray:
        """The tensor `name`, of one of these types and of this shape (None: any extent), its values finite."""
        if name not in self.left:
            raise ModelFormatError(f"the tensor {name!r} is missing")
        array = self.left.pop(name)
        if array.dtype not in dtypes:
            raise ModelFormatError(f"the tensor {name!r} is of type {array.dtype}")
        fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape))
        if not fits:
            wanted = tuple("any" if extent is None else extent for extent in shape)
            raise ModelFormatError(f"the tensor {name!r} has the shape {array.shape}, not {wanted}")
        if finite and array.dtype.kind == "f" and not _all_finite(array):
            raise ModelFormatError(f"the tensor {name!r} holds NaN or infinity")
        return array

    def take_counts(self, name: str, dtype: np.dtype, shape: tuple[int | None, ...]) -> np.ndarray:
        """The tensor of integers `name`, none of them negative."""
        array = self.take(name, (dtype,), shape)
        if array.min(initial=0) < 0:
            raise ModelFormatError(f"the tensor {name!r} holds negative numbers")
        return array

    def done(self) -> None:
        """Raise ModelFormatError if a tensor is left, which this version does not know."""
        if self.left:
            raise ModelFormatError(f"there is an unknown tensor {min(self.left)[:40]!r}")


def _all_finite(array: np.ndarray) -> bool:
    flat = array.reshape(-1)
    return all(np.isfinite(flat[first : first + 2**20]).all() for first in range(0, flat.size, 2**20))
