"""What the first rows of a text file tell: LIBSVM or a table, and the dialect, header and columns of a table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from pegasos.io.columns import COUNTS, NAMES, Columns, choose_columns
from pegasos.io.dataset import DataError
from pegasos.io.fields import BLANKS
from pegasos.io.options import ReadOptions
from pegasos.io.text.dialect import SAMPLE_BYTES, SAMPLE_LINES, find_dialect, first_records, is_enough
from pegasos.io.text.header import header, is_word
from pegasos.io.text.lines import BLANK, Text
from pegasos.io.text.records import ANY, Dialect, Record, records

LEAST_COUNTED, LEAST_NAMED = 8, 3  # rows in which a first column that counts or names them does so by no chance
_ENTRY = re.compile(r"(?:[0-9]+|qid):\S*", re.A)

Line = tuple[int, str]  # its position in the text, and the line


@dataclass(frozen=True)
class TableLayout:
    """How a table is laid out, which holds for all of its rows."""

    begin: int  # where they begin in the text
    dialect: Dialect
    width: int
    columns: Columns

    @property
    def format(self) -> str:
        """What a table of this kind is called."""
        return "text" if self.dialect.separator == BLANK else "csv"


def first_rows(text: Text) -> list[Line]:
    """The first rows with their positions: at least a few, however long they are, but not a whole large file."""
    rows = []
    for position, line in text.rows():
        rows.append((position, line))
        if is_enough(rows):
            break
    return rows


def has_first_rows(text: Text) -> bool:
    """Whether the beginning of a file holds all of its `first_rows`: more of the file would not change them."""
    return is_enough(first_rows(text))


def is_libsvm(rows: list[Line]) -> bool:
    """Whether most fields are entries `index:value`; lines with others are then errors to be named."""
    entries = others = 0
    for _, line in rows:
        tokens = line.partition("#")[0].split()
        matches = [_ENTRY.fullmatch(token) is not None for token in tokens]
        entries += sum(matches)
        others += len(matches) - sum(matches) - (not matches[0])
    return entries > others


def table_layout(text: Text, lines: list[Line], options: ReadOptions) -> TableLayout:
    """The layout of a table whose first lines, without comments, are `lines`."""
    shown = [line for _, line in lines] or _lines(text)
    judged = find_dialect(text, shown, options, None if lines else ANY)
    dialect, rows = judged.dialect, judged.rows
    sample = text.data[text.begin : rows[-1][0] if rows else len(text.data)]
    if not lines or b"#" in sample:  # what was a comment may be a row
        widths = [len(fields) for _, fields in rows[1:] or rows]
        rows = first_records(text, dialect, Counter(widths).most_common(1)[0][0] if widths else None)
    if not rows:
        next(records(text, dialect), None)  # raises an error if there is one
        raise DataError(f"{text.name} is empty: it holds no rows.")
    names = header(text, rows, dialect, options)
    if names is not None:
        names, rows = _checked(text, names, rows, dialect), rows[1:]
    width = len(rows[0][1])
    first = _first_column([fields[0] for _, fields in rows])
    return TableLayout(rows[0][0], dialect, width, choose_columns(text.name, names, width, options, first))


def _lines(text: Text) -> list[str]:
    """The first lines that are not blank."""
    head = text.data[text.begin : text.begin + SAMPLE_BYTES].decode("utf-8", "replace")
    return [line for line in head.split("\n")[:SAMPLE_LINES] if line.strip()]


def _checked(text: Text, names: list[str], rows: list[Record], dialect: Dialect) -> list[str]:
    """The names of the columns, one for each: in text with blanks, an index has none."""
    if len(rows) == 1:
        raise DataError(f"{text.name} holds only a header, and no rows.")
    width = len(rows[1][1])
    if dialect.separator == BLANK and len(names) == width - 1:
        names = ["", *names]
    if len(names) != width:
        lines = [text.line_number(position) for position, _ in rows[:2]]
        raise DataError(f"{text.name}: line {lines[0]} has {len(names)} fields, but line {lines[1]} has {width}.")
    return [name.strip(BLANKS) for name in names]


def _first_column(fields: list[str]) -> str | None:
    """What the first fields of the rows do to them, which an index does: count them, or give each its own name."""
    numbers = [str(number) for number in range(len(fields) + 1)]
    if len(fields) >= LEAST_COUNTED and [field.strip(BLANKS) for field in fields] in (numbers[:-1], numbers[1:]):
        return COUNTS
    named = len(set(fields)) == len(fields) >= LEAST_NAMED and all(map(is_word, fields))
    return NAMES if named else None
