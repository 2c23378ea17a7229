"""Opening files: what they are by their first bytes, and what is packed in them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from pegasos.io.base import DataError, reason
from pegasos.io.text import Text

HEAD = 512  # bytes by which a file is known
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
PACKINGS = tuple(_PACKED.values())
_OTHER = {
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
_BOM = b"\xef\xbb\xbf"
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b")) + b"\x7f"


def check_readable(path: Path) -> None:
    """Raise OSError with a sentence if `path` is no file that can be read."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} cannot be read: permission denied.")


def known_by(head: bytes) -> str:
    """The format of a file that begins with `head`; "text" if it is none of the binary ones."""
    for magic, packing in _PACKED.items():
        if head.startswith(magic):
            return packing
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return "zip"
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if len(head) >= 4 and head[:2] == b"\x00\x00" and head[2] in (8, 9, 11, 12, 13, 14) and 1 <= head[3] <= 8:
        return "idx"
    return "text"


def unpacked(name: str, file: BinaryIO, packing: str) -> bytes:
    """All bytes of a file, unpacked."""
    with unpacking(name, file, packing) as inner:
        return inner.read()


@contextmanager
def unpacking(name: str, file: BinaryIO, packing: str) -> Iterator[BinaryIO]:
    """The file itself, or what is packed in it, to be read from; data that are cut off or damaged are a DataError."""
    if packing not in PACKINGS:
        yield file
        return
    from lzma import LZMAError

    unpack = import_module({"gzip": "gzip", "bz2": "bz2", "xz": "lzma"}[packing]).open
    try:
        with unpack(file, "rb") as inner:
            yield inner
    except DataError:
        raise
    except EOFError:
        raise DataError(f"{name} is cut off: its {packing} data end early; get a whole copy.") from None
    except (OSError, ValueError, zlib.error, LZMAError) as error:
        raise DataError(f"{name} is damaged: its {packing} data cannot be unpacked ({reason(error)}).") from None


def as_text(name: str, data: bytes) -> Text:
    """Bytes as text, or a DataError if they are none."""
    for magic, sentence in _OTHER.items():
        if data.startswith(magic):
            raise DataError(f"{name} {sentence}.")
    head = data[: 8 * HEAD]
    if data[257:262] == b"ustar":
        raise DataError(f"{name} is a tar archive; unpack it and give one of its files.")
    if head.translate(None, delete=_CONTROL) != head:
        raise DataError(f"{name} is no data file: neither text nor Parquet, npz, HDF5 or IDX.")
    if b"\r" in head and b"\n" not in head and b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # lines as old Macs end them
    return Text(name, data, len(_BOM) if data.startswith(_BOM) else 0)
