"""Tables in text: CSV, TSV, semicolons, and fields separated by any run of spaces and tabs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.io import detect, plain
from pegasos.io.base import DataError, Dataset, Wish
from pegasos.io.columns import Columns, choose
from pegasos.io.labels import labels_from_text, whole_if_possible
from pegasos.io.text import BLANK, Text, is_large, split


@dataclass(frozen=True)
class Layout:
    """How a table is laid out, from its first row to its last."""

    begin: int  # where its rows begin
    delimiter: str
    width: int
    columns: Columns

    @property
    def format(self) -> str:
        """What a table of this kind is called."""
        return "text" if self.delimiter == BLANK else "csv"


def read_table(text: Text, rows: list[detect.Line], wish: Wish) -> Dataset:
    """The Dataset in a table whose first rows are `rows`."""
    layout = layout_of(text, rows, wish)
    X, y = parsed(text, layout.begin, layout, optional=bool(wish.width))
    columns = layout.columns
    return Dataset(
        text.name,
        X,
        y,
        format=layout.format,
        feature_names=columns.feature_names,
        label_name=columns.label_name,
    )


def layout_of(text: Text, rows: list[detect.Line], wish: Wish) -> Layout:
    """The layout of a table whose first rows are `rows`."""
    delimiter = detect.find_delimiter(rows)
    names = detect.header(rows, delimiter, wish)
    if names is not None and len(rows) == 1:
        raise DataError(f"{text.name} holds only a header, and no rows.")
    begin, first = rows[0] if names is None else rows[1]
    width = len(split(first, delimiter))
    if names is not None and len(names) != width:
        lines = [text.line_number(position) for position, _ in rows[:2]]
        raise DataError(f"{text.name}: line {lines[0]} has {len(names)} fields, but line {lines[1]} has {width}.")
    return Layout(begin, delimiter, width, choose(text.name, names, width, wish))


def parsed(text: Text, begin: int, layout: Layout, *, optional: bool, words: bool = False):
    """Features and labels of the rows from `begin` on; the labels are None where `optional` ones are not there."""
    X, labels = _fields(text, begin, layout, words)
    if labels is None:
        return X, None
    if isinstance(labels, np.ndarray):
        return X, whole_if_possible(labels)
    place = lambda row: text.in_line(text.row_position(row, begin))
    return X, labels_from_text(labels, place, optional=optional, words=words)


def _fields(text: Text, begin: int, layout: Layout, words: bool) -> tuple[np.ndarray, list[str] | np.ndarray | None]:
    given = (text, begin, layout.delimiter, layout.width, layout.columns)
    if is_large(len(text.data) - begin):
        from pegasos.io import fast

        found = fast.table(*given, words)
        if found is not None:
            return found
    return plain.table(*given)
