"""CPU backend: Numba loops over arrays and scalars, compiled once and cached on disk.

Arrays shared by the backend::

    columns     (P,)   records of `state.COLUMN`: constants and scalar state of each column
    labelings   (n, L) targets; `columns[p].labeling` names one
    weights     (n, M) row weights, mean 1 over the rows of a row set, 0 outside it; `columns[p].row_set` names one
    alpha       (n, P) what each row has added to S so far, (0, 0) when nobody needs it
    violations  (n, P) how often each row pulled, (0, 0) when nobody asks

`size` columns side by side are a group (`pegasos.rules.step`): 1, or the number of classes under Crammer–Singer.
"""

from pegasos.backends.cpu.arrays import (
    ON_GPU,
    ROWS_AT_ONCE,
    columns_to_change,
    columns_to_read,
    follow,
    gram_of,
    to_device,
    to_host,
    xp,
)
from pegasos.backends.cpu.batches import (
    batch_account,
    batch_pulls,
    close_columns,
    count_violations,
    open_columns,
    scatter_rows,
)
from pegasos.backends.cpu.scoring import add_losses, direct_losses, dual_terms
from pegasos.backends.cpu.sparse import row_losses, row_squares, row_steps
from pegasos.backends.cpu.steps import block_steps, direct_steps, earlier_draws

__all__ = [
    "ON_GPU",
    "ROWS_AT_ONCE",
    "add_losses",
    "batch_account",
    "batch_pulls",
    "block_steps",
    "close_columns",
    "columns_to_change",
    "columns_to_read",
    "count_violations",
    "direct_losses",
    "direct_steps",
    "dual_terms",
    "earlier_draws",
    "follow",
    "gram_of",
    "open_columns",
    "row_losses",
    "row_squares",
    "row_steps",
    "scatter_rows",
    "to_device",
    "to_host",
    "xp",
]
