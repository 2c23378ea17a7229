"""Dask collections as partitions: blocks of rows, each with its targets and weights.

Arrays of NumPy or SciPy chunks, dataframes and plain arrays become one Dask task for each block of rows, which gives a
`Partition`. A partition that cannot be used says why in its field `problem`, and the driver raises that with the number
of the partition: an exception inside a task would fill the logs of the workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed
from scipy.sparse import issparse

from pegasos.estimators.validation import check_label_types
from pegasos.kernels import canonical
from pegasos.utils.sparse import sound

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
MOST_ROWS = 2**40  # of one partition


@dataclass(frozen=True)
class Partition:
    """A block of rows, their targets and weights; `problem` says why they cannot be used, None where they can.

    `number` is that of the partition among all. Rows that have changed workers say by `ids` where they are from, and
    are `explicit` if X holds their features by landmarks already.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    problem: str | None = None
    number: int = 0
    ids: np.ndarray | None = None
    explicit: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    def __sizeof__(self) -> int:
        """Bytes, for Dask to know what a worker holds."""
        more = [each for each in (self.weights, self.ids) if each is not None]
        return n_bytes(self.X) + n_bytes(self.y) + sum(n_bytes(each) for each in more)

    def row_ids(self) -> np.ndarray:
        """A number for each row that no other row of any partition has."""
        return self.number * MOST_ROWS + np.arange(self.n_rows) if self.ids is None else self.ids


def n_bytes(X) -> int:
    """Bytes of an array or a sparse matrix."""
    if hasattr(X, "indptr"):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def is_collection(X) -> bool:
    """Whether X is a Dask collection."""
    return dask.is_dask_collection(X)


def partitions(X, y, sample_weight=None, *, classification: bool = True, n_blocks: int = 1) -> list:
    """A delayed `Partition` for each block of rows; rows in memory are cut into at most `n_blocks` blocks."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if not is_collection(X):
        X = _cut(X, n_blocks)
    blocks, lengths = blocks_of(X, "X"), lengths_of(X)
    targets = _in_same_blocks(y, "y", blocks, lengths)
    weights = _in_same_blocks(sample_weight, "sample_weight", blocks, lengths)
    make = dask.delayed(make_partition, pure=False)
    return [
        make(*given, number, classification) for number, given in enumerate(zip(blocks, targets, weights, strict=True))
    ]


def feature_names(X) -> np.ndarray | None:
    """The names of the columns of X as scikit-learn takes them: None unless there are names and all are strings."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, object)


def make_partition(X, y, weights, number: int, classification: bool) -> Partition:
    """The partition of a block of rows, made on the worker that holds the block."""
    try:
        X, y = _rows(X), _targets(y, classification)
        weights = None if weights is None else np.asarray(weights, np.float64).reshape(-1)
        _check_lengths(X, y, weights)
    except (ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        return Partition(np.empty((0, 0)), np.empty(0), None, f"partition {number} cannot be used: {reason}")
    return Partition(X, y, weights, number=number)


def _rows(X):
    """Rows as the compiled loops take them: a C-ordered array or CSR matrix of float32 or float64."""
    if hasattr(X, "tocsr"):
        X = canonical(sound(X).tocsr())
        return X if X.dtype in FLOATS else X.astype(np.float64)
    if hasattr(X, "sparse") and hasattr(X, "dtypes"):  # a dataframe of sparse columns
        return _rows(X.sparse.to_coo())
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"its rows have the shape {X.shape}, and a matrix of rows × features is needed")
    if X.dtype.kind == "c":
        raise ValueError("its features are complex numbers: Complex data not supported")
    try:
        return np.ascontiguousarray(X, X.dtype if X.dtype in FLOATS else np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"its features are no numbers ({error})") from error


def _targets(y, classification: bool) -> np.ndarray:
    if issparse(y):
        raise ValueError("the targets y are a sparse matrix, and an array is needed")
    y = np.asarray(y)
    if not classification:
        return y
    y = np.asarray(check_label_types(y))
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def _check_lengths(X, y, weights) -> None:
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows there and {name} {len(values)}")


# --- collections as blocks of rows ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _BlocksInMemory:
    """Rows in memory, cut into blocks."""

    blocks: list


def _cut(X, n_blocks: int) -> _BlocksInMemory:
    """Rows in memory as blocks of about the same length."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    edges = np.linspace(0, X.shape[0], min(n_blocks, max(1, X.shape[0])) + 1).astype(int)
    rows = X.iloc if hasattr(X, "iloc") else sound(X).tocsr() if issparse(X) else X
    return _BlocksInMemory([rows[first:last] for first, last in pairwise(edges)])


def blocks_of(X, name: str) -> list:
    """The blocks of rows of a collection, as delayed values."""
    if isinstance(X, _BlocksInMemory):
        return X.blocks
    if isinstance(X, Delayed) or not hasattr(X, "to_delayed"):
        raise TypeError(f"{name} must be a Dask array or dataframe, or an array in memory, got {type(X).__name__}.")
    if hasattr(X, "chunks"):
        if name == "X" and X.ndim != 2:
            raise ValueError(f"X must be a matrix of rows × features; this Dask array has {X.ndim} dimension(s).")
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def lengths_of(X) -> list[int] | None:
    """The number of rows of each block; None where Dask does not know it before the blocks are computed."""
    if isinstance(X, _BlocksInMemory):
        return [block.shape[0] for block in X.blocks]
    lengths = getattr(X, "chunks", ((np.nan,),))[0]
    return None if np.isnan(lengths).any() else [int(length) for length in lengths]


def _in_same_blocks(values, name: str, blocks: list, lengths: list[int] | None) -> list:
    """Targets or weights, cut into the blocks that X has."""
    if values is None:
        return [None] * len(blocks)
    if is_collection(values):
        return _collection_in_same_blocks(values, name, blocks, lengths)
    if not hasattr(values, "shape"):
        values = np.asarray(check_label_types(values))
    if lengths is None:
        raise ValueError(
            f"{name} is in memory, but how many rows each partition of X has is not known; pass {name} as a Dask "
            "collection with the same partitions, or call X.compute_chunk_sizes() before."
        )
    _check_total(values.shape[0], name, lengths)
    rows = values.iloc if hasattr(values, "iloc") else values
    ends = np.cumsum([0, *lengths])
    return [rows[first:last] for first, last in pairwise(ends)]


def _collection_in_same_blocks(values, name: str, blocks: list, lengths: list[int] | None) -> list:
    own = lengths_of(values)
    if own is not None and lengths is not None:
        _check_total(sum(own), name, lengths)
        if own != lengths:
            values = values.rechunk({0: tuple(lengths)})
    own_blocks = blocks_of(values, name)
    if len(own_blocks) != len(blocks):
        raise ValueError(
            f"X has {len(blocks)} partitions and {name} {len(own_blocks)}; both must have the same, with the same rows."
        )
    return own_blocks


def _check_total(n_rows: int, name: str, lengths: list[int]) -> None:
    if n_rows != sum(lengths):
        raise ValueError(f"X has {sum(lengths)} rows and {name} {n_rows}; both must have the same.")
