"""Text as a source: LIBSVM and tables. What the first rows say of the file holds for all of its pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from pegasos.io import detect, libsvm, table
from pegasos.io.base import DataError, Wish, check_no_label_choice
from pegasos.io.opening import HEAD, as_text, known_by
from pegasos.io.text import Text
from pegasos.streaming.pieces import BLOCK, LONGEST_LINE, Packed, Piece, Pieces, Seekable, opened
from pegasos.streaming.source import Chunk, NotInPieces, Source, Task

BEGINNING = 1 << 20  # bytes in which the first rows are looked for, at first


class TextSource(Source):
    """Text in pieces, of which `_rows` makes rows."""

    def __init__(self, path: Path, pieces: Pieces):
        super().__init__(path)
        self.pieces = pieces
        self.n_places = pieces.n_places

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[Task]:
        """Functions that read and parse the pieces."""
        for read in self.pieces.read(order):
            yield partial(self._parsed, read)

    def _parsed(self, read) -> Chunk:
        piece: Piece = read()
        X, y = self._rows(self.pieces.part(piece))
        return Chunk(X, y, piece.begin, piece.share)

    def _rows(self, text: Text) -> tuple[object, np.ndarray]:
        raise NotImplementedError


class LibsvmSource(TextSource):
    """LIBSVM text. Features beyond those of a model are left out and noted in `unseen`."""

    format = "libsvm"

    def __init__(self, path: Path, pieces: Pieces, wish: Wish, labelled: bool):
        super().__init__(path, pieces)
        check_no_label_choice(path.name, wish, "in a LIBSVM file it is the first entry of each line")
        self.n_features, self.first_index, self.labelled = wish.width, wish.first_index, labelled
        self.unseen: set[int] = set()

    def _rows(self, text: Text):
        pairs = libsvm.parsed(text, self.words)
        y = libsvm.labels_of(text, pairs, optional=False, words=self.words)
        if not len(pairs.lengths):
            y = np.empty(0, np.int64)
        elif y is None:
            raise libsvm.some_without_label(text, 0, True)
        known = self.first_index is not None
        first = libsvm.first_index_of(text, pairs.indices, self.first_index) if known else 0
        width = self.n_features
        if width is None:
            width = int(pairs.indices.max(initial=0)) + 1
        X, unseen = libsvm.matrix(text, pairs, first, width)
        self.unseen.update(unseen.tolist())
        return X, y


class TableSource(TextSource):
    """A table in text."""

    def __init__(self, path: Path, pieces: Pieces, layout: table.Layout):
        super().__init__(path, pieces)
        self.layout, self.format = layout, layout.format
        self.n_features, self.labelled = len(layout.columns.features), layout.columns.label is not None
        self.feature_names, self.label_name = layout.columns.feature_names, layout.columns.label_name

    @property
    def label_column(self) -> int | None:
        """The number of the label column."""
        return self.layout.columns.label

    def _rows(self, text: Text):
        return table.parsed(text, 0, self.layout, optional=False, words=self.words)


def open_text(path: Path, packing: str, wish: Wish, chunk: int) -> TextSource:
    """The source of a text file, packed or not."""
    text, newline = _beginning(path, packing)
    rows = detect.sample(text)
    kind = Seekable if packing == "text" else Packed
    if detect.is_libsvm(rows):
        labelled = ":" not in rows[0][1].split()[0]
        return LibsvmSource(path, kind(path, packing, text.begin, chunk, newline), wish, labelled)
    layout = table.layout_of(text, rows, wish)
    return TableSource(path, kind(path, packing, layout.begin, chunk, newline), layout)


def _beginning(path: Path, packing: str) -> tuple[Text, bytes]:
    """The first lines, as many as the kind of the file is told by, and what ends a line."""
    data, wanted = b"", BEGINNING
    with opened(path, packing) as file:
        while True:
            data += file.read(wanted - len(data))
            whole = len(data) < wanted
            if packing != "text" and known_by(data[:HEAD]) != "text":
                raise NotInPieces(f"{path.name} is a {known_by(data[:HEAD])} file packed with {packing}; unpack it.")
            newline = b"\r" if b"\r" in data and b"\n" not in data and not _has_newline(path, packing) else b"\n"
            text = as_text(path.name, data if whole else data[: data.rfind(newline) + 1])
            if whole or _tells(text):
                return text, newline
            if wanted > LONGEST_LINE:
                raise DataError(f"{path.name} holds no rows among its first {wanted >> 20} MB.")
            wanted *= 4


def _tells(text: Text) -> bool:
    """Whether more of the file would not change the sample that its kind is told by."""
    rows = detect.sample(text) if any(True for _ in text.rows()) else []
    return len(rows) >= detect.SAMPLE_LINES or (len(rows) >= 3 and rows[-1][0] > detect.SAMPLE_BYTES)


def _has_newline(path: Path, packing: str) -> bool:
    """Whether any line ends as lines do today; old Macs ended them otherwise."""
    with opened(path, packing) as file:
        return any(b"\n" in block for block in iter(lambda: file.read(BLOCK), b""))
