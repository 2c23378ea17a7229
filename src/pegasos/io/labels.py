"""Labels: whole numbers where all are, else numbers, else text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from pegasos.io.base import DataError

NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.I | re.A)
MISSING = frozenset({"", "NA", "N/A", "?", "nan", "NaN", "NAN", "-nan", "null", "NULL"})
_CODE = re.compile(r"[+-]?0[0-9]", re.A)  # 007 is the name of a class, not the number 7
_EXACT = 2.0**53  # whole numbers up to here are what they say


def labels_from_text(
    tokens: Sequence[str], place: Callable[[int], str], *, optional: bool = False, words: bool = False
):
    """Labels as an array; None if they are `optional` and missing in every row. `place` says where a row is.

    `words`: they are text even where all are numbers, since other labels are text.
    """
    distinct = set(tokens)
    missing = distinct & MISSING
    if missing:
        if optional and missing == distinct:
            return None
        raise DataError(f"{place(_first(tokens, missing))}, the label is missing; fill it in or drop the row.")
    if not words and all(NUMBER.fullmatch(token) and not _CODE.match(token) for token in distinct):
        values = {token: float(token) for token in distinct}
        strange = {token for token, value in values.items() if not np.isfinite(value)}
        if strange:
            row = _first(tokens, strange)
            raise DataError(f"{place(row)}, the label is {tokens[row]}; labels must be finite.")
        return whole_if_possible(np.array([values[token] for token in tokens]))
    return np.array(tokens, dtype=str)


def whole_if_possible(values: np.ndarray) -> np.ndarray:
    """Finite numbers as int64 if all are whole, else as float64."""
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    values = values.astype(np.float64, copy=False)
    if values.size and np.abs(values).max() <= _EXACT and (values == np.floor(values)).all():
        return values.astype(np.int64)
    return values


def labels_from_array(
    values: np.ndarray, name: str, part: str, *, first_row: int = 0, words: bool = False
) -> np.ndarray:
    """Labels that a binary file holds as an array, or some of them, from `first_row` on; `words` as in text."""
    values = np.asarray(values)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1:
        raise DataError(f"{name}: the labels {part} have shape {values.shape}; one label a row is needed.")
    if values.dtype.kind in "SO":
        values = np.array([v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values], dtype=str)
    if values.dtype.kind == "U":
        place = lambda row: f"{name}: in row {first_row + row + 1} of {part}"
        return labels_from_text(values.tolist(), place, words=words)
    if values.dtype.kind not in "iubf":
        raise DataError(f"{name}: the labels {part} are of type {values.dtype}; numbers or text are needed.")
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name}: the labels {part} reach {values.max()}, too large for 64-bit integers.")
    strange = np.flatnonzero(~np.isfinite(values))
    if strange.size:
        row = int(strange[0])
        where = f"{name}: in row {first_row + row + 1} of {part}"
        raise DataError(f"{where}, the label is {values[row]}; labels must be finite.")
    return whole_if_possible(values)


def _first(tokens: Sequence[str], wanted) -> int:
    return next(row for row, token in enumerate(tokens) if token in wanted)
