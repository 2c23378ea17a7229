"""Pages as JSON values, and the cells of tables as text."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from pegasos.report.page import Page, Table
from pegasos.report.versions import versions

MISSING = "–"


def to_dict(page: Page) -> dict[str, Any]:
    """A page as JSON values, without drawings; nan and infinities, which JSON does not have, are None."""
    return {
        "name": page.name,
        "title": page.title,
        "source": page.source,
        "summary": page.summary,
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "columns": [str(column) for column in table.columns],
                "rows": plain(table.rows),
                "note": table.note,
            }
            for table in page.tables
        ],
        "figures": [{"name": f.name, "title": f.title, "caption": f.caption} for f in page.figures],
        "remarks": [
            {"label": remark.label, "text": remark.text} | ({"code": remark.code} if remark.code else {})
            for remark in page.remarks
        ],
        "covers": page.covers,
        "settings": plain(page.settings),
        "data": plain(page.data),
        "command": page.command,
        "seconds": plain(page.seconds),
        "date": page.date,
        "versions": page.versions or versions(),
    }


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers of NumPy as Python's, numbers that are not finite as None, others as text."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | range):
        return [plain(part) for part in value]
    return str(value)


def formatted(table: Table) -> list[list[str]]:
    """The cells of a table as text: by its `formats`, floats otherwise with 4 significant digits, None as a dash."""
    for row in table.rows:
        if len(row) != len(table.columns):
            raise ValueError(
                f"The table {table.name!r} has {len(table.columns)} columns, but a row of {len(row)} cells: {row!r}."
            )
    specs = [table.formats.get(column) for column in table.columns]
    return [[cell_text(cell, spec) for cell, spec in zip(row, specs)] for row in table.rows]


def cell_text(value: Any, spec: str | None = None) -> str:
    """The text of one cell; the format spec applies to numbers only, so that a column of numbers may hold text, too."""
    if is_missing(value):
        return MISSING
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if not isinstance(value, numbers.Number):
        return _listed(value)
    if spec is not None:
        try:
            return format(value, spec)
        except (ValueError, TypeError) as error:
            raise ValueError(f"The format {spec!r} does not suit the number {value!r}: {error}.") from error
    return str(value) if isinstance(value, numbers.Integral) else short(float(value))  # type: ignore[arg-type]


def short(value: float) -> str:
    """A number with 4 significant digits, in exponential notation only if it is very small or very large."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if 1e4 <= size < 1e7:
        return f"{value:.0f}"
    return f"{value:.4g}"


def is_missing(value: Any) -> bool:
    """Whether a value is None, nan or the NA of pandas."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value)) or str(value) == "<NA>"


def _listed(value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return ", ".join(cell_text(part) for part in np.asarray(value, object).ravel())
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell_text(part)}" for key, part in value.items())
    return str(value)
