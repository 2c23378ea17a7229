"""Figures and tables of a page as image and CSV files."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pegasos.plotting.checks import require
from pegasos.report.page import Figure, Page
from pegasos.report.values import is_missing, plain
from pegasos.utils.files import replacing

FORMATS = ("png", "svg", "pdf")


def figures_to(page: Page, folder: str | os.PathLike, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write each figure as NAME.png (or svg, pdf) into a folder, which is created if needed."""
    require("matplotlib")
    import matplotlib

    unknown = [format for format in formats if format not in FORMATS]
    if unknown:
        raise ValueError(f"Figures are written as {', '.join(FORMATS)}, not as {unknown[0]!r}.")
    _check_names([figure.name for figure in page.figures], "figure")
    folder = _created(folder)
    written = []
    for figure in page.figures:
        drawn = drawing_of(figure)
        for format in formats:
            path = folder / f"{figure.name}.{format}"
            dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
            with replacing(path) as part, matplotlib.rc_context({"svg.hashsalt": figure.name}):
                drawn.savefig(part, format=format, dpi=200, metadata=dates)
            written.append(path)
    return written


def tables_to(page: Page, folder: str | os.PathLike) -> list[Path]:
    """Write each table as NAME.csv into a folder, with all digits of its numbers; missing cells are empty."""
    _check_names([table.name for table in page.tables], "table")
    folder = _created(folder)
    written = []
    for table in page.tables:
        path = folder / f"{table.name}.csv"
        with replacing(path) as part, open(part, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(table.columns)
            rows.writerows([_cell(cell) for cell in row] for row in table.rows)
        written.append(path)
    return written


def drawing_of(figure: Figure) -> Any:
    """The matplotlib figure, drawn once and then kept; an error names the figure."""
    try:
        if figure.drawn is None:
            figure.drawn = figure.draw()
        return figure.drawn
    except Exception as error:
        error.add_note(f"while drawing the figure {figure.name!r}")
        raise


def _cell(value: Any) -> Any:
    if is_missing(value):
        return ""
    kept = plain(value)
    return value if kept is None else kept  # `plain` drops infinities, which CSV can hold


def _created(folder: str | os.PathLike) -> Path:
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_names(names: list[str], kind: str) -> None:
    """Raise ValueError for names that cannot be file names, and for repeated ones."""
    for name in names:
        if not re.fullmatch(r"[\w-]+", name):
            raise ValueError(f"The name of a {kind} may have letters, digits, hyphens and underscores, not {name!r}.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"Several {kind}s have the name {repeated[0]!r}; one would overwrite the other.")
