"""The file itself: safetensors with a JSON document in its metadata and a checksum over all bytes.

safetensors is 8 bytes with the length of a JSON header, the header, and the tensors one after another. The library of
that name reads the tensors and checks that they fill the file without gaps. Two things are done here:

* The header is parsed and limited before the library opens the file, since a file may come from anyone.
* The file is written. The library puts the entries of the metadata in random order, where the checksum needs a known
  place; it reports a full disk in words, without an error number; and it renames a temporary file over its target,
  even over a device, and leaves it behind where the process is killed.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open

from pegasos.container.schema import MOST_BYTES, ModelFormatError, Record, parse
from pegasos.utils.files import replacing

DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
CODES = {np.dtype(name): code for code, name in DTYPES.items()}
FORMAT = 2
BEGINNING = b'{"__metadata__":{"blake2b":"'  # the checksum comes first, at a known place: it cannot cover itself
DIGITS = 64
NO_DIGEST = b"0" * DIGITS
DIGEST = slice(8 + len(BEGINNING), 8 + len(BEGINNING) + DIGITS)
MOST_TENSORS = 64
HIGHEST_RANK = 2
LARGEST_DIMENSION = 2**48


class TensorInfo(NamedTuple):
    """Type and shape of a tensor, as the header states them."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that such a tensor takes."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass
class Header:
    """All of a file but the values of its tensors."""

    document: dict[str, Any]
    tensors: dict[str, TensorInfo]
    digest: str
    raw: bytes  # the bytes before the tensors, with zeros for the checksum


# --- writing ----------------------------------------------------------------------------------------------------------


def write(
    path: str | os.PathLike,
    document: dict[str, Any],
    tensors: dict[str, np.ndarray],
    check: Callable[[dict[str, Any], dict[str, np.ndarray]], Any] | None = None,
) -> None:
    """Write a document and its tensors to a file, whole or not at all.

    Parameters
    ----------
    path : str or path-like
    document : dict
        Anything that JSON can hold.
    tensors : dict of str to ndarray
    check : callable, default=None
        Called before anything is written, with the document and the tensors as a reader will find them; it raises if
        they could not be read.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))  # so every tensor is aligned
    arrays = {name: np.ascontiguousarray(tensors[name]) for name in names}
    raw = _laid_out(document, arrays)
    if check is not None:
        check(_parse_header(raw).document, arrays)
    header = raw[: DIGEST.start] + _digest(raw, arrays).encode() + raw[DIGEST.stop :]
    with replacing(path) as part, open(part, "wb") as file:
        file.write(header)
        for array in arrays.values():
            file.write(_bytes_of(array))


def _laid_out(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """The bytes before the tensors, which follow in this order; zeros stand for the checksum."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    entries: dict[str, Any] = {"__metadata__": {"blake2b": NO_DIGEST.decode(), "pegasos": text}}
    end = 0
    for name, array in arrays.items():
        if array.dtype not in CODES:
            raise ValueError(f"{name} is of type {array.dtype}, which a model file cannot hold.")
        begin, end = end, end + array.nbytes
        entries[name] = {"dtype": CODES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header


def _digest(raw: bytes, arrays: dict[str, np.ndarray]) -> str:
    """The checksum of the bytes before the tensors, with zeros for the checksum, and the tensors in their order."""
    digest = blake2b(raw, digest_size=DIGITS // 2)
    for array in arrays.values():
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


# --- reading ----------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and all tensors, after the checksum has been found right."""
    before = _identity(path)
    header = read_header(path)
    with _library(path) as file:
        arrays = {name: file.get_tensor(name) for name in file.offset_keys()}
    if _digest(header.raw, arrays) != header.digest:
        if _identity(path) != before:  # it was replaced between the header and the tensors
            return read(path)
        raise ModelFormatError("the checksum is wrong, so the file is damaged")
    for array in arrays.values():
        _check_truths(array)
    return header, arrays


def _identity(path: Path) -> tuple[int, int, int]:
    """What differs between a file and one that has replaced it."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_one(path: Path, name: str) -> np.ndarray:
    """One tensor of a file whose header has been read; the checksum is not verified."""
    with _library(path) as file:
        array = file.get_tensor(name)
    _check_truths(array)
    return array


@contextmanager
def _library(path: Path) -> Iterator[Any]:
    """The file, opened by the library."""
    try:
        with safe_open(path, "numpy", backend="pread") as file:  # mapped, the file would be in memory twice
            yield file
    except SafetensorError as error:
        raise ModelFormatError(
            "its tensors overlap or leave gaps in the file, or one has another number of bytes than its shape says"
        ) from error


def read_header(path: Path) -> Header:
    """The header of a file, within all limits; the checksum is not verified."""
    kind = os.stat(path).st_mode  # before opening: a pipe would wait for someone to write
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(f"{path} is a folder; give the name of a model file.")
    if not stat.S_ISREG(kind):
        raise ModelFormatError("it is no regular file")
    with open(path, "rb") as file:
        start = file.read(8)
        if not start:
            raise ModelFormatError("it is empty")
        length = int.from_bytes(start, "little")
        return _parse_header(start + file.read(min(length, MOST_BYTES)))


def _parse_header(raw: bytes) -> Header:
    """The header in the bytes before the tensors."""
    if len(raw) < 8 or len(raw) != 8 + int.from_bytes(raw[:8], "little") or not raw[8:].startswith(BEGINNING):
        raise ModelFormatError("it does not begin as one does")
    digest = raw[DIGEST].decode("latin-1")
    raw = raw[: DIGEST.start] + NO_DIGEST + raw[DIGEST.stop :]
    fields = Record(parse(raw[8:], "the header"), "the header")
    metadata = Record(fields.take("__metadata__", dict), "the metadata")
    metadata.take("blake2b", str)
    document = parse(metadata.take("pegasos", str), "the description")
    metadata.done()
    _check_format(document)  # before the tensors: a later format may have types that this version does not know
    if len(fields.left) > MOST_TENSORS:
        raise ModelFormatError(f"it has {len(fields.left)} tensors, and a model has at most {MOST_TENSORS}")
    tensors = {name: _tensor_info(Record(entry, "a tensor")) for name, entry in fields.left.items()}
    return Header(document, tensors, digest, raw)


def _check_format(document: Any) -> None:
    found = Record(document, "the description").take("format", int)
    if found > FORMAT:
        raise ModelFormatError(
            f"it is of format {found}, and this version knows formats up to {FORMAT}; update pegasos"
        )
    if found < 1:
        raise ModelFormatError(f"there is no format {found}")


def _tensor_info(entry: Record) -> TensorInfo:
    """Type and shape of a tensor, within limits; whether its place fits them is left to the library."""
    dtype = np.dtype(DTYPES[entry.take_one_of("dtype", DTYPES)])
    shape, offsets = entry.take("shape", list), entry.take("data_offsets", list)
    entry.done()
    within = all(type(number) is int and 0 <= number <= LARGEST_DIMENSION for number in [*shape, *offsets])
    if len(shape) > HIGHEST_RANK or not within:
        raise ModelFormatError("a tensor has no proper shape or place")
    return TensorInfo(dtype, tuple(shape))


def _check_truths(array: np.ndarray) -> None:
    if array.dtype.kind == "b" and array.reshape(-1).view(np.uint8).max(initial=0) > 1:
        raise ModelFormatError("a truth value is neither 0 nor 1")
