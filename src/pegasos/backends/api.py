"""What rows and solvers ask of a backend: the functions that touch every number, and a few facts about it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from pegasos.losses import Loss
from pegasos.rules.column import Average, Rule


class Rules(NamedTuple):
    """The algorithm: how rows pull, which iterates the average is made of, whether steps end with a projection."""

    rule: Rule
    loss: Loss
    average: Average
    project: bool

    @property
    def constants(self) -> dict[str, Any]:
        """What loops are compiled for; the kind of average is an argument of theirs."""
        return {"rule": self.rule, "loss": self.loss, "project": self.project}


class SharedArrays(NamedTuple):
    """Arrays that most loops of a solve share.

    Attributes
    ----------
    columns : records of `pegasos.rules.column.COLUMN`, shape (P,)
        Constants and scalar state of each column.
    labelings : array of shape (n, L)
        Targets; ``columns[p].labeling`` names one.
    weights : array of shape (n, M)
        Row weights, mean 1 over the rows of a row set, 0 outside it; ``columns[p].row_set`` names one.
    alpha : array of shape (n, P) or (0, 0)
        What each row has added to S so far; empty when nobody needs it.
    violations : array of int32, shape (n, P) or (0, 0)
        How often each row pulled; empty when nobody asks.
    size : int
        Columns side by side that are a group (`pegasos.rules.step`): 1, or the number of classes under Crammer–Singer.
    """

    columns: Any
    labelings: Any
    weights: Any
    alpha: Any
    violations: Any
    size: int


class Gram(NamedTuple):
    """Inner products of a block's rows (B, B), and where to read those that are not yet known."""

    values: Any
    known: Any
    matrix: Any
    bias: float


class Draws(NamedTuple):
    """Rows of a block by number, and for each where in the block the same row was drawn last (sdca), -1 for nowhere."""

    index: Any
    earlier: Any


class Pulled(NamedTuple):
    """What a block adds: pulls to S (P, B), weighted ones to U (P, B) or (0, 0), and folds.

    Folds (P, 2) are the factor on the old S and the multiple of it that U loses.
    """

    pulls: Any
    weighted: Any
    folds: Any


class Backend(Protocol):
    """The modules `pegasos.backends.cpu` and `pegasos.backends.cuda`. Arrays are those of `xp`."""

    xp: Any  # NumPy, or a library of the same functions
    ROWS_AT_ONCE: int  # rows of one product
    BLOCK_LENGTH: int | None  # all single steps go in look-ahead blocks of at most so many draws; None: rows decide
    WAITS_TO_LOOK: bool  # to look at an array is to wait for all work that is under way

    def to_device(self, values: Any) -> Any:
        """An array of the host where the others are."""

    def to_host(self, array: Any) -> Any:
        """An array on the host."""

    def columns_to_read(self, columns: Any) -> Any:
        """The records of the columns for loops to read."""

    def columns_to_change(self, columns: Any) -> AbstractContextManager[Any]:
        """The records of the columns for loops to change; afterwards the changes are in `columns`."""

    def gram_of(self, matrix: Any, rows: Any, bias: float) -> tuple[Any, Any]:
        """Inner products of some rows of a kernel matrix, and which rows of them are known; the diagonal is."""

    def follow(self, products: Any, matrix: Any, rows: Any, strip: Any, pulls: Any) -> None:
        """products += matrix[rows].T @ pulls.T; `strip` is matrix[rows] where it is at hand."""

    def earlier_draws(self, index: Any) -> Any:
        """Where in a block the same row was drawn last, as `block_steps` wants to know it."""

    def block_steps(
        self, part: tuple[int, int], shared: SharedArrays, scores: Any, gram: Gram, draws: Draws, pulled: Pulled,
        k: Any, rules: Rules,
    ) -> None:  # fmt: skip
        """Take the steps of some draws of a block in batches of `k`; `scores` (P, B) are <S, x> at its start."""

    def open_columns(self, columns: Any, scales: Any, rules: Rules) -> None:
        """Begin one step of every unfinished column."""

    def batch_pulls(self, shared: SharedArrays, scales: Any, scores: Any, index: Any, pulls: Any, rules: Rules) -> None:
        """Pulls of the rows `index`, all against the same model."""

    def batch_account(
        self, shared: SharedArrays, pulls: Any, index: Any, before: Any, after: Any, rules: Rules
    ) -> None:
        """Follow ||S||² and the dual's linear part over a batch: <S, x> before and after its pulls suffice."""

    def close_columns(self, shared: SharedArrays, sums: Any, weighted_sums: Any, rules: Rules) -> bool:
        """End one step of every unfinished column; whether any state was folded."""

    def scatter_rows(self, target: Any, index: Any, pulls: Any) -> None:
        """target[index] += pulls.T; rows may repeat."""

    def count_violations(self, violations: Any, index: Any, pulls: Any) -> None:
        """Count each row that pulls."""

    def add_losses(self, totals: Any, shared: SharedArrays, scores: Any, index: Any, loss: Loss) -> None:
        """totals[p] += Σ s·loss over the rows `index`; a group counts in its first column."""

    def dual_terms(self, totals: Any, shared: SharedArrays, factors: Any, point: Any, loss: Loss) -> None:
        """totals[p] += Σ dual term of ``factors * alpha``, moved into its domain and into `point`, if that has room."""
