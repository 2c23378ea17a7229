"""numba-cuda beside NumPy: up to 0.30 it asks for a name that NumPy 2.5 has dropped."""

from __future__ import annotations

import numpy as np

DROPPED = "row_stack"

if not hasattr(np, DROPPED):
    vars(np)[DROPPED] = np.vstack
    try:
        import numba.cuda.np.arrayobj  # noqa: F401
    finally:
        del vars(np)[DROPPED]
