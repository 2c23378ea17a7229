"""CUDA verbs: the same names as in `backends.cpu`, with arrays of CuPy and kernels of numba-cuda.

The kernels are compiled from the scalar functions of `pegasos.rules` and `pegasos.losses`, so there is no second text
of the algorithm. All runs on CuPy's current stream. tests/gpu.py emulates both libraries where there is no GPU.
"""

from pegasos.backends.cuda.verbs import (
    AT_ONCE,
    BLOCK,
    LARGEST_BLOCK,
    ON_GPU,
    add_losses,
    add_product,
    batch_account,
    batch_pulls,
    beside,
    block_steps,
    close_columns,
    count_violations,
    dual_terms,
    earlier_draws,
    follow,
    gathered,
    gram_of,
    lent,
    open_columns,
    product,
    scatter_rows,
    shown,
    xp,
)
from pegasos.utils.arrays import home

__all__ = [
    "AT_ONCE",
    "BLOCK",
    "LARGEST_BLOCK",
    "ON_GPU",
    "add_losses",
    "add_product",
    "batch_account",
    "batch_pulls",
    "beside",
    "block_steps",
    "close_columns",
    "count_violations",
    "dual_terms",
    "earlier_draws",
    "follow",
    "gathered",
    "gram_of",
    "home",
    "lent",
    "open_columns",
    "product",
    "scatter_rows",
    "shown",
    "xp",
]
