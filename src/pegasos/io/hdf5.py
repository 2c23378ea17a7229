"""The arrays of an HDF5 file. What is read of them lies in the file itself: no other file is opened for its sake.

HDF5 lets a file name others to take numbers from (external storage, virtual data sets, links) and programs to decode
them by (filters). A file of unknown origin could have any file of the user read in that way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.io.dataset import SMALL, DataError, check_room, in_words, reason

# deflate, shuffle, fletcher32, szip, nbit and scale-offset of HDF5, and lzf of h5py
FILTERS = frozenset([1, 2, 3, 4, 5, 6, 32000])
MOST_PACKED = 1100  # times: as much as any data shrink in deflate, and a little more
_NAMES = {"train/data": "X_train", "train/target": "y_train", "test/data": "X_test", "test/target": "y_test"}


class Hdf5Array:
    """An array of an HDF5 file, which is opened anew for each reading: threads share nothing."""

    def __init__(self, path: Path, name: str, file):
        self.path, self.name = path, name
        dataset = _checked(path, file, name)
        self.shape, self.dtype = dataset.shape, dataset.dtype

    def rows(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """The rows first..last-1; without `last`, up to the end."""
        with opened_hdf5(self.path) as file:
            dataset = _checked(self.path, file, self.name)
            return np.asarray(dataset[first:last] if self.shape else dataset[()])

    def check_in_pieces(self) -> None:
        """Any rows of it can be read."""


def array_names(file) -> dict[str, str]:
    """Where the arrays of an open file are, by the names they have in an npz file; links count as arrays."""
    import h5py

    names: dict[str, str] = {}

    def visit(name: str, link) -> None:
        if not isinstance(link, h5py.HardLink) or isinstance(file[name], h5py.Dataset):
            names[_NAMES.get(name, name)] = name

    file.visititems_links(visit)
    return names


@contextmanager
def opened_hdf5(path: Path) -> Iterator[Any]:
    """An HDF5 file; whatever h5py does not like about it becomes a sentence."""
    try:
        import h5py
    except ImportError:
        raise DataError(f"{path.name}: reading HDF5 needs h5py: pip install 'pegasos[data]'.") from None
    try:
        with h5py.File(path, "r") as file:
            yield file
    except DataError:
        raise
    except (OSError, LookupError, RuntimeError, ValueError, TypeError, MemoryError, SystemError) as error:
        raise DataError(f"{path.name} is damaged: its arrays cannot be read ({reason(error)}).") from None


def _checked(path: Path, file, name: str):
    """An array of an open file, if all of it is in this file and there is room for it."""
    import h5py

    def refused(what: str) -> DataError:
        return DataError(f"{path.name}: the array {name} {what}; save the numbers themselves in this file.")

    place = ""
    for part in name.split("/"):
        place = f"{place}/{part}"
        if not isinstance(file.get(place, getlink=True), h5py.HardLink):
            raise refused("is a link, which is not followed")
    dataset = file[name]
    if dataset.is_virtual:
        raise refused("takes its numbers from other files (a virtual data set)")
    settings = dataset.id.get_create_plist()
    if settings.get_external_count():
        raise refused("has its numbers in other files (external storage)")
    strange = {settings.get_filter(number)[0] for number in range(settings.get_nfilters())} - FILTERS
    if strange:
        raise refused(f"is packed by a filter that is not one of HDF5's own (number {min(strange)})")
    if dataset.dtype.hasobject and h5py.check_string_dtype(dataset.dtype) is None:
        raise DataError(f"{path.name}: the array {name} is of a type that is not read.")
    if dataset.shape is None:
        raise DataError(f"{path.name}: the array {name} is empty.")
    _check_size(path, name, dataset)
    return dataset


def _check_size(path: Path, name: str, dataset) -> None:
    """Raise DataError for an array that claims far more numbers than a file of this size can hold.

    Parts of an array that were never written take no room in the file, and memory as all others.
    """
    n_bytes = prod(dataset.shape) * dataset.dtype.itemsize
    if n_bytes > max(SMALL, MOST_PACKED * path.stat().st_size):
        raise DataError(
            f"{path.name}: the array {name} of shape {dataset.shape} would take {in_words(n_bytes)} of memory, and the "
            f"file has {in_words(path.stat().st_size)}: most of it was never written."
        )
    chunk = prod(dataset.chunks) * dataset.dtype.itemsize if dataset.chunks else 0
    check_room(path.name, chunk, f"a chunk of the array {name}")
