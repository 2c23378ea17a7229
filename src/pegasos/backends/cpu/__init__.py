"""CPU verbs: Numba loops over arrays and scalars, compiled once and cached on disk.

Arrays shared by the verbs::

    columns     (P,)   records of `state.COLUMN`: constants and scalar state of each column
    labelings   (n, L) targets; `columns[p].labeling` names one
    weights     (n, M) row weights, mean 1 over the rows of a row set, 0 outside it; `columns[p].row_set` names one
    alpha       (n, P) what each row has added to S so far, (0, 0) when nobody needs it
    violations  (n, P) how often each row pulled, (0, 0) when nobody asks

`size` columns side by side are a group (`pegasos.rules.step`): 1, or the number of classes under Crammer–Singer.
"""

from pegasos.backends.cpu.arrays import AT_ONCE, ON_GPU, beside, follow, gram_of, home, lent, shown, xp
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
    "AT_ONCE",
    "ON_GPU",
    "add_losses",
    "batch_account",
    "batch_pulls",
    "beside",
    "block_steps",
    "close_columns",
    "count_violations",
    "direct_losses",
    "direct_steps",
    "dual_terms",
    "earlier_draws",
    "follow",
    "gram_of",
    "home",
    "lent",
    "open_columns",
    "row_losses",
    "row_squares",
    "row_steps",
    "scatter_rows",
    "shown",
    "xp",
]
