"""numba-cuda beside NumPy: up to 0.30 it asks for a name that NumPy 2.5 has dropped."""

from __future__ import annotations

import numpy as np
from numba import config

if not config.ENABLE_CUDASIM and not hasattr(np, "row_stack"):
    np.vstack = np.vstack  # type: ignore[attr-defined]
    try:
        pass
    finally:
        del np.vstack
