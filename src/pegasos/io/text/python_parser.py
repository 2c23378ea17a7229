"""Text to numbers in plain Python: for small files, and to say what is wrong with a line.

`compiled_parser` gives the same for large files. Small ones do not wait for Numba, which takes longer to load than they
take to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from pegasos.io.dataset import DataError
from pegasos.io.fields import bad_number, finite_number
from pegasos.io.text.layout import TableLayout
from pegasos.io.text.lines import Text, split

_ENTRY = re.compile(r"([0-9]+):(.*)", re.A | re.S)
LARGEST_INDEX = 2**31 - 2  # scipy's sparse matrices count columns in 32 bits


@dataclass
class LibsvmEntries:
    """The entries of LIBSVM lines, row by row, with indices as they are written, and the labels of the rows."""

    values: np.ndarray
    indices: np.ndarray
    lengths: np.ndarray  # entries of each row
    labels: list[str | None] | np.ndarray  # text, None for rows without one; or numbers, where all labels are
    rising: bool = False  # whether the indices of every row are known to rise


@dataclass
class _EntryLists:
    values: list[float] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)


def table_rows(text: Text, layout: TableLayout) -> tuple[np.ndarray, list[str] | None]:
    """Features and label fields of the rows of a table."""
    columns = layout.columns
    rows: list[list[float]] = []
    labels: list[str] = []
    for position, line in text.rows():
        fields = split(line, layout.delimiter)
        rows.append(table_row(text, position, fields, layout))
        if columns.label is not None:
            labels.append(fields[columns.label])
    X = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns.features))
    return X, None if columns.label is None else labels


def table_row(text: Text, position: int, fields: list[str], layout: TableLayout) -> list[float]:
    """The features in the fields of the line at a position."""
    width, columns = layout.width, layout.columns
    if len(fields) != width:
        line = text.line_number(position)
        open_quote = any(f.startswith('"') for f in fields)
        hint = "; a quoted field must end in its line" if open_quote else ""
        raise DataError(f"{text.name}: line {line} has {len(fields)} fields, but the first row has {width}{hint}.")
    values = []
    for column in columns.features:
        value = finite_number(fields[column])
        if value is None:
            place = f"line {text.line_number(position)}"
            raise bad_number(text.name, columns.called(column), fields[column], place)
        values.append(value)
    return values


def libsvm_entries(text: Text) -> LibsvmEntries:
    """All rows of LIBSVM text."""
    entries, lengths = _EntryLists(), []
    labels: list[str | None] = []
    for position, line in text.rows():
        before = len(entries.values)
        labels.append(libsvm_row(text, position, line, entries))
        lengths.append(len(entries.values) - before)
    return LibsvmEntries(
        np.array(entries.values, np.float64), np.array(entries.indices, np.int32), np.array(lengths, np.int64), labels
    )


def libsvm_row(text: Text, position: int, line: str, entries: _EntryLists | None = None) -> str | None:
    """The label in the line at a position, or None; its entries are added to `entries`."""
    entries = _EntryLists() if entries is None else entries
    tokens = line.partition("#")[0].replace("\r", " ").split()
    label = None
    if ":" not in tokens[0]:
        label = tokens.pop(0)
        if "," in label:
            raise DataError(
                f"{text.in_line(position)}, the row has several labels ({label!r}); one label a row is needed."
            )
    for token in tokens:
        if token.startswith("qid:"):
            continue
        match = _ENTRY.fullmatch(token)
        if match is None:
            raise DataError(
                f"{text.in_line(position)}, {_shown(token)} is not an entry index:value of the LIBSVM format."
            )
        index, value = int(match[1]), finite_number(match[2])
        if index > LARGEST_INDEX:
            raise DataError(f"{text.in_line(position)}, the feature index {_shown(match[1])} is too large.")
        if value is None:
            raise bad_number(text.name, f"feature {index}", match[2], f"line {text.line_number(position)}")
        entries.indices.append(index)
        entries.values.append(value)
    return label


def _shown(token: str) -> str:
    return repr(token if len(token) <= 40 else token[:39] + "…")
