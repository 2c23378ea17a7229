"""LIBSVM text: rows of pairs, with labels of every kind, comments, blanks, queries, and bytes changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.judging import Truth, damaged, judged, rows_and_labels

MARKS = [
    b":", b" ", b"\n", b"#", b"qid:3 ", b"1:", b":1", b"-1:2", b"0:1", b"99999999999:1", b"2147483647:1", b"nan",
    b"1:inf", b"\xa0", b"\xc2\xa0", b"\x85", b"\x0c", b"\r", b"1:1e400", b"1:0x1", b",", b"1,2", b"\t", b"\0",
    b"1:" + b"7" * 500, b"3:1_0", b"+1", b"\x1c", b"\xe2\x80\xa8",
]  # fmt: skip


def case(rng, folder: Path) -> tuple[str, str]:
    """One file of pairs."""
    X, y = rows_and_labels(rng, words=False)
    first = int(rng.integers(2))
    X[0, 0], X[0, -1] = 1.5, 2.5  # the first and the last feature occur, so that where they begin and end is known
    ends = [" ", "  # note", "\t", "\r", ""][rng.integers(5)]
    blank = ["", "\n", "# a line of notes\n", " \n"][rng.integers(4)]
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        pairs = " ".join(f"{place + first}:{value!r}" for place, value in enumerate(row) if value)
        lines.append(f"{label} {pairs}{ends}\n{blank if rng.random() < 0.2 else ''}")
    raw, kind, truth = "".join(lines).encode(), "good", Truth(X, np.asarray(y))
    draw = rng.random()
    if draw < 0.4:
        kind, truth = "other marks", None
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(raw) + 1))
            raw = raw[:at] + MARKS[rng.integers(len(MARKS))] + raw[at + int(rng.integers(0, 4)) :]
    elif draw < 0.6:
        kind, truth, raw = "damaged", None, damaged(raw, rng)
    path = folder / "rows.libsvm"
    path.write_bytes(raw)
    return kind, judged(path, truth, text=True)
