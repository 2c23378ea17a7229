"""CSR rows on the GPU: blocks of them become dense (`backend.gathered`), which products like better than their gaps."""

from __future__ import annotations

import numpy as np

from pegasos.backends.cuda.launching import xp


class Densified:
    """Rows of a CSR matrix."""

    ndim = 2
    on_gpu = True

    def __init__(self, X):
        self.ends, self.places, self.entries = xp.asarray(X.indptr), xp.asarray(X.indices), xp.asarray(X.data)
        self.shape, self.dtype = X.shape, np.dtype(X.dtype)
