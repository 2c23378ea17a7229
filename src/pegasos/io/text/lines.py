"""The bytes of a text file, and its lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pegasos.io.dataset import check_room, in_words
from pegasos.io.detect import HEAD, check_is_text

BLANK = " "  # the delimiter of text whose fields are separated by any run of spaces and tabs
LONG = 1 << 22  # bytes of a line whose fields are worth a look at the memory there is ...
WORDS = 40  # ... of which they take so many times as much
SMALL = 1 << 18  # bytes that plain Python reads in less time than Numba takes to load
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Text:
    """The bytes of a text file, or of some of its lines, from `begin` on."""

    name: str
    data: bytes
    begin: int = 0
    lines_before: Callable[[], int] = int  # of the file; a function, as only errors ask and counting reads the file
    in_pieces: bool = False  # whether it is a piece of a file whose other pieces are read apart

    def rows(self, begin: int | None = None) -> Iterator[tuple[int, str]]:
        """(position, line) of all lines that are neither blank nor a comment."""
        at = self.begin if begin is None else begin
        data, size = self.data, len(self.data)
        while at < size:
            end = end_of_line(self, at)
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


def end_of_line(text: Text, begin: int) -> int:
    """Where the line that begins at a position ends, if there is room for its fields as words of Python."""
    end = text.data.find(b"\n", begin)
    end = len(text.data) if end < 0 else end
    if end - begin > LONG:
        check_room(text.name, WORDS * (end - begin), f"a line of {in_words(end - begin)}")
    return end


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
