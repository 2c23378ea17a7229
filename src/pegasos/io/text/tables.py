"""Tables in text: CSV, TSV, semicolons, bars, and fields separated by any run of spaces and tabs.

`table_values` is the one place where the text of a table becomes rows and labels; which parser does it is decided here
and nowhere else: Python's csv module for small tables; of large ones, ours for plain numbers and pyarrow for the rest.
"""

from __future__ import annotations

import numpy as np

from pegasos.io.labels import labels_from_text, whole_if_possible
from pegasos.io.text import table_rows
from pegasos.io.text.layout import TableLayout
from pegasos.io.text.lines import Text, is_large


def table_values(text: Text, layout: TableLayout, *, optional: bool = False, text_labels: bool = False):
    """Features and labels of the rows of a table, from where `text` begins on.

    The labels are None if the table has no label column, or if they are `optional` and missing in every row; they stay
    text with `text_labels`.
    """
    X, labels = _parsed(text, layout, text_labels)
    if labels is None:
        return X, None
    if isinstance(labels, np.ndarray):
        return X, whole_if_possible(labels)
    place = lambda row: table_rows.in_row(text, layout, row)
    decimal = layout.dialect.decimal
    return X, labels_from_text(labels, place, optional=optional, text_labels=text_labels, decimal=decimal)


def _parsed(text: Text, layout: TableLayout, text_labels: bool) -> tuple[np.ndarray, list[str] | np.ndarray | None]:
    """Features, and labels as text or, where all of them are, as numbers."""
    parsed = None
    if is_large(text):
        if layout.dialect.decimal == "." and text.data.find(b'"', text.begin) < 0:
            from pegasos.io.text import compiled_parser

            parsed = compiled_parser.table_rows(text, layout, text_labels)
        else:
            from pegasos.io.text import arrow_parser

            parsed = arrow_parser.table_rows(text, layout)
    return table_rows.table_rows(text, layout) if parsed is None else parsed
