"""CPU backend: Numba loops over arrays and scalars, compiled when they are first needed and kept on disk.

`operations` has the functions of `pegasos.backends.api.Backend`; `direct_steps`, `row_steps`, `direct_losses`,
`row_losses`, `dense_sizes` and `row_squares`, and those of `descent`, `expansion`,
`gathering` and `newton`, are loops over dense
and CSR rows that this backend alone has.
"""

from pegasos.backends.cpu.arrays import (
    BLOCK_LENGTH,
    ROWS_AT_ONCE,
    WAITS_TO_LOOK,
    columns_to_change,
    columns_to_read,
    follow,
    gram_of,
    to_device,
    to_host,
    xp,
)
from pegasos.backends.cpu.batches import count_violations, scatter_rows
from pegasos.backends.cpu.descent import descend, look_at_rows, pegasos_pass, sum_of_dual_terms
from pegasos.backends.cpu.expansion import closer_lengths, coefficients, dense_expansion, line_sums, sparse_expansion
from pegasos.backends.cpu.gathering import dense_gather, sparse_gather, sparse_gram
from pegasos.backends.cpu.gram_columns import gram_columns
from pegasos.backends.cpu.near_columns import near_columns
from pegasos.backends.cpu.newton import newton_column
from pegasos.backends.cpu.operations import (
    add_losses,
    batch_account,
    batch_pulls,
    block_steps,
    close_columns,
    dual_terms,
    earlier_draws,
    open_columns,
)
from pegasos.backends.cpu.scoring import direct_losses
from pegasos.backends.cpu.sizes import dense_sizes, row_squares
from pegasos.backends.cpu.sparse import row_losses, row_steps
from pegasos.backends.cpu.sparse_column import column_steps
from pegasos.backends.cpu.steps import direct_room, direct_steps

__all__ = [
    "BLOCK_LENGTH",
    "ROWS_AT_ONCE",
    "WAITS_TO_LOOK",
    "add_losses",
    "batch_account",
    "batch_pulls",
    "block_steps",
    "close_columns",
    "closer_lengths",
    "coefficients",
    "column_steps",
    "columns_to_change",
    "columns_to_read",
    "count_violations",
    "dense_expansion",
    "dense_gather",
    "dense_sizes",
    "descend",
    "direct_losses",
    "direct_room",
    "direct_steps",
    "dual_terms",
    "earlier_draws",
    "follow",
    "gram_columns",
    "gram_of",
    "line_sums",
    "look_at_rows",
    "near_columns",
    "newton_column",
    "open_columns",
    "pegasos_pass",
    "row_losses",
    "row_squares",
    "row_steps",
    "scatter_rows",
    "sparse_expansion",
    "sparse_gather",
    "sparse_gram",
    "sum_of_dual_terms",
    "to_device",
    "to_host",
    "xp",
]
