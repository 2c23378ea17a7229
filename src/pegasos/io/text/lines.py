"""The lines of a text file: where they are, and how they split into fields."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pegasos.io.detect import HEAD, check_is_text

BLANK = " "  # the delimiter of text whose fields are separated by any run of spaces and tabs
SMALL = 1 << 18  # bytes that plain Python reads in less time than Numba takes to load
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTED = re.compile(r'"((?:[^"]|"")*)"[ \t\r]*')
_QUOTED_BLANK = re.compile(r'"((?:[^"]|"")*)"(?=[ \t]|$)|([^ \t]+)')


@dataclass(frozen=True)
class Text:
    """The bytes of a text file, or of some of its lines, from `begin` on."""

    name: str
    data: bytes
    begin: int = 0
    lines_before: Callable[[], int] = int  # of the file; a function, as only errors ask and counting reads the file

    def rows(self, begin: int | None = None) -> Iterator[tuple[int, str]]:
        """(position, line) of all lines that are neither blank nor a comment."""
        at = self.begin if begin is None else begin
        data, size = self.data, len(self.data)
        while at < size:
            end = data.find(b"\n", at)
            end = size if end < 0 else end
            line = decoded(data[at:end]).strip("\r")
            stripped = line.strip()
            if stripped and stripped[0] != "#":
                yield at, line
            at = end + 1

    def row_position(self, row: int) -> int:
        """Where a row begins, the first being 0."""
        return next(position for number, (position, _) in enumerate(self.rows()) if number == row)

    def line_number(self, position: int) -> int:
        """The number in the file of the line at a position, the first being 1."""
        return self.lines_before() + self.data.count(b"\n", 0, position) + 1

    def in_line(self, position: int) -> str:
        """The beginning of a sentence about the line at a position."""
        return f"{self.name}: in line {self.line_number(position)}"


def as_text(name: str, data: bytes) -> Text:
    """The text in all bytes of a file, or in its beginning, or a DataError if it is none."""
    check_is_text(name, data)
    head = data[: 8 * HEAD]
    if b"\r" in head and b"\n" not in head and b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # lines as old Macs end them
    return Text(name, data, len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0)


def is_large(text: Text) -> bool:
    """Whether compiled loops are worth loading; interpreted ones (NUMBA_DISABLE_JIT) are slower than plain Python."""
    return len(text.data) - text.begin >= SMALL and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def decoded(data: bytes) -> str:
    """Text in UTF-8, or in Latin-1 where it is not: the numbers are the same in both."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split(line: str, delimiter: str) -> list[str]:
    """The fields of a line without the blanks and quotes around them."""
    if '"' in line:
        return _split_quoted(line.rstrip("\r"), delimiter)
    if delimiter == BLANK:
        return line.replace("\r", " ").split()
    return [field.strip(" \t\r") for field in line.split(delimiter)]


def _split_quoted(line: str, delimiter: str) -> list[str]:
    """The same where fields may be quoted: `"a, b", 1`. A quote within a field, or one that is left open, is text."""
    if delimiter == BLANK:
        matches = _QUOTED_BLANK.finditer(line.strip(" \t"))
        return [match[2] if match[1] is None else _unquoted(match[1]) for match in matches]
    blanks = " \r" if delimiter == "\t" else " \t\r"
    fields, at = [], 0
    while True:
        while at < len(line) and line[at] in blanks:
            at += 1
        end = line.find(delimiter, at)
        end = len(line) if end < 0 else end
        field = line[at:end].strip(" \t\r")
        match = _QUOTED.match(line, at)
        if match and line[match.end() : match.end() + 1] in ("", delimiter):
            field, end = _unquoted(match[1]), match.end()
        fields.append(field)
        if end >= len(line):
            return fields
        at = end + 1


def _unquoted(field: str) -> str:
    return field.replace('""', '"').strip(" \t\r")
