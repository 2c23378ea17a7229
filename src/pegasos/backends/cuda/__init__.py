"""CUDA backend: the same names as in `backends.cpu`, with arrays of CuPy and kernels of numba-cuda.

The kernels are compiled from the scalar functions of `pegasos.rules` and `pegasos.losses`, so there is no second text
of the algorithm. All runs on CuPy's current stream. tests/gpu.py emulates both libraries where there is no GPU.
"""

from pegasos.backends.cuda.operations import (
    BLOCK_LENGTH,
    ROWS_AT_ONCE,
    WAITS_TO_LOOK,
    add_losses,
    add_product,
    batch_account,
    batch_pulls,
    block_steps,
    close_columns,
    columns_to_change,
    columns_to_read,
    count_violations,
    dual_terms,
    earlier_draws,
    follow,
    gathered,
    gram_of,
    open_columns,
    product,
    scatter_rows,
    to_device,
    xp,
)
from pegasos.utils.arrays import to_host

__all__ = [
    "BLOCK_LENGTH",
    "ROWS_AT_ONCE",
    "WAITS_TO_LOOK",
    "add_losses",
    "add_product",
    "batch_account",
    "batch_pulls",
    "block_steps",
    "close_columns",
    "columns_to_change",
    "columns_to_read",
    "count_violations",
    "dual_terms",
    "earlier_draws",
    "follow",
    "gathered",
    "gram_of",
    "open_columns",
    "product",
    "scatter_rows",
    "to_device",
    "to_host",
    "xp",
]
