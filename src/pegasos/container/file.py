"""The file itself: a safetensors file with one JSON document beside the tensors, and a checksum over all bytes.

safetensors is 8 bytes with the length of a JSON header, the header, and the tensors one after another. The header is
read and checked here and not by the library, since the checksum needs the bytes as they are, and since nothing of a
file of unknown origin may be taken on trust, not even by accident of a version.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.container.schema import MOST_BYTES, ModelFormatError, Record, parse
from pegasos.utils.files import replacing

DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
CODES = {np.dtype(name): code for code, name in DTYPES.items()}
FORMAT = 1
BEGINNING = b'{"__metadata__":{"blake2b":"'  # the checksum comes first, at a known place: it cannot cover itself
DIGITS = 64
NO_DIGEST = "0" * DIGITS
MOST_TENSORS = 64
HIGHEST_RANK = 2
LARGEST_DIMENSION = 2**48
CHUNK = 2**22


@dataclass
class Tensor:
    """Where a tensor lies among the bytes behind the header."""

    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass
class Header:
    """All of a file but the values of its tensors."""

    document: dict[str, Any]
    tensors: dict[str, Tensor]
    digest: str
    length: int  # bytes before the first tensor
    size: int  # bytes of the file


@dataclass
class Packed:
    """A file to be: the bytes before the tensors, with zeros for the checksum, and the tensors in their order."""

    header: bytes
    arrays: dict[str, np.ndarray]

    def opened(self) -> Header:
        """The header as a reader finds it."""
        size = len(self.header) + sum(array.nbytes for array in self.arrays.values())
        return unpack_header(self.header, size)

    def write(self, path: str | os.PathLike) -> None:
        """Write the file, whole or not at all."""
        digest = blake2b(self.header, digest_size=DIGITS // 2)
        for array in self.arrays.values():
            digest.update(_bytes_of(array))
        header = bytearray(self.header)
        header[8 + len(BEGINNING) : 8 + len(BEGINNING) + DIGITS] = digest.hexdigest().encode()
        with replacing(path) as part, open(part, "wb") as file:
            file.write(header)
            for array in self.arrays.values():
                file.write(_bytes_of(array))


def pack(document: dict[str, Any], tensors: dict[str, np.ndarray]) -> Packed:
    """The file of a document and its tensors."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))  # so every tensor is aligned
    arrays = {name: np.ascontiguousarray(tensors[name]) for name in names}
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    entries: dict[str, Any] = {"__metadata__": {"blake2b": NO_DIGEST, "pegasos": text}}
    begin = 0
    for name, array in arrays.items():
        end = begin + array.nbytes
        entries[name] = {"dtype": _code(array, name), "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return Packed(len(header).to_bytes(8, "little") + header, arrays)


def _code(array: np.ndarray, name: str) -> str:
    if array.dtype not in CODES:
        raise ValueError(f"{name} is of type {array.dtype}, which a model file cannot hold.")
    return CODES[array.dtype]


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def read_header(path: Path) -> Header:
    """What the file says of itself; the checksum is not looked at."""
    with _opened(path) as file:
        return unpack_header(*_beginning(file))


def read(path: Path) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and all tensors, after the checksum has been found right."""
    with _opened(path) as file:
        raw, size = _beginning(file)
        header = unpack_header(raw, size)
        digest = blake2b(_without_digest(raw), digest_size=DIGITS // 2)
        in_order = sorted(header.tensors.items(), key=lambda item: (item[1].begin, item[1].end))
        arrays = {name: _read_array(file, tensor, digest) for name, tensor in in_order}
    if digest.hexdigest() != header.digest:
        raise ModelFormatError("the checksum is wrong, so the file is damaged")
    for array in arrays.values():
        _check_truths(array)
    return header, arrays


def read_one(path: Path, header: Header, name: str) -> np.ndarray:
    """One tensor of a file whose checksum is not looked at."""
    with _opened(path) as file:
        file.seek(header.length + header.tensors[name].begin)
        array = _read_array(file, header.tensors[name])
    _check_truths(array)
    return array


def _opened(path: Path):
    kind = os.stat(path).st_mode  # before opening: a pipe would wait for someone to write
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(f"{path} is a folder; give the name of a model file.")
    if not stat.S_ISREG(kind):
        raise ModelFormatError("it is no regular file")
    return open(path, "rb")


def _beginning(file) -> tuple[bytes, int]:
    """The bytes before the tensors, and the size of the file."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise ModelFormatError("it is empty")
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if not len(BEGINNING) + DIGITS <= length <= min(size - 8, MOST_BYTES):
        raise ModelFormatError("it does not begin as one does")
    return start + file.read(length), size


def _without_digest(raw: bytes) -> bytes:
    first = 8 + len(BEGINNING)
    return raw[:first] + NO_DIGEST.encode() + raw[first + DIGITS :]


def unpack_header(raw: bytes, size: int) -> Header:
    """The header in the first bytes of a file of this size, with all places and shapes checked."""
    first = 8 + len(BEGINNING)
    if len(raw) != 8 + int.from_bytes(raw[:8], "little") or not raw[8:].startswith(BEGINNING):
        raise ModelFormatError("it does not begin as one does")
    digest = raw[first : first + DIGITS].decode("latin-1")
    fields = Record(parse(_without_digest(raw)[8:], "the header"), "the header")
    metadata = Record(fields.take("__metadata__", dict), "the metadata")
    metadata.take("blake2b", str)
    document = parse(metadata.take("pegasos", str), "the description")
    metadata.done()
    _check_format(document)  # before the tensors: those of a later format may be other ones
    return Header(document, _tensors(fields.left, size - len(raw)), digest, len(raw), size)


def _check_format(document: Any) -> None:
    found = Record(document, "the description").take("format", int)
    if found > FORMAT:
        raise ModelFormatError(
            f"it is of format {found}, and this version knows formats up to {FORMAT}; update pegasos"
        )
    if found < 1:
        raise ModelFormatError(f"there is no format {found}")


def _tensors(entries: dict[str, Any], n_bytes: int) -> dict[str, Tensor]:
    if len(entries) > MOST_TENSORS:
        raise ModelFormatError(f"it has {len(entries)} tensors, and a model has at most {MOST_TENSORS}")
    found = {name: _tensor(Record(entry, "a tensor")) for name, entry in entries.items()}
    end = 0
    for tensor in sorted(found.values(), key=lambda tensor: (tensor.begin, tensor.end)):
        if tensor.begin != end:
            raise ModelFormatError("its tensors overlap or leave gaps")
        end = tensor.end
    if end != n_bytes:
        raise ModelFormatError(f"its tensors should take {end} bytes, and there are {n_bytes}")
    return found


def _tensor(entry: Record) -> Tensor:
    dtype = np.dtype(DTYPES[entry.take_one_of("dtype", DTYPES)])
    shape, offsets = entry.take("shape", list), entry.take("data_offsets", list)
    entry.done()
    numbers = [*shape, *offsets]
    if len(offsets) != 2 or len(shape) > HIGHEST_RANK or not all(type(number) is int for number in numbers):
        raise ModelFormatError("a tensor has no proper shape or place")
    if not all(0 <= number <= LARGEST_DIMENSION for number in numbers):
        raise ModelFormatError("a tensor has no proper shape or place")
    count = 1
    for dimension in shape:
        count *= dimension
    if offsets[1] - offsets[0] != count * dtype.itemsize:
        raise ModelFormatError("a tensor has another number of bytes than its shape says")
    return Tensor(dtype, tuple(shape), *offsets)


def _read_array(file, tensor: Tensor, digest=None) -> np.ndarray:
    """An array with memory of its own: the file is never in memory twice, and arrays lie as NumPy would lay them."""
    try:
        array = np.empty(tensor.shape, tensor.dtype)
    except MemoryError as error:
        raise ModelFormatError(f"there is no memory for the {tensor.end - tensor.begin} bytes of a tensor") from error
    view = _bytes_of(array)
    for first in range(0, len(view), CHUNK):
        part = view[first : first + CHUNK]
        if file.readinto(part) != len(part):
            raise ModelFormatError("the file ends too early")
        if digest is not None:
            digest.update(part)
    return array


def _check_truths(array: np.ndarray) -> None:
    if array.dtype.kind == "b" and array.reshape(-1).view(np.uint8).max(initial=0) > 1:
        raise ModelFormatError("a truth value is neither 0 nor 1")
