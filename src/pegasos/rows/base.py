"""What the solver asks of rows of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.api import Backend, Gram
from pegasos.backends.products import product
from pegasos.rules.state import State


class Way(Enum):
    """How single steps get scores and apply pulls."""

    BLOCKS = "look-ahead blocks"
    DIRECT = "each step by itself"
    EITHER = "directly while few rows pull, else in blocks"
    SPARSE = "row by row, CSR"


class Block(NamedTuple):
    """Some rows, by number, and what their kind keeps of them."""

    rows: np.ndarray
    values: Any


class Rows:
    """What the solver asks of rows.

    Subclasses give `_values`, `_products`, `_gram`, `_add`: how the values of a block meet the first `n_state` rows of
    the state. The constant feature is added here.
    """

    dual = False  # the state has one coefficient per training row
    prefers_long_blocks = False  # kernel values are computed for each block by dense products, which like many rows
    bounded = False  # Gram matrices are upper bounds, so the norm of the state has to be looked up
    largest_block_batch = 1024  # a larger batch fills blocks by itself and needs no look-ahead
    block_length: int | None = None  # draws of a look-ahead block, where the kind of rows decides

    def __init__(self, X, n_state: int, bias: float, backend: Backend = cpu):
        self.X = X
        self.backend, self.xp = backend, backend.xp
        self.at_once = backend.ROWS_AT_ONCE  # rows of one product
        self.n_rows = X.shape[0]
        self.n_state = n_state
        self.dtype = np.dtype(X.dtype)
        self.bias = float(bias)

    def for_concurrent_solve(self) -> Rows:
        """The same rows for another solve at the same time."""
        return self

    @property
    def support_order(self) -> np.ndarray:
        """The order in which support rows are cached, where they are: sums of products round by it."""
        return np.empty(0, np.intp)

    def cache_support(self, order: np.ndarray) -> None:
        """Cache support rows in this order, as an earlier solve did."""

    def way(self, columns_per_row: float) -> Way:
        """How single steps go when a row belongs to so many columns; on a GPU many have to go side by side."""
        return self._way(columns_per_row) if self.backend.BLOCK_LENGTH is None else Way.BLOCKS

    @property
    def squares(self) -> np.ndarray:
        """K(x, x) of the rows, the constant feature included, in float64."""
        raise NotImplementedError

    @property
    def largest_square(self) -> float:
        """The largest K(x, x), or a bound on it where the rows would take long to find it."""
        return float(self.squares.max())

    @property
    def direct_values(self) -> np.ndarray:
        """What a direct step reads a row of."""
        raise NotImplementedError

    @property
    def width(self) -> float:
        """Numbers that a row and a column exchange in one step, roughly."""
        return float(self.X.shape[1])

    def zeros(self, n_columns: int) -> np.ndarray:
        """An empty state."""
        return self.xp.zeros((self.n_state + (self.bias > 0), n_columns), self.dtype)

    def block(self, index, *, full_rows: bool = False) -> Block:
        """The rows `index`, an array or a slice; `full_rows`: of a kept kernel matrix, full rows will be needed."""
        numbers = self.xp.arange(self.n_rows)[index] if isinstance(index, slice) else index
        return Block(numbers, self._values(index, full_rows))

    def blocks(self, index: np.ndarray | None = None) -> Iterator[Block]:
        """All rows, or those of `index`, in blocks of a size that products like."""
        total = self.n_rows if index is None else len(index)
        for first in range(0, total, self.at_once):
            part = slice(first, min(first + self.at_once, total))
            yield self.block(part if index is None else index[part])

    def scores(self, block: Block, sums: np.ndarray) -> np.ndarray:
        """<S, x> of each row of the block in each column, shape (P, B)."""
        sums = sums.astype(self.dtype, copy=False)
        scores = self._products(block, sums[: self.n_state])
        if self.bias > 0:
            scores += self.bias * sums[-1][:, None]
        return scores

    def gram(self, block: Block) -> Gram:
        """Inner products of the block's rows."""
        gram = self._gram(block)
        if self.bias > 0:
            gram = gram + self.dtype.type(self.bias**2)
        known = self.xp.ones(len(gram), bool)
        none = self.xp.empty((0, 0), self.dtype)
        return Gram(self.xp.ascontiguousarray(gram, self.dtype), known, none, self.bias)

    def products(self, n_columns: int) -> np.ndarray:
        """Room for <S, x> of all rows where keeping it up to date is cheaper than computing it; else (0, 0)."""
        return self.xp.zeros((0, 0), self.dtype)

    def scores_now(self, block: Block, state: State) -> np.ndarray:
        """The scores of the state itself; read off where they are kept."""
        return self.scores(block, state.sums)

    def model_scores(self, index: np.ndarray, state: State) -> np.ndarray:
        """Scores of the rows `index` by the model that `state` reports, shape (P, rows)."""
        model = state.model().astype(self.dtype, copy=False)
        index = self.backend.to_device(index)
        scores = self.xp.empty((model.shape[1], len(index)), self.dtype)
        for first in range(0, len(index), self.at_once):
            part = slice(first, first + self.at_once)
            scores[:, part] = self.scores(self.block(index[part]), model)
        return scores

    def follow(self, block: Block, pulls: np.ndarray, state: State) -> None:
        """Bring kept scores up to date with the pulls of a block."""

    def refresh(self, state: State) -> None:
        """Compute kept scores anew, now and then, so that rounding does not pile up."""

    def add(self, block: Block, pulls: np.ndarray, sums: np.ndarray) -> None:
        """S += Σ pull·x over the block; `pulls` is (P, B)."""
        self._add(block, pulls, sums)
        if self.bias > 0:
            sums[-1] += self.bias * pulls.sum(axis=1)

    def add_both(self, block: Block, pulls: np.ndarray, weighted: np.ndarray, state: State) -> None:
        """Add the pulls to S, and the same pulls weighted for the average to U, where there is one."""
        self.add(block, pulls, state.sums)
        if state.weighted.size:
            self.add(block, weighted, state.weighted)

    def square_norms(self, coefficients: np.ndarray) -> np.ndarray:
        """||w||² of each column, in float64."""
        return self.backend.to_host(self.xp.einsum("ij,ij->j", coefficients, coefficients, dtype=np.float64))

    def _way(self, columns_per_row):
        return Way.BLOCKS

    def _values(self, index, full_rows):
        return self.X[index]

    def _products(self, block: Block, sums: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _gram(self, block: Block) -> np.ndarray:
        raise NotImplementedError

    def _add(self, block: Block, pulls: np.ndarray, sums: np.ndarray) -> None:
        sums[: self.n_state] += product(block.values.T, pulls.T)
