"""Large tables with quoted fields or decimal commas, read by pyarrow, which rounds numbers as Python does."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from pegasos.io.dataset import DataError
from pegasos.io.text.layout import TableLayout
from pegasos.io.text.lines import BLANK, Text, decoded

MOST_WITHOUT = 64 << 20  # bytes of such tables that Python's csv module may read where pyarrow is not installed
_ONE_THREAD = 16 << 20  # pieces of a file are read by threads of ours


def table_rows(text: Text, layout: TableLayout) -> tuple[np.ndarray, list[str] | None] | None:
    """Features and label fields of the rows of a table; None if its text is left to Python's csv module."""
    dialect = layout.dialect
    lone_returns = text.data.count(b"\r") != text.data.count(b"\r\n")
    if dialect.padded or dialect.separator == BLANK or lone_returns:
        return None
    if text.data.count(b'"', text.begin) % 2:
        return None  # a quoted field that does not end, which pyarrow takes as it is, is to be named with its line
    if find_spec("pyarrow") is None:
        if len(text.data) > MOST_WITHOUT:
            raise DataError(
                f"{text.name}: reading a table of more than {MOST_WITHOUT >> 20} MB with quoted fields or decimal "
                "commas needs pyarrow: pip install 'pegasos[data]'."
            )
        return None
    table = _table(text, layout)
    if table is None:
        return None
    columns = layout.columns
    X = np.empty((table.num_rows, len(columns.features)))
    for place, column in enumerate(columns.features):
        X[:, place] = table.column(str(column)).to_numpy()
    if not np.isfinite(X).all():
        return None  # to be named with its line
    if columns.label is None:
        return X, None
    labels = table.column(str(columns.label)).combine_chunks().dictionary_encode()
    words = np.array([decoded(word) for word in labels.dictionary.to_pylist()], dtype=object)
    return X, words[labels.indices.to_numpy(zero_copy_only=False)].tolist() if len(words) else []


def _table(text: Text, layout: TableLayout):
    """The columns that are needed, or None if pyarrow does not read the text as it is to be read."""
    import pyarrow
    from pyarrow import csv

    columns, dialect = layout.columns, layout.dialect
    kinds = {str(column): pyarrow.float64() for column in columns.features}
    if columns.label is not None:
        kinds[str(columns.label)] = pyarrow.binary()
    try:
        return csv.read_csv(
            pyarrow.py_buffer(memoryview(text.data)[text.begin :]),
            csv.ReadOptions(
                use_threads=len(text.data) > _ONE_THREAD,
                column_names=[str(column) for column in range(layout.width)],
            ),
            csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=kinds, include_columns=list(kinds), null_values=[], check_utf8=False,
                decimal_point=dialect.decimal,
            ),
        )  # fmt: skip
    except pyarrow.ArrowException:
        return None
