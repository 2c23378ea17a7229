"""Large text to numbers: pieces of the file, split at line ends, over threads. The same results as `plain`.

The pieces write into arrays that have room for every line and entry there can be; where comments and blank lines left
gaps, what follows is moved up. Only so many bytes are needed as the numbers take, besides the file itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from pegasos.backends.threads import in_parallel
from pegasos.io import plain, scan
from pegasos.io.columns import Columns
from pegasos.io.text import Text, decoded, split

PIECE = 1 << 20  # bytes: small enough to give every thread as much
HARD = 64  # numbers for float() that a piece has room for at first


@dataclass
class _Piece:
    """A stretch of whole lines, and what was found in it."""

    begin: int
    end: int
    first_row: int = 0
    first_entry: int = 0
    rows: int = 0
    entries: int = 0
    failed: int = -1
    text: bool = False
    rising: bool = True
    hard: np.ndarray = field(default_factory=lambda: np.empty((0, 4), np.int64))


def table(text: Text, begin: int, delimiter: str, width: int, columns: Columns, words: bool = False):
    """As `plain.table`, with the labels as numbers where all are, unless they are to be `words`.

    None if a line has to be read by `plain`.
    """
    buffer = np.frombuffer(text.data, np.uint8)
    pieces = _pieces(text.data, begin)
    n_rows = _count(buffer, pieces, scan.NEWLINE, "first_row", extra=1)
    X = np.empty((n_rows, len(columns.features)))
    labels, spans = _label_room(n_rows if columns.label is not None else 0)
    places = np.full(width, -2)
    places[columns.features] = np.arange(len(columns.features))
    if columns.label is not None:
        places[columns.label] = -1

    def read(piece: _Piece, hard: np.ndarray) -> int:
        rows = slice(piece.first_row, None)
        piece.rows, piece.failed, piece.text, n_hard = scan.scan_table(
            buffer, piece.begin, piece.end, ord(delimiter), places, X[rows], labels[rows], spans[rows], hard
        )
        return n_hard

    def settle(piece: _Piece, first: int, last: int, row: int, place: int) -> None:
        column = columns.called(columns.features[place])
        X[piece.first_row + row, place] = _hard_value(text, first, last, column)

    def complain(position: int, line: str) -> None:
        plain.table_row(text, position, split(line, delimiter), width, columns)

    _read_all(pieces, read, buffer.size)
    if not _settled(text, pieces, settle, complain):
        return None
    n_rows = _close_gaps(pieces, "first_row", "rows", X, labels, spans)
    X = X[:n_rows]
    if columns.label is None:
        return X, None
    words = words or any(piece.text for piece in pieces)
    return X, _label_tokens(text, spans[:n_rows]) if words else labels[:n_rows]


def pairs(text: Text, words: bool = False) -> plain.Pairs | None:
    """As `plain.pairs`, with the labels as numbers where all are, unless they are to be `words`.

    None if a line has to be read by `plain`.
    """
    buffer = np.frombuffer(text.data, np.uint8)
    pieces = _pieces(text.data, text.begin)
    n_rows = _count(buffer, pieces, scan.NEWLINE, "first_row", extra=1)
    n_entries = _count(buffer, pieces, scan.COLON, "first_entry")
    values, indices = np.empty(n_entries), np.empty(n_entries, np.int32)
    lengths = np.empty(n_rows, np.int64)
    labels, spans = _label_room(n_rows)

    def read(piece: _Piece, hard: np.ndarray) -> int:
        rows, entries = slice(piece.first_row, None), slice(piece.first_entry, None)
        piece.rows, piece.entries, piece.failed, piece.text, piece.rising, n_hard = scan.scan_pairs(
            buffer, piece.begin, piece.end, values[entries], indices[entries], lengths[rows], labels[rows],
            spans[rows], hard
        )  # fmt: skip
        return n_hard

    def settle(piece: _Piece, first: int, last: int, _: int, entry: int) -> None:
        entry += piece.first_entry
        values[entry] = _hard_value(text, first, last, f"feature {indices[entry]}")

    _read_all(pieces, read, buffer.size)
    if not _settled(text, pieces, settle, lambda position, line: plain.pairs_row(text, position, line)):
        return None
    n_rows = _close_gaps(pieces, "first_row", "rows", lengths, labels, spans)
    n_entries = _close_gaps(pieces, "first_entry", "entries", values, indices)
    found: list | np.ndarray = labels[:n_rows]
    if words or any(piece.text for piece in pieces):
        found = [token or None for token in _label_tokens(text, spans[:n_rows])]
    rising = all(piece.rising for piece in pieces)
    return plain.Pairs(values[:n_entries], indices[:n_entries], lengths[:n_rows], found, rising)


def _pieces(data: bytes, begin: int) -> list[_Piece]:
    """The file in pieces of about PIECE bytes that end with a line."""
    pieces = []
    while begin < len(data):
        end = data.find(b"\n", begin + PIECE) + 1 or len(data)
        pieces.append(_Piece(begin, end))
        begin = end
    return pieces


def _count(buffer: np.ndarray, pieces: list[_Piece], byte: int, first: str, extra: int = 0) -> int:
    """Give each piece as much room as it has such bytes, the last `extra` more: its line may not end. All the room."""
    counts = [0] * len(pieces)

    def count(begin: int, end: int) -> None:
        for number in range(begin, end):
            counts[number] = scan.count(buffer, pieces[number].begin, pieces[number].end, byte)

    in_parallel(count, len(pieces), buffer.size)
    room = 0
    for piece, counted in zip(pieces, counts, strict=True):
        setattr(piece, first, room)
        room += counted
    return room + extra


def _label_room(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n_rows), np.empty((n_rows, 2), np.int64)


def _read_all(pieces: list[_Piece], read: Callable[[_Piece, np.ndarray], int], size: int) -> None:
    """Read all pieces, each up to a line that is no row."""

    def work(begin: int, end: int) -> None:
        for piece in pieces[begin:end]:
            hard = np.empty((HARD, 4), np.int64)
            n_hard = read(piece, hard)
            if n_hard > len(hard):  # rare: read the piece again with room for all
                hard = np.empty((n_hard, 4), np.int64)
                read(piece, hard)
            piece.hard = hard[:n_hard]
            if piece.failed >= 0:
                return

    in_parallel(work, len(pieces), size)


def _settled(text: Text, pieces: list[_Piece], settle: Callable, complain: Callable) -> bool:
    """Settle hard numbers, and complain of a line that is no row, in the order of the file.

    False if there was nothing to complain of after all: `plain` can read the line.
    """
    for piece in pieces:
        for first, last, row, place in piece.hard.tolist():
            if piece.failed < 0 or first < piece.failed:
                settle(piece, first, last, row, place)
        if piece.failed >= 0:
            for row in islice(text.rows(piece.failed), 1):  # none if what failed is a blank that only Python knows
                complain(*row)
            return False
    return True


def _hard_value(text: Text, first: int, last: int, column: str) -> float:
    """The number that only float() can tell."""
    token = text.data[first:last].decode("ascii")
    value = float(token)
    if abs(value) == float("inf"):
        raise plain.no_number(text.name, column, token, f"line {text.line_number(first)}")
    return value


def _close_gaps(pieces: list[_Piece], first: str, found: str, *arrays: np.ndarray) -> int:
    """Move the parts of all pieces together; how long they are."""
    length = 0
    for piece in pieces:
        begin, size = getattr(piece, first), getattr(piece, found)
        if begin != length:
            for array in arrays:
                if len(array):
                    array[length : length + size] = array[begin : begin + size]
        length += size
    return length


def _label_tokens(text: Text, spans: np.ndarray) -> list:
    """Labels as text, empty where there are none."""
    known: dict[bytes, str] = {}
    tokens = []
    for first, last in spans.tolist():
        token = text.data[first:last]
        if token not in known:
            known[token] = decoded(token)
        quoted = b'"' in token and text.data[first - 1 : first] == b'"'
        tokens.append(known[token].replace('""', '"') if quoted else known[token])
    return tokens
