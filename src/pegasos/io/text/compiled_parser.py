"""Large text to numbers: blocks of lines over threads, by compiled loops. The same results as by plain Python.

Tables are read here if no field is quoted and decimals have a point.

The blocks write into arrays that have room for every line and entry there can be; where comments and blank lines left
gaps, what follows is moved up. Besides the text itself, only the memory of the numbers is needed. Numbers that the
compiled loops cannot round for certain are called hard, and are left to Python's float().
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from pegasos.backends.threads import in_parallel
from pegasos.io.fields import bad_number
from pegasos.io.text import python_parser, scan
from pegasos.io.text.layout import TableLayout
from pegasos.io.text.lines import Text, decoded
from pegasos.io.text.python_parser import LibsvmEntries
from pegasos.io.text.records import records
from pegasos.io.text.table_rows import features_of

BLOCK = 1 << 20  # bytes: small enough to give every thread as much
HARD = 64  # hard numbers that a block has room for at first


@dataclass
class _Block:
    """A stretch of whole lines, and what was found in it."""

    begin: int
    end: int
    first_row: int = 0
    first_entry: int = 0
    rows: int = 0
    entries: int = 0
    failed: int = -1  # where the first line begins that is no row
    text: bool = False  # whether a label is text
    rising: bool = True
    hard: np.ndarray = field(default_factory=lambda: np.empty((0, 4), np.int64))


def table_rows(text: Text, layout: TableLayout, text_labels: bool = False):
    """Features and labels of a table: labels as numbers where all are, unless they are to be `text_labels`, or as text.

    None if a line has to be read by plain Python.
    """
    columns, dialect = layout.columns, layout.dialect
    buffer = np.frombuffer(text.data, np.uint8)
    blocks = _blocks(text.data, text.begin)
    n_rows = _count(buffer, blocks, scan.NEWLINE, "first_row", extra=1)
    X = np.empty((n_rows, len(columns.features)))
    labels, spans = _label_room(n_rows if columns.label is not None else 0)
    places = np.full(layout.width, -2)
    places[columns.features] = np.arange(len(columns.features))
    if columns.label is not None:
        places[columns.label] = -1

    def read(block: _Block, hard: np.ndarray) -> int:
        rows = slice(block.first_row, None)
        block.rows, block.failed, block.text, n_hard = scan.scan_table(
            buffer,
            block.begin,
            block.end,
            ord(dialect.separator),
            dialect.padded,
            places,
            X[rows],
            labels[rows],
            spans[rows],
            hard,
        )
        return n_hard

    def set_hard(block: _Block, first: int, last: int, row: int, place: int) -> None:
        column = columns.called(columns.features[place])
        X[block.first_row + row, place] = _hard_value(text, first, last, column)

    def explain(failed: int) -> None:
        for position, fields in islice(records(text, dialect, layout.width, failed), 1):
            features_of(text, position, fields, layout)

    _read_all(blocks, read, buffer.size)
    if not _finished(text, blocks, set_hard, explain):
        return None
    n_rows = _close_gaps(blocks, "first_row", "rows", X, labels, spans)
    X = X[:n_rows]
    if columns.label is None:
        return X, None
    text_labels = text_labels or any(block.text for block in blocks)
    tokens = _label_tokens(text, spans[:n_rows]) if text_labels else labels[:n_rows]
    return None if tokens is None else (X, tokens)


def libsvm_entries(text: Text, text_labels: bool = False) -> LibsvmEntries | None:
    """As `python_parser.libsvm_entries`, with the labels as numbers where all are, unless they are to be `text_labels`.

    None if a line has to be read by `python_parser`.
    """
    buffer = np.frombuffer(text.data, np.uint8)
    blocks = _blocks(text.data, text.begin)
    n_rows = _count(buffer, blocks, scan.NEWLINE, "first_row", extra=1)
    n_entries = _count(buffer, blocks, scan.COLON, "first_entry")
    values, indices = np.empty(n_entries), np.empty(n_entries, np.int32)
    lengths = np.empty(n_rows, np.int64)
    labels, spans = _label_room(n_rows)

    def read(block: _Block, hard: np.ndarray) -> int:
        rows, entries = slice(block.first_row, None), slice(block.first_entry, None)
        block.rows, block.entries, block.failed, block.text, block.rising, n_hard = scan.scan_entries(
            buffer, block.begin, block.end, values[entries], indices[entries], lengths[rows], labels[rows],
            spans[rows], hard
        )  # fmt: skip
        return n_hard

    def set_hard(block: _Block, first: int, last: int, _: int, entry: int) -> None:
        entry += block.first_entry
        values[entry] = _hard_value(text, first, last, f"feature {indices[entry]}")

    def explain(failed: int) -> None:
        for row in islice(text.rows(failed), 1):  # none if what failed is a blank that only Python knows
            python_parser.libsvm_row(text, *row)

    _read_all(blocks, read, buffer.size)
    if not _finished(text, blocks, set_hard, explain):
        return None
    n_rows = _close_gaps(blocks, "first_row", "rows", lengths, labels, spans)
    n_entries = _close_gaps(blocks, "first_entry", "entries", values, indices)
    found: list | np.ndarray = labels[:n_rows]
    if text_labels or any(block.text for block in blocks):
        tokens = _label_tokens(text, spans[:n_rows])
        if tokens is None or any(token and token.split() != [token] for token in set(tokens)):
            return None  # a blank that only Python knows ends a label, or is a whole line
        found = [token or None for token in tokens]
    rising = all(block.rising for block in blocks)
    return LibsvmEntries(values[:n_entries], indices[:n_entries], lengths[:n_rows], found, rising)


def _blocks(data: bytes, begin: int) -> list[_Block]:
    """The text in blocks of about BLOCK bytes that end with a line."""
    blocks = []
    while begin < len(data):
        end = data.find(b"\n", begin + BLOCK) + 1 or len(data)
        blocks.append(_Block(begin, end))
        begin = end
    return blocks


def _count(buffer: np.ndarray, blocks: list[_Block], byte: int, first: str, extra: int = 0) -> int:
    """Give each block as much room as it has such bytes, and the last `extra` more; the room of all.

    The last line may lack its end, so that there is one row more than there are newlines.
    """
    counts = [0] * len(blocks)

    def count(begin: int, end: int) -> None:
        for number in range(begin, end):
            counts[number] = scan.count(buffer, blocks[number].begin, blocks[number].end, byte)

    in_parallel(count, len(blocks), buffer.size)
    room = 0
    for block, counted in zip(blocks, counts, strict=True):
        setattr(block, first, room)
        room += counted
    return room + extra


def _label_room(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n_rows), np.empty((n_rows, 2), np.int64)


def _read_all(blocks: list[_Block], read: Callable[[_Block, np.ndarray], int], size: int) -> None:
    """Read all blocks, each up to a line that is no row."""

    def work(begin: int, end: int) -> None:
        for block in blocks[begin:end]:
            hard = np.empty((HARD, 4), np.int64)
            n_hard = read(block, hard)
            if n_hard > len(hard):  # rare: read the block again with room for all
                hard = np.empty((n_hard, 4), np.int64)
                read(block, hard)
            block.hard = hard[:n_hard]
            if block.failed >= 0:
                return

    in_parallel(work, len(blocks), size)


def _finished(text: Text, blocks: list[_Block], set_hard: Callable, explain: Callable) -> bool:
    """Set the hard numbers and, by `explain`, raise the error for a line that is no row, in the order of the file.

    False if no error was raised for such a line: `python_parser` can read it.
    """
    for block in blocks:
        for first, last, row, place in block.hard.tolist():
            if block.failed < 0 or first < block.failed:
                set_hard(block, first, last, row, place)
        if block.failed >= 0:
            explain(block.failed)
            return False
    return True


def _hard_value(text: Text, first: int, last: int, column: str) -> float:
    """The number in these bytes, as float() reads it."""
    token = text.data[first:last].decode("ascii")
    value = float(token)
    if abs(value) == float("inf"):
        raise bad_number(text.name, column, token, f"line {text.line_number(first)}")
    return value


def _close_gaps(blocks: list[_Block], first: str, found: str, *arrays: np.ndarray) -> int:
    """Move what was read of all blocks together; how long it is."""
    length = 0
    for block in blocks:
        begin, size = getattr(block, first), getattr(block, found)
        if begin != length:
            for array in arrays:
                if len(array):
                    array[length : length + size] = array[begin : begin + size]
        length += size
    return length


def _label_tokens(text: Text, spans: np.ndarray) -> list[str] | None:
    """Labels as text, empty where there are none; None if one holds a lone return, which Python takes as a blank."""
    known: dict[bytes, str] = {}
    tokens = []
    for first, last in spans.tolist():
        token = text.data[first:last]
        if token not in known:
            known[token] = decoded(token)
        tokens.append(known[token])
    return None if any("\r" in label for label in known.values()) else tokens
