"""Fields of tables: which texts are numbers, and which stand for a missing value."""

from __future__ import annotations

import re

from pegasos.io.dataset import DataError

NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.I | re.A)
MISSING = frozenset({"", "NA", "N/A", "?", "nan", "NaN", "NAN", "-nan", "null", "NULL"})
BLANKS = " \t\r"


def is_number(field: str, decimal: str = ".") -> bool:
    """Whether a field is a number, nan and inf included."""
    return NUMBER.fullmatch(with_point(field, decimal)) is not None


def with_point(field: str, decimal: str) -> str:
    """A field without the blanks around it, the decimal comma as a point; what has both has no number in it."""
    field = field.strip(BLANKS)
    return field if decimal == "." else field.replace(".", ";").replace(",", ".")


def finite_number(field: str, decimal: str = ".") -> float | None:
    """The finite number in a field, or None."""
    field = with_point(field, decimal)
    if NUMBER.fullmatch(field) is None:
        return None
    value = float(field)
    return value if abs(value) < float("inf") else None


def bad_number(name: str, column: str, field: str, place: str) -> DataError:
    """The error for a field that holds no finite number; `column` and `place` say where, in a sentence."""
    called, column = column.removeprefix("column "), _shown(column, 60)
    if field.strip(BLANKS) in MISSING:
        return DataError(f"{name}: {column} has a missing value ({place}); fill it in or drop the row.")
    shown = _shown(field, 40)
    if is_number(field):
        return DataError(f"{name}: {column} holds {shown} ({place}); every value must be finite.")
    remedy = "encode categories as numbers first"
    if column == f"column {called}":
        remedy += f", leave the column out with --drop {called}, or give --label {called} if it is the label"
    if is_number(field, ","):
        remedy = "write decimals with a point"
    return DataError(f"{name}: {column} holds {shown!r} ({place}), which is no number; {remedy}.")


def _shown(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
