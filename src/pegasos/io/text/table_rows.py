"""The rows of a table in plain Python: for small files, quoted fields and odd lines, and to say what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pegasos.io.dataset import DataError
from pegasos.io.fields import bad_number, finite_number
from pegasos.io.text.layout import TableLayout
from pegasos.io.text.lines import BLANK, Text
from pegasos.io.text.records import Record, records


def table_rows(text: Text, layout: TableLayout) -> tuple[np.ndarray, list[str] | None]:
    """Features and label fields of the rows of a table."""
    columns = layout.columns
    rows: list[list[float]] = []
    labels: list[str] = []
    for position, fields in _records(text, layout):
        rows.append(features_of(text, position, fields, layout))
        if columns.label is not None:
            labels.append(fields[columns.label])
    X = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns.features))
    return X, None if columns.label is None else labels


def features_of(text: Text, position: int, fields: list[str], layout: TableLayout) -> list[float]:
    """The features in the fields of the record at a position."""
    width, columns = layout.width, layout.columns
    if len(fields) != width:
        line = text.line_number(position)
        rule = _separating_tab(text, position, layout) if len(fields) > width else ""
        raise DataError(f"{text.name}: line {line} has {len(fields)} fields, but the first row has {width}{rule}.")
    values = []
    for column in columns.features:
        value = finite_number(fields[column], layout.dialect.decimal)
        if value is None:
            place = f"line {text.line_number(position)}"
            raise bad_number(text.name, columns.called(column), fields[column], place)
        values.append(value)
    return values


def _separating_tab(text: Text, position: int, layout: TableLayout) -> str:
    """The rest of a sentence about a line with too many fields: that a tab separates them, if that can be why."""
    row = text.data[position : text.data.find(b"\n", position) % (len(text.data) + 1)]
    if layout.dialect.separator != BLANK or b"\t" not in row or b" " not in row.strip():
        return ""
    return "; tabs separate fields as blanks do, so that a field with one in it has to be quoted"


def in_row(text: Text, layout: TableLayout, row: int) -> str:
    """The beginning of a sentence about a row, the first being 0."""
    return text.in_line(next(at for number, (at, _) in enumerate(_records(text, layout)) if number == row))


def _records(text: Text, layout: TableLayout) -> Iterator[Record]:
    return records(text, layout.dialect, layout.width)
