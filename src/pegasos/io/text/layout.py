"""What the first rows of a text file tell: LIBSVM or a table, and the delimiter, header and columns of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pegasos.io.columns import Columns, choose_columns
from pegasos.io.dataset import DataError
from pegasos.io.fields import MISSING, is_number
from pegasos.io.options import ReadOptions
from pegasos.io.text.lines import BLANK, Text, split

SAMPLE_LINES, SAMPLE_BYTES = 50, 1 << 16  # what is enough to tell
_ENTRY = re.compile(r"(?:[0-9]+|qid):\S*", re.A)

Line = tuple[int, str]  # its position in the text, and the line


@dataclass(frozen=True)
class TableLayout:
    """How a table is laid out, which holds for all of its rows."""

    begin: int  # where they begin in the text
    delimiter: str
    width: int
    columns: Columns

    @property
    def format(self) -> str:
        """What a table of this kind is called."""
        return "text" if self.delimiter == BLANK else "csv"


def first_rows(text: Text) -> list[Line]:
    """The first rows with their positions: at least a few, however long they are, but not a whole large file."""
    rows = []
    for position, line in text.rows():
        rows.append((position, line))
        if _is_enough(rows):
            break
    if not rows:
        raise DataError(f"{text.name} is empty: it holds no rows.")
    return rows


def has_first_rows(text: Text) -> bool:
    """Whether the beginning of a file holds all of its `first_rows`: more of the file would not change them."""
    return any(True for _ in text.rows()) and _is_enough(first_rows(text))


def _is_enough(rows: list[Line]) -> bool:
    return len(rows) >= SAMPLE_LINES or (len(rows) >= 3 and rows[-1][0] > SAMPLE_BYTES)


def is_libsvm(rows: list[Line]) -> bool:
    """Whether most fields are entries `index:value`; lines with others are then errors to be named."""
    entries = others = 0
    for _, line in rows:
        tokens = line.partition("#")[0].split()
        matches = [_ENTRY.fullmatch(token) is not None for token in tokens]
        entries += sum(matches)
        others += len(matches) - sum(matches) - (not matches[0])
    return entries > others


def table_layout(text: Text, rows: list[Line], options: ReadOptions) -> TableLayout:
    """The layout of a table whose first rows are `rows`."""
    delimiter = find_delimiter(rows)
    names = header(rows, delimiter, options)
    if names is not None and len(rows) == 1:
        raise DataError(f"{text.name} holds only a header, and no rows.")
    begin, first = rows[0] if names is None else rows[1]
    width = len(split(first, delimiter))
    if names is not None and len(names) != width:
        lines = [text.line_number(position) for position, _ in rows[:2]]
        raise DataError(f"{text.name}: line {lines[0]} has {len(names)} fields, but line {lines[1]} has {width}.")
    return TableLayout(begin, delimiter, width, choose_columns(text.name, names, width, options))


def find_delimiter(rows: list[Line]) -> str:
    """The delimiter that makes the most fields numbers."""
    lines = [line.strip("\r") for _, line in rows]
    semicolons = {line.count(";") for line in lines}
    if len(semicolons) == 1 and semicolons != {0}:  # also where decimals are written with a comma
        return ";"
    candidates = [mark for mark in ",;\t" if any(mark in line for line in lines)]
    if all(line.endswith("\t") for line in lines) or all(line.startswith("\t") for line in lines):
        candidates = [mark for mark in candidates if mark != "\t"]  # tabs around lines are no empty columns
    scores = [sum(is_number(field) for line in lines for field in split(line, mark)) for mark in [*candidates, BLANK]]
    return [*candidates, BLANK][scores.index(max(scores))]


def header(rows: list[Line], delimiter: str, options: ReadOptions) -> list[str] | None:
    """The fields of the first line if they are the names of columns: text above numbers, or names in the options."""
    table = [split(line, delimiter) for _, line in rows]
    first = table[0]
    numbers = [field for field in first if is_number(field)]
    if len(numbers) == len(first) or len(set(numbers)) < len(numbers) or not all(map(str.isdecimal, numbers)):
        return None  # names may be numbers, as 0, 1, 2, but not just any: a row with a slip in it is no header
    if len(table) == 1:
        return first if all(_is_word(field) for field in first) else None
    label = options.label_column
    asked = [label] if isinstance(label, str) and not is_number(label) else []
    asked += options.feature_names or []
    if asked and set(asked) <= set(first):
        return first
    for column, field in enumerate(first):
        below = [row[column] for row in table[1:] if column < len(row) and row[column] not in MISSING]
        if _is_word(field) and below and all(is_number(other) for other in below):
            return first
    return None


def _is_word(field: str) -> bool:
    return field not in MISSING and not is_number(field)
