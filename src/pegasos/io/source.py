"""Sources: files whose rows are read in chunks of a few megabytes, in any order where the format allows it.

A source says how its chunks are read, not when: `tasks` yields functions of which each reads one chunk. Yielding the
next function may take time, where a file is compressed and has to be read from its beginning; calling it can be left to
any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.io.columns import Columns
from pegasos.io.dataset import DataError, Dataset
from pegasos.io.options import Column

CHUNK = 1 << 21  # bytes: many chunks make a window, so that rows from all over the file meet in it


class NotInPieces(DataError):
    """A file that may be good data, but cannot be read in chunks; the sentence says what to do."""


@dataclass(frozen=True)
class Chunk:
    """Some rows that follow each other in a file."""

    X: Any  # ndarray or csr_matrix
    y: np.ndarray
    begin: int  # where it begins in the file, a byte or a row: the same in every pass
    share: float  # of the file

    def select(self, rows: np.ndarray) -> Chunk:
        """The rows where the mask `rows` is True."""
        return self if rows.all() else replace(self, X=self.X[rows], y=self.y[rows])


ReadChunk = Callable[[], Chunk]


class Source:
    """A file whose rows are read in chunks, or all at once.

    Attributes
    ----------
    name, path, format
        The file.
    size : int
        Bytes of the file.
    n_places : int or None
        Places that can be read in any order; None: the file can only be read from its beginning to its end.
    n_features : int or None
        None while only a look at all rows can tell.
    first_index : int or None
        Of LIBSVM text: whether its features count from 0 or from 1. While this is None, chunks count them from 0.
    labelled : bool
        Whether the rows have labels.
    text_labels : bool
        Whether labels are read as text even where they are numbers, because others are text.
    feature_names, label_name
        Of tables.
    label_column : int or None
        The number of the label column of a table, which a checkpoint keeps.
    left_out : list
        The columns of a table that were left out on purpose, by name or number.
    image_shape : tuple or None
        Of rows that are images.
    """

    format = ""
    n_places: int | None = None
    n_features: int | None = None
    first_index: int | None = None
    labelled = True
    text_labels = False
    feature_names: list[str] | None = None
    label_name: str | None = None
    label_column: int | None = None
    left_out: Sequence[Column] = ()
    image_shape: tuple[int, int] | None = None

    def __init__(self, path: Path):
        self.path, self.name = path, path.name
        self.stamp = file_stamp(path)
        self.size = self.stamp[0]

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[ReadChunk]:
        """Functions that read the chunks: of the places in this order, or of all in the order of the file."""
        raise NotImplementedError

    def rows(self) -> tuple[Any, np.ndarray | None]:
        """Features and labels of all rows at once; rows to predict may have no labels."""
        raise NotImplementedError

    def read(self) -> Dataset:
        """The whole file."""
        X, y = self.rows()
        return Dataset(
            self.name,
            X,
            y,
            source=str(self.path),
            format=self.format,
            feature_names=self.feature_names,
            label_name=self.label_name,
            image_shape=self.image_shape,
            first_index=self.first_index,
            left_out=list(self.left_out),
        )

    def test_part(self) -> Source | None:
        """The labelled test rows that the file brings along, if any."""
        return None

    def settle_features(self, lowest: int, highest: int) -> None:
        """Set `first_index` and `n_features` by the lowest and the highest index of all rows of LIBSVM text.

        Features count from 1 unless a 0 occurs. Without any entry, `lowest` is 1 and `highest` is -1.
        """
        if self.first_index is None:
            self.first_index = min(lowest, 1)
        if self.n_features is None:
            if highest < 0:
                raise DataError(f"{self.name} holds no entries index:value, so its rows have no features.")
            self.n_features = highest - self.first_index + 1

    def set_columns(self, columns: Columns) -> None:
        """Set what the columns of a table say of its rows."""
        self.n_features, self.feature_names = len(columns.features), columns.feature_names
        self.labelled, self.label_column = columns.label is not None, columns.label
        self.label_name, self.left_out = columns.label_name, columns.left_out

    def check_in_pieces(self) -> None:
        """Raise NotInPieces if this file can only be read whole."""

    def check_unchanged(self) -> None:
        """Raise DataError if the file is not what it was when it was opened: its chunks would be others."""
        check_stamp(self.path, file_stamp(self.path), self.stamp)


def file_stamp(path: Path) -> tuple[int, int]:
    """Size and time of modification, which differ once a file was changed."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise DataError(f"{path.name} is gone: it was removed while it was being read.") from None
    return found.st_size, found.st_mtime_ns


def check_stamp(path: Path, found: tuple[int, int], known: tuple[int, int]) -> None:
    """Raise DataError if a file has changed."""
    if found != known:
        raise DataError(f"{path.name} changed while it was being read; begin anew when it stays as it is.")


class SlicedSource(Source):
    """Rows that are known by their numbers: a chunk is a slice of them."""

    def _set_size(self, n_rows: int, bytes_per_row: float, chunk: int) -> None:
        self.n_rows, self.n_rows_each = n_rows, rows_per_chunk(bytes_per_row, chunk)
        self.n_places = -(-n_rows // self.n_rows_each)

    def slice(self, first: int, last: int) -> tuple[Any, Any]:
        """Features and labels of the rows first..last-1."""
        raise NotImplementedError

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[ReadChunk]:
        """Functions that read slices."""
        for number in range(self.n_places or 0) if order is None else order:
            yield partial(self._chunk, int(number) * self.n_rows_each)

    def rows(self) -> tuple[Any, Any]:
        """All rows at once."""
        return self.slice(0, self.n_rows)

    def _chunk(self, first: int) -> Chunk:
        self.check_unchanged()
        last = min(first + self.n_rows_each, self.n_rows)
        return Chunk(*self.slice(first, last), first, (last - first) / self.n_rows)


def rows_per_chunk(bytes_per_row: float, chunk: int) -> int:
    """How many rows of so many bytes make a chunk."""
    return max(1, int(chunk / max(1.0, bytes_per_row)))


class InMemorySource(SlicedSource):
    """Rows that are in memory already, as a source."""

    def __init__(self, name: str, X, y: np.ndarray, chunk: int = CHUNK):
        self.name, self.path, self.X, self.y = name, Path(name), X, y
        self.n_features = X.shape[1]
        self.size = 8 * (X.nnz if hasattr(X, "indptr") else X.size)
        self._set_size(X.shape[0], self.size / max(1, X.shape[0]), chunk)

    def slice(self, first: int, last: int) -> tuple[Any, Any]:
        """Rows as they are."""
        return self.X[first:last], self.y[first:last]

    def check_unchanged(self) -> None:
        """Nothing changes in memory."""
