"""Parquet tables, read by pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pegasos.io.base import DataError, Dataset, Wish, reason
from pegasos.io.columns import Columns, choose
from pegasos.io.labels import labels_from_array
from pegasos.io.text import no_number


def read_parquet(path: Path, wish: Wish) -> Dataset:
    """The Dataset in a Parquet file: a table with names, whose columns are chosen as in text."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DataError(f"{path.name}: reading Parquet needs pyarrow: pip install 'pegasos[data]'.") from None

    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path.name} is damaged: Parquet cannot read it ({reason(error)}).") from None
    table = without_index(table)
    if table.num_columns == 0 or table.num_rows == 0:
        raise DataError(f"{path.name} is empty: it holds no rows.")
    columns = choose(path.name, table.column_names, table.num_columns, wish)
    X = features(path.name, table, columns)
    y = labels_of(path.name, table, columns, optional=wish.width is not None)
    return Dataset(
        path.name, X, y, format="parquet", feature_names=columns.feature_names, label_name=columns.label_name
    )


def without_index(table):
    """The table without the row names that pandas keeps in columns of their own."""
    pandas = table.schema.pandas_metadata or {}
    index = [name for name in pandas.get("index_columns", []) if isinstance(name, str)]
    return table.drop_columns([name for name in index if name in table.column_names])


def features(file: str, table, columns: Columns, first_row: int = 0) -> np.ndarray:
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
            raise no_number(file, columns.called(column), str(values[row]), f"row {first_row + row + 1}")
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
                raise no_number(file, called, value.as_py(), f"row {first_row + row + 1}")
    if types.is_null(kind) or column.null_count == len(column):
        raise DataError(f"{file}: {called} has a missing value (row {first_row + 1}); fill it in or drop the row.")
    raise DataError(f"{file}: {called} is of type {column.type}, which is no number; encode it as numbers first.")


def labels_of(
    file: str, table, columns: Columns, *, optional: bool, first_row: int = 0, words: bool = False
) -> np.ndarray | None:
    """The label column; None if there is none, or if it is `optional` and empty."""
    import pyarrow.types as types

    if columns.label is None:
        return None
    column = table.column(columns.label)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count == len(column) and optional:
        return None
    if column.null_count:
        row = next(row for row, value in enumerate(column) if not value.is_valid)
        raise DataError(f"{file}: in row {first_row + row + 1}, the label is missing; fill it in or drop the row.")
    values = column.to_numpy()
    return labels_from_array(values, file, columns.called(columns.label), first_row=first_row, words=words)
