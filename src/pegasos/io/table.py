"""Tables in text: CSV, TSV, semicolons, and fields separated by any run of spaces and tabs."""

from __future__ import annotations

import numpy as np

from pegasos.io import plain, sniff
from pegasos.io.base import DataError, Dataset, Wish
from pegasos.io.columns import Columns, choose
from pegasos.io.labels import labels_from_text, whole_if_possible
from pegasos.io.text import BLANK, Text, is_large, split


def read_table(text: Text, rows: list[sniff.Line], wish: Wish) -> Dataset:
    """The Dataset in a table whose first rows are `rows`."""
    delimiter = sniff.find_delimiter(rows)
    names = sniff.header(rows, delimiter, wish)
    if names is not None and len(rows) == 1:
        raise DataError(f"{text.name} holds only a header, and no rows.")
    begin, first = rows[0] if names is None else rows[1]
    width = len(split(first, delimiter))
    if names is not None and len(names) != width:
        lines = [text.line_number(position) for position, _ in rows[:2]]
        raise DataError(f"{text.name}: line {lines[0]} has {len(names)} fields, but line {lines[1]} has {width}.")
    columns = choose(text.name, names, width, wish)
    X, labels = _parsed(text, begin, delimiter, width, columns)
    return Dataset(
        text.name,
        X,
        _labels(text, begin, labels, wish),
        format="text" if delimiter == BLANK else "csv",
        feature_names=columns.feature_names,
        label_name=columns.label_name,
    )


def _parsed(text: Text, begin: int, delimiter: str, width: int, columns: Columns):
    if is_large(len(text.data) - begin):
        from pegasos.io import fast

        parsed = fast.table(text, begin, delimiter, width, columns)
        if parsed is not None:
            return parsed
    return plain.table(text, begin, delimiter, width, columns)


def _labels(text: Text, begin: int, labels: list[str] | np.ndarray | None, wish: Wish) -> np.ndarray | None:
    if labels is None:
        return None
    if isinstance(labels, np.ndarray):
        return whole_if_possible(labels)
    return labels_from_text(labels, lambda row: text.in_line(text.row_position(row, begin)), optional=bool(wish.width))
