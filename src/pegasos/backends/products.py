"""Matrix products by our own threads, one of BLAS each."""

from __future__ import annotations

import numpy as np

from pegasos.backends.threads import share_out

WORTH_THREADS = 1e7  # multiplications of one product
PARTS = 16  # of the rows or columns of a product, as many whatever the threads
LEAST = 16  # rows or columns of a part


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B; arrays of a GPU are multiplied there."""
    if not isinstance(A, np.ndarray) or float(A.size) * B.shape[1] < WORTH_THREADS:
        return A @ B
    by_columns = A.shape[0] < B.shape[1]
    found = np.empty((A.shape[0], B.shape[1]), np.result_type(A, B), order="F" if by_columns else "C")

    def part(some: slice) -> None:
        if by_columns:
            np.matmul(A, B[:, some], out=found[:, some])
        else:
            np.matmul(A[some], B, out=found[some])

    share_out(part, parts(max(found.shape)))
    return found


def parts(size: int) -> list[slice]:
    """Parts of so many rows or columns."""
    length = max(LEAST, -(-size // PARTS))
    return [slice(first, min(first + length, size)) for first in range(0, size, length)]
