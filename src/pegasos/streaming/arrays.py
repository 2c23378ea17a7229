"""Files of named arrays as sources: npz, whose arrays are read at their places in the archive, and HDF5."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Protocol

import numpy as np

from pegasos.io.arrays import (
    INSTEAD,
    SPARSE,
    Roles,
    array_name,
    as_floats,
    check_finite,
    header_of,
    roles_of,
    sparse_rows,
)
from pegasos.io.base import DataError, Wish, check_no_label_choice, check_width, reason
from pegasos.io.labels import labels_from_array
from pegasos.streaming.source import Chunk, NotInPieces, Source, Task, rows_of

LOCAL_HEADER = 30  # bytes before the name of a member of a zip archive


class Array(Protocol):
    """An array in a file, of which some rows are read at a time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def dtype(self) -> np.dtype:
        """Its type."""

    def rows(self, first: int, last: int) -> np.ndarray:
        """The rows first..last-1."""


@dataclass(frozen=True)
class Member:
    """An array of an npz file, at its place in the archive. Not mapped: pages that were read would stay in memory."""

    path: Path
    place: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def rows(self, first: int, last: int) -> np.ndarray:
        """The rows first..last-1."""
        last = min(last, self.shape[0])
        count = prod(self.shape[1:])
        offset = self.place + first * count * self.dtype.itemsize
        values = np.fromfile(self.path, self.dtype, (last - first) * count, offset=offset)
        if len(values) != (last - first) * count:
            raise DataError(f"{self.path.name} ends too early: it was cut while it was being read.")
        return values.reshape(last - first, *self.shape[1:])


