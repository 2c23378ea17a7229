"""npz: dense rows and CSR parts in a zip archive, other shapes and types, and bytes changed in and around members."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from fuzz.judging import Truth, damaged, judged, rows_and_labels


def case(rng, folder: Path) -> tuple[str, str]:
    """One archive."""
    truth = rows_and_labels(rng)
    arrays, kind = _arrays(truth, rng)
    kept: Truth | None = truth
    if rng.random() < 0.4:
        kind, kept, arrays = "other arrays", None, _changed(arrays, rng)
    members = {name: _npy(array) for name, array in arrays.items()}
    if rng.random() < 0.25:
        name = list(members)[rng.integers(len(members))]
        kind, kept, members[name] = "damaged member", None, damaged(members[name], rng)
    path = folder / "rows.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.4 else zipfile.ZIP_STORED) as archive:
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)
    if rng.random() < 0.25:
        kind, kept = "damaged archive", None
        path.write_bytes(damaged(path.read_bytes(), rng))
    return kind, judged(path, kept)


def _arrays(truth: Truth, rng) -> tuple[dict[str, Any], str]:
    if rng.random() < 0.5:
        return {"X": np.asfortranarray(truth.X) if rng.random() < 0.3 else truth.X, "y": truth.y}, "dense"
    X = csr_matrix(truth.X)
    types = [np.int32, np.int64, np.uint32][rng.integers(3)]
    parts = {"data": X.data, "indices": X.indices.astype(types), "indptr": X.indptr.astype(types)}
    return parts | {"shape": np.array(X.shape), "y": truth.y}, "CSR"


def _changed(arrays: dict[str, Any], rng) -> dict[str, Any]:
    """One array is another one: wrong type, shape, values, or not there."""
    name = list(arrays)[rng.integers(len(arrays))]
    array = np.array(arrays[name])
    words = array.dtype.kind == "U"
    others = [
        lambda: array[:-1], lambda: array.reshape(1, -1), lambda: array[1:] if words else array.astype("S8"),
        lambda: array.astype("U4"), lambda: array[:0] if words else array.astype(complex), lambda: np.array(7),
        lambda: array[:0], lambda: np.concatenate([array.ravel()] * 3), lambda: np.full(array.shape, -1),
        lambda: np.full(array.shape, 2**62), lambda: np.full(array.shape, np.nan), lambda: np.full(array.shape, 1e300),
        lambda: array.astype("M8[s]") if array.dtype.kind == "i" else array[::-1],
        lambda: np.zeros(array.shape, [("a", "i4"), ("b", "f8")]), lambda: np.zeros((3, 0)),
        lambda: array if words else array.astype(">f8"), lambda: np.full(array.shape, 2**63, np.uint64),
    ]  # fmt: skip
    if rng.random() < 0.1:
        return {other: value for other, value in arrays.items() if other != name}
    return arrays | {name: others[rng.integers(len(others))]()}


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()
