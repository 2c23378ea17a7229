"""Whether the first row of a table is its header: the names of the columns."""

from __future__ import annotations

import csv
import io
import re
import warnings
from dataclasses import dataclass

from pegasos.io.fields import BLANKS, MISSING, is_number
from pegasos.io.options import ReadOptions
from pegasos.io.text.lines import BLANK, Text, decoded
from pegasos.io.text.records import Dialect, Record

MOST_CHANCE = 3  # numbers 0, 1, 2 at the top of three columns are no row by chance
_WHOLE = re.compile(r"[+-]?[0-9]+", re.A)


@dataclass(frozen=True)
class _Column:
    """A field of the first row, and those below it."""

    field: str
    below: list[str]
    decimal: str

    @property
    def is_word(self) -> bool:
        return is_word(self.field)

    @property
    def is_above_numbers(self) -> bool:
        """Whether a word stands above numbers, which none of a row would."""
        numbers = [field for field in self.below if field.strip(BLANKS) not in MISSING]
        return self.is_word and bool(numbers) and all(is_number(field, self.decimal) for field in numbers)

    @property
    def is_of_another_kind(self) -> bool:
        """Whether a whole number stands above what is none: decimals, or words."""
        return not self.is_word and not any(_WHOLE.fullmatch(field.strip(BLANKS)) for field in self.below)

    @property
    def is_new(self) -> bool:
        """Whether a word does not come again below, where others do."""
        return self.field not in self.below and 2 * len(set(self.below)) <= len(self.below)


def is_word(field: str) -> bool:
    """Whether a field is neither missing nor a number, with a point or a comma."""
    return field.strip(BLANKS) not in MISSING and not is_number(field) and not is_number(field, ",")


def header(text: Text, rows: list[Record], dialect: Dialect, options: ReadOptions) -> list[str] | None:
    """The fields of the first row if they name columns; a warning says so where it could be otherwise."""
    first, below = rows[0][1], [fields for _, fields in rows[1:]]
    if options.header is not None:
        return first if options.header else None
    if not below:
        return first if all(map(is_word, first)) else None
    if _is_quoted_alone(text, rows, dialect):
        return first
    numbers = [field for field in first if is_number(field, dialect.decimal)]
    if len(set(numbers)) < len(numbers) or not all(map(str.isdecimal, numbers)):
        return None  # names may be numbers, as 0, 1, 2, but not just any: a row with a slip in it is no header
    if len(numbers) < len(first) and _asked_for(options) and _asked_for(options) <= set(first):
        return first
    shift = int(dialect.separator == BLANK and len(below[0]) == len(first) + 1)  # an index has no name
    columns = [
        _Column(field, [row[at] for row in below if at < len(row)], dialect.decimal)
        for at, field in enumerate(first, shift)
    ]
    if any(column.is_above_numbers for column in columns):
        return first
    return first if _counts_columns(text.name, columns, bool(shift)) else None


def _asked_for(options: ReadOptions) -> set[str]:
    """Names that a header has to have."""
    label = options.label_column
    named = [label] if isinstance(label, str) and not is_number(label) else []
    return {*named, *(options.feature_names or [])}


def _is_quoted_alone(text: Text, rows: list[Record], dialect: Dialect) -> bool:
    """Whether all fields of the first record are quoted, one without need, and not all of the second."""
    needed = (dialect.separator, '"', "\n", "\r")
    without = any(not any(mark in field for mark in needed) for field in rows[0][1])
    return without and _all_quoted(text, rows, 0, dialect) and not _all_quoted(text, rows, 1, dialect)


def _all_quoted(text: Text, rows: list[Record], number: int, dialect: Dialect) -> bool:
    """Whether all fields of a record are quoted."""
    begin = rows[number][0]
    end = rows[number + 1][0] if number + 1 < len(rows) else text.data.find(b"\n", begin) % (len(text.data) + 1)
    record = decoded(text.data[begin:end])
    if not record.lstrip(BLANKS).startswith('"'):
        return False
    reader = csv.reader(
        io.StringIO(record, newline=""), delimiter=dialect.separator, quoting=csv.QUOTE_NONNUMERIC,
        skipinitialspace=dialect.padded or dialect.separator == BLANK,
    )  # fmt: skip
    try:
        return all(isinstance(field, str) for field in next(reader))
    except (ValueError, csv.Error):  # a word that is not quoted
        return False


def _counts_columns(name: str, columns: list[_Column], indexed: bool) -> bool:
    """Whether whole numbers at the top are names, as pandas gives them: 0, 1, 2, …, or such that no row would have."""
    words = [column for column in columns if column.is_word]
    numbers = [column for column in columns if not column.is_word and column.field.strip(BLANKS)]
    indexed = indexed or not columns[0].field.strip(BLANKS)
    counted = [str(number) for number in range(len(columns))]
    found = [column.field for column in numbers]
    in_turn = found == counted[: len(found)] or all(
        column.field == str(place - indexed) for place, column in enumerate(columns) if column in numbers
    )
    if not numbers or not all(column.is_new for column in words):
        return False
    other = [column.is_of_another_kind for column in numbers]
    if in_turn and (indexed or len(numbers) >= MOST_CHANCE or (any(other) and (words or len(numbers) > 1))):
        if not indexed and not any(other):
            _warn(name, "the names of the columns; --header no if it is a row")
        return True
    if words and all(other):
        return True
    if words or in_turn:
        _warn(name, "a row; --header yes if it names the columns")
    return False


def _warn(name: str, what: str) -> None:
    warnings.warn(f"{name}: the first line is taken as {what}.", UserWarning, stacklevel=2)
