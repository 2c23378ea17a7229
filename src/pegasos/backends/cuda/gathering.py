"""Rows of matrices by their numbers: gathered, or added up where they are."""

from __future__ import annotations

from numba import cuda, int64

from pegasos.backends.cuda.launching import jit_kernel
from pegasos.backends.cuda.sums import ALL, LANES, THREADS

FEW = 16  # columns whose sums a thread keeps in registers
AHEAD = 8  # rows asked for at a time
WARPS = THREADS // LANES


@cuda.jit(cache=True)
def gather(X, index, constant, values):
    """values = X[index] with the constant behind, a thread block for each row."""
    b, width = cuda.blockIdx.x, X.shape[1]
    i = index[b]
    for j in range(cuda.threadIdx.x, width, THREADS):
        values[b, j] = X[i, j]
    if cuda.threadIdx.x == 0 and constant.size:
        values[b, width] = constant[0]


@cuda.jit(cache=True)
def spread(ends, places, entries, index, constant, values):
    """The same from CSR rows, into zeros."""
    b = cuda.blockIdx.x
    i = index[b]
    for e in range(ends[i] + cuda.threadIdx.x, ends[i + 1], THREADS):
        values[b, places[e]] = entries[e]
    if cuda.threadIdx.x == 0 and constant.size:
        values[b, values.shape[1] - 1] = constant[0]


@cuda.jit(cache=True)
def gather_square(matrix, rows, values):
    """values = matrix[rows][:, rows], a thread each."""
    c, b = cuda.grid(2)
    if b < rows.size and c < rows.size:
        values[b, c] = matrix[rows[b], rows[c]]


@jit_kernel()
def add_rows(target, matrix, rows, pulls, *, n_columns):
    """The kernel for target += matrix[rows].T @ pulls.T in few columns: a thread for each row of the target.

    Only rows that pull in some column are read, each once, and their pulls are at hand for all threads of a block.
    """
    t, j, width = cuda.threadIdx.x, cuda.grid(1), matrix.shape[1]
    warp, lane = t // LANES, t % LANES
    kept = cuda.shared.array((FEW, THREADS), pulls.dtype)
    which = cuda.shared.array(THREADS, int64)
    counts = cuda.shared.array(WARPS, int64)
    sums = cuda.local.array(n_columns, target.dtype)
    some = cuda.local.array(AHEAD, matrix.dtype)
    for p in range(n_columns):
        sums[p] = 0
    for first in range(0, rows.size, THREADS):
        b, pulled = first + t, False
        if b < rows.size:
            for p in range(n_columns):
                pulled |= pulls[p, b] != 0
        said = cuda.ballot_sync(ALL, pulled)
        cuda.syncthreads()
        if lane == 0:
            counts[warp] = cuda.popc(said)
        cuda.syncthreads()
        place, count = cuda.popc(said & ((1 << lane) - 1)), 0
        for w in range(WARPS):
            place += counts[w] if w < warp else 0
            count += counts[w]
        if pulled:
            which[place] = rows[b]
            for p in range(n_columns):
                kept[p, place] = pulls[p, b]
        cuda.syncthreads()
        for start in range(0, count if j < width else 0, AHEAD):
            for a in range(AHEAD):  # all asked for before the first is used
                some[a] = matrix[which[min(start + a, count - 1)], j]
            for a in range(AHEAD):
                if start + a < count:
                    for p in range(n_columns):
                        sums[p] += kept[p, start + a] * some[a]
    if j < width:
        for p in range(n_columns):
            target[j, p] += sums[p]
