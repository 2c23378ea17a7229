"""Sources: the rows of a file in chunks of a few megabytes, so that only some of them are in memory at a time.

A source says how its chunks are read, not when: `tasks` yields functions of which each reads one chunk. To draw the
next function may take time, where a file is packed and has to be read from its beginning; to call it can be left to any
thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.io.base import DataError

CHUNK = 1 << 21  # bytes: many chunks make a window, so that rows from all over the file meet in it


class NotInPieces(DataError):
    """A file that may be good data, but cannot be read in pieces; the sentence says what to do."""


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


Task = Callable[[], Chunk]


class Source:
    """Rows of a file in chunks.

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
        Of LIBSVM text: whether its features count from 0 or from 1; None while that is not known. Until then they are
        counted from 0, whatever the file does.
    labelled : bool
        Whether the rows have labels.
    words : bool
        Whether labels are read as text even where they are numbers, since others are text.
    feature_names, label_name
        Of tables.
    """

    format = ""
    n_places: int | None = None
    n_features: int | None = None
    first_index: int | None = None
    labelled = True
    words = False
    feature_names: list[str] | None = None
    label_name: str | None = None

    def __init__(self, path: Path):
        self.path, self.name = path, path.name
        self.stamp = stamp_of(path)
        self.size = self.stamp[0]

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[Task]:
        """Functions that read the chunks: of the places in this order, or of all in the order of the file."""
        raise NotImplementedError

    @property
    def label_column(self) -> str | int | None:
        """The label column of a table, by which a checkpoint knows it."""
        return None

    def test_part(self) -> Source | None:
        """The test rows that the file brings along, if any."""
        return None

    def check_unchanged(self) -> None:
        """Raise DataError if the file is not what it was when it was opened: its chunks would be others."""
        check_stamp(self.path, stamp_of(self.path), self.stamp)


def stamp_of(path: Path) -> tuple[int, int]:
    """By what a changed file is known."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise DataError(f"{path.name} is gone: it was removed while it was being read.") from None
    return found.st_size, found.st_mtime_ns


def check_stamp(path: Path, found: tuple[int, int], known: tuple[int, int]) -> None:
    """Raise DataError if a file has changed."""
    if found != known:
        raise DataError(f"{path.name} changed while it was being read; begin anew when it stays as it is.")


class InMemory(Source):
    """Rows that are in memory already, as a source."""

    def __init__(self, name: str, X, y: np.ndarray, chunk: int = CHUNK):
        self.name, self.path, self.X, self.y = name, Path(name), X, y
        self.n_features = X.shape[1]
        entries = X.nnz if hasattr(X, "indptr") else X.size
        self.rows_each = rows_of(8 * entries / max(1, X.shape[0]), chunk)
        self.n_places = -(-X.shape[0] // self.rows_each)
        self.size = 8 * entries

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[Task]:
        """Slices of the rows."""
        for number in range(self.n_places or 0) if order is None else order:
            yield partial(self._slice, int(number) * self.rows_each)

    def _slice(self, first: int) -> Chunk:
        rows = slice(first, first + self.rows_each)
        return Chunk(self.X[rows], self.y[rows], first, len(self.y[rows]) / len(self.y))

    def check_unchanged(self) -> None:
        """Nothing changes in memory."""


def rows_of(bytes_a_row: float, chunk: int) -> int:
    """Rows of a chunk."""
    return max(1, int(chunk / max(1.0, bytes_a_row)))


@dataclass(frozen=True)
class Split:
    """A share of the rows, chosen at random, that is held out for a test; the same rows in every pass."""

    share: float
    seed: int

    def train(self, chunk: Chunk) -> Chunk:
        """The rows to train on."""
        return chunk.select(~self._held(chunk))

    def test(self, chunk: Chunk) -> Chunk:
        """The rows held out."""
        return chunk.select(self._held(chunk))

    def _held(self, chunk: Chunk) -> np.ndarray:
        return np.random.default_rng([self.seed, chunk.begin]).random(len(chunk.y)) < self.share


def open_source(
    path: str | os.PathLike,
    *,
    label: str | int | None = None,
    n_features: int | None = None,
    feature_names: list[str] | None = None,
    first_index: int | None = None,
    usual_label: str | int | None = None,
    chunk: int = CHUNK,
) -> Source:
    """The source of a file, read as `pegasos.io.read` would: the same rows, labels and errors.

    A file that cannot be read in pieces raises NotInPieces.
    """
    from pegasos.io.base import Wish
    from pegasos.io.opening import HEAD, check_readable, known_by

    path = Path(path)
    check_readable(path)
    chosen = usual_label if label is None else label
    wish = Wish(chosen, n_features, feature_names, first_index, firm=label is not None)
    with open(path, "rb") as file:
        kind = known_by(file.read(HEAD))
    if kind == "parquet":
        from pegasos.streaming.parquet import ParquetSource

        return ParquetSource(path, wish, chunk)
    if kind in ("zip", "hdf5"):
        from pegasos.streaming.arrays import open_arrays

        return open_arrays(path, kind, wish, chunk)
    if kind == "idx":
        raise NotInPieces(
            f"{path.name} is an IDX file, which cannot be read in pieces; read it into memory (--stream no)."
        )
    from pegasos.streaming.text import open_text

    return open_text(path, kind, wish, chunk)
