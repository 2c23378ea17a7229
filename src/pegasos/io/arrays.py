"""Files of named arrays: npz of NumPy, and HDF5."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from pegasos.io.base import DataError, Dataset, Wish, check_no_label_choice, check_width, reason
from pegasos.io.labels import labels_from_array

SPARSE = ("data", "indices", "indptr", "shape")
_LAYOUTS = "X and y; X_train, y_train, X_test, y_test; or the CSR parts data, indices, indptr, shape and y"
INSTEAD = "here the labels are the array y"


@dataclass(frozen=True)
class Roles:
    """Which of the named arrays are what; `x` is None where the rows are in CSR parts."""

    x: str | None
    y: str | None
    x_test: str | None = None
    y_test: str | None = None


def read_npz(path: Path, wish: Wish) -> Dataset:
    """The Dataset in an npz file. Nothing in it is run: pickled objects are refused."""
    check_no_label_choice(path.name, wish, INSTEAD)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename[:-4]: info for info in archive.infolist() if info.filename.endswith(".npy")}
            if not members:
                raise DataError(f"{path.name} is a zip archive without arrays; unpack it and give one of its files.")
            arrays = {name: _lazy_member(path.name, archive, info) for name, info in members.items()}
            return _dataset(path.name, arrays, wish, "npz")
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, MemoryError) as error:
        raise DataError(f"{path.name} is damaged: its arrays cannot be unpacked ({reason(error)}).") from None


def _lazy_member(file: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], np.ndarray]:
    """A function that reads one array; its header is believed only if the bytes behind it are there."""

    def load() -> np.ndarray:
        with archive.open(info) as member:
            shape, fortran, dtype = header_of(file, info, member)
            size = prod(shape) * dtype.itemsize
            data = member.read(size)
        if len(data) != size:
            raise DataError(f"{file}: the array {info.filename} should have {size} bytes and has {len(data)}.")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")

    return load


def header_of(file: str, info: zipfile.ZipInfo, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether columns come first, and type of an array whose bytes follow in `member`, as many as there are."""
    try:
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(member)]
        shape, fortran, dtype = read_header(member)
    except (ValueError, KeyError, SyntaxError, TypeError) as error:
        raise DataError(f"{file}: the array {info.filename} has a damaged header ({reason(error)}).") from None
    if dtype.hasobject:
        raise DataError(f"{file}: the array {info.filename} holds Python objects, which are not read.")
    size = prod(shape) * dtype.itemsize
    if size > info.file_size:
        raise DataError(f"{file}: the array {info.filename} should have {size} bytes and has {info.file_size}.")
    return shape, fortran, dtype


def read_hdf5(path: Path, wish: Wish) -> Dataset:
    """The Dataset in an HDF5 file: groups train and test with data and target each, or arrays as in an npz file."""
    check_no_label_choice(path.name, wish, INSTEAD)
    try:
        import h5py
    except ImportError:
        raise DataError(f"{path.name}: reading HDF5 needs h5py: pip install 'pegasos[data]'.") from None

    try:
        with h5py.File(path, "r") as file:
            found: list[str] = []
            file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
            arrays = {array_name(name): _lazy_dataset(path.name, file, name) for name in found}
            return _dataset(path.name, arrays, wish, "hdf5")
    except DataError:
        raise
    except (OSError, KeyError, RuntimeError, ValueError, TypeError, MemoryError) as error:
        raise DataError(f"{path.name} is damaged: its arrays cannot be read ({reason(error)}).") from None


def array_name(name: str) -> str:
    """The name that an array in a group has in an npz file."""
    names = {"train/data": "X_train", "train/target": "y_train", "test/data": "X_test", "test/target": "y_test"}
    return names.get(name, name)


def _lazy_dataset(file: str, group, name: str) -> Callable[[], np.ndarray]:
    def load() -> np.ndarray:
        dataset = group[name]
        if dataset.dtype.hasobject and dataset.dtype.metadata is None:
            raise DataError(f"{file}: the array {name} is of a type that is not read.")
        return np.asarray(dataset[()])

    return load


