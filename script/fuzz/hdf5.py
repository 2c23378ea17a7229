"""HDF5: arrays in groups, packed and in chunks, other types and places, and bytes changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fuzz.judging import Truth, damaged, judged, rows_and_labels

DAMAGED = 0.5  # of the files have bytes changed, on some of which the HDF5 library loops for ever


def case(rng, folder: Path) -> tuple[str, str]:
    """One file."""
    truth, path = rows_and_labels(rng), folder / "rows.h5"
    kind, kept = "good", truth
    path.unlink(missing_ok=True)
    with h5py.File(path, "w") as file:
        names = [("X", "y"), ("train/data", "train/target")][rng.integers(2)]
        for name, array in zip(names, truth, strict=True):
            if array.dtype.kind == "U":
                array = np.array([label.encode() for label in array.tolist()], h5py.string_dtype())
            _write(file, name, array, rng)
        if rng.random() < 0.3:
            kind = _hostile(file, names[rng.integers(2)], truth, folder, rng)
            kept = None
    if rng.random() < DAMAGED:
        kind, kept = "damaged", None
        path.write_bytes(damaged(path.read_bytes(), rng))
    return kind, judged(path, kept)


def _write(file, name: str, array: np.ndarray, rng) -> None:
    how: dict[str, Any] = {}
    if rng.random() < 0.5 and array.dtype.kind != "O":
        how = {"chunks": tuple(max(1, extent // 2) for extent in array.shape)}
        packings = [{}, {"compression": "gzip"}, {"compression": "lzf", "shuffle": True}, {"fletcher32": True}]
        how |= packings[rng.integers(4)]
    file.create_dataset(name, data=array, **how)


def _hostile(file, name: str, truth: Truth, folder: Path, rng) -> str:
    """Put something else in the place of an array; its kind."""
    other = folder / "other"
    other.write_bytes(bytes(4096))
    kinds = ["external storage", "soft link", "external link", "virtual", "huge", "empty", "objects", "other shape"]
    kind = kinds[rng.integers(len(kinds))]
    shape = truth.X.shape if name in ("X", "train/data") else truth.y.shape
    del file[name]
    if kind == "external storage":
        file.create_dataset(name, shape, "u1", external=[(str(other), 0, 4096)])
    elif kind == "soft link":
        file[name] = h5py.SoftLink("/elsewhere")
    elif kind == "external link":
        file[name] = h5py.ExternalLink(str(other), "/X")
    elif kind == "virtual":
        layout = h5py.VirtualLayout(shape, "f8")
        layout[:] = h5py.VirtualSource(str(other), "X", shape)
        file.create_virtual_dataset(name, layout)
    elif kind == "huge":
        file.create_dataset(name, (2 ** int(rng.integers(20, 55)), *shape[1:]), "f8")
    elif kind == "empty":
        file[name] = h5py.Empty("f8")
    elif kind == "objects":
        file.create_dataset(name, shape, h5py.vlen_dtype("i4") if rng.random() < 0.5 else h5py.ref_dtype)
    else:
        file[name] = np.zeros((3, 2, 2, 2)[: int(rng.integers(1, 5))])
    return kind
