"""What kind of text a file is: LIBSVM or a table, with which delimiter, with a header or without."""

from __future__ import annotations

import re

from pegasos.io.base import DataError, Wish
from pegasos.io.labels import MISSING
from pegasos.io.text import BLANK, Text, is_number, split

SAMPLE_LINES, SAMPLE_BYTES = 50, 1 << 16
_PAIR = re.compile(r"(?:[0-9]+|qid):\S*", re.A)

Line = tuple[int, str]


def sample(text: Text) -> list[Line]:
    """The first rows with their positions: a few at least, however long, but not a whole file."""
    rows = []
    for position, line in text.rows():
        rows.append((position, line))
        if len(rows) >= SAMPLE_LINES or (len(rows) >= 3 and position > SAMPLE_BYTES):
            break
    if not rows:
        raise DataError(f"{text.name} is empty: it holds no rows.")
    return rows


def is_libsvm(rows: list[Line]) -> bool:
    """Whether the lines are `label index:value …`; a few that are not do not matter, they are errors to be named."""
    found = others = 0
    for _, line in rows:
        tokens = line.partition("#")[0].split()
        paired = [_PAIR.fullmatch(token) is not None for token in tokens]
        found += sum(paired)
        others += len(paired) - sum(paired) - (not paired[0])
    return found > others


def find_delimiter(rows: list[Line]) -> str:
    """The delimiter that makes the most fields numbers."""
    lines = [line.strip("\r") for _, line in rows]
    semicolons = {line.count(";") for line in lines}
    if len(semicolons) == 1 and semicolons != {0}:  # also where decimals are written with a comma
        return ";"
    candidates = [mark for mark in ",;\t" if any(mark in line for line in lines)]
    if all(line.endswith("\t") for line in lines) or all(line.startswith("\t") for line in lines):
        candidates = [mark for mark in candidates if mark != "\t"]  # tabs around lines are no empty columns
    scores = [sum(is_number(field) for line in lines for field in split(line, mark)) for mark in [*candidates, BLANK]]
    return [*candidates, BLANK][scores.index(max(scores))]


def header(rows: list[Line], delimiter: str, wish: Wish) -> list[str] | None:
    """The fields of the first line if they are names: text above numbers, or the names asked for."""
    table = [split(line, delimiter) for _, line in rows]
    first = table[0]
    numbers = [field for field in first if is_number(field)]
    if len(numbers) == len(first) or len(set(numbers)) < len(numbers) or not all(map(str.isdecimal, numbers)):
        return None  # names may be numbers, as 0, 1, 2, but not just any: a row with a slip in it is no header
    if len(table) == 1:
        return first if all(_is_word(field) for field in first) else None
    asked = [wish.label] if isinstance(wish.label, str) and not is_number(wish.label) else []
    asked += wish.feature_names or []
    if asked and set(asked) <= set(first):
        return first
    for column, field in enumerate(first):
        below = [row[column] for row in table[1:] if column < len(row) and row[column] not in MISSING]
        if _is_word(field) and below and all(is_number(other) for other in below):
            return first
    return None


def _is_word(field: str) -> bool:
    return field not in MISSING and not is_number(field)
