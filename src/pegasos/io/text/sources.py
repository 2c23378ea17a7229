"""Text files as sources: LIBSVM and tables. What the first rows tell of the file holds for all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from pegasos.io.dataset import DataError
from pegasos.io.detect import HEAD, check_is_text, kind_of, opened
from pegasos.io.options import ReadOptions
from pegasos.io.source import Chunk, NotInPieces, ReadChunk, Source
from pegasos.io.text import libsvm
from pegasos.io.text.layout import TableLayout, first_rows, has_first_rows, is_libsvm, table_layout
from pegasos.io.text.lines import Text, as_text
from pegasos.io.text.pieces import BLOCK, LONGEST_LINE, CompressedPieces, Piece, Pieces, SeekablePieces, WholeText
from pegasos.io.text.tables import table_values

BEGINNING = 1 << 20  # bytes in which the first rows are looked for, at first


class TextSource(Source):
    """A text file, whose pieces are parsed one by one or as a whole."""

    def __init__(self, path: Path, pieces: Pieces, options: ReadOptions):
        super().__init__(path)
        self.pieces, self.options = pieces, options
        self.n_places = pieces.n_places

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[ReadChunk]:
        """Functions that read and parse the pieces."""
        for read in self.pieces.tasks(order):
            yield partial(self._chunk, read)

    def _chunk(self, read: Callable[[], Piece]) -> Chunk:
        piece = read()
        X, y = self._parsed(piece.text)
        return Chunk(X, y, piece.begin, piece.share)

    def _parsed(self, text: Text) -> tuple[object, np.ndarray]:
        raise NotImplementedError

    @property
    def _labels_optional(self) -> bool:
        """Whether rows that are read whole may lack labels: those to predict may."""
        return bool(self.options.width)


class LibsvmSource(TextSource):
    """LIBSVM text. Features beyond those of a model are left out and noted in `unseen`."""

    format = "libsvm"

    def __init__(self, path: Path, pieces: Pieces, options: ReadOptions, labelled: bool):
        super().__init__(path, pieces, options)
        options.check_no_table(path.name, "in a LIBSVM file it is the first entry of each line")
        self.n_features, self.first_index, self.labelled = options.width, options.first_index, labelled
        self.unseen: set[int] = set()

    def rows(self):
        """All rows; where the features count from, and how many they are, is told by all of them."""
        text = self.pieces.whole()
        entries = libsvm.libsvm_entries(text, self.text_labels)
        y = libsvm.labels_of(text, entries, optional=self._labels_optional, text_labels=self.text_labels)
        indices = entries.indices
        lowest, highest = (int(indices.min()), int(indices.max())) if indices.size else (1, -1)
        self._check_first(lowest)
        self.settle_features(lowest, highest)
        X = self._matrix(text, entries)
        if self.unseen:
            libsvm.warn_unseen(self.name, np.array(sorted(self.unseen)), X.shape[1])
        return X, y

    def _parsed(self, text: Text):
        entries = libsvm.libsvm_entries(text, self.text_labels)
        y = libsvm.labels_of(text, entries, text_labels=self.text_labels)
        if not len(entries.lengths):
            y = np.empty(0, np.int64)
        elif y is None:
            raise libsvm.some_without_label(text, 0, True)
        self._check_first(int(entries.indices.min(initial=1)))
        return self._matrix(text, entries), y

    def _check_first(self, lowest: int) -> None:
        if self.first_index == 1 and lowest == 0:
            raise DataError(f"{self.name} has a feature 0, but the features of the training file count from 1.")

    def _matrix(self, text: Text, entries: libsvm.LibsvmEntries):
        width = int(entries.indices.max(initial=0)) + 1 if self.n_features is None else self.n_features
        X, unseen = libsvm.matrix(text, entries, self.first_index or 0, width)
        self.unseen.update(unseen.tolist())
        return X

    def check_in_pieces(self) -> None:
        """Where features count from is known of the training file, or a look at all rows has to tell it first."""
        if self.n_features is not None and self.first_index is None:
            raise NotInPieces(
                f"{self.name}: only all rows can tell whether its features count from 0 or from 1, so it cannot be "
                "read in pieces; read it into memory."
            )


class TableSource(TextSource):
    """A table in text."""

    def __init__(self, path: Path, pieces: Pieces, options: ReadOptions, layout: TableLayout):
        super().__init__(path, pieces, options)
        self.layout, self.format = layout, layout.format
        self.set_columns(layout.columns)

    def rows(self):
        """All rows."""
        text = self.pieces.whole()
        return table_values(text, self.layout, optional=self._labels_optional, text_labels=self.text_labels)

    def _parsed(self, text: Text):
        return table_values(text, self.layout, text_labels=self.text_labels)


def open_text(path: Path, kind: str, options: ReadOptions, chunk: int) -> TextSource:
    """The source of a text file that is compressed as `kind` says, or not, to be read in chunks."""
    text, newline = _beginning(path, kind)
    pieces = SeekablePieces if kind == "text" else CompressedPieces
    return _source_of(path, text, options, lambda begin: pieces(path, kind, begin, chunk, newline))


def text_in_memory(path: Path, data: bytes, options: ReadOptions) -> TextSource:
    """The source of a text file whose bytes were read already."""
    text = as_text(path.name, data)
    return _source_of(path, text, options, lambda begin: WholeText(replace(text, begin=begin)))


def _source_of(path: Path, text: Text, options: ReadOptions, pieces: Callable[[int], Pieces]) -> TextSource:
    """The source of a file that begins with `text`; `pieces` are those of its rows from a position on."""
    rows = first_rows(text)
    if rows and is_libsvm(rows):
        labelled = ":" not in rows[0][1].split()[0]
        return LibsvmSource(path, pieces(text.begin), options, labelled)
    layout = table_layout(text, rows, options)
    return TableSource(path, pieces(layout.begin), options, layout)


def _beginning(path: Path, kind: str) -> tuple[Text, bytes]:
    """The beginning of a file, with all of its first rows, and what ends a line."""
    data, wanted = b"", BEGINNING
    with opened(path, kind) as file:
        while True:
            data += file.read(wanted - len(data))
            whole = len(data) < wanted
            if kind != "text" and (inner := kind_of(data[:HEAD])) != "text":
                raise NotInPieces(f"{path.name} is a {inner} file packed with {kind}; unpack it first.")
            check_is_text(path.name, data)  # before lines are looked for, which other files may not have for long
            newline = b"\r" if b"\r" in data and b"\n" not in data and not _has_newline(path, kind) else b"\n"
            text = as_text(path.name, data if whole else data[: data.rfind(newline) + 1])
            if whole or has_first_rows(text):
                return text, newline
            if wanted > LONGEST_LINE:
                raise DataError(f"{path.name} holds no rows among its first {wanted >> 20} MB.")
            wanted *= 4


def _has_newline(path: Path, kind: str) -> bool:
    """Whether any line ends as lines do today; old Macs ended them otherwise."""
    with opened(path, kind) as file:
        return any(b"\n" in block for block in iter(lambda: file.read(BLOCK), b""))
