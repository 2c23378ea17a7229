"""The bytes of text files in pieces that end with a line: found in any order, or unpacked one after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from pegasos.io.base import DataError
from pegasos.io.opening import unpacking
from pegasos.io.text import Text
from pegasos.streaming.source import check_stamp, stamp_of

BLOCK = 1 << 16  # bytes looked at in search of the end of a line
LONGEST_LINE = 1 << 30


@contextmanager
def opened(path: Path, packing: str) -> Iterator[BinaryIO]:
    """A file, or what is packed in it, to read from."""
    with open(path, "rb") as file, unpacking(path.name, file, packing) as inner:
        yield inner


@dataclass(frozen=True)
class Piece:
    """Whole lines of a file; `begin` is their place among its bytes, or among those packed in it."""

    begin: int
    data: bytes
    share: float  # of the file


@dataclass(frozen=True)
class Part(Text):
    """The text of a piece, which knows its lines by their numbers in the whole file."""

    lines_before: Callable[[], int] = int

    def line_number(self, position: int) -> int:
        """The number in the file of the line at a position of the piece; only errors ask, so it is counted then."""
        return self.lines_before() + super().line_number(position)


class Pieces:
    """Text of a file from `begin` on, in pieces of about `chunk` bytes. A newline may be what old Macs had for it."""

    n_places: int | None = None

    def __init__(self, path: Path, packing: str, begin: int, chunk: int, newline: bytes = b"\n"):
        self.path, self.packing, self.begin, self.chunk, self.newline = path, packing, begin, chunk, newline
        self.stamp = stamp_of(path)

    def read(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
        """Functions of which each gives a piece."""
        raise NotImplementedError

    def part(self, piece: Piece) -> Part:
        """A piece as text."""
        data = piece.data if self.newline == b"\n" else piece.data.replace(self.newline, b"\n")
        return Part(self.path.name, data, 0, partial(self.lines_before, piece.begin))

    def lines_before(self, position: int) -> int:
        """Lines of the file before a position."""
        found = 0
        with opened(self.path, self.packing) as file:
            while position > 0 and (block := file.read(min(position, self.chunk))):
                found += block.count(self.newline)
                position -= len(block)
        return found

    def _too_long(self, position: int) -> DataError:
        line = self.lines_before(position) + 1
        return DataError(f"{self.path.name}: line {line} is longer than {LONGEST_LINE >> 20} MB.")


class Seekable(Pieces):
    """Pieces of a file that is not packed."""

    def __init__(self, path: Path, packing: str, begin: int, chunk: int, newline: bytes = b"\n"):
        super().__init__(path, packing, begin, chunk, newline)
        self.edges = self._edges()
        self.n_places = len(self.edges) - 1

    def read(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
        """Functions of which each reads a piece."""
        for number in range(len(self.edges) - 1) if order is None else order:
            yield partial(self._read, int(number))

    def _read(self, number: int) -> Piece:
        begin, end = self.edges[number : number + 2]
        with open(self.path, "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            check_stamp(self.path, (found.st_size, found.st_mtime_ns), self.stamp)
            file.seek(begin)
            data = file.read(end - begin)
        if data is None or len(data) != end - begin:
            raise DataError(f"{self.path.name} ends too early: it was cut while it was being read.")
        return Piece(begin, data, (end - begin) / (self.edges[-1] - self.begin))

    def _edges(self) -> list[int]:
        """Where pieces begin and end: at the ends of lines."""
        size = self.stamp[0]
        edges = [self.begin]
        with open(self.path, "rb", buffering=0) as file:
            while edges[-1] < size:
                edges.append(self._next_edge(file, edges[-1], size))
        return edges

    def _next_edge(self, file, begin: int, size: int) -> int:
        at = begin + self.chunk
        file.seek(min(at, size))
        while at < size and (block := file.read(BLOCK)):
            place = block.find(self.newline)
            if place >= 0:
                return at + place + 1
            at += len(block)
            if at - begin > LONGEST_LINE:
                raise self._too_long(begin + self.chunk)
        return size


class Packed(Pieces):
    """Pieces of a packed file, from its beginning to its end."""

    def read(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
        """Functions that give the pieces; to draw one unpacks it."""
        assert order is None, "a packed file has one order"
        at, waiting, before = self.begin, [], 0
        with open(self.path, "rb") as file, unpacking(self.path.name, file, self.packing) as inner:
            check_stamp(self.path, stamp_of(self.path), self.stamp)
            _skip(inner, self.begin)
            while block := inner.read(self.chunk):
                cut = block.rfind(self.newline) + 1
                waiting.append(block[:cut] if cut else block)
                if cut:
                    here = file.tell()
                    yield partial(Piece, at, b"".join(waiting), (here - before) / max(1, self.stamp[0]))
                    at, waiting, before = at + sum(map(len, waiting)), [block[cut:]] if cut < len(block) else [], here
                elif sum(map(len, waiting)) > LONGEST_LINE:
                    raise self._too_long(at)
            if waiting:
                yield partial(Piece, at, b"".join(waiting), 0.0)


def _skip(file, n_bytes: int) -> None:
    while n_bytes > 0 and (block := file.read(min(n_bytes, BLOCK))):
        n_bytes -= len(block)
