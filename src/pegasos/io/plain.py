"""Text to numbers in plain Python: for small files, and to say what is wrong with a line.

`fast` gives the same for large files. Small ones do not wait for Numba, which takes longer to load than they to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from pegasos.io.base import DataError
from pegasos.io.columns import Columns
from pegasos.io.text import Text, no_number, number, split

_PAIR = re.compile(r"([0-9]+):(.*)", re.A | re.S)
LARGEST_INDEX = 2**31 - 2  # scipy's sparse matrices count columns in 32 bits


@dataclass
class Pairs:
    """What LIBSVM lines hold: entries row by row, indices as written, and each row's label (None: it has none)."""

    values: np.ndarray
    indices: np.ndarray
    lengths: np.ndarray
    labels: list[str | None] | np.ndarray  # text, or numbers where all labels are
    rising: bool = False  # whether the indices of every row are known to rise


@dataclass
class _Entries:
    values: list[float] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)


def table(text: Text, begin: int, delimiter: str, width: int, columns: Columns) -> tuple[np.ndarray, list[str] | None]:
    """Features and label fields of a table whose rows begin at `begin`."""
    rows: list[list[float]] = []
    labels: list[str] = []
    for position, line in text.rows(begin):
        fields = split(line, delimiter)
        rows.append(table_row(text, position, fields, width, columns))
        if columns.label is not None:
            labels.append(fields[columns.label])
    X = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns.features))
    return X, None if columns.label is None else labels


def table_row(text: Text, position: int, fields: list[str], width: int, columns: Columns) -> list[float]:
    """The features in one line."""
    if len(fields) != width:
        line = text.line_number(position)
        open_quote = any(f.startswith('"') for f in fields)
        hint = "; a quoted field must end in its line" if open_quote else ""
        raise DataError(f"{text.name}: line {line} has {len(fields)} fields, but the first row has {width}{hint}.")
    values = []
    for column in columns.features:
        value = number(fields[column])
        if value is None:
            place = f"line {text.line_number(position)}"
            raise no_number(text.name, columns.called(column), fields[column], place)
        values.append(value)
    return values


def pairs(text: Text) -> Pairs:
    """All rows of a LIBSVM file."""
    entries, lengths = _Entries(), []
    labels: list[str | None] = []
    for position, line in text.rows():
        before = len(entries.values)
        labels.append(pairs_row(text, position, line, entries))
        lengths.append(len(entries.values) - before)
    return Pairs(
        np.array(entries.values, np.float64), np.array(entries.indices, np.int32), np.array(lengths, np.int64), labels
    )


def pairs_row(text: Text, position: int, line: str, entries: _Entries | None = None) -> str | None:
    """Add the entries of one line to `entries`; its label, or None."""
    entries = _Entries() if entries is None else entries
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
        match = _PAIR.fullmatch(token)
        if match is None:
            raise DataError(
                f"{text.in_line(position)}, {_shown(token)} is not an entry index:value of the LIBSVM format."
            )
        index, value = int(match[1]), number(match[2])
        if index > LARGEST_INDEX:
            raise DataError(f"{text.in_line(position)}, the feature index {_shown(match[1])} is too large.")
        if value is None:
            raise no_number(text.name, f"feature {index}", match[2], f"line {text.line_number(position)}")
        entries.indices.append(index)
        entries.values.append(value)
    return label


def _shown(token: str) -> str:
    return repr(token if len(token) <= 40 else token[:39] + "…")
