"""Reading data files: LIBSVM, CSV and other tables in text, Parquet, npz, HDF5 and IDX, told apart by their content."""

from __future__ import annotations

import os
from pathlib import Path

from pegasos.io.base import DataError, Dataset, Wish
from pegasos.io.opening import HEAD, as_text, check_readable, known_by, unpacked

__all__ = ["DataError", "Dataset", "read"]


def read(
    path: str | os.PathLike,
    *,
    label: str | int | None = None,
    n_features: int | None = None,
    feature_names: list[str] | None = None,
    first_index: int | None = None,
    usual_label: str | int | None = None,
) -> Dataset:
    """Read rows and labels from a file.

    The label column of a table is the last one, or `label`: a name of the header, or a number counted from 0 (negative
    ones from the end). For rows to predict, `n_features` and `feature_names` are those of the model; labels may then
    be missing, and the columns of a file with a header are found by name. `usual_label` is the label column of the
    training file, if this file has it, too, and `first_index` (0 or 1) is where features of LIBSVM text count from
    there. A file that cannot be read as data raises DataError, in a sentence that names the file and the thing.
    """
    path = Path(path)
    check_readable(path)
    chosen = usual_label if label is None else label
    wish = Wish(chosen, n_features, feature_names, first_index, firm=label is not None)
    dataset = _read(path, wish)
    dataset.source = dataset.source or str(path)
    return dataset


def _read(path: Path, wish: Wish) -> Dataset:
    name = path.name
    with open(path, "rb") as file:
        packing = known_by(file.peek(HEAD)[:HEAD])
        if packing in ("zip", "parquet", "hdf5"):
            return _read_binary(path, packing, wish)
        data = unpacked(name, file, packing)
    kind = known_by(data[:HEAD])
    if kind == "idx":
        from pegasos.io.idx import read_idx

        return read_idx(path, data, wish)
    if kind != "text":
        raise DataError(f"{name} is a {kind} file packed with {packing}; unpack it first.")
    return _read_text(name, data, wish)


def _read_binary(path: Path, kind: str, wish: Wish) -> Dataset:
    if kind == "parquet":
        from pegasos.io.parquet import read_parquet

        return read_parquet(path, wish)
    from pegasos.io import arrays

    return arrays.read_npz(path, wish) if kind == "zip" else arrays.read_hdf5(path, wish)


def _read_text(name: str, data: bytes, wish: Wish) -> Dataset:
    from pegasos.io import detect

    text = as_text(name, data)
    rows = detect.sample(text)
    if detect.is_libsvm(rows):
        from pegasos.io.libsvm import read_libsvm

        return read_libsvm(text, wish)
    from pegasos.io.table import read_table

    return read_table(text, rows, wish)
