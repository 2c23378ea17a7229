"""IDX files, the format of MNIST: a header of sizes, then the numbers. Images and labels are files side by side.

They are read whole only: the sets in this format fit into memory.
"""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from pegasos.io.arrays import as_floats, check_finite
from pegasos.io.dataset import DataError, Dataset, check_room
from pegasos.io.detect import decompressed, kind_of, kind_of_file
from pegasos.io.labels import labels_from_array
from pegasos.io.options import ReadOptions
from pegasos.io.scaling import Scaling

_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: Path, data: bytes, options: ReadOptions) -> Dataset:
    """The Dataset of a file of images, with the labels beside it, and the test part if it is the training part."""
    options.check_no_table(path.name, "the labels of an IDX file are in a file of their own")
    images = _array(path.name, data)
    if images.ndim == 1:
        beside = path.name.replace("labels", "images").replace("idx1", "idx3")
        hint = f", {beside}" if beside != path.name else ""
        raise DataError(f"{path.name} holds labels only; give the file of the images{hint}, and its labels are found.")
    X, shape = _rows(path.name, images)
    options.check_width(path.name, X.shape[1])
    y = _labels(path, len(X), required=options.width is None)
    dataset = Dataset(path.name, X, y, source=str(path), format="idx", image_shape=shape, scaling=_scaling(images))
    test = _existing(path, path.name.replace("train", "t10k")) if path.name.startswith("train") else None
    if test is not None:
        dataset.X_test, test_shape = _rows(test.name, _array(test.name, _bytes(test)))
        if test_shape != shape:
            raise DataError(f"{test.name} has images of {test_shape}, and {path.name} of {shape}.")
        dataset.y_test = _labels(test, len(dataset.X_test), required=True)
    return dataset


def _array(name: str, data: bytes) -> np.ndarray:
    """The numbers in a file, after its header was compared with its length."""
    n_axes = data[3]
    begin = 4 + 4 * n_axes
    if len(data) < begin:
        raise DataError(f"{name} is cut off: its IDX header is not whole.")
    sizes = tuple(int(size) for size in np.frombuffer(data, ">u4", n_axes, 4))
    dtype = np.dtype(_TYPES[data[2]])
    needed, found = prod(sizes) * dtype.itemsize, len(data) - begin
    if needed != found:
        raise DataError(
            f"{name}: the IDX header says {' × '.join(map(str, sizes))} numbers, {needed} bytes, not {found}."
        )
    return np.frombuffer(data, dtype, offset=begin).reshape(sizes)


def _rows(name: str, images: np.ndarray) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Rows of floats; pixels from 0 to 255 are brought to [0, 1]."""
    if 0 in images.shape or images.ndim < 2:
        raise DataError(f"{name} has shape {images.shape}; images are needed.")
    shape = (images.shape[1], images.shape[2]) if images.ndim == 3 else None
    check_room(name, 4.0 * images.size, f"{len(images)} images of {images[0].size} numbers")
    rows = check_finite(name, "the images", as_floats(name, "the images", images.reshape(len(images), -1)))
    scaling = _scaling(images)
    return rows if scaling is None else scaling.apply(rows), shape


def _scaling(images: np.ndarray) -> Scaling | None:
    """What is done to pixels from 0 to 255."""
    return Scaling(divisor=255.0) if images.dtype.itemsize == 1 and images.dtype.kind == "u" else None


def _labels(path: Path, n_rows: int, *, required: bool) -> np.ndarray | None:
    """The labels in the file beside a file of images."""
    wanted = path.name.replace("images", "labels").replace("idx3", "idx1")
    beside = _existing(path, wanted) if wanted != path.name else None
    if beside is None:
        if required:
            raise DataError(f"{path.name}: its labels are looked for in {wanted} beside it, and that does not exist.")
        return None
    y = labels_from_array(_array(beside.name, _bytes(beside)), beside.name, "the file")
    if len(y) != n_rows:
        raise DataError(f"{beside.name} has {len(y)} labels for the {n_rows} images in {path.name}.")
    return y


def _existing(path: Path, name: str) -> Path | None:
    """A file beside `path`, compressed or not."""
    plain = name.removesuffix(".gz")
    candidates = [path.with_name(other) for other in (name, plain, plain + ".gz")]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _bytes(path: Path) -> bytes:
    with open(path, "rb") as file:
        data = decompressed(path.name, file, kind_of_file(file))
    if kind_of(data) != "idx":
        raise DataError(f"{path.name} is no IDX file.")
    return data
