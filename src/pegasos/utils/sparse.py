"""Sparse matrices of unknown origin: whether their parts fit together.

The constructors of scipy look at sizes only. An index beyond the matrix lets loops read and write memory that is not
the array's, those of scipy included: it has to be found before the first conversion or slice.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

WHOLE = "iu"  # kinds of types


def sound(X):
    """X as given, if it is no sparse matrix or its parts fit together; indices of another byte order are copied.

    Raises ValueError for a broken matrix. All that is looked at are the indices, once, which takes as long as a look
    for NaN among the entries.
    """
    if not issparse(X):
        return X
    kind = X.format
    if kind == "coo":
        for places, size in zip(X.coords, X.shape, strict=True):
            _check_within(places, size)
    if kind not in ("csr", "csc", "bsr") or len(X.shape) != 2:
        return X
    n_major, n_minor = X.shape[::-1] if kind == "csc" else X.shape
    if kind == "bsr":
        n_major, n_minor = n_major // X.blocksize[0], n_minor // X.blocksize[1]
    indices, ends = X.indices, X.indptr
    _check_whole(ends, "indptr")
    fits = len(ends) == n_major + 1 and ends[0] == 0 and ends[-1] <= min(len(indices), len(X.data))
    if not fits or (ends[1:] < ends[:-1]).any():
        raise ValueError(
            f"The sparse matrix X is broken: its indptr must rise from 0 to at most {min(len(indices), len(X.data))} "
            f"in {n_major + 1} numbers."
        )
    _check_within(indices[: ends[-1]], n_minor)
    if indices.dtype.isnative and ends.dtype.isnative:
        return X
    native = X.copy()
    native.indices, native.indptr = (part.astype(part.dtype.newbyteorder("=")) for part in (indices, ends))
    return native


def _check_whole(numbers: np.ndarray, name: str) -> None:
    if numbers.dtype.kind not in WHOLE:
        raise ValueError(f"The sparse matrix X is broken: its {name} must be whole numbers, not {numbers.dtype}.")


def _check_within(indices: np.ndarray, size: int) -> None:
    """All indices from 0 to size - 1; negative ones are large numbers without a sign."""
    _check_whole(indices, "indices")
    unsigned = indices.view(indices.dtype.str.replace("i", "u"))
    if unsigned.size and unsigned.max() >= size:
        raise ValueError(
            f"The sparse matrix X is broken: its indices must be from 0 to {size - 1}, got {indices.min()} to "
            f"{indices.max()}."
        )
