"""npy: a single array, which is refused with the way to save rows and labels together, however it is damaged."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from fuzz.judging import Harm, damaged, judged, rows_and_labels


def case(rng, folder: Path) -> tuple[str, str]:
    """One array, or a pickle in its place."""
    path, buffer = folder / "rows.npy", io.BytesIO()
    kind = ["good", "objects", "damaged"][rng.integers(3)]
    X = rows_and_labels(rng).X
    np.lib.format.write_array(buffer, X.astype(object) if kind == "objects" else X, allow_pickle=True)
    raw = buffer.getvalue()
    path.write_bytes(damaged(raw, rng) if kind == "damaged" else raw)
    outcome = judged(path, None)
    if outcome != "refused" and path.read_bytes()[:6] == raw[:6]:
        raise Harm("an array is read as a table")
    return kind, outcome
