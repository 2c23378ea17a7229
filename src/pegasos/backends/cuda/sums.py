"""Sums over the threads of a thread block, in an order that is always the same."""

from __future__ import annotations

from numba import cuda, float64

THREADS = 256  # of a thread block that adds up
LANES = 32  # threads of a warp
ALL = 0xFFFFFFFF  # of them


@cuda.jit(device=True)
def added_up(value):
    """The sum of `value` over all `THREADS` threads, for every one of them; each has to call it."""
    parts = cuda.shared.array(THREADS, float64)
    r = cuda.threadIdx.x
    cuda.syncthreads()
    parts[r] = value
    half = THREADS // 2
    while half:
        cuda.syncthreads()
        if r < half:
            parts[r] += parts[r + half]
        half //= 2
    cuda.syncthreads()
    return parts[0]
