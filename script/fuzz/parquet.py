"""Parquet: tables of every type, with gaps, row groups and packings, and bytes changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

from fuzz.judging import damaged, judged, rows_and_labels


def case(rng, folder: Path) -> tuple[str, str]:
    """One table."""
    truth, path = rows_and_labels(rng), folder / "rows.parquet"
    kind, kept = "good", truth
    columns = {f"x{place}": pyarrow.array(column) for place, column in enumerate(truth.X.T)}
    columns["kind"] = pyarrow.array(truth.y.tolist())
    if truth.y.dtype.kind == "U" and rng.random() < 0.5:
        columns["kind"] = columns["kind"].dictionary_encode()
    if rng.random() < 0.4:
        name = list(columns)[rng.integers(len(columns))]
        kind, kept, columns[name] = "other columns", None, _other(len(truth.y), rng)
    packing = ["none", "snappy", "gzip", "zstd"][rng.integers(4)]
    parquet.write_table(pyarrow.table(columns), path, row_group_size=int(rng.integers(1, 40)), compression=packing)
    if rng.random() < 0.5:
        kind, kept = "damaged", None
        path.write_bytes(damaged(path.read_bytes(), rng))
    return kind, judged(path, kept)


def _other(n_rows: int, rng):
    """A column of a type or with values that a table may have and rows may not, or not as they are."""
    whole = np.arange(n_rows)
    gaps = [None if row % 3 else float(row) for row in whole.tolist()]
    others = [
        lambda: pyarrow.array(gaps), lambda: pyarrow.array([None] * n_rows), lambda: pyarrow.array([[1, 2]] * n_rows),
        lambda: pyarrow.array([{"a": 1}] * n_rows), lambda: pyarrow.array(whole, pyarrow.timestamp("s")),
        lambda: pyarrow.array([b"\xff"] * n_rows), lambda: pyarrow.array(whole % 2 == 0),
        lambda: pyarrow.array(np.full(n_rows, np.nan)), lambda: pyarrow.array(np.full(n_rows, 1e300)),
        lambda: pyarrow.array(whole.astype(np.float16)), lambda: pyarrow.array(whole.astype(np.uint64) + 2**63),
        lambda: pyarrow.array(whole, pyarrow.duration("s")), lambda: pyarrow.array(["a\nb", "", "#"] * n_rows)[:n_rows],
        lambda: pyarrow.array(whole).cast(pyarrow.decimal128(30, 2)),
    ]  # fmt: skip
    return others[rng.integers(len(others))]()
