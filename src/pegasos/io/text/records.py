"""Records of a table in text, split into fields by Python's csv module: a quoted field may hold anything."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from pegasos.io.dataset import DataError
from pegasos.io.fields import is_number
from pegasos.io.text.lines import BLANK, Text, decoded, end_of_line

ANY = -1  # a width by which no line is a comment
Record = tuple[int, list[str]]  # where it begins in the text, and its fields


@dataclass(frozen=True)
class Dialect:
    """How the fields of a table are written."""

    separator: str  # BLANK: any run of spaces and tabs
    decimal: str = "."
    padded: bool = False  # whether blanks stand around fields, which are no part of them


def records(text: Text, dialect: Dialect, width: int | None = None, begin: int | None = None) -> Iterator[Record]:
    """The records of a table, from `begin` on, without blank lines and comments.

    A line that begins with # is a comment unless it has the `width` of the table and looks like a row, or the width
    is ANY.
    """
    lines = _Lines(text, dialect, width, text.begin if begin is None else begin)
    blanks = " \t\r" if dialect.separator != "\t" else " \r"
    try:
        for fields in _reader(lines, dialect):
            if lines.open:
                raise _not_closed(text, lines.begin)
            lines.between = True
            yield lines.begin, [field.strip(blanks) for field in fields] if dialect.padded else fields
    except csv.Error:  # a field that is longer than the module allows
        if b'"' in text.data[lines.begin : lines.at]:
            raise _not_closed(text, lines.begin) from None
        most, line = csv.field_size_limit(), text.line_number(lines.begin)
        raise DataError(f"{text.name}: line {line} has a field of more than {most} characters.") from None


def _looks_like_row(fields: list[str], width: int) -> bool:
    """Whether the fields of a line that begins with # are a row: as many as there are columns, and a number in them."""
    numbers = any(is_number(field) or is_number(field, ",") for field in fields[1:])
    return len(fields) == width and numbers


def _reader(lines, dialect: Dialect):
    loose = dialect.padded or dialect.separator == BLANK
    return csv.reader(lines, delimiter=dialect.separator, skipinitialspace=loose)


def _not_closed(text: Text, position: int) -> DataError:
    rule = "; read in pieces, it has to end in its line (--stream no reads the file whole)" if text.in_pieces else ""
    return DataError(f"{text.name}: line {text.line_number(position)} has a quoted field that does not end{rule}.")


class _Lines:
    """The lines of a text for csv.reader, which asks for a further one within a quoted field only."""

    def __init__(self, text: Text, dialect: Dialect, width: int | None, begin: int):
        self.text, self.dialect, self.width, self.at = text, dialect, width, begin
        self.begin = begin  # of the record
        self.between = True  # whether the next line begins a record
        self.open = False  # whether the text ended within a record

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        while self.at < len(self.text.data):
            position, line = self.at, self._line()
            if self.between:
                if self._left_out(line):
                    continue
                self.begin = position
            line = self._plain_blanks(line)
            self.between = False
            return line + "\n"
        self.open = not self.between
        raise StopIteration

    def _line(self) -> str:
        end = end_of_line(self.text, self.at)
        line = decoded(self.text.data[self.at : end])
        self.at = end + 1
        return line

    def _left_out(self, line: str) -> bool:
        """Whether a line between records is blank or a comment."""
        stripped = line.strip()
        if not stripped or stripped[0] != "#":
            return not stripped
        if self.width is None or self.width == ANY:
            return self.width is None
        fields = next(_reader([self._plain_blanks(line)], self.dialect))
        return (self.dialect.separator == BLANK and fields[0] == "#") or not _looks_like_row(fields, self.width)

    def _plain_blanks(self, line: str) -> str:
        """A line with the blanks that csv.reader takes: outside of quotes single returns and, as separators, tabs."""
        if self.dialect.separator != BLANK:
            return line.replace("\r", " ").rstrip(" ") if "\r" in line[:-1] and '"' not in line else line
        parts = line.split('"')  # every second one is quoted, and so is the first in the middle of a record
        for number in range(0 if self.between else 1, len(parts), 2):
            parts[number] = parts[number].replace("\t", " ").replace("\r", " ")
        if (len(parts) % 2 == 1) == self.between:
            parts[-1] = parts[-1].rstrip(" ")
        return '"'.join(parts)
