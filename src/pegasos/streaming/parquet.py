"""Parquet as a source: row groups in any order, and within each some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from pegasos.io.base import DataError, Wish, reason
from pegasos.io.columns import choose
from pegasos.io.parquet import features, labels_of, without_index
from pegasos.streaming.source import Chunk, Source, Task, rows_of

BUFFER = 1 << 16  # bytes of a column that are read at a time; else a whole row group would be in memory


class ParquetSource(Source):
    """Rows of a Parquet file."""

    format = "parquet"

    def __init__(self, path: Path, wish: Wish, chunk: int):
        super().__init__(path)
        with _reading(path.name) as pyarrow, self._opened() as file:
            groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
            self.table = without_index(pyarrow.Table.from_batches([], file.schema_arrow))  # its columns, without rows
        self.begins = np.concatenate([[0], np.cumsum(groups)]).astype(int).tolist()
        self.n_places = len(groups)
        if self.table.num_columns == 0 or self.begins[-1] == 0:
            raise DataError(f"{path.name} is empty: it holds no rows.")
        names = self.table.column_names
        self.columns = choose(path.name, names, len(names), wish)
        self.n_features = len(self.columns.features)
        self.labelled = self.columns.label is not None
        self.feature_names, self.label_name = self.columns.feature_names, self.columns.label_name
        self.rows_each = rows_of(8 * len(names), chunk)

    @property
    def label_column(self) -> int | None:
        """The number of the label column."""
        return self.columns.label

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[Task]:
        """Functions that turn batches into rows; to draw one reads its batch."""
        self.check_unchanged()
        with _reading(self.name), self._opened() as file:
            for number in range(self.n_places or 0) if order is None else order:
                first = self.begins[number]
                names = self.table.column_names
                batches = file.iter_batches(
                    self.rows_each, row_groups=[int(number)], columns=names, use_threads=False
                )  # each thread of pyarrow would hold pages of its own
                for batch in batches:
                    yield partial(self._rows, batch, first)
                    first += batch.num_rows

    def _rows(self, batch, first: int) -> Chunk:
        import pyarrow

        table = pyarrow.Table.from_batches([batch]).select(self.table.column_names)
        X = features(self.name, table, self.columns, first)
        y = labels_of(self.name, table, self.columns, optional=False, first_row=first, words=self.words)
        assert y is not None
        return Chunk(X, y, first, batch.num_rows / self.begins[-1])

    def _opened(self):
        from pyarrow import parquet

        return parquet.ParquetFile(self.path, buffer_size=BUFFER, pre_buffer=False)


@contextmanager
def _reading(name: str) -> Iterator[ModuleType]:
    """The module pyarrow; whatever it does not like about a file becomes a sentence."""
    try:
        import pyarrow
    except ImportError:
        raise DataError(f"{name}: reading Parquet needs pyarrow: pip install 'pegasos[data]'.") from None
    try:
        yield pyarrow
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{name} is damaged: Parquet cannot read it ({reason(error)}).") from None
