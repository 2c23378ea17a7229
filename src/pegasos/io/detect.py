"""What kind of file it is, told by its first bytes, and reading what is compressed in it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from pegasos.io.dataset import DataError, check_room, in_words, reason

HEAD = 512  # bytes that tell the kind of a file
TEXT_HEAD = 8 * HEAD  # bytes that are text if all are
BLOCK = 1 << 24  # bytes that are read at a time where the size is not known
ROOM = 2  # times the size of a text: memory that it takes with its rows
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
COMPRESSIONS = tuple(_COMPRESSED.values())
_NOT_READ = {
    b"\x28\xb5\x2f\xfd": "is packed with zstd, which is not read here; unpack it first",
    b"\x93NUMPY": "is a single NumPy array; save rows and labels together with np.savez(file, X=X, y=y)",
    b"\xd0\xcf\x11\xe0": "is a spreadsheet; save it as CSV",
    b"%PDF": "is a PDF document, not data",
    b"\x89PNG": "is a picture; one row an image is needed, for instance in an npz or IDX file",
    b"\xff\xd8\xff": "is a picture; one row an image is needed, for instance in an npz or IDX file",
    b"\xff\xfe": "is text in UTF-16; save it in UTF-8",
    b"\xfe\xff": "is text in UTF-16; save it in UTF-8",
    b"\x80\x04\x95": "is a Python pickle, which can run any program when read; save the rows in another format",
    b"\x80\x05\x95": "is a Python pickle, which can run any program when read; save the rows in another format",
}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b")) + b"\x7f"


def check_readable(path: Path) -> None:
    """Raise OSError with a sentence if `path` is no file that can be read."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} cannot be read: permission denied.")
    if not path.is_file() and not path.is_fifo():  # a pipe ends; a device such as /dev/zero need not
        raise DataError(f"{path} is a device or a socket, no file to read rows from.")


def kind_of(head: bytes) -> str:
    """The format or compression of data that begin with `head`; "text" if it is none of those known."""
    for magic, compression in _COMPRESSED.items():
        if head.startswith(magic):
            return compression
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return "zip"
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if len(head) >= 4 and head[:2] == b"\x00\x00" and head[2] in (8, 9, 11, 12, 13, 14) and 1 <= head[3] <= 8:
        return "idx"
    return "text"


def kind_of_file(file: BufferedReader) -> str:
    """The kind of a file that was just opened; what is read of it next still begins with its first byte."""
    return kind_of(file.peek(HEAD)[:HEAD])


def decompressed(name: str, file: BufferedReader, kind: str) -> bytes:
    """All bytes of an open file of this kind, without their compression if it is one, if there is room for them."""
    size = os.fstat(file.fileno()).st_size
    if kind not in COMPRESSIONS and size:
        check_room(name, ROOM * size, f"text of {in_words(size)} and its rows")
        return file.read()
    blocks, size = [], 0  # of a pipe, or of what is compressed, nothing tells the size
    with decompressing(name, file, kind) as inner:
        while block := inner.read(BLOCK):
            blocks.append(block)
            size += len(block)
            if len(blocks) == 1 and kind_of(block[:HEAD]) == "text":
                check_is_text(name, block)
            check_room(name, ROOM * size - size, f"text of at least {in_words(size)} and its rows")
    return b"".join(blocks)


@contextmanager
def decompressing(name: str, file: BufferedReader, kind: str) -> Iterator[BinaryIO]:
    """What is compressed in a file, or the file itself, to read from; data cut off or damaged raise DataError."""
    if kind not in COMPRESSIONS:
        yield file
        return
    from lzma import LZMAError

    open_compressed = import_module({"gzip": "gzip", "bz2": "bz2", "xz": "lzma"}[kind]).open
    try:
        with open_compressed(file, "rb") as inner:
            yield inner
    except DataError:
        raise
    except EOFError:
        raise DataError(f"{name} is cut off: its {kind} data end early; get a whole copy.") from None
    except (OSError, ValueError, zlib.error, LZMAError) as error:
        raise DataError(f"{name} is damaged: its {kind} data cannot be unpacked ({reason(error)}).") from None


@contextmanager
def opened(path: Path, kind: str) -> Iterator[BinaryIO]:
    """A file, or what is compressed in it, to read from."""
    with open(path, "rb") as file, decompressing(path.name, file, kind) as inner:
        yield inner


def check_is_text(name: str, data: bytes) -> None:
    """Raise DataError for the beginning of a file that is not text, with a sentence on what it is instead."""
    for magic, sentence in _NOT_READ.items():
        if data.startswith(magic):
            raise DataError(f"{name} {sentence}.")
    head = data[:TEXT_HEAD]
    if data[257:262] == b"ustar":
        raise DataError(f"{name} is a tar archive; unpack it and give one of its files.")
    if head.translate(None, delete=_CONTROL) != head:
        raise DataError(f"{name} is no data file: neither text nor Parquet, npz, HDF5 or IDX.")
