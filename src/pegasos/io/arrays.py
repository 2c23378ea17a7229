"""Files of named arrays, npz of NumPy and HDF5: dense rows, or CSR rows in their parts, and labels."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from pegasos.io.dataset import DataError, Dataset, check_room, reason
from pegasos.io.hdf5 import Hdf5Array, array_names, opened_hdf5
from pegasos.io.labels import count_of_labels, labels_from_array
from pegasos.io.options import ReadOptions
from pegasos.io.source import NotInPieces, SlicedSource, Source

SPARSE = ("data", "indices", "indptr", "shape")
_LAYOUTS = "X and y; X_train, y_train, X_test, y_test; or the CSR parts data, indices, indptr, shape and y"
_LOCAL_HEADER = 30  # bytes before the name of a member of a zip archive


@dataclass(frozen=True)
class ArrayRoles:
    """Which of the named arrays are what; `x` is None where the rows are in CSR parts."""

    x: str | None
    y: str | None
    x_test: str | None = None
    y_test: str | None = None

    @property
    def names(self) -> list[str]:
        """The arrays that have a role."""
        rows = SPARSE if self.x is None else (self.x,)
        return [name for name in (*rows, self.y, self.x_test, self.y_test) if name is not None]


class NpzArray:
    """An array of an npz file. Its header is believed only if the bytes behind it are there.

    Read whole, it goes through zipfile, which decompresses it and compares its checksum. Some of its rows are read at
    their place in the archive; it is not mapped, as pages that were read would stay in memory.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo):
        self.path, self.info = path, info
        with archive.open(info) as member:
            self.shape, self.fortran, self.dtype = _header(path.name, info, member)
            self.header_size = member.tell()

    def rows(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """The rows first..last-1; without `last`, up to the end."""
        if first == 0 and (last is None or last >= self.shape[0]):
            return self._whole()
        last = self.shape[0] if last is None else min(last, self.shape[0])
        width = prod(self.shape[1:])
        offset = self._place + first * width * self.dtype.itemsize
        values = np.fromfile(self.path, self.dtype, (last - first) * width, offset=offset)
        if len(values) != (last - first) * width:
            raise DataError(f"{self.path.name} ends too early: it was cut while it was being read.")
        return values.reshape(last - first, *self.shape[1:])

    def _whole(self) -> np.ndarray:
        size = prod(self.shape) * self.dtype.itemsize
        with _opened_npz(self.path) as archive, archive.open(self.info) as member:
            member.read(self.header_size)
            data = member.read(size)
        if len(data) != size:
            raise _wrong_size(self.path.name, self.info, size, len(data))
        return np.frombuffer(data, self.dtype).reshape(self.shape, order="F" if self.fortran else "C")

    @cached_property
    def _place(self) -> int:
        """Where its numbers begin in the file: the directory of the archive does not tell how long headers are."""
        with open(self.path, "rb") as file:
            file.seek(self.info.header_offset + _LOCAL_HEADER - 4)
            n_name, n_extra = struct.unpack("<HH", file.read(4))
        return self.info.header_offset + _LOCAL_HEADER + n_name + n_extra + self.header_size

    def check_in_pieces(self) -> None:
        """Raise NotInPieces unless it lies in the file as it is, row after row."""
        if self.info.compress_type != zipfile.ZIP_STORED:
            raise NotInPieces(
                f"{self.path.name} is compressed, and its arrays cannot be read in pieces; save them with np.savez "
                "instead of np.savez_compressed, or read the file into memory (--stream no)."
            )
        if self.fortran and len(self.shape) > 1 and min(self.shape) > 1:
            raise NotInPieces(
                f"{self.path.name}: the array {self.info.filename} lies in the file column by column and cannot be "
                "read in pieces; save np.ascontiguousarray of it, or read the file into memory (--stream no)."
            )


FileArray = NpzArray | Hdf5Array


class ArraySource(SlicedSource):
    """Rows of arrays; `roles` says which arrays are the rows and their labels."""

    def __init__(self, path: Path, kind: str, arrays: dict[str, FileArray], roles: ArrayRoles, chunk: int):
        super().__init__(path)
        self.format, self.arrays, self.roles, self.chunk = kind, arrays, roles, chunk
        if roles.x is None:
            n_rows, self.n_features, bytes_per_row = self._csr_shape()
        else:
            shape = arrays[roles.x].shape
            if len(shape) < 2 or 0 in shape:
                raise DataError(f"{self.name}: {roles.x} has shape {shape}; rows and columns are needed.")
            n_rows, self.n_features = shape[0], prod(shape[1:])
            self.image_shape = (shape[1], shape[2]) if len(shape) == 3 else None
            bytes_per_row = self.n_features * max(4, arrays[roles.x].dtype.itemsize)
        self._set_size(n_rows, bytes_per_row, chunk)
        self.labelled = roles.y is not None
        if roles.y is not None:
            n_labels = count_of_labels(arrays[roles.y].shape, self.name, roles.y)
            if n_labels != n_rows:
                raise DataError(f"{self.name}: {roles.y} has {n_labels} labels for {n_rows} rows.")

    def read(self) -> Dataset:
        """The whole file, with the test rows it brings along."""
        dataset = super().read()
        test = self._test_rows()
        if test is not None:
            if test.n_features != self.n_features:
                sizes = f"{test.roles.x} has {test.n_features} columns and {self.roles.x} {self.n_features}"
                raise DataError(f"{self.name}: {sizes}.")
            dataset.X_test, dataset.y_test = test.rows()
        return dataset

    def test_part(self) -> Source | None:
        """The rows of X_test if they have labels."""
        return self._test_rows() if self.roles.y_test is not None else None

    def _test_rows(self) -> ArraySource | None:
        if self.roles.x_test is None:
            return None
        roles = ArrayRoles(self.roles.x_test, self.roles.y_test)
        return ArraySource(self.path, self.format, self.arrays, roles, self.chunk)

    def check_in_pieces(self) -> None:
        """All arrays must lie in the file row after row."""
        for name in self.roles.names:
            self.arrays[name].check_in_pieces()
        if self.roles.y is not None and self.arrays[self.roles.y].shape[0] != self.n_rows:
            raise NotInPieces(
                f"{self.name}: the labels {self.roles.y} lie side by side in one row and cannot be read in pieces; "
                "save them as a vector, or read the file into memory (--stream no)."
            )

    def slice(self, first: int, last: int) -> tuple[Any, np.ndarray | None]:
        """Features and labels of the rows first..last-1."""
        x, y = self.roles.x, self.roles.y
        check_room(self.name, self._bytes_of(last - first), f"{last - first} rows of {self.n_features} features")
        X = self._csr_rows(first, last) if x is None else self._dense_rows(x, first, last)
        if y is None:
            return X, None
        values = self.arrays[y].rows(first, last)
        return X, labels_from_array(values, self.name, y, first_row=first, text_labels=self.text_labels)

    def _bytes_of(self, n_rows: int) -> float:
        """Memory for so many rows and their labels."""
        parts: tuple[str | None, ...] = SPARSE[:3] if self.roles.x is None else (self.roles.x,)
        names = [name for name in (*parts, self.roles.y) if name is not None]
        sizes = (prod(self.arrays[name].shape) * max(4, self.arrays[name].dtype.itemsize) for name in names)
        return sum(sizes) * n_rows / self.n_rows

    def _dense_rows(self, name: str, first: int, last: int) -> np.ndarray:
        rows = as_floats(self.name, name, self.arrays[name].rows(first, last).reshape(last - first, -1))
        return check_finite(self.name, name, rows, first)

    def _csr_shape(self) -> tuple[int, int, float]:
        """Rows, features, and bytes that a row takes on average, if the CSR parts fit together by their sizes."""
        data, indices, indptr, shape = (self.arrays[part] for part in SPARSE)
        if any(len(part.shape) != 1 for part in (data, indices, indptr)):
            raise DataError(f"{self.name}: data, indices, indptr and shape must be arrays of one dimension.")
        sizes = shape.rows() if shape.shape == (2,) else np.zeros(0)
        if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or not (sizes > 0).all():
            raise DataError(f"{self.name}: shape must be two positive numbers, rows and columns.")
        n_rows, width = (int(size) for size in sizes)
        if data.shape != indices.shape:
            raise DataError(
                f"{self.name}: data and indices must be of one length, got {data.shape} and {indices.shape}."
            )
        if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
            raise DataError(f"{self.name}: indices and indptr must hold whole numbers.")
        if indptr.shape != (n_rows + 1,):
            raise self._bad_indptr(n_rows)
        return n_rows, width, 12 * data.shape[0] / n_rows

    def _bad_indptr(self, n_rows: int) -> DataError:
        n_entries = self.arrays["data"].shape[0]
        return DataError(f"{self.name}: indptr does not divide the {n_entries} entries into {n_rows} rows.")

    def _csr_rows(self, first: int, last: int):
        """Some rows, with the features of each in their order and none twice."""
        from scipy.sparse import csr_matrix

        data, indices, indptr = (self.arrays[part] for part in SPARSE[:3])
        ends = indptr.rows(first, last + 1)
        begin, end, n_entries = int(ends[0]), int(ends[-1]), data.shape[0]
        complete = (first > 0 or begin == 0) and (last < self.n_rows or end == n_entries)
        if not complete or not 0 <= begin <= end <= n_entries or not (np.diff(ends.astype(np.int64)) >= 0).all():
            raise self._bad_indptr(self.n_rows)
        values = as_floats(self.name, "data", data.rows(begin, end))  # the largest first: its buffers are used again
        width, columns = self.n_features or 0, indices.rows(begin, end)
        if len(columns) and not (columns.min() >= 0 and columns.max() < width):
            found = f"{columns.min()} to {columns.max()}"
            raise DataError(f"{self.name}: indices must be from 0 to {width - 1}, got {found}.")
        check_finite(self.name, "data", values.reshape(-1, 1), begin)
        X = csr_matrix((values, columns, ends - ends[0]), shape=(last - first, width))
        if not X.has_canonical_format:
            X = X.copy()  # what was read may be read-only
            X.sum_duplicates()
        return X


def open_arrays(path: Path, kind: str, options: ReadOptions, chunk: int) -> ArraySource:
    """The source of an npz ("zip") or HDF5 file. Nothing in it is run: pickled objects are refused."""
    options.check_no_table(path.name, "here the labels are the array y")
    arrays, roles = _npz_arrays(path) if kind == "zip" else _hdf5_arrays(path)
    source = ArraySource(path, "npz" if kind == "zip" else kind, arrays, roles, chunk)
    assert source.n_features is not None
    options.check_width(path.name, source.n_features)
    return source


def _npz_arrays(path: Path) -> tuple[dict[str, FileArray], ArrayRoles]:
    with _opened_npz(path) as archive:
        infos = {info.filename[:-4]: info for info in archive.infolist() if info.filename.endswith(".npy")}
        if not infos:
            raise DataError(f"{path.name} is a zip archive without arrays; unpack it and give one of its files.")
        roles = roles_of(path.name, infos)
        return {name: NpzArray(path, archive, infos[name]) for name in roles.names}, roles


@contextmanager
def _opened_npz(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive of an npz file; whatever zipfile does not like about it becomes a sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, MemoryError) as error:
        raise DataError(f"{path.name} is damaged: its arrays cannot be unpacked ({reason(error)}).") from None


def _hdf5_arrays(path: Path) -> tuple[dict[str, FileArray], ArrayRoles]:
    """The arrays of an HDF5 file: groups train and test with data and target each, or named as in an npz file."""
    with opened_hdf5(path) as file:
        names = array_names(file)
        roles = roles_of(path.name, names)
        return {name: Hdf5Array(path, names[name], file) for name in roles.names}, roles


def _header(file: str, info: zipfile.ZipInfo, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether columns come first, and type of an array whose bytes follow in `member`, as many as there are."""
    try:
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(member)]
        shape, fortran, dtype = read_header(member)
    except (ValueError, KeyError, SyntaxError, TypeError, TokenError, RecursionError, MemoryError) as error:
        raise DataError(f"{file}: the array {info.filename} has a damaged header ({reason(error)}).") from None
    if dtype.hasobject:
        raise DataError(f"{file}: the array {info.filename} holds Python objects, which are not read.")
    size = prod(shape) * dtype.itemsize
    if size > info.file_size or min(shape, default=0) < 0:
        raise _wrong_size(file, info, size, info.file_size)
    return shape, fortran, dtype


def _wrong_size(file: str, info: zipfile.ZipInfo, size: int, found: int) -> DataError:
    return DataError(f"{file}: the array {info.filename} should have {size} bytes and has {found}.")


def roles_of(file: str, arrays: Iterable[str]) -> ArrayRoles:
    """What the arrays of these names are for, or a DataError that says which names there should be."""
    found = sorted(arrays)
    names = {name.lower().replace("target", "y"): name for name in found}
    if all(part in found for part in SPARSE):
        return ArrayRoles(None, names.get("y"))
    if "x_train" in names:
        return ArrayRoles(names["x_train"], names.get("y_train"), names.get("x_test"), names.get("y_test"))
    if "x" in names:
        return ArrayRoles(names["x"], names.get("y"))
    shown = ", ".join(found[:12]) or "none"
    raise DataError(f"{file} holds the arrays {shown}; needed are {_LAYOUTS}.")


def as_floats(file: str, part: str, values: np.ndarray) -> np.ndarray:
    """float32 or float64 as given, integers and half floats as float32; C-contiguous and in native byte order."""
    if values.dtype.kind not in "iubf":
        raise DataError(f"{file}: {part} is of type {values.dtype}, which is no number; encode categories first.")
    wide = values.dtype.kind == "f" and values.dtype.itemsize >= 8
    return np.ascontiguousarray(values, np.float64 if wide else np.float32)


def check_finite(file: str, part: str, rows: np.ndarray, first_row: int = 0) -> np.ndarray:
    """The rows, from `first_row` of the file on, if all entries are finite."""
    for first in range(0, len(rows), 4096):  # a few at a time: the answers need memory, too
        finite = np.isfinite(rows[first : first + 4096])
        if not finite.all():
            row, column = (int(place[0]) for place in np.nonzero(~finite))
            value = rows[first + row, column]
            what = "has a missing value" if np.isnan(value) else f"holds {value}"
            place = f"row {first_row + first + row + 1}"
            raise DataError(f"{file}: column {column} of {part} {what} ({place}); all must be finite.")
    return rows