def roles_of(file: str, arrays: Iterable[str]) -> Roles:
    """What the arrays of these names are for, or a DataError that says which names there should be."""
    found = sorted(arrays)
    names = {name.lower().replace("target", "y"): name for name in found}
    if all(part in found for part in SPARSE):
        return Roles(None, names.get("y"))
    if "x_train" in names:
        return Roles(names["x_train"], names.get("y_train"), names.get("x_test"), names.get("y_test"))
    if "x" in names:
        return Roles(names["x"], names.get("y"))
    shown = ", ".join(found[:12]) or "none"
    raise DataError(f"{file} holds the arrays {shown}; needed are {_LAYOUTS}.")


def _dataset(file: str, arrays: Mapping[str, Callable[[], np.ndarray]], wish: Wish, kind: str) -> Dataset:
    """The Dataset in named arrays, each of which is read when it is called."""
    roles = roles_of(file, arrays)
    if roles.x is None:
        X = sparse_rows(file, [arrays[part]() for part in SPARSE])
        dataset = Dataset(file, X, _labels(file, arrays, roles.y, X), format=kind)
    else:
        X, shape = _dense(file, roles.x, arrays[roles.x]())
        dataset = Dataset(file, X, _labels(file, arrays, roles.y, X), format=kind, image_shape=shape)
    if roles.x_test is not None:
        X_test, _ = _dense(file, roles.x_test, arrays[roles.x_test]())
        if X_test.shape[1] != X.shape[1]:
            raise DataError(f"{file}: {roles.x_test} has {X_test.shape[1]} columns and {roles.x} {X.shape[1]}.")
        dataset.X_test, dataset.y_test = X_test, _labels(file, arrays, roles.y_test, X_test)
    check_width(file, dataset.n_features, wish)
    return dataset


def _labels(file: str, arrays: Mapping[str, Callable[[], np.ndarray]], name: str | None, X) -> np.ndarray | None:
    if name is None:
        return None
    y = labels_from_array(arrays[name](), file, name)
    if len(y) != X.shape[0]:
        raise DataError(f"{file}: {name} has {len(y)} labels for {X.shape[0]} rows.")
    return y


def _dense(file: str, part: str, values: np.ndarray) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Rows of finite floats, and the shape of the images if they are images."""
    if values.ndim < 2 or 0 in values.shape:
        raise DataError(f"{file}: {part} has shape {values.shape}; rows and columns are needed.")
    shape = (values.shape[1], values.shape[2]) if values.ndim == 3 else None
    rows = as_floats(file, part, values.reshape(len(values), -1))
    return check_finite(file, part, rows), shape


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


def sparse_rows(file: str, parts: list[np.ndarray], first_entry: int = 0):
    """CSR parts that fit together; they may be some rows of a file, whose entries begin at `first_entry`."""
    from scipy.sparse import csr_matrix

    data, indices, indptr, shape = parts
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or not (shape > 0).all():
        raise DataError(f"{file}: shape must be two positive numbers, rows and columns.")
    n_rows, width = (int(size) for size in shape)
    if any(part.ndim != 1 for part in (data, indices, indptr)) or len(data) != len(indices):
        raise DataError(f"{file}: data and indices must be of one length, got {data.shape} and {indices.shape}.")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise DataError(f"{file}: indices and indptr must hold whole numbers.")
    rises = (np.diff(indptr.astype(np.int64)) >= 0).all()
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(data) or not rises:
        raise DataError(f"{file}: indptr does not divide the {len(data)} entries into {n_rows} rows.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < width):
        raise DataError(f"{file}: indices must be from 0 to {width - 1}, got {indices.min()} to {indices.max()}.")
    values = check_finite(file, "data", as_floats(file, "data", data).reshape(-1, 1), first_entry).ravel()
    X = csr_matrix((values, indices, indptr), shape=(n_rows, width))
    if not X.has_canonical_format:
        X.sum_duplicates()
    return X
