"""Text in pieces that end with a line: of a file that is not compressed, in any order; of others, one after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pegasos.io.dataset import DataError
from pegasos.io.detect import decompressing, opened
from pegasos.io.source import check_stamp, file_stamp
from pegasos.io.text.lines import Text

BLOCK = 1 << 16  # bytes looked at in search of the end of a line
LONGEST_LINE = 1 << 30


@dataclass(frozen=True)
class Piece:
    """Whole lines of a file; `begin` is their place among its bytes, or among those compressed in it."""

    begin: int
    text: Text
    share: float  # of the file


class Pieces:
    """The rows of a text file in pieces."""

    n_places: int | None = None

    def tasks(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
        """Functions of which each gives a piece."""
        raise NotImplementedError

    def whole(self) -> Text:
        """All rows as one text."""
        raise NotImplementedError


class WholeText(Pieces):
    """A text that is in memory, as its only piece."""

    n_places = 1

    def __init__(self, text: Text):
        self.text = text

    def tasks(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
        """A function that gives the text."""
        yield lambda: Piece(self.text.begin, self.text, 1.0)

    def whole(self) -> Text:
        """The text."""
        return self.text


class FilePieces(Pieces):
    """The text of a file from `begin` on, in pieces of about `chunk` bytes that end with a `newline`."""

    def __init__(self, path: Path, kind: str, begin: int, chunk: int, newline: bytes = b"\n"):
        self.path, self.kind, self.begin, self.chunk, self.newline = path, kind, begin, chunk, newline
        self.stamp = file_stamp(path)

    def whole(self) -> Text:
        """All pieces together."""
        text = self._text(self.begin, b"".join(read().text.data for read in self.tasks(None)))
        return replace(text, in_pieces=False)

    def _piece(self, begin: int, data: bytes, share: float) -> Piece:
        return Piece(begin, self._text(begin, data), share)

    def _text(self, begin: int, data: bytes) -> Text:
        data = data if self.newline == b"\n" else data.replace(self.newline, b"\n")
        return Text(self.path.name, data, 0, partial(self._lines_before, begin), in_pieces=True)

    def _lines_before(self, position: int) -> int:
        """Lines of the file before a position."""
        found = 0
        with opened(self.path, self.kind) as file:
            while position > 0 and (block := file.read(min(position, self.chunk))):
                found += block.count(self.newline)
                position -= len(block)
        return found

    def _too_long(self, position: int) -> DataError:
        line = self._lines_before(position) + 1
        return DataError(f"{self.path.name}: line {line} is longer than {LONGEST_LINE >> 20} MB.")


class SeekablePieces(FilePieces):
    """Pieces of a file that is not compressed, in any order."""

    def __init__(self, path: Path, kind: str, begin: int, chunk: int, newline: bytes = b"\n"):
        super().__init__(path, kind, begin, chunk, newline)
        self.edges = self._edges()
        self.n_places = len(self.edges) - 1

    def tasks(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
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
        return self._piece(begin, data, (end - begin) / (self.edges[-1] - self.begin))

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


class CompressedPieces(FilePieces):
    """Pieces of a compressed file, from its beginning to its end."""

    def tasks(self, order: Sequence[int] | None) -> Iterator[Callable[[], Piece]]:
        """Functions that give the pieces, which are decompressed when their functions are yielded."""
        assert order is None, "a compressed file has one order"
        at, waiting, before = self.begin, [], 0
        with open(self.path, "rb") as file, decompressing(self.path.name, file, self.kind) as inner:
            check_stamp(self.path, file_stamp(self.path), self.stamp)
            _skip(inner, self.begin)
            while block := inner.read(self.chunk):
                cut = block.rfind(self.newline) + 1
                waiting.append(block[:cut] if cut else block)
                if cut:
                    here = file.tell()
                    yield partial(self._piece, at, b"".join(waiting), (here - before) / max(1, self.stamp[0]))
                    at, waiting, before = at + sum(map(len, waiting)), [block[cut:]] if cut < len(block) else [], here
                elif sum(map(len, waiting)) > LONGEST_LINE:
                    raise self._too_long(at)
            if waiting:
                yield partial(self._piece, at, b"".join(waiting), 0.0)


def _skip(file, n_bytes: int) -> None:
    while n_bytes > 0 and (block := file.read(min(n_bytes, BLOCK))):
        n_bytes -= len(block)
