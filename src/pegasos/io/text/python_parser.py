"""LIBSVM text to numbers in plain Python: for small files, and to say what is wrong with a line.

`compiled_parser` gives the same for large files. Small ones do not wait for Numba, which takes longer to load than they
take to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from pegasos.io.dataset import DataError
from pegasos.io.fields import bad_number, finite_number
from pegasos.io.text.lines import Text

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
