"""CSR rows on the GPU: what is asked for comes as a dense block, which products like better than their gaps."""

from __future__ import annotations

import numpy as np
from numba import cuda

from pegasos.backends.cuda.launching import launch, xp
from pegasos.backends.cuda.verbs import beside

THREADS = 128


class Densified:
    """Rows of a CSR matrix; an index gives them as a dense array."""

    ndim = 2
    on_gpu = True

    def __init__(self, X):
        self.ends, self.places, self.entries = beside(X.indptr), beside(X.indices), beside(X.data)
        self.shape, self.dtype = X.shape, np.dtype(X.dtype)

    @property
    def size(self) -> int:
        """Numbers, gaps included."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, index):
        if isinstance(index, slice):
            index = xp.arange(self.shape[0])[index]
        dense = xp.zeros((len(index), self.shape[1]), self.dtype)
        if len(index) and self.entries.size:
            launch(_spread, len(index), THREADS, self.ends, self.places, self.entries, index, dense)
        return dense


@cuda.jit(cache=True)
def _spread(ends, places, entries, index, dense):
    """Write the entries of the rows `index` to their places, a thread block each."""
    b = cuda.blockIdx.x
    i = index[b]
    for e in range(ends[i] + cuda.threadIdx.x, ends[i + 1], THREADS):
        dense[b, places[e]] = entries[e]