@dataclass(frozen=True)
class Slices:
    """An array of an HDF5 file."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    def rows(self, first: int, last: int) -> np.ndarray:
        """The rows first..last-1."""
        import h5py

        try:
            with h5py.File(self.path, "r") as file:
                return np.asarray(file[self.name][first:last])
        except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
            raise DataError(f"{self.path.name} is damaged: its arrays cannot be read ({reason(error)}).") from None


class ArraySource(Source):
    """Rows of arrays; `roles` says which arrays are the rows and their labels."""

    def __init__(self, path: Path, kind: str, arrays: dict[str, Array], roles: Roles, chunk: int):
        super().__init__(path)
        self.format, self.arrays, self.roles, self.chunk = kind, arrays, roles, chunk
        self.labelled = roles.y is not None
        if roles.x is None:
            self.n_rows, self.n_features, bytes_a_row = self._csr_shape()
        else:
            shape = arrays[roles.x].shape
            if len(shape) < 2 or 0 in shape:
                raise DataError(f"{self.name}: {roles.x} has shape {shape}; rows and columns are needed.")
            self.n_rows, self.n_features = shape[0], prod(shape[1:])
            bytes_a_row = self.n_features * max(4, arrays[roles.x].dtype.itemsize)
        self.rows_each = rows_of(bytes_a_row, chunk)
        self.n_places = -(-self.n_rows // self.rows_each)
        if roles.y is not None and arrays[roles.y].shape[:1] != (self.n_rows,):
            n_labels = prod(arrays[roles.y].shape)
            raise DataError(f"{self.name}: {roles.y} has {n_labels} labels for {self.n_rows} rows.")

    def tasks(self, order: Sequence[int] | None = None) -> Iterator[Task]:
        """Functions that read slices."""
        for number in range(self.n_places or 0) if order is None else order:
            yield partial(self._slice, int(number) * self.rows_each)

    def test_part(self) -> Source | None:
        """The rows of X_test."""
        if self.roles.x_test is None or self.roles.y_test is None:
            return None
        roles = Roles(self.roles.x_test, self.roles.y_test)
        return ArraySource(self.path, self.format, self.arrays, roles, self.chunk)

    def _slice(self, first: int) -> Chunk:
        self.check_unchanged()
        last = min(first + self.rows_each, self.n_rows)
        X = self._csr_rows(first, last) if self.roles.x is None else self._dense_rows(self.roles.x, first, last)
        assert self.roles.y is not None
        values = self.arrays[self.roles.y].rows(first, last)
        y = labels_from_array(values, self.name, self.roles.y, first_row=first, words=self.words)
        return Chunk(X, y, first, (last - first) / self.n_rows)

    def _dense_rows(self, name: str, first: int, last: int) -> np.ndarray:
        rows = as_floats(self.name, name, self.arrays[name].rows(first, last).reshape(last - first, -1))
        return check_finite(self.name, name, rows, first)

    def _csr_shape(self) -> tuple[int, int, float]:
        """Rows, features, and bytes that a row takes on average."""
        if any(len(self.arrays[part].shape) != 1 for part in SPARSE):
            raise DataError(f"{self.name}: data, indices, indptr and shape must be arrays of one dimension.")
        shape = self.arrays["shape"].rows(0, 2)
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or not (shape > 0).all():
            raise DataError(f"{self.name}: shape must be two positive numbers, rows and columns.")
        n_rows, width = (int(size) for size in shape)
        n_entries = self.arrays["data"].shape[0]
        if self.arrays["indptr"].shape != (n_rows + 1,):
            raise DataError(f"{self.name}: indptr does not divide the {n_entries} entries into {n_rows} rows.")
        return n_rows, width, 12 * n_entries / n_rows

    def _csr_rows(self, first: int, last: int):
        ends = self.arrays["indptr"].rows(first, last + 1)
        begin, end = int(ends[0]), int(ends[-1])
        n_entries = self.arrays["data"].shape[0]
        if not 0 <= begin <= end <= n_entries:
            raise DataError(f"{self.name}: indptr does not divide the {n_entries} entries into {self.n_rows} rows.")
        data, indices = (self.arrays[name].rows(begin, end) for name in ("data", "indices"))
        shape = np.array([last - first, self.n_features])
        return sparse_rows(self.name, [data, indices, ends - ends[0], shape], begin)


def open_arrays(path: Path, kind: str, wish: Wish, chunk: int) -> ArraySource:
    """The source of an npz or HDF5 file."""
    check_no_label_choice(path.name, wish, INSTEAD)
    arrays, roles = _members(path) if kind == "zip" else _datasets(path)
    source = ArraySource(path, "npz" if kind == "zip" else kind, arrays, roles, chunk)
    assert source.n_features is not None
    check_width(path.name, source.n_features, wish)
    return source


def _needed(roles: Roles) -> list[str]:
    """The names of the arrays that have a role."""
    rows = SPARSE if roles.x is None else (roles.x,)
    return [name for name in (*rows, roles.y, roles.x_test, roles.y_test) if name is not None]


def _members(path: Path) -> tuple[dict[str, Array], Roles]:
    """The arrays of an npz file. They have to lie in it as they are, row after row."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename[:-4]: info for info in archive.infolist() if info.filename.endswith(".npy")}
            if not infos:
                raise DataError(f"{path.name} is a zip archive without arrays; unpack it and give one of its files.")
            roles = roles_of(path.name, infos)
            return {name: _member(path, archive, infos[name]) for name in _needed(roles)}, roles
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        raise DataError(f"{path.name} is damaged: its arrays cannot be unpacked ({reason(error)}).") from None


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    if info.compress_type != zipfile.ZIP_STORED:
        raise NotInPieces(
            f"{path.name} is compressed, and its arrays cannot be read in pieces; save them with np.savez instead of "
            "np.savez_compressed, or read the file into memory (--stream no)."
        )
    with archive.open(info) as member:
        shape, fortran, dtype = header_of(path.name, info, member)
        header = member.tell()
    if fortran and len(shape) > 1 and min(shape) > 1:
        raise NotInPieces(
            f"{path.name}: the array {info.filename} lies in the file column by column and cannot be read in pieces; "
            "save np.ascontiguousarray of it, or read the file into memory (--stream no)."
        )
    with open(path, "rb") as file:  # the directory at the end does not tell how long a member's own header is
        file.seek(info.header_offset + LOCAL_HEADER - 4)
        n_name, n_extra = struct.unpack("<HH", file.read(4))
    return Member(path, info.header_offset + LOCAL_HEADER + n_name + n_extra + header, shape, dtype)


def _datasets(path: Path) -> tuple[dict[str, Array], Roles]:
    """The arrays of an HDF5 file."""
    try:
        import h5py
    except ImportError:
        raise DataError(f"{path.name}: reading HDF5 needs h5py: pip install 'pegasos[data]'.") from None

    found: dict[str, Array] = {}

    def visit(name: str, item) -> None:
        if isinstance(item, h5py.Dataset):
            found[array_name(name)] = Slices(path, name, item.shape, item.dtype)

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        raise DataError(f"{path.name} is damaged: its arrays cannot be read ({reason(error)}).") from None
    return found, roles_of(path.name, found)
