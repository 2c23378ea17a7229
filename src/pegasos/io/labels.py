"""Labels: whole numbers where all are, else numbers, else text."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pegasos.io.dataset import DataError
from pegasos.io.fields import BLANKS, MISSING, NUMBER, with_point

_CODE = re.compile(r"[+-]?0[0-9]", re.A)  # 007 is the name of a class, not the number 7
_WHOLE = re.compile(r"[+-]?[0-9]+", re.A)
_MOST_DIGITS = 20  # of a whole number of 64 bits, with its sign
_EXACT = 2.0**53  # a float64 holds every whole number up to here


def labels_from_text(
    tokens: Sequence[str],
    place: Callable[[int], str],
    *,
    optional: bool = False,
    text_labels: bool = False,
    decimal: str = ".",
):
    """Labels as an array; None if they are `optional` and missing in every row.

    `place` gives the beginning of a sentence about a row. With `text_labels` they stay text even where all are numbers,
    because labels in other parts of the file are text. `decimal` is how decimals are written.
    """
    distinct = set(tokens)
    missing = {token for token in distinct if token.strip(BLANKS) in MISSING}
    if missing:
        if optional and missing == distinct:
            return None
        raise DataError(f"{place(_first(tokens, missing))}, the label is missing; fill it in or drop the row.")
    values = None if text_labels else _numbers({token: with_point(token, decimal) for token in distinct})
    if values is None:
        return np.array(tokens, dtype=str)
    strange = {token for token, value in values.items() if not math.isfinite(value)}
    if strange:
        row = _first(tokens, strange)
        raise DataError(f"{place(row)}, the label is {tokens[row]}; labels must be finite.")
    return whole_if_possible(np.array([values[token] for token in tokens]))


def _numbers(tokens: dict[str, str]) -> dict[str, Any] | None:
    """Numbers by the text they are written as; None if one is none, or a whole one that would lose its last digit."""
    if not all(NUMBER.fullmatch(token) and not _CODE.match(token) for token in tokens.values()):
        return None
    if all(_WHOLE.fullmatch(token) for token in tokens.values()):
        if all(len(token) <= _MOST_DIGITS and -(2**63) <= int(token) < 2**63 for token in tokens.values()):
            return {text: int(token) for text, token in tokens.items()}
        return None
    whole = [token for token in tokens.values() if _WHOLE.fullmatch(token)]
    if any(len(token) > _MOST_DIGITS or int(float(token)) != int(token) for token in whole):
        return None
    return {text: float(token) for text, token in tokens.items()}


def whole_if_possible(values: np.ndarray) -> np.ndarray:
    """Finite numbers as int64 if all are whole, else as float64."""
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    values = values.astype(np.float64, copy=False)
    if values.size and np.abs(values).max() <= _EXACT and (values == np.floor(values)).all():
        return values.astype(np.int64)
    return values


def labels_from_array(
    values: np.ndarray, name: str, part: str, *, first_row: int = 0, text_labels: bool = False
) -> np.ndarray:
    """Labels out of an array of a file, or those of the rows from `first_row` on; `text_labels` as for text."""
    values = np.asarray(values)
    count_of_labels(values.shape, name, part)
    values = values.ravel()
    if values.dtype.kind in "SO":
        values = np.array([v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values], dtype=str)
    if values.dtype.kind == "U":
        codes = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="))).view(np.uint32)
        if codes.max(initial=0) > sys.maxunicode:
            raise DataError(f"{name}: the labels {part} hold characters that there are not; the file is damaged.")
        place = lambda row: f"{name}: in row {first_row + row + 1} of {part}"
        return labels_from_text(values.tolist(), place, text_labels=text_labels)
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


def count_of_labels(shape: tuple[int, ...], name: str, part: str) -> int:
    """How many labels an array of this shape holds: it has to be a vector, a row or a column."""
    if len(shape) != 1 and not (len(shape) == 2 and 1 in shape):
        raise DataError(f"{name}: the labels {part} have shape {shape}; one label a row is needed.")
    return prod(shape)


def _first(tokens: Sequence[str], wanted) -> int:
    return next(row for row, token in enumerate(tokens) if token in wanted)
