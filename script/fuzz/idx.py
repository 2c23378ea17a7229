"""IDX: images and the labels beside them, of every type and shape, packed or not, and bytes changed in either file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from fuzz.judging import Truth, damaged, judged

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def case(rng, folder: Path) -> tuple[str, str]:
    """One pair of files."""
    images, labels = folder / "train-images-idx3-ubyte", folder / "train-labels-idx1-ubyte"
    code = list(TYPES)[rng.integers(len(TYPES))]
    X = rng.integers(0, 100, (int(rng.integers(1, 12)), *rng.integers(1, 5, 2))).astype(TYPES[code])
    y = np.arange(len(X)) % 3
    raws = [_idx(code, X), _idx(8, y.astype("u1"))]
    rows = X.reshape(len(X), -1).astype(float)
    truth: Truth | None = Truth(rows.astype(np.float32) / np.float32(255) if code == 8 else rows, y)
    kind = "good"
    if rng.random() < 0.6:
        which = int(rng.integers(2))
        kind, truth, raws[which] = ("damaged images", "damaged labels")[which], None, damaged(raws[which], rng)
    for path, raw in zip((images, labels), raws, strict=True):
        path.write_bytes(gzip.compress(raw) if rng.random() < 0.2 else raw)
    return kind, judged(images, truth)


def _idx(code: int, array: np.ndarray) -> bytes:
    sizes = b"".join(int(extent).to_bytes(4, "big") for extent in array.shape)
    return bytes([0, 0, code, array.ndim]) + sizes + array.tobytes()
