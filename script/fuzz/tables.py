"""Tables in text: what pandas writes in all its ways, and the same with marks, blanks, quotes and bytes changed."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from fuzz.judging import Truth, damaged, judged
from written_tables import CHOICES, written

MARKS = [
    '"', ",", ";", "\t", " ", "|", "#", "\n", "\r", "\r\n", "'", "\\", "\0", "\xa0", "\u2028", "\ufeff", "1e400", "nan",
    "", "1,5", "-", "+1", "0x1", "1_0", "٣", "1" * 400, "e" * 300, "#,1", '""', '"a', "\x1a", "é", "1.5.2",
]  # fmt: skip
REFUSED = "lines"  # labels with tabs, which blanks as separators cannot tell from their own without quotes


def case(rng, folder: Path) -> tuple[str, str]:
    """One table."""
    chosen = {name: values[rng.integers(len(values))] for name, values in CHOICES.items()}
    table = written(chosen)
    if table is None:
        return "not to be written", "refused"
    raw, kind = table.text.encode(), "as pandas writes it"
    if chosen["labels"] != REFUSED and rng.random() < 0.3:
        raw = raw.replace(b"\n", b"\r\n")
    if rng.random() < 0.1:
        raw = b"\xef\xbb\xbf" + raw
    y = np.array([str(label) for label in table.y]) if table.y.dtype.kind == "b" else table.y
    truth: Truth | None = Truth(table.X, y)
    draw = rng.random()
    if draw < 0.35:
        truth, kind, raw = None, "other marks", _marked(raw, rng)
    elif draw < 0.5:
        truth, kind, raw = None, "damaged", damaged(raw, rng)
    elif chosen["labels"] == REFUSED and chosen["separator"] == "space":
        truth = None
    if rng.random() < 0.05:
        raw = gzip.compress(raw)
    path = folder / "table.csv"
    path.write_bytes(raw)
    return kind, judged(path, truth, text=True, label=table.label)


def _marked(raw: bytes, rng) -> bytes:
    """Marks put in or in the place of fields."""
    for _ in range(int(rng.integers(1, 4))):
        at, mark = int(rng.integers(len(raw) + 1)), MARKS[rng.integers(len(MARKS))].encode()
        taken = int(rng.integers(0, 6)) if rng.random() < 0.5 else 0
        raw = raw[:at] + mark + raw[at + taken :]
    return raw
