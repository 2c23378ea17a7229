"""How the fields of a table are written: separator, decimals, and blanks around them, told by the first rows."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from pegasos.io.dataset import DataError
from pegasos.io.fields import BLANKS, is_number
from pegasos.io.options import ReadOptions
from pegasos.io.text.lines import BLANK, Text
from pegasos.io.text.records import Dialect, Record, records

SAMPLE_LINES, SAMPLE_BYTES = 50, 1 << 16  # what is enough to tell
_MARKS = ",;\t|"
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+", re.A)


@dataclass(frozen=True)
class Judged:
    """How well a dialect fits the first rows: the higher the score, the better."""

    score: tuple[float, ...]
    dialect: Dialect
    rows: list[Record]


def is_enough(rows: list) -> bool:
    """Whether so many rows with their positions are enough to tell: a few, however long, but not a large file."""
    return len(rows) >= SAMPLE_LINES or (len(rows) >= 3 and rows[-1][0] > SAMPLE_BYTES)


def first_records(text: Text, dialect: Dialect, width: int | None = None) -> list[Record]:
    """The first records of a table, up to what is none."""
    rows: list[Record] = []
    with suppress(DataError):  # a quoted field that does not end: an error once all rows are read, if it is one at all
        for record in records(text, dialect, width):
            rows.append(record)
            if is_enough(rows):
                break
    return rows


def find_dialect(text: Text, lines: list[str], options: ReadOptions, width: int | None) -> Judged:
    """The separator that makes the rows alike and the largest share of their fields numbers, and what goes with it.

    `lines` are the first ones; `width` tells comments from rows, as in `records`.
    """
    lines = [line.strip("\r") for line in lines]
    marks = [mark for mark in _MARKS if any(mark in line for line in lines)]
    if all(line.endswith("\t") for line in lines) or all(line.startswith("\t") for line in lines):
        marks = [mark for mark in marks if mark != "\t"]  # tabs around lines are no empty columns
    judged = [_judged(text, mark, options, width) for mark in marks]
    blank = _judged(text, BLANK, options, width)
    best = max([*judged, _beside(text, blank, judged)], key=lambda judged: judged.score)
    if best.dialect.decimal == "," and options.decimal is None:
        _check_thousands(text.name, _fields(best.rows))
    return best


def _judged(text: Text, separator: str, options: ReadOptions, width: int | None) -> Judged:
    dialect = Dialect(separator)
    rows = first_records(text, dialect, width)
    if separator != BLANK and any(map(_is_padded, _fields(rows))):
        dialect = replace(dialect, padded=True)
        rows = first_records(text, dialect, width)
    dialect = replace(dialect, decimal=options.decimal or _decimal(_fields(rows)))
    below = rows[1:] or rows  # the first may be a header
    widths = {len(fields) for _, fields in (_without_tabs(text, below) if separator == BLANK else below)}
    numbers = sum(is_number(field, dialect.decimal) for field in _fields(below))
    if numbers == 0 or len(widths) > 1 or widths == {1}:
        return Judged((0, numbers, 0), dialect, rows)
    return Judged((1, numbers / len(_fields(below)), numbers), dialect, rows)


def _without_tabs(text: Text, rows: list[Record]) -> list[Record]:
    """The rows that hold no tab, if most do not: those that do are errors to be named, as a tab is in a word there."""
    ends = [position for position, _ in rows[1:]] + [len(text.data)]
    kept = [row for row, end in zip(rows, ends, strict=False) if text.data.find(b"\t", row[0], end) < 0]
    return kept if 2 * len(kept) > len(rows) else rows


def _beside(text: Text, blank: Judged, others: list[Judged]) -> Judged:
    """Blanks as separators beside other marks: blanks are also parts of words, as other marks seldom are."""
    alike, share, numbers = blank.score
    marks = [other.dialect.separator for other in others if other.score[0]]
    words = {field for field in _fields(blank.rows[1:]) if not is_number(field, blank.dialect.decimal)}
    marked = [word for word in words if any(mark in word for mark in marks)]
    sample = text.data[text.begin : blank.rows[-1][0] + SAMPLE_BYTES] if blank.rows else b""
    if alike and share < 1 and ("\t" in marks or not all(_is_quoted(sample, word) for word in marked)):
        return replace(blank, score=(alike, share - 1, numbers))
    return blank


def _is_quoted(sample: bytes, field: str) -> bool:
    """Whether a field stands in quotes, where a mark in it separates nothing."""
    return '"{}"'.format(field.replace('"', '""')).encode() in sample


def _fields(rows: list[Record]) -> list[str]:
    return list(chain.from_iterable(fields for _, fields in rows))


def _is_padded(field: str) -> bool:
    """Whether blanks stand around a number."""
    return field != field.strip(BLANKS) and (is_number(field) or is_number(field, ","))


def _decimal(fields: list[str]) -> str:
    """A comma where no number has a point, but some have a comma."""
    commas = any("," in field and is_number(field, ",") for field in fields)
    return "," if commas and not any("." in field and is_number(field) for field in fields) else "."


def _check_thousands(name: str, fields: list[str]) -> None:
    """Raise DataError if all commas may be those of thousands."""
    commas = [field.strip(BLANKS) for field in fields if "," in field and is_number(field, ",")]
    if all(map(_THOUSANDS.fullmatch, commas)):
        raise DataError(
            f"{name}: {commas[0]!r} is a number in thousands or one with decimals; --decimal , says the latter, and "
            "thousands are written without commas."
        )
