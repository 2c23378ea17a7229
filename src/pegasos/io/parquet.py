"""Parquet tables, read by pyarrow: whole, or by row groups in any order and within each some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from pegasos.io.columns import Columns, choose_columns
from pegasos.io.dataset import DataError, check_room, reason
from pegasos.io.fields import bad_number
from pegasos.io.labels import labels_from_array
from pegasos.io.options import ReadOptions
from pegasos.io.source import Chunk, ReadChunk, Source, rows_per_chunk

BUFFER = 1 << 16  # bytes of a column that are read at a time; else a whole row group would be in memory


class ParquetSource(Source):
    """Rows of a Parquet file: a table with names, whose columns are chosen as in text."""

    format = "parquet"

    def __init__(self, path: Path, options: ReadOptions, chunk: int):
        super().__init__(path)
        options.check_no_text(path.name)
        with self._opened() as file:
            groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
            self.names = _without_index(file.schema_arrow.empty_table()).column_names
        self.begins = np.concatenate([[0], np.cumsum(groups)]).astype(int).tolist()
        self.n_places = len(groups)
        if not self.names or self.begins[-1] == 0:
            raise DataError(f"{path.name} is empty: it holds no rows.")
        self.columns = choose_columns(path.name, self.names, len(self.names), options)
        self.set_columns(self.columns)
        self.labels_optional = options.width is not None
        self.n_rows_each = rows_per_chunk(8 * len(self.names), chunk)

    def rows(self) -> tuple[np.ndarray, np.ndarray | None]:
        """All rows at once."""
        n_rows, n_columns = self.begins[-1], len(self.names)
        check_room(self.name, 8.0 * n_rows * n_columns, f"{n_rows} rows of {n_columns} columns")
        with self._opened() as file:
            table = _without_index(file.read())
        return _features(self.name, table, self.columns), self._labels(table, optional=self.labels_optional)

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[ReadChunk]:
        """Functions that turn batches into rows; a batch is read when its function is yielded."""
        self.check_unchanged()
        with self._opened(buffer_size=BUFFER, pre_buffer=False) as file:
            for number in range(self.n_places or 0) if order is None else order:
                first = self.begins[number]
                batches = file.iter_batches(
                    self.n_rows_each, row_groups=[int(number)], columns=self.names, use_threads=False
                )  # each thread of pyarrow would hold pages of its own
                for batch in batches:
                    yield partial(self._chunk, batch, first)
                    first += batch.num_rows

    def _chunk(self, batch, first: int) -> Chunk:
        import pyarrow

        table = pyarrow.Table.from_batches([batch]).select(self.names)
        X, y = _features(self.name, table, self.columns, first), self._labels(table, first)
        assert y is not None
        return Chunk(X, y, first, batch.num_rows / self.begins[-1])

    def _labels(self, table, first_row: int = 0, *, optional: bool = False) -> np.ndarray | None:
        """The label column; None if there is none, or if it is `optional` and empty."""
        import pyarrow.types as types

        label = self.columns.label
        if label is None:
            return None
        column = table.column(label)
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.null_count == len(column) and optional:
            return None
        if column.null_count:
            row = next(row for row, value in enumerate(column) if not value.is_valid)
            place = f"in row {first_row + row + 1}"
            raise DataError(f"{self.name}: {place}, the label is missing; fill it in or drop the row.")
        called = self.columns.called(label)
        return labels_from_array(
            column.to_numpy(), self.name, called, first_row=first_row, text_labels=self.text_labels
        )

    @contextmanager
    def _opened(self, **how) -> Iterator:
        """The file as pyarrow opens it; whatever pyarrow does not like about it becomes a sentence."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise DataError(f"{self.name}: reading Parquet needs pyarrow: pip install 'pegasos[data]'.") from None
        try:
            with parquet.ParquetFile(self.path, **how) as file:
                yield file
        except DataError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise DataError(f"{self.name} is damaged: Parquet cannot read it ({reason(error)}).") from None


def _without_index(table):
    """The table without the row names that pandas keeps in columns of their own."""
    pandas = table.schema.pandas_metadata or {}
    index = [name for name in pandas.get("index_columns", []) if isinstance(name, str)]
    return table.drop_columns([name for name in index if name in table.column_names])


def _features(file: str, table, columns: Columns, first_row: int = 0) -> np.ndarray:
    """All feature columns side by side, from `first_row` of the file on; float32 if none needs more."""
    import pyarrow.types as types

    narrow = True
    for column in columns.features:
        kind = table.column(column).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
            _refuse(file, table.column(column), columns.called(column), first_row)
        narrow &= not types.is_decimal(kind) and not (
            types.is_float64(kind) or (types.is_integer(kind) and kind.bit_width > 16)
        )
    X = np.empty((table.num_rows, len(columns.features)), np.float32 if narrow else np.float64)
    for place, column in enumerate(columns.features):
        values = _floats(table.column(column))
        strange = np.flatnonzero(~np.isfinite(values))
        if strange.size:
            row = int(strange[0])
            raise bad_number(file, columns.called(column), str(values[row]), f"row {first_row + row + 1}")
        X[:, place] = values
    return X


def _floats(column) -> np.ndarray:
    """A column of numbers; missing ones become nan."""
    import pyarrow.types as types

    if not types.is_floating(column.type):
        column = column.cast("float64", safe=False)
    return column.to_numpy()


def _refuse(file: str, column, called: str, first_row: int) -> None:
    """Raise the error for a column that does not hold numbers."""
    import pyarrow.types as types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_string(kind) or types.is_large_string(kind):
        for row, value in enumerate(column):
            if value.as_py() is not None:
                raise bad_number(file, called, value.as_py(), f"row {first_row + row + 1}")
    if types.is_null(kind) or column.null_count == len(column):
        raise DataError(f"{file}: {called} has a missing value (row {first_row + 1}); fill it in or drop the row.")
    raise DataError(f"{file}: {called} is of type {column.type}, which is no number; encode it as numbers first.")
